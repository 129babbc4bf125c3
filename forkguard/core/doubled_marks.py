"""What is doubled, as lines: left out of upstream's side, or marked for a person in the merged file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from forkguard.core.doubled import Double
from forkguard.core.hunks import Change, content_of, new_starts
from forkguard.core.merges import Region, Twice, regions
from forkguard.core.names import TreePath

_MARKERS = 4


@dataclass(frozen=True, slots=True)
class Marking:
    """How doubles are marked: the labels of a merge's first and second side, and whose words messages use.

    `first`: the first side brought them.
    """

    labels: tuple[str, str]
    bringer: str
    holder: str
    first: bool = False


def staying(lines: Sequence[str], brought: Sequence[Change], spans: Iterable[tuple[int, int]]) -> list[int]:
    """The lines (from 1) that stay without these, all of which `brought` added.

    A run of which only blank lines would be left goes as a whole.
    """
    gone = {line for first, last in spans for line in range(first, last + 1)}
    for change, start in new_starts(brought):
        run = range(start + 1, start + len(change.added) + 1)
        rest = [line for line in run if line not in gone]
        if len(rest) < len(run) and not any(lines[line - 1].strip() for line in rest):
            gone |= set(run)
    return [number for number in range(1, len(lines) + 1) if number not in gone]


def without_regions(lines: Sequence[str], *, label: str, first: bool) -> tuple[list[str], list[int]]:
    """A merged file with one side in place of each conflict, and where in the marked file each line is (from 0)."""
    kept = list(range(len(lines)))
    for region in reversed(regions(lines, label=label)):
        start, size = region.line - 1, _size(region)
        mine = range(start + 1, start + 1 + len(region.ours))
        others = range(start + size - 1 - len(region.theirs), start + size - 1)
        kept[start : start + size] = mine if first else others
    return [lines[at] for at in kept], kept


def lines_in_regions(lines: Sequence[str], *, label: str) -> frozenset[int]:
    """The lines (from 0) of a merged file that a person is to decide, with their markers."""
    return frozenset(
        at for region in regions(lines, label=label) for at in range(region.line - 1, region.line - 1 + _size(region))
    )


def _size(region: Region) -> int:
    return len(region.ours) + len(region.base) + len(region.theirs) + _MARKERS


def marked(
    path: TreePath, lines: Sequence[str], doubles: Sequence[Double], *, kept: Sequence[int], marking: Marking
) -> tuple[list[str], tuple[Twice, ...]]:
    """A merged file in which a person decides each double, and where; `kept` leads from its plain lines to these."""
    result = list(lines)
    places = [(kept[each.first - 1], kept[each.last - 1] + 1, each) for each in doubles]
    whole = [place for place in places if place[1] - place[0] == place[2].last - place[2].first + 1]
    for start, end, each in reversed(whole):
        result[start:end] = _region(result[start:end], marking, twin=_moved(kept[each.twin - 1], whole, marking) + 1)
    return result, tuple(
        Twice(
            path,
            start + _MARKERS * number + 1,
            each.what.value,
            each.name,
            _moved(kept[each.twin - 1], whole, marking) + 1,
            each.own,
            content_of([lines[kept[each.twin - 1]].strip()]).decode("utf-8", "replace"),
            marking.bringer,
            marking.holder,
        )
        for number, (start, _, each) in enumerate(whole)
    )


def _moved(line: int, whole: Sequence[tuple[int, int, Double]], marking: Marking) -> int:
    """Where a line (from 0) is once these regions are marked."""
    inside = 1 if marking.first else _MARKERS - 1
    return line + sum(_MARKERS if end <= line else inside if start <= line else 0 for start, end, _ in whole)


def _region(lines: Sequence[str], marking: Marking, *, twin: int) -> list[str]:
    end = "\r\n" if lines[0].endswith("\r\n") else "\n"
    text = [line if line.endswith("\n") else line + end for line in lines]
    one, other = marking.labels
    told = f"{other}: twice, {marking.holder} has it at line {twin}"
    mine, theirs = (text, []) if marking.first else ([], text)
    return [f"<<<<<<< {one}{end}", *mine, f"||||||| base{end}", f"======={end}", *theirs, f">>>>>>> {told}{end}"]
