"""Python source as the same units and pieces that `forkguard.core.syntax` cuts C++ into.

llama.cpp's Python side lists archs too: `MODEL_ARCH`, the tables keyed by it, and the converters.
"""

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from forkguard.core.pieces import Piece, PieceKind
from forkguard.core.syntax import SourceFile, Unit

_TOKEN = re.compile(
    rb"""
    (?P<comment>\#[^\n]*)
  | (?P<token>[rRbBuUfF]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      |[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\d[\w.]*|[-+*/%@&|^=<>!]=|\*\*|//|->|:=|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(rb"\r\n|\n|\r")
"""Python counts a lone carriage return as the end of a line."""
_Compound = ast.If | ast.For | ast.AsyncFor | ast.While | ast.With | ast.AsyncWith | ast.Try | ast.Match
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Located = ast.stmt | ast.expr | ast.excepthandler


def python_tokens(source: bytes) -> tuple[str, ...]:
    """The words of a stretch of Python, without comments; an arch is named the same with or without its package.

    >>> python_tokens(b'model_arch = gguf.MODEL_ARCH.LFM2  # why')
    ('model_arch', '=', 'MODEL_ARCH.LFM2')
    """
    found = (token.decode("utf-8", "replace") for _, token in _TOKEN.findall(source) if token)
    return tuple(word[word.find("MODEL_ARCH.") :] if "MODEL_ARCH." in word else word for word in found)


@dataclass(frozen=True)
class PythonUnit(Unit):
    """A function, a class or another top-level statement of a Python file; its pieces are cut when it is made."""

    cut: tuple[Piece, ...] = ()

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the unit, in source order."""
        return self.cut


@lru_cache(maxsize=1024)
def parse_python(source: bytes) -> SourceFile:
    """Parse one file; what Python cannot parse has no units, and the file counts as broken."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes: they are the author's business
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last for what is nested too deep
        return SourceFile(source, (), None, broken=True)
    return SourceFile(source, tuple(_Cutter(source).units(tree.body, ())), None, broken=False)


class _Cutter:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._starts = (0, *(match.end() for match in _LINE_END.finditer(source)))

    def units(self, body: Sequence[ast.stmt], outer: tuple[str, ...]) -> Iterator[Unit]:
        for node in body:
            name = _name(node)
            symbol = ".".join((*outer, name)) if name else ".".join(outer)
            start, end = self._span(node)
            yield PythonUnit(symbol, None, self._source, start, end, tuple(self._pieces(node, symbol)))
            if isinstance(node, ast.ClassDef):
                members = [part for part in node.body if isinstance(part, _Function | ast.ClassDef)]
                yield from self.units(members, (*outer, node.name))

    def _pieces(self, node: ast.stmt, symbol: str) -> Iterator[Piece]:
        if isinstance(node, ast.ClassDef):
            yield self._piece(PieceKind.HEADER, symbol, self._span(node)[0], self._span(node.body[0])[0])
            for part in node.body:
                if not isinstance(part, _Function | ast.ClassDef):
                    yield from self._statement(part, symbol, entry=True)
        elif isinstance(node, _Function):
            yield self._piece(PieceKind.HEADER, symbol, self._span(node)[0], self._span(node.body[0])[0])
            for part in node.body:
                yield from self._statement(part, symbol, entry=False)
        else:
            yield from self._statement(node, symbol, entry=False)

    def _statement(self, node: ast.stmt, symbol: str, *, entry: bool) -> Iterator[Piece]:
        value = getattr(node, "value", None)
        start, end = self._span(node)
        if isinstance(value, ast.Dict) and value.keys:
            yield self._piece(PieceKind.HEADER, symbol, start, self._span(value)[0])
            yield from self._items(value, symbol)
        elif isinstance(node, _Compound):
            yield from self._compound(node, symbol, entry=entry)
        else:
            kind = PieceKind.ENTRY if entry and isinstance(node, ast.Assign | ast.AnnAssign) else PieceKind.STATEMENT
            yield self._piece(kind, symbol, start, end)

    def _compound(self, node: _Compound | ast.ExceptHandler, symbol: str, *, entry: bool) -> Iterator[Piece]:
        """The head of a compound statement, and its parts."""
        start, end = self._span(node)
        inner = [part for field in ("body", "handlers", "orelse", "finalbody") for part in getattr(node, field, [])]
        first = min((self._span(part)[0] for part in inner), default=end)
        yield self._piece(PieceKind.HEADER, symbol, start, first)
        for part in inner:
            if isinstance(part, ast.ExceptHandler):
                yield from self._compound(part, symbol, entry=entry)
            else:
                yield from self._statement(part, symbol, entry=entry)

    def _items(self, table: ast.Dict, symbol: str) -> Iterator[Piece]:
        """The entries of a table; a list behind a key gives one piece for each element, headed by the key."""
        for key, value in zip(table.keys, table.values, strict=True):
            start, end = self._span(key or value)[0], self._span(value)[1]
            if key is not None and isinstance(value, ast.List) and value.elts:
                head = python_tokens(self._text(key))
                yield self._piece(PieceKind.ENTRY, symbol, *self._span(key))
                for element in value.elts:
                    piece = self._piece(PieceKind.ENTRY, symbol, *self._span(element))
                    yield Piece(piece.kind, symbol, (*head, ":", *piece.tokens), "", piece.start, piece.end,
                                piece.line, piece.last)  # fmt: skip
            else:
                yield self._piece(PieceKind.ENTRY, symbol, start, end)

    def _piece(self, kind: PieceKind, symbol: str, start: int, end: int) -> Piece:
        end = start + len(self._source[start:end].rstrip())
        line, last = self._line(start), self._line(max(start, end - 1))
        return Piece(kind, symbol, python_tokens(self._source[start:end]), "", start, end, line, last)

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def _text(self, node: _Located) -> bytes:
        start, end = self._span(node)
        return self._source[start:end]

    def _span(self, node: _Located) -> tuple[int, int]:
        """The byte offsets of a node, decorators included."""
        first: _Located = node
        if isinstance(node, _Function | ast.ClassDef) and node.decorator_list:
            first = node.decorator_list[0]
        start = self._starts[first.lineno - 1] + first.col_offset - (0 if first is node else 1)
        end = self._starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        return start, end


def _name(node: ast.stmt) -> str:
    if isinstance(node, _Function | ast.ClassDef):
        return node.name
    target = (
        node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
    )
    return target.id if isinstance(target, ast.Name) else ""
