"""Whether a fork has a hunk in the form that upstream itself gave it later.

A fork that took a file from upstream after the change has the change, though its lines may read otherwise by now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.basematch import likeness
from forkguard.core.hunks import Change, Hunk
from forkguard.core.names import BlobHash


@dataclass(frozen=True, slots=True)
class LaterVersion:
    """The upstream version that the fork's file stands on.

    `evolved` leads to it from the file right after the change, `own` from it to the fork's file; `said` is how
    messages call it.
    """

    evolved: tuple[Change, ...]
    own: tuple[Change, ...]
    said: str


def nearest_version(ours: bytes, *, before: bytes, versions: Mapping[BlobHash, bytes]) -> BlobHash | None:
    """The version that has most lines in common with the fork's; of `versions`, oldest first, the last of equals.

    None where the file before the change is as near: then nothing tells that the fork took a later one.
    """
    best = max(reversed(list(versions)), key=lambda blob: likeness(ours, versions[blob]), default=None)
    if best is None or likeness(ours, versions[best]) <= likeness(ours, before):
        return None
    return best


def has_later(hunk: Hunk, hunks: Sequence[Hunk], later: LaterVersion) -> bool:
    """Whether all that the hunk changes stands in the fork as the later version has it, the lines around included.

    `hunks` are all of the file: they tell at which line of the new file each begins.
    """
    grown = sum(len(other.after) - len(other.before) for other in hunks if other.start < hunk.start)
    for change in hunk.changes:
        start = change.start + grown
        end = start + len(change.added)
        grown += change.growth
        first, last = _mapped(start - 1, end + 1, later.evolved)
        if any(_inside(own, first, last) for own in later.own):
            return False
    return True


def _mapped(start: int, end: int, changes: Sequence[Change]) -> tuple[int, int]:
    """Where the lines from `start` to `end` (not included) are after these changes, none of which is cut in two."""
    wider = True
    while wider:
        near = [change for change in changes if change.start <= end and change.end >= start]
        low, high = min([start, *(c.start for c in near)]), max([end, *(c.end for c in near)])
        wider, start, end = (low, high) != (start, end), low, high
    above = sum(len(c.added) - len(c.removed) for c in changes if c.end < start)
    within = sum(len(c.added) - len(c.removed) for c in changes if c.start <= end and c.end >= start)
    return start + above, end + above + within


def _inside(own: Change, first: int, last: int) -> bool:
    return own.start < last and own.end > first
