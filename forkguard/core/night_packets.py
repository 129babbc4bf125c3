"""A conflict packet: all that a person needs to mend one patch that does not apply."""

import re
from dataclasses import dataclass

from forkguard.core.commits import Commit
from forkguard.core.findings import Side
from forkguard.core.merges import Conflict
from forkguard.core.names import CommitHash
from forkguard.core.replay import PatchResult


@dataclass(frozen=True, slots=True)
class ConflictPacket:
    """One failing patch: what broke it, both sides of each place, upstream's history there, and the way on.

    In a conflict `ours` is upstream's side with `fork_log` upstream's commits that wrote it, `theirs` the patch's;
    `upstream_log` is the history of the lines before that. `broke` is the breaking commit's change to the patch's
    files, as a diff without context. `resume` are forkguard's commands to go on by hand, `by_git` plain git's.
    """

    result: PatchResult
    base: CommitHash
    onto: Side
    conflicts: tuple[Conflict, ...]
    broke: str
    touched: tuple[Commit, ...]
    resume: tuple[str, ...]
    by_git: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def packet_file(number: int, patchset: str, patch: str) -> str:
    """The name of a packet's file beside the record.

    >>> packet_file(3, "27383", "0001-spec : x.patch")
    'conflict-03-27383-0001-spec-x.md'
    >>> packet_file(1, "0002-x", "0002-x.patch")
    'conflict-01-0002-x.md'
    >>> packet_file(12, "my set", "0001-x.patch")
    'conflict-12-my-set-0001-x.md'
    >>> packet_file(1, "x" * 60, "y" * 60) == f"conflict-01-{'x' * 48}-{'y' * 48}.md"
    True
    """
    stem = re.sub(r"[^A-Za-z0-9]+", "-", patch.removesuffix(".patch"))[:48].strip("-")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", patchset)[:48]
    return f"conflict-{number:02}-{name}.md" if stem == name else f"conflict-{number:02}-{name}-{stem}.md"
