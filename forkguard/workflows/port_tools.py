"""What a port works with, and what its replay leaves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from forkguard.core.compile_check import CompileReport
from forkguard.core.findings import Finding
from forkguard.core.hunks import FileChange
from forkguard.core.names import CommitHash, PullNumber, TreePath
from forkguard.core.porting import Hazards, HunkReport, MissingName, Pick, PortOptions
from forkguard.ports import (
    Bench,
    Checkouts,
    Forge,
    OpenRequests,
    PatchsetStore,
    PortJournal,
    Repository,
    ResolutionStore,
    Talk,
)
from forkguard.workflows.apply_change import Applied

HazardCheck = Callable[[CommitHash, CommitHash, tuple[FileChange, ...]], Hazards]
"""Runs the drift rules at a commit and at the one it was made on, for the archs that these changes touch."""


PLAIN = PortOptions()


CompileLook = Callable[[CommitHash, CommitHash, tuple[TreePath, ...]], CompileReport]
"""Reads the files of a commit with a compiler; the second commit is the one that it was made on."""


def nothing_shipped(pull: PullNumber) -> str | None:  # noqa: ARG001  (stands in for a look-up)
    """No manifest ships with this."""
    return None


@dataclass(frozen=True, slots=True)
class PortTools:
    """What a port works with.

    `find_base` names the upstream commit that the fork descends from, `identifiers` what the fork calls otherwise,
    `shipped` the manifest of a request that forkguard itself knows.
    """

    fork: Repository
    upstream: Repository
    bench: Bench
    checkouts: Checkouts
    journal: PortJournal
    patchsets: PatchsetStore
    resolutions: ResolutionStore
    talk: Talk
    find_base: Callable[[], CommitHash]
    hazards: HazardCheck
    compiles: CompileLook
    forge: Forge | None = None
    open_requests: OpenRequests | None = None
    identifiers: Mapping[str, str] = field(default_factory=dict)
    shipped: Callable[[PullNumber], str | None] = nothing_shipped


@dataclass(frozen=True, slots=True)
class Replay:
    """The picks on top of the fork: the commits made, and the pick (by index) that a person must decide."""

    made: tuple[tuple[CommitHash, Pick], ...]
    tip: CommitHash
    hunks: tuple[HunkReport, ...]
    missing: tuple[MissingName, ...]
    strays: tuple[Finding, ...] = ()
    stopped: Applied | None = None
    at: int = 0
