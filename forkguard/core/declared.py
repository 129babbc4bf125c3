"""Which names a piece of C or C++ declares, as far as its tokens show it."""

from collections.abc import Sequence

_NO_TYPE = frozenset(
    {
        "return", "case", "goto", "else", "new", "delete", "throw", "sizeof", "co_return", "co_yield", "do", "in",
        "not", "and", "or", "using", "namespace", "typename",
    }
)  # fmt: skip
_BEHIND = frozenset({"=", ";", ",", ")", "[", "{", ":"})
_STARTS = frozenset({";", "{", "}"})
_STARS = frozenset({"*", "&", "&&"})


def declared(tokens: Sequence[str]) -> frozenset[str]:
    """The names that stand behind a type, or behind a type and stars at the start of a statement or a parameter.

    Where it could be a product as well (`f(a * b)`), it is no declaration.

    >>> sorted(declared(["float", "*", "x", "=", "y", ";", "int", "n", ";", "return", "m", ";"]))
    ['n', 'x']
    """
    found = set()
    for at in range(1, len(tokens) - 1):
        name, behind = tokens[at], tokens[at + 1]
        if not name.isidentifier() or behind not in _BEHIND:
            continue
        front = tokens[at - 1]
        if front.isidentifier() or front == ">":
            if front not in _NO_TYPE and name not in _NO_TYPE:
                found.add(name)
        elif front in _STARS and _is_type(tokens, at - 1) and behind in {"=", ";", ",", ")"}:
            found.add(name)
    return frozenset(found)


def _is_type(tokens: Sequence[str], at: int) -> bool:
    """Whether a run of stars ending at `at` belongs to a type: what begins the statement, or a `const` one."""
    while at >= 0 and tokens[at] in _STARS:
        at -= 1
    if at < 0 or not (tokens[at].isidentifier() or tokens[at] == ">") or tokens[at] in _NO_TYPE:
        return False
    before = tokens[at - 1] if at else ";"
    return before in {"const", "struct", "::"} or before in _STARTS
