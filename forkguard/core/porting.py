"""The values that `forkguard port` reports. The JSON contract is port@1."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.commits import Commit
from forkguard.core.findings import Finding
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
    """The change behind a request: what it is, where it was found, and the picks that make it, in order."""

    pull: PullNumber
    state: PullState
    kind: SourceKind
    title: str
    picks: tuple[Pick, ...]
    where: str
    remark: str = ""


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
    """A name that ported lines use, that upstream's file had before and the fork's file has not."""

    symbol: str
    path: TreePath


@dataclass(frozen=True, slots=True)
class Stat:
    """The size of what was ported, as git counts it."""

    files: int
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Hazards:
    """What the drift rules say of the ported commit, for the archs that the change touches."""

    findings: tuple[Finding, ...] = ()
    archs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PortReport:
    """Everything that one run of `forkguard port` has to say.

    `branch` is None, and `commits` are empty, where nothing was made. `worktree` is where a person resolves
    the conflicts; `conflicts` are empty in every other state.
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
    patchset_folder: str = ""
    archs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AbortReport:
    """What `--abort` took back."""

    pull: PullNumber
    branch: str
    worktree: str | None


_ENUM = re.compile(r"\bLLM_ARCH_[A-Z0-9_]+\b")


def archs_touched(files: Sequence[FileChange], archs: Mapping[str, tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """The archs that a change has to do with: one of their files changes, or a changed line names their enum.

    `archs` gives each name its enum and its files.
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
    return tuple(name for name, (enum, own) in archs.items() if enum in enums or paths.intersection(own))
