"""What two sides add to one list of a Python source: entries of dicts, sets, lists and tuples, enum members, imports.

Only whole entries that stand on lines of their own are read; everything else is no list.
"""

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_QUIET = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_MEMBER = re.compile(r"([ \t]+)([A-Za-z_]\w*)[ \t]*=[ \t]*(?:enum\.)?auto\(\)[ \t]*(?:#.*)?")
_ENUM = re.compile(r"([ \t]*)class\s+\w+\s*\(.*Enum.*\)\s*:\s*(?:#.*)?")
_IMPORT = re.compile(r"(?:import [\w.]+(?: as \w+)?|from [\w.]+ import \w+(?: as \w+)?)[ \t]*(?:#.*)?")


@dataclass(frozen=True, slots=True)
class PythonEntry:
    """One whole entry: what it is found by, its tokens, its lines."""

    key: str
    tokens: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """A line's tokens (line from 0, where the last of them ends)."""

    text: str
    start: int
    end: int


def python_entries(lines: Sequence[str], above: Sequence[str]) -> tuple[str, list[PythonEntry]]:
    """What kind of list the lines stand in, and its entries; none where they are no whole entries of a list.

    `above` are the lines of the file in front of them.

    >>> python_entries(['    "b": 2,\\n'], ["x = {\\n", '    "a": 1,\\n'])[1][0].key
    '"b"'
    """
    rows = _rows([*above, *lines])
    if rows is None:
        return "", []
    first = len(above)
    before = [row for row in rows if row.end < first]
    inside = [row for row in rows if row.start >= first]
    if len(before) + len(inside) != len(rows):
        return "", []
    opener = _open(before)
    if opener is None:
        return "", []
    if opener == -1:
        return _statements(lines, above)
    bracket = before[opener].text
    called = opener > 0 and (before[opener - 1].text in _PAIRS or before[opener - 1].text.isidentifier())
    if before[-1].text not in {",", bracket} or (bracket != "{" and called):
        return "", []
    keyed = bracket == "{"
    there = {_key([row.text for row in part[:-1]], keyed=keyed) for part in _parts(before[opener + 1 :])}
    found = _elements(lines, inside, first=first, keyed=keyed)
    return "table", [] if any(entry.key in there for entry in found) else found


def _rows(lines: Sequence[str]) -> list[_Row] | None:
    """The tokens that mean something; None where the lines are no Python (a string that does not end, say)."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            if token.type == tokenize.ERRORTOKEN and token.string.strip():
                return None
            if token.type not in _QUIET and token.string.strip():
                found.append(_Row(token.string, token.start[0] - 1, token.end[0] - 1))
    except tokenize.TokenError as problem:
        return found if "multi-line statement" in str(problem) else None
    except SyntaxError:
        return None
    return found


def _open(rows: Sequence[_Row]) -> int | None:
    """The bracket that is open behind these tokens, by its place; -1 where none is, None where they do not match."""
    stack: list[int] = []
    for at, row in enumerate(rows):
        if row.text in _PAIRS.values():
            stack.append(at)
        elif row.text in _PAIRS and (not stack or rows[stack.pop()].text != _PAIRS[row.text]):
            return None
    return stack[-1] if stack else -1


def _elements(lines: Sequence[str], rows: Sequence[_Row], *, first: int, keyed: bool) -> list[PythonEntry]:
    found: list[PythonEntry] = []
    began = 0
    for part in _parts(rows):
        end = part[-1].end - first + 1
        beside = any(row.start - first == end - 1 for row in rows if row not in part)
        alone = part[0].start - first >= began and not beside
        key = _key([row.text for row in part[:-1]], keyed=keyed)
        if part[-1].text != "," or not alone or not key:
            return []
        found.append(PythonEntry(key, tuple(row.text for row in part), tuple(lines[began:end])))
        began = end
    return [] if any(line.strip() for line in lines[began:]) else found


def _parts(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """The tokens of each element, with the comma behind it."""
    part: list[_Row] = []
    depth = 0
    for row in rows:
        part.append(row)
        depth += (row.text in _PAIRS.values()) - (row.text in _PAIRS)
        if depth == 0 and row.text == ",":
            yield part
            part = []
    if part:
        yield part


def _key(tokens: Sequence[str], *, keyed: bool) -> str:
    """What an element is found by; "" for one that is no entry of a registry (a computed value, a spread)."""
    depth = 0
    for at, word in enumerate(tokens):
        depth += (word in _PAIRS.values()) - (word in _PAIRS)
        if keyed and depth == 0 and word == ":":
            return "".join(tokens[:at]) if at + 1 < len(tokens) and _plain(tokens[:at]) else ""
    return "".join(tokens) if _plain(tokens) else ""


def _plain(tokens: Sequence[str]) -> bool:
    """A name, with dots or without, or one string."""
    if len(tokens) == 1 and tokens[0][-1:] in {'"', "'"}:
        return tokens[0][0].lower() != "f"
    return len(tokens) % 2 == 1 and all(
        word == "." if at % 2 else word.isidentifier() for at, word in enumerate(tokens)
    )


# -- statements ----------------------------------------------------------------------------------------


def _statements(lines: Sequence[str], above: Sequence[str]) -> tuple[str, list[PythonEntry]]:
    texts = [line.rstrip("\r\n") for line in lines]
    full = [(text, line) for text, line in zip(texts, lines, strict=True) if text.strip()]
    if full and all(_IMPORT.fullmatch(text) for text, _ in full):
        words = [text.partition("#")[0].strip() for text, _ in full]
        return "import list", [
            PythonEntry(word, (word,), (line,)) for word, (_, line) in zip(words, full, strict=True)
        ]
    members = [_MEMBER.fullmatch(text) for text, _ in full]
    indents = {match[1] for match in members if match}
    if not full or not all(members) or len(indents) != 1 or not _in_enum(above, indents.pop()):
        return "", []
    return "enumeration", [
        PythonEntry(match[2], (match[2],), (line,)) for match, (_, line) in zip(members, full, strict=True) if match
    ]


def _in_enum(above: Sequence[str], indent: str) -> bool:
    """Whether a line of this indent behind `above` is in the body of an enum class, behind its header or a member."""
    full = [line.rstrip("\r\n") for line in above if line.strip() and not line.strip().startswith("#")]
    for text in reversed(full):
        if _MEMBER.fullmatch(text) and text.startswith(indent) and not text[len(indent)].isspace():
            continue
        match = _ENUM.fullmatch(text)
        return match is not None and indent.startswith(match[1]) and len(indent) > len(match[1])
    return False
