"""The journal of a port: what was begun, so that the next run can finish it or undo it.

A journal exists from before the first write that outlives a run until after the last one.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, ValidationError

from forkguard.core.names import CommitHash, TreeHash
from forkguard.core.porting import Source
from forkguard.errors import CouldNotWork

SCHEMA = "forkguard/port-journal@1"


class Phase(StrEnum):
    """How far the port is."""

    OPENING = "opening"
    """The worktree for a conflict is being made: a kill here is made again, or undone."""
    CONFLICT = "conflict"
    """The worktree waits for a person."""
    FINISHING = "finishing"
    """The commit exists; branch and files are being written: a kill here is finished."""


class Journal(BaseModel):
    """One port in progress.

    `skipped` are the picks that a person leaves out, `force` that new hazards were accepted, `rebuild` that the
    branch may move away from what its patchset was exported from.

    `resolved` holds the tree that a person made of each conflicting pick, by the pick's index;
    `files_before` what each patchset file held before (None: it was not there), by its path beside the
    map; `branch_before` where the branch pointed (None: it was not there).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    format: str = SCHEMA
    phase: Phase
    source: Source
    fork: str
    fork_ref: str
    onto: CommitHash
    base: CommitHash
    branch: str
    patchset: str
    upstream: CommitHash | None = None
    worktree: str | None = None
    at: int = 0
    merged: TreeHash | None = None
    resolved: Mapping[int, TreeHash] = {}
    skipped: tuple[int, ...] = ()
    force: bool = False
    rebuild: bool = False
    tip: CommitHash | None = None
    branch_before: CommitHash | None = None
    files_before: Mapping[str, bytes | None] = {}


def dump_journal(journal: Journal) -> str:
    """The journal as JSON text."""
    return journal.model_dump_json(indent=1) + "\n"


def parse_journal(text: str, *, name: str) -> Journal:
    """Read a journal. Raises `CouldNotWork` where this version cannot tell what it says."""
    try:
        journal = Journal.model_validate_json(text)
    except ValidationError as error:
        raise CouldNotWork(
            "the journal of a port cannot be read",
            where=name,
            hint=f"look into {name}; remove it to give that port up",
        ) from error
    if journal.format != SCHEMA:
        raise CouldNotWork(
            f"this journal is of another version of forkguard ({journal.format})",
            where=name,
            hint="finish that port with the version that began it",
        )
    return journal
