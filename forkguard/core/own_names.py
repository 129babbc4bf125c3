"""The fork's own names for what upstream calls otherwise, and upstream's lines written with them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forkguard.core.compare import infer_renames
from forkguard.core.names import TreePath
from forkguard.core.pieces import token_spans
from forkguard.core.syntax import Unit, parse

_CXX = re.compile(r"\.(c|cc|cpp|cxx|h|hh|hpp|hxx|cu|cuh|m|mm|metal|inc|inl)$")
_MEMBER = frozenset({".", "->", "::"})
_CALLED = frozenset({"(", "::", "<"})


@dataclass(frozen=True, slots=True)
class OwnNames:
    """Upstream's names to the fork's: `everywhere` in a file, and `local` ones by the function they belong to."""

    everywhere: Mapping[str, str]
    local: Mapping[str, Mapping[str, str]]

    def __bool__(self) -> bool:
        return bool(self.everywhere or self.local)


def is_cxx(path: TreePath) -> bool:
    """Whether white space between words means nothing in a file of this name.

    >>> is_cxx(TreePath("src/a.cpp")), is_cxx(TreePath("gguf-py/a.py"))
    (True, False)
    """
    return _CXX.search(path) is not None


def words(source: bytes) -> frozenset[str]:
    """The identifiers of a source, outside of strings and comments."""
    return frozenset(token for _, _, token in token_spans(source) if token[0].isalpha() or token[0] == "_")


def own_names(*, before: bytes, after: bytes, ours: bytes | None, known: Mapping[str, str]) -> OwnNames:
    """What the fork's file calls otherwise: as a person said (`known`), and as its functions show.

    A name that the fork's file has as well is left alone, and so is a function in which the fork's name means
    something in upstream's version. `ours` is None where the fork has no such file.
    """
    used, mine = words(before) | words(after), words(ours or b"")
    everywhere = {old: new for old, new in known.items() if old in used and old not in mine}
    if ours is None:
        return OwnNames(everywhere, {})
    local: dict[str, Mapping[str, str]] = {}
    others, later = _single(ours), _single(after)
    for symbol, unit in _single(before).items():
        if symbol not in others or symbol not in later:
            continue
        found = infer_renames(ours=others[symbol].pieces, theirs=unit.pieces)
        its, new = words(others[symbol].text), words(later[symbol].text)
        kept = {a: b for a, b in found.items() if a not in its and b not in new and a not in everywhere}
        if kept:
            local[symbol] = kept
    return OwnNames(everywhere, local)


def _single(source: bytes) -> dict[str, Unit]:
    """The named units that a file has once."""
    units = parse(source).units
    times = Counter(unit.symbol for unit in units)
    return {unit.symbol: unit for unit in units if unit.symbol and times[unit.symbol] == 1}


def with_own_names(source: bytes, names: OwnNames) -> bytes:
    r"""A source with the fork's names in it; strings, comments and layout stay.

    >>> with_own_names(b'is_recr(1); // is_recr\n', OwnNames({"is_recr": "is_recurrent"}, {}))
    b'is_recurrent(1); // is_recr\n'
    """
    edits = [(start, end, names.everywhere[token]) for start, end, token in token_spans(source)
             if token in names.everywhere]  # fmt: skip
    for symbol, unit in _single(source).items():
        if symbol in names.local:
            edits += ((unit.start + a, unit.start + b, new) for a, b, new in _locals(unit.text, names.local[symbol]))
    for start, end, new in sorted(edits, reverse=True):
        source = source[:start] + new.encode() + source[end:]
    return source


def _locals(text: bytes, names: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    spans = list(token_spans(text))
    for at, (start, end, token) in enumerate(spans):
        before = spans[at - 1][2] if at else ""
        behind = spans[at + 1][2] if at + 1 < len(spans) else ""
        if token in names and before not in _MEMBER and behind not in _CALLED:
            yield start, end, names[token]


# -- functions that live elsewhere ---------------------------------------------------------------------


def unit_around(source: bytes, first: int, last: int) -> Unit | None:
    """The named unit that holds the lines `first` to `last` (from 0, `last` not included), wholly."""
    for unit in parse(source).units:
        start = source.count(b"\n", 0, unit.start)
        end = start + unit.text.rstrip(b"\n").count(b"\n") + 1
        if unit.symbol and start <= first and max(last, first + 1) <= end:
            return unit
    return None


def only_unit(source: bytes, symbol: str) -> Unit | None:
    """The unit of this name, where a file has exactly one."""
    return _single(source).get(symbol)
