"""A patch that git cannot merge, applied as `port` applies an upstream change: in the other side's terms.

A replay takes the fork's change to upstream, a port takes upstream's change to the fork. So the two sides are
exchanged, and the workbench knows it: see `forkguard.adapters.replay_bench`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from forkguard.core.commit_objects import commit_bytes
from forkguard.core.hunks import Outcome
from forkguard.core.merges import Merged
from forkguard.core.names import TreeHash
from forkguard.core.porting import HunkReport, Pick
from forkguard.ports import Bench
from forkguard.workflows.apply_change import apply_pick

_NOBODY = b"forkguard <forkguard@localhost> 0 +0000"
_TELLING = ("is called", "CRLF", "is there already, at")


@dataclass(frozen=True, slots=True)
class Ported:
    """The tree with the patch, and by what; `tree` is None where a person must decide `merged`."""

    tree: TreeHash | None
    merged: Merged | None
    how: str = ""
    additive: bool = False


def ported(bench: Bench, *, before: TreeHash, after: TreeHash, ours: TreeHash) -> Ported:
    """Apply the change between two trees to a third one by port's means.

    What would land in another function than the patch has it in is not applied. Raises `MissingObject`.
    """
    about = {"author": _NOBODY, "committed": b"0 +0000", "message": b"replay\n"}
    old = bench.put_commit(commit_bytes(before, (), **about))
    new = bench.put_commit(commit_bytes(after, (old,), **about))
    applied = apply_pick(bench, Pick(new, old, "replay"), ours=ours, theirs_label="upstream")
    if applied.tree is None or applied.strays:
        return Ported(None, applied.merged)
    additive = any(hunk.outcome is Outcome.ADDITIVE for hunk in applied.hunks)
    return Ported(applied.tree, None, _said(applied.hunks), additive)


def _said(hunks: Iterable[HunkReport]) -> str:
    """What was needed beyond git's merge."""
    all_hunks = tuple(hunks)
    found: dict[str, None] = {}
    for hunk in all_hunks:
        details = hunk.detail.split("; ")
        wanted = [text for text in details if hunk.outcome is Outcome.MOVED or any(word in text for word in _TELLING)]
        found |= dict.fromkeys(text.replace("the fork", "upstream") for text in wanted)
    there = sum(hunk.outcome is Outcome.ALREADY_PRESENT for hunk in all_hunks)
    if there:
        found[f"{there} of {len(all_hunks)} hunks are there already"] = None
    return "as port does it: " + ("; ".join(found) or "three-way")
