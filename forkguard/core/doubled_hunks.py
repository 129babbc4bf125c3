"""To which hunks of a change the things belong that the fork had already."""

from collections.abc import Mapping, Sequence

from forkguard.core.doubled import Double
from forkguard.core.doubled_marks import Marking
from forkguard.core.hunks import Fit, Hunk, Outcome, new_starts
from forkguard.core.merges import Twice

Fits = Sequence[tuple[Hunk | None, Fit]]


def with_left(fits: Fits, left: Sequence[Double], marking: Marking) -> list[tuple[Hunk | None, Fit]]:
    """The hunks of a file with what was left out of them; one that brings nothing else is there already."""
    lines = _lines_brought(fits)
    found = []
    for hunk, fitted in fits:
        mine = [each for each in left if hunk is not None and each.origin and each.origin[0] in lines.get(hunk, {})]
        if hunk is None or not mine:
            found.append((hunk, fitted))
            continue
        where = f"of {marking.holder}'s file"
        said = "; ".join(f"{one.what.value} {one.name} is there already, at line {one.own} {where}" for one in mine)
        gone = {line for each in mine if each.origin for line in range(each.origin[0], each.origin[1] + 1)}
        rest = [text for line, text in lines[hunk].items() if line not in gone and text.strip()]
        if not rest and not any(change.removed for change in hunk.changes):
            found.append((hunk, Fit(Outcome.ALREADY_PRESENT, said)))
        else:
            detail = "; ".join(text for text in (fitted.detail, said) if text)
            found.append((hunk, Fit(fitted.outcome, detail)))
    return found


def told_by_hunk(fits: Fits, doubles: Sequence[Double], twice: Sequence[Twice]) -> Mapping[Hunk | None, str]:
    """What is to be said of each hunk that brings something a second time; `twice` is how it was marked.

    `fits` are the hunks before anything of them was left out.
    """
    lines = _lines_brought(fits)
    said = {(each.own, each.name): each.said for each in twice}
    found: dict[Hunk | None, str] = {}
    for hunk, _ in fits:
        mine = [
            each for each in doubles if hunk is not None and each.origin and each.origin[0] in lines.get(hunk, {})
        ]
        told = dict.fromkeys(said[each.own, each.name] for each in mine if (each.own, each.name) in said)
        if told:
            found[hunk] = "; ".join(told)
    return found


def _lines_brought(fits: Fits) -> dict[Hunk, dict[int, str]]:
    """The lines (from 1, of the file with all hunks but those that are there already) that each hunk adds."""
    hunks = [hunk for hunk, fitted in fits if hunk is not None and fitted.outcome is not Outcome.ALREADY_PRESENT]
    hunks.sort(key=lambda hunk: hunk.start)
    found: dict[Hunk, dict[int, str]] = {hunk: {} for hunk in hunks}
    owners = [hunk for hunk in hunks for _ in hunk.changes]
    starts = new_starts(change for hunk in hunks for change in hunk.changes)
    for hunk, (change, start) in zip(owners, starts, strict=True):
        found[hunk] |= {start + 1 + at: text for at, text in enumerate(change.added)}
    return found
