"""Journals, and that of a port: what was begun, so that the next run can finish it or undo it.

A journal exists from before the first write that outlives a run until after the last one.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from forkguard.core.names import CommitHash, TreeHash
from forkguard.core.porting import Source
from forkguard.errors import CouldNotWork


class Phase(StrEnum):
    """How far the port is."""

    OPENING = "opening"
    """The worktree for a conflict is being made: a kill here is made again, or undone."""
    CONFLICT = "conflict"
    """The worktree waits for a person."""
    FINISHING = "finishing"
    """The commit exists; branch and files are being written: a kill here is finished."""


class JournalText(BaseModel):
    """Something in progress as JSON text. Each kind has its `SCHEMA`, and `OF` names it in errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    SCHEMA: ClassVar[str]
    OF: ClassVar[str]

    format: str

    def dump(self) -> str:
        """The journal as JSON text."""
        return self.model_dump_json(indent=1) + "\n"

    @classmethod
    def parse(cls, text: str, *, name: str) -> Self:
        """Read a journal. Raises `CouldNotWork` where this version cannot tell what it says."""
        try:
            journal = cls.model_validate_json(text)
        except ValidationError as error:
            raise CouldNotWork(
                f"the journal of a {cls.OF} cannot be read",
                where=name,
                hint=f"look into {name}; remove it to give that {cls.OF} up",
            ) from error
        if journal.format != cls.SCHEMA:
            raise CouldNotWork(
                f"this journal is of another version of forkguard ({journal.format})",
                where=name,
                hint=f"finish that {cls.OF} with the version that began it",
            )
        return journal


class Journal(JournalText):
    """One port in progress.

    `skipped` are the picks that a person leaves out, `force` that new hazards were accepted, `rebuild` that the
    branch may move away from what its patchset was exported from.

    `resolved` holds the tree that a person made of each conflicting pick, by the pick's index;
    `files_before` what each patchset file held before (None: it was not there), by its path beside the
    map; `branch_before` where the branch pointed (None: it was not there).
    """

    SCHEMA: ClassVar[str] = "forkguard/port-journal@1"
    OF: ClassVar[str] = "port"

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
