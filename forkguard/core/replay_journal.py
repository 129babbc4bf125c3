"""The journal of a replay whose conflicts a person decides: what is open, so that the next run can go on or undo it.

It exists from before the first write that outlives a run until after the last one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from forkguard.core.journal import JournalText
from forkguard.core.merges import Merged
from forkguard.core.names import CommitHash, TreeHash


class ReplayPhase(StrEnum):
    """How far it is."""

    OPENING = "opening"
    """The worktree of the next conflict is being made, or there is none left: go on does it again."""
    CONFLICT = "conflict"
    """The worktree waits for a person."""
    KEEPING = "keeping"
    """A person decided; their resolution is being written: go on writes it again."""


class ReplayJournal(JournalText):
    """One replay in progress.

    `first` is the patch that was named to begin with, `patch` the one that is open (PATCHSET/PATCH), `decided` and
    `skipped` those that a person is done with. `merged` is the open conflict, `resolved` the tree that was made of
    it. `files_before` holds what each file in `resolutions/` held before this replay (None: it was not there).
    """

    SCHEMA: ClassVar[str] = "forkguard/replay-journal@1"
    OF: ClassVar[str] = "replay"

    format: str = SCHEMA
    phase: ReplayPhase
    fork: str
    base: CommitHash
    onto_ref: str
    onto: CommitHash
    first: str
    patch: str
    subject: str = ""
    worktree: str = ""
    merged: Merged | None = None
    resolved: TreeHash | None = None
    decided: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    files_before: Mapping[str, bytes | None] = {}
