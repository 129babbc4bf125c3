"""The values that `forkguard drift` reports: findings, archs, the report. The JSON contract is drift@1."""

from dataclasses import dataclass, field
from enum import StrEnum

from forkguard.core.commits import Commit
from forkguard.core.names import CommitHash, TreePath


class Kind(StrEnum):
    """How the fork's place differs from upstream's."""

    NOT_PORTED = "not-ported"
    LOST = "lost"
    CHANGED = "changed"
    HAZARD = "hazard"
    ACCEPTED = "accepted"


class Severity(StrEnum):
    """What the finding does to the one who runs the fork; worst first."""

    CRASH = "crash"
    CORRUPTION = "corruption"
    SLOW = "slow"
    CHANGE = "change"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class ArchStatus(StrEnum):
    """What drift says of one arch as a whole."""

    CLEAN = "clean"
    DRIFT = "drift"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class UpstreamPlace:
    """Where upstream has (or had) the thing, and by which commit it came (or went)."""

    path: TreePath
    line: int | None
    commit: Commit | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One piece of drift, or one hazard.

    `id` is stable from run to run and holds no line number. `path` and `line` are the place in the fork
    where the piece is or belongs (line from 1; None where there is no such place), `symbol` the function.
    `text` is source, verbatim: upstream's where the fork lacks it, else the fork's. `context` is the fork's
    own lines around that place, each with its number, for a person to find it; `margin` is how many columns
    the text is indented where it comes from. `ledger` says why an accepted finding does not count; `baselined`
    where that is the baseline.
    """

    id: str
    arch: str
    rule: str
    kind: Kind
    severity: Severity
    path: TreePath
    line: int | None
    symbol: str | None
    text: str
    title: str
    why: str = ""
    upstream: UpstreamPlace | None = None
    also_upstream: bool = False
    ledger: str | None = None
    baselined: bool = False
    fix: str = ""
    context: tuple[tuple[int, str], ...] = ()
    margin: int = 0
    lost_in: Commit | None = None
    follow_ups: tuple[Commit, ...] = ()
    builds: tuple[str, str] | None = None

    def counts(self, *, strict: bool) -> bool:
        """Whether the finding makes drift exit 1."""
        if strict:
            return True
        return not (self.kind is Kind.ACCEPTED or self.severity is Severity.NOTE or self.also_upstream)


@dataclass(frozen=True, slots=True)
class ArchReport:
    """One arch of the question, with the fork's files that belong to it."""

    name: str
    status: ArchStatus
    files: tuple[TreePath, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of the comparison: the ref as asked for, and the commit that it named then."""

    ref: str
    commit: CommitHash


@dataclass(frozen=True, slots=True)
class Base:
    """The upstream commit that the fork descends from, and how it was found.

    `how` is `merge-base`, `content` or `configured`; by content, `equal` of `total` tree entries agreed.
    """

    commit: CommitHash
    how: str
    equal: int | None = None
    total: int | None = None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class DriftReport:
    """Everything that one run of `forkguard drift` found; `disarmed` are the rules that could not be checked."""

    fork: Side
    upstream: Side
    base: Base
    archs: tuple[ArchReport, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = field(default=())
    disarmed: tuple[str, ...] = ()

    def clean(self, *, strict: bool = False) -> bool:
        """Whether drift exits 0."""
        absent = any(arch.status is ArchStatus.ABSENT for arch in self.archs)
        return not absent and not any(finding.counts(strict=strict) for finding in self.findings)
