"""The values that `forkguard port` reports. The JSON contract is port@1."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from forkguard.core.archs import ArchIndex
from forkguard.core.commits import Commit
from forkguard.core.compile_check import CompileReport
from forkguard.core.findings import Finding, Severity
from forkguard.core.hunks import FileChange, Outcome
from forkguard.core.merges import Conflict
from forkguard.core.names import CommitHash, PullNumber, TreePath
from forkguard.core.patchset import FollowUp


class PullState(StrEnum):
    """What is known of the request."""

    MERGED = "merged"
    OPEN = "open"
    CLOSED = "closed"


class SourceKind(StrEnum):
    """Where the change was found."""

    HISTORY = "history"
    PULL_REF = "pull-ref"
    COMMIT = "commit"
    PATCH = "patch"
    FORGE = "forge"


class PortStatus(StrEnum):
    """How a port ended."""

    APPLIED = "applied"
    CONFLICT = "conflict"
    ALREADY_PRESENT = "already-present"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Pick:
    """One step of a port: the change from the tree of `before` to the tree of `commit`.

    They are neighbours for a commit that is picked alone, farther apart where several are joined in one.
    """

    commit: CommitHash
    before: CommitHash
    subject: str


@dataclass(frozen=True, slots=True)
class Source:
    """The change behind a request: what it is, where it was found, and the picks that make it, in order.

    `pull` is None for a commit or a patch that belongs to no request, and `name` then what its patchset is
    called. `head` pins a request that may still move. `landed` is upstream's commit of a merged request whose own
    commits are picked.
    """

    pull: PullNumber | None
    state: PullState
    kind: SourceKind
    title: str
    picks: tuple[Pick, ...]
    where: str
    remark: str = ""
    name: str = ""
    head: CommitHash | None = None
    landed: CommitHash | None = None

    @property
    def patchset(self) -> str:
        """What the patchset is called."""
        return self.name or str(self.pull)

    @property
    def label(self) -> str:
        """How messages call the change."""
        return f"#{self.pull}" if self.pull else self.name

    @property
    def word(self) -> str:
        """What is typed to port it again, as far as that is known."""
        return str(self.pull) if self.pull else self.where


@dataclass(frozen=True, slots=True)
class HunkReport:
    """One hunk of one pick and what became of it."""

    path: TreePath
    header: str
    outcome: Outcome
    detail: str
    commit: CommitHash


@dataclass(frozen=True, slots=True)
class MissingName:
    """A name that ported lines use, that upstream had before and the fork has not.

    `commit` is upstream's that brought it since the base. Without one it is a name of that file alone, or an
    old one that the fork took out.
    """

    symbol: str
    path: TreePath
    commit: Commit | None = None


@dataclass(frozen=True, slots=True)
class Stat:
    """The size of what was ported, as git counts it."""

    files: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Hazards:
    """What the drift rules say of the ported commit, for the archs that the change touches.

    `brought` are the ids of those findings that the fork had not before.
    """

    findings: tuple[Finding, ...] = ()
    brought: frozenset[str] = frozenset()
    archs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PortOptions:
    """How a port is to be made.

    `force`: also where it brings a hazard along. `squash`: the commits of a request as one. `dry_run`: nothing
    outlives the run. `follow`: also where the head of an open request moved since it was pinned. `allow`: kinds of
    strangers' doings that were looked at and are wanted. `pass_over`: a conflict is told, and no worktree is made
    for it. `rebuild`: the branch may move away from the very commit that its patchset was exported from.
    """

    force: bool = False
    squash: bool = False
    dry_run: bool = False
    follow: bool = False
    allow: frozenset[str] = frozenset()
    pass_over: bool = False
    rebuild: bool = False


NO_ARCH = "no arch is touched, so no wiring rule was looked at"
"""What is said of a change that the rules have nothing to do with."""


def blocking(hazards: Hazards) -> tuple[Finding, ...]:
    """The hazards for which a port is refused: new, grave, and not upstream's as well."""
    grave = {Severity.CRASH, Severity.CORRUPTION}
    return tuple(
        finding
        for finding in hazards.findings
        if finding.id in hazards.brought and finding.severity in grave and not finding.also_upstream
    )


@dataclass(frozen=True, slots=True)
class PortReport:
    """Everything that one run of `forkguard port` has to say.

    `branch` is None, and `commits` are empty, where nothing was made. `worktree` is where a person resolves
    the conflicts; `conflicts` are empty in every other state. `before` are the ports of what this one needs.
    Of a dry run, branch and commits are those that would be.
    """

    source: Source
    status: PortStatus
    fork_path: str
    fork_ref: str
    onto: Commit
    branch: str | None
    commits: tuple[CommitHash, ...]
    patchset: str
    hunks: tuple[HunkReport, ...]
    stat: Stat
    missing: tuple[MissingName, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()
    hazards: tuple[Finding, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    worktree: str | None = None
    archs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    dry_run: bool = False
    before: tuple["PortReport", ...] = ()
    compiled: CompileReport = field(default_factory=CompileReport)


@dataclass(frozen=True, slots=True)
class AbortReport:
    """What `--abort` took back."""

    pull: PullNumber | None
    label: str
    branch: str
    worktree: str | None


_ENUM = re.compile(r"\bLLM_ARCH_[A-Z0-9_]+\b")


def archs_touched(files: Sequence[FileChange], index: ArchIndex) -> tuple[str, ...]:
    """The archs that a change has to do with: one of their files changes, or a changed line names their enum.

    Of archs that share a graph only the first is named: it stands for all of them.
    """
    paths = {path for file in files for path in (file.old_path, file.path)}
    lines = (
        line
        for file in files
        for hunk in file.hunks
        for change in hunk.changes
        for line in (*change.removed, *change.added)
    )
    enums = {enum for line in lines for enum in _ENUM.findall(line)}
    touched = [arch for arch in index.archs.values() if arch.enum in enums or not paths.isdisjoint(arch.files)]
    return tuple(arch.name for at, arch in enumerate(touched) if not any(arch.name in o.shares for o in touched[:at]))
