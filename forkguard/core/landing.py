"""Whether the lines of a hunk landed in the function that they are in upstream."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from forkguard.core.findings import Finding, Kind, Severity
from forkguard.core.hunks import Change, Hunk, new_starts
from forkguard.core.names import TreePath
from forkguard.core.own_names import only_unit, unit_around

RULE = "hunk-in-another-function"


@dataclass(frozen=True, slots=True)
class Stray:
    """Lines that landed elsewhere: upstream's function, the fork's (empty: none), and the line (from 1) there.

    `known` tells that the fork's file has upstream's function, so that the other one is not merely its new name.
    """

    hunk: Hunk
    wanted: str
    found: str
    line: int
    text: str
    known: bool


def strays(hunks: Sequence[Hunk], *, placed: Sequence[Change], after: bytes, merged: bytes) -> tuple[Stray, ...]:
    """The added lines that a merge put into another function than upstream has them in.

    `placed` are the changes that lead from the fork's file to the `merged` one, `after` is upstream's file.
    """
    spots = _spots(placed)
    found: list[Stray] = []
    grown = 0
    for hunk in hunks:
        for change in hunk.changes:
            line = change.start + grown
            grown += change.growth
            landed = _taken(change.added, spots)
            if landed is None:
                continue
            wanted = unit_around(after, line, line + len(change.added))
            if wanted is None:
                continue
            here = unit_around(merged, landed, landed + len(change.added))
            name = here.symbol if here else ""
            if name != wanted.symbol:
                known = only_unit(merged, wanted.symbol) is not None
                found.append(Stray(hunk, wanted.symbol, name, landed + 1, "".join(change.added), known))
    return tuple(found)


def _spots(placed: Sequence[Change]) -> list[tuple[int, tuple[str, ...]]]:
    """Where each added run stands in the merged file (line from 0)."""
    return [(start, change.added) for change, start in new_starts(placed) if change.added]


def _taken(added: Sequence[str], spots: list[tuple[int, tuple[str, ...]]]) -> int | None:
    """The line at which the first run begins that holds these lines; that run is used up."""
    if not any(line.strip() for line in added):
        return None
    for number, (line, lines) in enumerate(spots):
        for at in range(len(lines) - len(added) + 1):
            if lines[at : at + len(added)] == tuple(added):
                rest = lines[at + len(added) :]
                spots[number : number + 1] = [(line + at + len(added), rest)] if rest else []
                return line + at
    return None


def stray_finding(stray: Stray, path: TreePath) -> Finding:
    """The hazard that such lines are."""
    named = f"{path}\0{stray.wanted}\0{stray.found}\0{stray.text}"
    digest = hashlib.sha256(named.encode("utf-8", "replace"))
    place = stray.found or "no function"
    return Finding(
        id=f"{RULE}-{digest.hexdigest()[:10]}",
        arch="",
        rule=RULE,
        kind=Kind.HAZARD,
        severity=Severity.CORRUPTION if stray.known else Severity.CHANGE,
        path=path,
        line=stray.line,
        symbol=stray.found or None,
        text=stray.text.rstrip("\r\n"),
        title=f"these lines are in {stray.wanted} upstream and landed in {place}",
        why="" if stray.known else f"the fork's file has no {stray.wanted}; look whether {place} is what it became",
        fix=f"look at line {stray.line} of {path} before you build it",
    )
