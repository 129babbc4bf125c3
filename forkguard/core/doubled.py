"""What a merge left twice in a file, though git saw no conflict: the fork had it already, elsewhere.

Something is doubled where the result holds it in one place (`forkguard.core.occurrences.same_place`) more often than
the fork before and upstream after, one of them came with the change, and the other was the fork's.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from tree_sitter import Node

from forkguard.core.hunks import Change, new_starts
from forkguard.core.occurrences import Occurrence, What, conditions, occurrences, place_of, same_place
from forkguard.core.pysource import parse_python
from forkguard.core.syntax import SourceFile, parse

_UNORDERED = frozenset({What.FUNCTION, What.TYPE, What.VARIABLE, What.DEFINE, What.CASE, What.ROW})
"""What means the same wherever in its scope it stands. The place of an enumerator gives its value."""
_MAY_REPEAT = frozenset({What.STATEMENT, What.ASSIGNMENT, What.COMPARISON, What.ENTRY, What.ROW})
_NAMED = frozenset({What.FUNCTION, What.TYPE, What.VARIABLE, What.DEFINE})
"""What is called by its name, not by its text."""
_LONGEST = 80
_MOST = 200
"""What a file holds more often is no name of anything."""
_COMMENT = re.compile(rb"[ \t]*(//|/\*|\*)")
_PYTHON_COMMENT = re.compile(rb"[ \t]*#")
_ALONE = re.compile(rb"[ \t]*[,;]?[ \t]*((//|/\*|#)[^\n]*)?\r?\n?")
_ENDS = frozenset({"return_statement", "break_statement", "continue_statement", "throw_statement"})
_Span = tuple[int, int]
_Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Double:
    """One thing that the result of a merge holds twice.

    `first` to `last` are its lines (from 1) in the result as they came with the change, `twin` is where in the result
    the fork's own begins, and `own` where in the fork's file. `origin` are its lines in upstream's file after the
    change, as far as they are known. `same` tells that leaving these out loses nothing: the fork has the very lines,
    and their place does not matter.
    """

    what: What
    name: str
    first: int
    last: int
    twin: int
    own: int
    origin: _Span | None = None
    same: bool = False


@dataclass(frozen=True, slots=True)
class Sides:
    """One file on the four sides of a merge: upstream before and after the change, the fork, the result."""

    before: bytes
    after: bytes
    fork: bytes
    result: bytes


def doubled(
    sides: Sides, *, brought: Sequence[Change], placed: Sequence[Change], python: bool = False
) -> tuple[Double, ...]:
    """What the result holds twice, in its order.

    `brought` leads from upstream's old file to its new one, `placed` from the fork's file to the result.
    """
    return _Look(sides, brought, placed, python=python).doubles()


class _File:
    """One side: what stands in it, by key."""

    def __init__(self, file: SourceFile, symbols: AbstractSet[str]) -> None:
        self.all = tuple(occurrences(file, symbols))
        self.source = file.source
        self.lines = re.findall(rb"[^\n]*\n|[^\n]+", file.source)
        self.by_key: dict[_Key, list[Occurrence]] = defaultdict(list)

    def tables_with_repeats(self) -> set[str]:
        """The units in which a table has two rows that begin alike: there, what they begin with is no key."""
        rows = Counter((each.row, place_of(each)) for each in self.all if each.row)
        return {row[1] for (row, _), times in rows.items() if row and times > 1}

    def group(self, loose: AbstractSet[str]) -> None:
        """Fill `by_key`; rows of the units in `loose` count as they stand, all others by their key."""
        for each in self.all:
            keyed = each.row is not None and each.row[1] not in loose
            self.by_key[each.row if keyed and each.row else each.key].append(each)


class _Look:
    def __init__(self, sides: Sides, brought: Sequence[Change], placed: Sequence[Change], *, python: bool) -> None:
        read = parse_python if python else parse
        self._placed = placed
        self._comment = _PYTHON_COMMENT if python else _COMMENT
        self._came, self._brought = _added(placed), _added(brought)
        result = read(sides.result)
        lines = [_lines(sides.result, unit.start, unit.end) for unit in result.units]
        touched = zip(result.units, lines, strict=True)
        symbols = {unit.symbol for unit, span in touched if _share(span, self._came)}
        files = [_File(read(side), symbols) for side in (sides.before, sides.after, sides.fork)]
        self._before, self._after, self._fork = files
        self._result = _File(result, symbols)
        loose = self._fork.tables_with_repeats() | self._after.tables_with_repeats()
        for file in (*files, self._result):
            file.group(loose)

    def doubles(self) -> tuple[Double, ...]:
        found = [double for key, group in self._result.by_key.items() for double in self._of(key, group)]
        found.sort(key=lambda each: (each.first, -each.last))
        kept: list[Double] = []
        for each in found:
            if not any(one.first <= each.first and each.last <= one.last for one in kept):
                kept.append(each)
        return tuple(kept)

    def _of(self, key: _Key, group: Sequence[Occurrence]) -> list[Double]:
        if not self._fork.by_key.get(key) or not self._after.by_key.get(key) or len(group) > _MOST:
            return []
        pairs = []
        for one in group:
            share = _share(_span(one), self._came)
            if not share:
                continue
            others = [each for each in group if each is not one and _share(_span(each), self._came) < share]
            near = sorted(others, key=lambda each: abs(each.line - one.line))
            twin = next((each for each in near if same_place(one, each)), None)
            if twin is not None:
                pairs.append((abs(twin.line - one.line), one, twin))
        pairs.sort(key=lambda pair: pair[0])
        found: list[Occurrence] = []
        doubles = []
        for _, one, twin in pairs:
            taken = sum(same_place(one, each) for each in found)
            if taken < self._too_many(key, one, twin, group):
                found.append(one)
                doubles.append(self._double(key, one, twin))
        return doubles

    def _own_line(self, line: int) -> int:
        """Where a line of the result, which the fork had, is in the fork's file."""
        return line - sum(change.growth for change, start in new_starts(self._placed) if start + 1 < line)

    def _too_many(self, key: _Key, one: Occurrence, twin: Occurrence, group: Sequence[Occurrence]) -> int:
        """How many more the result has in this place than each side had in its own.

        What may repeat, and is there several times on both sides, says nothing: each side may have added one more of
        its own to what was there before.
        """
        own = self._own_line(twin.line)
        there = _most_in_one_place(self._after, key, lambda each: _share(_span(each), self._brought) > 0)
        mine = _most_in_one_place(self._fork, key, lambda each: each.line == own)
        if min(there, mine) > 1 and one.what in _MAY_REPEAT and key != one.row:
            return 0
        return sum(same_place(one, each) for each in group) - max(there, mine)

    def _double(self, key: _Key, one: Occurrence, twin: Occurrence) -> Double:
        last = one.last
        if one.what is What.CASE:  # the statement behind it may be older than the label
            came = range(one.line, one.last + 1)
            last = next((line - 1 for line in came if not _share((line, line), self._came)), one.last)
        after = [each for each in self._after.by_key[key] if _share(_span(each), self._brought)]
        origin = after[0] if after else None
        own = self._own_line(twin.line)
        mine = next((each for each in self._fork.by_key[key] if each.line == own), None)
        new = not self._before.by_key.get(key) and key != _as_it_stands(one)
        span = self._to_leave_out(origin, mine) if origin and mine and new else None
        words = (
            one.name
            if one.what in _NAMED
            else " ".join(b"".join(self._result.lines[one.line - 1 : last]).decode("utf-8", "replace").split())
        )
        return Double(
            one.what,
            words if len(words) <= _LONGEST else f"{words[:_LONGEST]}...",
            one.line,
            max(last, one.line),
            twin.line,
            own,
            span or (_span(origin) if origin else None),
            same=span is not None,
        )

    def _to_leave_out(self, theirs: Occurrence, mine: Occurrence) -> _Span | None:
        """The lines of upstream's file that the fork has word for word, comments above included; None where it has
        others, or where their place matters."""
        if theirs.what not in _UNORDERED or theirs.outcome != mine.outcome:
            return None
        if theirs.node is not None and mine.node is not None:
            if not conditions(mine.node) <= conditions(theirs.node):
                return None
            if theirs.what is What.CASE and not _stands_alone(theirs.node):
                return None
        lead = _lead(self._after, theirs, self._comment)
        if lead != _lead(self._fork, mine, self._comment) or not _alone(self._after, theirs):
            return None
        for last in (theirs.last, theirs.line) if theirs.what is What.CASE else (theirs.last,):
            span = theirs.line - len(lead), last
            new = self._after.lines[theirs.line - 1 : last]
            there = self._fork.lines[mine.line - 1 : mine.line - 1 + len(new)]
            if new == there and _share(span, self._brought) == 1:
                return span
        return None


