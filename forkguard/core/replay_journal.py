"""The journal of a replay whose conflicts a person decides: what is open, so that the next run can go on or undo it.

It exists from before the first write that outlives a run until after the last one.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, ValidationError

from forkguard.core.merges import Merged
from forkguard.core.names import CommitHash, TreeHash
from forkguard.errors import CouldNotWork

SCHEMA = "forkguard/replay-journal@1"


class ReplayPhase(StrEnum):
    """How far it is."""

    OPENING = "opening"
    """The worktree of the next conflict is being made, or there is none left: go on does it again."""
    CONFLICT = "conflict"
    """The worktree waits for a person."""
    KEEPING = "keeping"
    """A person decided; their resolution is being written: go on writes it again."""


class ReplayJournal(BaseModel):
    """One replay in progress.

    `first` is the patch that was named to begin with, `patch` the one that is open (PATCHSET/PATCH), `decided` and
    `skipped` those that a person is done with. `merged` is the open conflict, `resolved` the tree that was made of
    it. `files_before` holds what each file in `resolutions/` held before this replay (None: it was not there).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

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


def dump_replay_journal(journal: ReplayJournal) -> str:
    """The journal as JSON text."""
    return journal.model_dump_json(indent=1) + "\n"


def parse_replay_journal(text: str, *, name: str) -> ReplayJournal:
    """Read a journal. Raises `CouldNotWork` where this version cannot tell what it says."""
    try:
        journal = ReplayJournal.model_validate_json(text)
    except ValidationError as error:
        raise CouldNotWork(
            "the journal of a replay cannot be read",
            where=name,
            hint=f"look into {name}; remove it to give that replay up",
        ) from error
    if journal.format != SCHEMA:
        raise CouldNotWork(
            f"this journal is of another version of forkguard ({journal.format})",
            where=name,
            hint="finish that replay with the version that began it",
        )
    return journal
