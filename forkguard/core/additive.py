"""Joining what two sides added at one spot of a list: includes, cases of a switch, entries of a table or an enum.

Only whole entries are joined, only where the base had nothing in that place, and only where their order
cannot matter: upstream's entries come first, the fork's own behind them, so that upstream's keep their order
to the neighbours that both share. Where a case leads to a statement of its own and another falls through to
the lines below, the one that ends comes first. Everything else is a conflict.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forkguard.core.additive_python import python_entries
from forkguard.core.merges import Region
from forkguard.core.pieces import tokens_of

_INCLUDE = re.compile(r"\s*#\s*include\s*[<\"][^>\"]+[>\"]\s*(//.*)?$")
_CASE = re.compile(r"\s*case\s+[A-Za-z_][\w:]*\s*:")
_ENDS = ("return", "break", "continue", "throw", "goto")
_ENUM = re.compile(r"\benum\b")
_SWITCH = re.compile(r"\bswitch\b")
_LIST = re.compile(r"=\s*\{?\s*$|=\s*\{")
_OPENERS, _CLOSERS = frozenset("({["), frozenset(")}]")


@dataclass(frozen=True, slots=True)
class Joined:
    """A region that needed no person: the lines it becomes, and how they were put in order."""

    region: Region
    lines: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """One whole entry: its key (what may stand once), its lines; `closed` where a case ends in a statement.

    `tokens` are what it says, where the words of C++ would not do.
    """

    key: str
    lines: tuple[str, ...]
    closed: bool = False
    tokens: tuple[str, ...] = ()


def joined(region: Region, *, above: Sequence[str], python: bool = False) -> Joined | None:
    """Join a region of two pure additions, or None where that would be a guess.

    `above` are the lines of the merged file in front of the region; they tell what kind of list it is in. `python`:
    the file is one of Python, not of C or C++.

    >>> region = Region(3, ("    case B:\\n",), (), ("    case C:\\n",))
    >>> joined(region, above=["switch (x) {\\n", "    case A:\\n"]).lines
    ('    case C:\\n', '    case B:\\n')
    """
    if any(line.strip() for line in region.base) or not region.ours or not region.theirs:
        return None
    if python:
        return _of_python(region, above)
    for what, reader in _READERS:
        ours, theirs = reader(region.ours, above), reader(region.theirs, above)
        if ours and theirs:
            return _in_order(what, region, ours=ours, theirs=theirs, above=above)
    return None


def _of_python(region: Region, above: Sequence[str]) -> Joined | None:
    (what, mine), (other, its) = python_entries(region.ours, above), python_entries(region.theirs, above)
    if not mine or not its or what != other:
        return None
    ours, theirs = ([_Entry(one.key, one.lines, tokens=one.tokens) for one in side] for side in (mine, its))
    return _in_order(what, region, ours=ours, theirs=theirs, above=above)


def _said(entry: _Entry) -> tuple[str, ...]:
    return entry.tokens or _tokens(entry.lines)


def _in_order(
    what: str, region: Region, *, ours: Sequence[_Entry], theirs: Sequence[_Entry], above: Sequence[str]
) -> Joined | None:
    mine = {entry.key: entry for entry in ours}
    same = [entry for entry in theirs if entry.key in mine]
    if any(_said(entry) != _said(mine[entry.key]) for entry in same):
        return None
    if len(mine) != len(ours) or len({entry.key for entry in theirs}) != len(theirs):
        return None
    new = [entry for entry in theirs if entry.key not in mine]
    first, last, how = new, list(ours), "upstream's first, the fork's own behind them"
    if what == "switch":
        closed = [_ends(entries) for entries in (new, ours)]
        if any(entry.closed for entry in (*new, *ours)) and _falls_in(above):
            return None
        if not closed[0] and any(entry.closed for entry in ours):
            if not closed[1]:
                return None
            first, last, how = list(ours), new, "the fork's own, which end, before upstream's, which fall through"
    lines = tuple(line for entry in (*first, *last) for line in entry.lines)
    doubled = f"; {len(same)} of upstream's were there already" if same else ""
    return Joined(region, lines, f"both sides add to the same {what}: {how}{doubled}")


def _ends(entries: Sequence[_Entry]) -> bool:
    """Whether control never runs out of the last of the cases."""
    return not entries or entries[-1].closed


def _falls_in(above: Sequence[str]) -> bool:
    """Whether the code in front of a spot in a switch runs into it."""
    last = next((tokens for line in reversed(above) if (tokens := tokens_of(line.encode("utf-8", "replace")))), ())
    return bool(last) and last[-1] == ":" and last[0] in {"case", "default"}


# -- kinds of lists ------------------------------------------------------------------------------------


def _includes(lines: Sequence[str], above: Sequence[str]) -> list[_Entry]:
    del above
    if not all(_INCLUDE.match(line.rstrip("\r\n")) for line in lines if line.strip()):
        return []
    return [_Entry(" ".join(_tokens([line])), (line,)) for line in lines if line.strip()]


def _cases(lines: Sequence[str], above: Sequence[str]) -> list[_Entry]:
    if not _SWITCH.search(_opener(above)):
        return []
    groups: list[list[str]] = []
    depth = 0
    for line in lines:
        if depth == 0 and _CASE.match(line):
            groups.append([])
        if not groups:
            return []
        groups[-1].append(line)
        depth += _depth(line)
        if depth < 0:
            return []
    entries = [_case(group) for group in groups]
    return [] if depth or any(entry is None for entry in entries) else [entry for entry in entries if entry]


def _case(lines: Sequence[str]) -> _Entry | None:
    tokens = _tokens(lines)
    colon = tokens.index(":")
    body = tokens[colon + 1 :]
    if not body:
        return _Entry(" ".join(tokens[: colon + 1]), tuple(lines))
    if body[-1] == "}" and body[0] == "{":
        body = body[1:-1]
    if not body or body[-1] != ";":
        return None
    flat, depth, start = list(body), 0, 0
    for at, token in enumerate(flat[:-1]):
        depth += (token in _OPENERS) - (token in _CLOSERS)
        if depth == 0 and token in {";", "}"}:
            start = at + 1
    if flat[start] not in _ENDS:
        return None
    return _Entry(" ".join(tokens[: colon + 1]), tuple(lines), closed=True)


def _table(lines: Sequence[str], above: Sequence[str]) -> list[_Entry]:
    """Rows `{ KEY, ... },` of a braced list whose rows are found by their key."""
    if not _LIST.search(_opener(above).rstrip()):
        return []
    groups: list[list[str]] = [[]]
    depth = 0
    for line in lines:
        groups[-1].append(line)
        depth += _depth(line)
        tokens = tokens_of(line.encode("utf-8", "replace"))
        if depth < 0:
            return []
        if depth == 0 and tokens:
            if tokens[-1] != ",":
                return []
            groups.append([])
    if depth or any(line.strip() for line in groups[-1]):
        return []
    entries = []
    for group in groups[:-1]:
        tokens = _tokens(group)
        if len(tokens) < 5 or tokens[0] != "{" or tokens[-2] != "}" or tokens[2] != ",":
            return []
        if not re.match(r"[A-Za-z_\"]", tokens[1]):
            return []
        entries.append(_Entry(tokens[1], tuple(group)))
    return entries


def _enumerators(lines: Sequence[str], above: Sequence[str]) -> list[_Entry]:
    if not _ENUM.search(_opener(above)):
        return []
    entries = []
    for line in lines:
        tokens = _tokens([line])
        if not tokens:
            continue
        if len(tokens) != 2 or tokens[1] != "," or not re.match(r"[A-Za-z_]", tokens[0]):
            return []
        entries.append(_Entry(tokens[0], (line,)))
    return entries


_READERS = (("include list", _includes), ("switch", _cases), ("table", _table), ("enumeration", _enumerators))


def _tokens(lines: Sequence[str]) -> tuple[str, ...]:
    return tokens_of("".join(lines).encode("utf-8", "replace"))


def _depth(line: str) -> int:
    tokens = tokens_of(line.encode("utf-8", "replace"))
    return sum((token in _OPENERS) - (token in _CLOSERS) for token in tokens)


def _opener(above: Sequence[str]) -> str:
    """The line that opens the braces around the end of `above`, with the line in front where it holds only `{`."""
    depth = 0
    for at in range(len(above) - 1, -1, -1):
        for token in reversed(tokens_of(above[at].encode("utf-8", "replace"))):
            depth += (token in _CLOSERS) - (token in _OPENERS)
            if depth < 0:
                alone = above[at].strip() == "{" and at > 0
                return above[at - 1].rstrip() + " {" if alone else above[at].rstrip()
    return ""