def _most_in_one_place(file: _File, key: _Key, chosen: Callable[[Occurrence], bool]) -> int:
    """How often a file has the same in the place of one of the chosen; 1 where none is."""
    group = file.by_key.get(key, [])
    return max((sum(same_place(each, other) for other in group) for each in group if chosen(each)), default=1)


def _as_it_stands(one: Occurrence) -> _Key | None:
    """The key of a row that is known by no key of its own: where it stands may be what it means."""
    return one.key if one.what is What.ROW else None


def _span(each: Occurrence) -> _Span:
    return each.line, each.last


def _lines(source: bytes, start: int, end: int) -> _Span:
    first = source.count(b"\n", 0, start) + 1
    return first, first + source[start:end].rstrip().count(b"\n")


def _added(changes: Sequence[Change]) -> tuple[_Span, ...]:
    return tuple((start + 1, start + len(change.added)) for change, start in new_starts(changes) if change.added)


def _share(span: _Span, added: Sequence[_Span]) -> float:
    """How much of these lines was added, from 0 to 1."""
    first, last = span
    common = sum(max(0, min(last, end) - max(first, start) + 1) for start, end in added)
    return common / (last - first + 1)


def _lead(file: _File, each: Occurrence, comment: re.Pattern[bytes]) -> list[bytes]:
    """The lines of comment right above a piece."""
    first = each.line - 1
    while first > 0 and comment.match(file.lines[first - 1]):
        first -= 1
    return file.lines[first : each.line - 1]


def _alone(file: _File, each: Occurrence) -> bool:
    """Whether nothing else stands on the lines of a piece but a comma, a semicolon or a comment."""
    before = file.source[file.source.rfind(b"\n", 0, each.start) + 1 : each.start]
    end = file.source.find(b"\n", each.end)
    behind = file.source[each.end : end if end >= 0 else None]
    return not before.strip() and _ALONE.fullmatch(behind) is not None


def _stands_alone(case: Node) -> bool:
    """Whether a case can go without another one falling into what follows it."""
    if len(case.named_children) < 2:
        return True
    before = case.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    if before is None:
        return True
    last = before.named_children[-1] if before.named_children else before
    while last.type == "compound_statement" and last.named_children:
        last = last.named_children[-1]
    return last.type in _ENDS
