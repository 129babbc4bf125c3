"""Where each key of a TOML text stands, so that an error about a value can name its line."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

KeyPath = tuple[str | int, ...]
"""Keys and list positions from the top of the document: `("accept", 0, "until")`."""


NO_TOML = (ValueError, RecursionError)
"""What `tomllib.loads` raises: for bad TOML, a number of thousands of digits, lists in lists in lists."""


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) on which each table, key and array item of a valid TOML text begins.

    >>> key_lines("[fork]\\npath = 'x'\\n[[accept]]\\nid = 'a'\\n")[("accept", 0, "id")]
    4
    """
    lines: dict[KeyPath, int] = {}
    prefix: KeyPath = ()
    for number, statement in _statements(text):
        document = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            prefix = _header(document, lines)
            _record(prefix, number, lines)
            continue
        for path in _paths(document):
            _record(prefix + path, number, lines)
    return lines


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of a path, or of the nearest table around it; 1 where nothing of it is written."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Headers and assignments one by one: the fewest lines that are TOML by themselves."""
    begin, held = 1, ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not held:
            begin = number
        held += line + "\n"
        try:
            tomllib.loads(held)
        except tomllib.TOMLDecodeError:
            continue
        yield begin, held
        held = ""


def _record(path: KeyPath, number: int, lines: dict[KeyPath, int]) -> None:
    for length in range(1, len(path) + 1):
        lines.setdefault(path[:length], number)


def _header(document: Mapping[str, Any], lines: Mapping[KeyPath, int]) -> KeyPath:
    """The path that a `[a.b]` or `[[a]]` line opens; the items of an array of tables are counted on."""
    path: KeyPath = ()
    value: Any = document
    while isinstance(value, (dict, list)) and value:
        if isinstance(value, dict):
            key, value = next(iter(value.items()))
            path += (key,)
        else:
            path += (_items(path, lines),)
            value = value[0]
    return _through_arrays(path, lines)


def _items(path: KeyPath, lines: Mapping[KeyPath, int]) -> int:
    return sum(1 for known in lines if len(known) == len(path) + 1 and known[:-1] == path)


def _through_arrays(path: KeyPath, lines: Mapping[KeyPath, int]) -> KeyPath:
    """`[accept.extra]` under an array of tables belongs to the array's newest item."""
    walked: KeyPath = ()
    for key in path:
        newest = _items(walked, {p: n for p, n in lines.items() if p and isinstance(p[-1], int)}) - 1
        if newest >= 0 and isinstance(key, str):
            walked += (newest,)
        walked += (key,)
    return walked


def _paths(value: Any) -> Iterator[KeyPath]:
    pairs: Iterator[tuple[str | int, Any]]
    if isinstance(value, dict):
        pairs = iter(value.items())
    elif isinstance(value, list):
        pairs = iter(enumerate(value))
    else:
        return
    for key, inner in pairs:
        yield (key,)
        yield from ((key, *rest) for rest in _paths(inner))
