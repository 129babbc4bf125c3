"""Pieces of C++ source: statements, headers, cases, comparisons, entries; what drift compares.

A piece is its tokens, without white space and comments, and where it stands.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from tree_sitter import Node

_TOKEN = re.compile(
    rb"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<token>R"(?P<raw>[^()\s\\]{0,16})\(.*?\)(?P=raw)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'
      |[A-Za-z_]\w*|\.?\d(?:[\w.']|(?<=[eEpP])[+-])*
      |->\*?|::|<<=?|>>=|<=>|[-+*/%&|^!=<>]=|\+\+|--|&&|\|\||\.\.\.|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
ENUMERATOR = re.compile(r"\b(?:LLM_ARCH|COMMON_SPECULATIVE_TYPE)_[A-Z0-9_]+\b|\bMODEL_ARCH\.[A-Z0-9_]+\b")
"""Names that registries enumerate: archs, and the types of speculative decoding."""
_ENUMERATES = re.compile(ENUMERATOR.pattern.encode())


class PieceKind(StrEnum):
    """What sort of thing a piece is."""

    STATEMENT = "statement"
    HEADER = "header"  # of a loop, a branch, a lambda, a function
    CASE = "case"
    COMPARISON = "comparison"
    ENTRY = "entry"  # of a table or an enumeration
    INCLUDE = "include"


ENTRY_KINDS = frozenset({PieceKind.CASE, PieceKind.COMPARISON, PieceKind.ENTRY})


@dataclass(frozen=True, slots=True)
class Piece:
    """One comparable piece of source.

    `tokens` are its words. `outcome` is what a case or a comparison leads to (the statement behind it),
    empty for others. `start` and `end` are byte offsets, `line` and `last` line numbers from 1, both
    included. `loops` are the headers of the loops around it and `guards` those of the branches.
    """

    kind: PieceKind
    symbol: str
    tokens: tuple[str, ...]
    outcome: str
    start: int
    end: int
    line: int
    last: int
    loops: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The tokens, one space apart."""
        return " ".join(self.tokens)

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two pieces of one unit the same, wherever in it they stand."""
        return (self.kind, self.text, self.outcome)

    @property
    def enumerators(self) -> tuple[str, ...]:
        """The archs and speculative types that the piece names."""
        return tuple(ENUMERATOR.findall(self.text))


def tokens_of(source: bytes) -> tuple[str, ...]:
    """The words of a stretch of C++, without comments.

    >>> tokens_of(b'a->b [ 2 ] /* x */ = "s t";')
    ('a', '->', 'b', '[', '2', ']', '=', '"s t"', ';')
    """
    found = [token for _, token, _ in _TOKEN.findall(source) if token]
    if b"\0" in source:  # then it cannot part the words
        return tuple(token.decode("utf-8", "replace") for token in found)
    return tuple(b"\0".join(found).decode("utf-8", "replace").split("\0")) if found else ()


def token_spans(source: bytes) -> Iterator[tuple[int, int, str]]:
    """The words of a stretch of C++ with the offsets of their first byte and of the one behind their last."""
    for match in _TOKEN.finditer(source):
        if (token := match.group("token")) is not None:
            yield match.start(), match.end(), token.decode("utf-8", "replace")


@lru_cache(maxsize=64)
def line_starts(source: bytes) -> tuple[int, ...]:
    """The offset at which each line begins."""
    return (0, *(match.end() for match in re.finditer(rb"\n", source)))


# -- cutting -------------------------------------------------------------------------------------------

TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier"})
"""The nodes of types that may have members."""

_SEQUENCES = {"compound_statement", "else_clause", "ERROR", "case_statement", "try_statement", "catch_clause",
              "labeled_statement", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"}  # fmt: skip
_LOOPS = {"for_statement", "while_statement", "do_statement", "for_range_loop"}
_LISTS = {"initializer_list", "enumerator_list"}
_WORD = re.compile(r"\w")
_SHORT_LIST = 2
"""An initializer of so many elements is one piece; a longer one is a table, and each element a piece."""


def pieces_of(node: Node, source: bytes, symbol: str) -> tuple[Piece, ...]:
    """The pieces of one unit of that name, in source order."""
    walk = _Walk(source, symbol)
    try:
        return tuple(walk.unit(node))
    except RecursionError:  # nested deeper than our stack: the unit is one piece
        return (walk.whole(node),)


def type_body(node: Node) -> Node | None:
    """The member list of a struct or class definition (also behind a declaration), else None."""
    holder = node if node.type in TYPES else node.child_by_field_name("type")
    if holder is None or holder.type not in TYPES:
        return None
    return holder.child_by_field_name("body")


class _Walk:
    """Cuts one unit into pieces, carrying the loops and branches around the current place."""

    def __init__(self, source: bytes, symbol: str) -> None:
        self._source = source
        self._symbol = symbol
        self._root: Node | None = None
        self._loops: tuple[str, ...] = ()
        self._guards: tuple[str, ...] = ()

    def whole(self, node: Node) -> Piece:
        """A node as one piece, whatever is inside it."""
        return Piece(PieceKind.STATEMENT, self._symbol, tokens_of(self._source[node.start_byte : node.end_byte]), "",
                     node.start_byte, node.end_byte, node.start_point[0] + 1, node.end_point[0] + 1)  # fmt: skip

    def unit(self, node: Node) -> Iterator[Piece]:
        """The pieces of a whole unit. Members of a type are units of their own; those of one inside it are not."""
        self._root = node
        yield from self.node(node)

    def node(self, node: Node) -> Iterator[Piece]:
        kind = node.type
        if kind == "comment":
            return
        if kind in _LOOPS:
            yield from self._loop(node)
        elif kind == "if_statement":
            yield from self._branch(node)
        elif kind == "switch_statement":
            yield from self._switch(node)
        elif kind in _SEQUENCES:
            yield from self._children(node)
        elif kind == "preproc_include":
            yield self._piece(PieceKind.INCLUDE, node.start_byte, node.end_byte)
        elif type_body(node) is not None:
            yield from self._type(node)
        else:
            yield from self._leaf(node)

    def _children(self, node: Node) -> Iterator[Piece]:
        for child in node.named_children:
            yield from self.node(child)

    def _type(self, node: Node) -> Iterator[Piece]:
        """The head of a type, those members that are no units of their own, and what the type is for."""
        body = type_body(node)
        assert body is not None  # noqa: S101
        yield self._piece(PieceKind.HEADER, node.start_byte, body.start_byte)
        if node != self._root:
            yield from self._children(body)
        yield from self._told(PieceKind.STATEMENT, body.end_byte, node.end_byte)

    def _leaf(self, node: Node) -> Iterator[Piece]:
        """A statement or declaration: whole, or cut at the bodies and lists inside it."""
        bodies = tuple(_bodies(node)) if b"{" in self._source[node.start_byte : node.end_byte] else ()
        if not bodies:
            yield from self._comparisons(node, outcome="")
            yield self._piece(
                PieceKind.STATEMENT, node.start_byte, node.end_byte, without=_chains(node, self._source)
            )
            return
        yield self._piece(PieceKind.HEADER, node.start_byte, bodies[0].start_byte)
        ends = (*(body.start_byte for body in bodies[1:]), node.end_byte)
        for body, end in zip(bodies, ends, strict=True):
            yield from self._entries(body) if body.type in _LISTS else self._children(body)
            yield from self._told(PieceKind.STATEMENT, body.end_byte, end)

    def _told(self, kind: PieceKind, start: int, end: int) -> Iterator[Piece]:
        """A stretch behind a body, from its first word on, if it has any."""
        piece = self._piece(kind, start, end)
        if any(_WORD.search(token) for token in piece.tokens):
            yield piece

    def _entries(self, body: Node) -> Iterator[Piece]:
        for entry in body.named_children:
            if entry.type == "comment":
                continue
            nested = [child for child in entry.named_children if child.type == "initializer_list"]
            if entry.type == "initializer_list" and nested and nested[0].named_child_count > _SHORT_LIST:
                yield self._piece(PieceKind.ENTRY, entry.start_byte, nested[0].start_byte)
                yield from self._entries(nested[0])
            else:
                yield self._piece(PieceKind.ENTRY, entry.start_byte, entry.end_byte)

    def _loop(self, node: Node) -> Iterator[Piece]:
        body = node.child_by_field_name("body")
        end = body.start_byte if body is not None else node.end_byte
        header = self._piece(PieceKind.HEADER, node.start_byte, end)
        yield header
        if body is not None:
            before, self._loops = self._loops, (*self._loops, header.text)
            yield from self.node(body)
            self._loops = before
            yield from self._told(PieceKind.HEADER, body.end_byte, node.end_byte)  # of do: its condition

    def _branch(self, node: Node) -> Iterator[Piece]:
        condition = node.child_by_field_name("condition")
        consequence = node.child_by_field_name("consequence")
        alternative = node.child_by_field_name("alternative")
        end = consequence.start_byte if consequence is not None else node.end_byte
        header = self._piece(PieceKind.HEADER, node.start_byte, end, without=_chains(condition, self._source))
        yield header
        if condition is not None:
            yield from self._comparisons(condition, outcome=self._outcome(consequence))
        before = self._guards
        for part, mark in ((consequence, ""), (alternative, "else of ")):
            if part is not None:
                self._guards = (*before, mark + header.text)
                yield from self.node(part)
        self._guards = before

    def _switch(self, node: Node) -> Iterator[Piece]:
        body = node.child_by_field_name("body")
        if body is None:
            yield from self._leaf(node)
            return
        yield self._piece(PieceKind.HEADER, node.start_byte, body.start_byte)
        waiting: list[Node] = []
        for child in body.named_children:
            if child.type != "case_statement":
                yield from self.node(child)
                continue
            waiting.append(child)
            statements = [part for part in _case_body(child) if part.type != "comment"]
            if not statements:
                continue
            outcome = self._outcome(statements[0])
            yield from (self._case(label, outcome) for label in waiting)
            waiting.clear()
            before, self._guards = self._guards, (*self._guards, "case")
            for statement in statements:
                yield from self.node(statement)
            self._guards = before
        yield from (self._case(label, "") for label in waiting)

    def _case(self, node: Node, outcome: str) -> Piece:
        colon = next((child for child in node.children if child.type == ":"), None)
        end = colon.end_byte if colon is not None else node.end_byte
        return self._piece(PieceKind.CASE, node.start_byte, end, outcome=outcome)

    def _comparisons(self, node: Node, *, outcome: str) -> Iterator[Piece]:
        for part in _chains(node, self._source):
            yield self._piece(PieceKind.COMPARISON, part.start_byte, part.end_byte, outcome=outcome)

    def _outcome(self, node: Node | None) -> str:
        """The first statement that a case or a branch leads to, in tokens."""
        while node is not None and node.type == "compound_statement":
            node = next((child for child in node.named_children if child.type != "comment"), None)
        return " ".join(tokens_of(self._source[node.start_byte : node.end_byte])) if node is not None else ""

    def _piece(
        self, kind: PieceKind, start: int, end: int, *, outcome: str = "", without: tuple[Node, ...] = ()
    ) -> Piece:
        source = self._source
        end = start + len(source[start:end].rstrip())
        tokens = tokens_of(source[start:end]) if not without else self._tokens_around(start, end, without)
        starts = line_starts(source)
        line, last = bisect_right(starts, start), bisect_right(starts, max(start, end - 1))
        return Piece(kind, self._symbol, tokens, outcome, start, end, line, last, self._loops, self._guards)

    def _tokens_around(self, start: int, end: int, holes: tuple[Node, ...]) -> tuple[str, ...]:
        """The tokens of a stretch in which each enumerating comparison stands as one mark, chains as one."""
        words: list[str] = []
        for hole in holes:
            words += tokens_of(self._source[start : hole.start_byte])
            while words and words[-1] == "||":
                words.pop()
            if not words or words[-1] != "<enumerated>":
                words.append("<enumerated>")
            start = hole.end_byte
        return (*words, *tokens_of(self._source[start:end]))


def _case_body(node: Node) -> list[Node]:
    value = node.child_by_field_name("value")
    return [child for child in node.named_children if value is None or child.start_byte > value.start_byte]


def _bodies(node: Node) -> Iterator[Node]:
    """The function bodies, lambda bodies and tables inside a statement at which it is to be cut, in source order."""
    for child in node.named_children:
        long = child.named_child_count > _SHORT_LIST
        table = child.type == "initializer_list" and node.type == "init_declarator" and long
        if table or child.type in {"compound_statement", "enumerator_list"}:
            yield child
        elif child.type not in {"comment", "parameter_list", "template_parameter_list", "base_class_clause"}:
            yield from _bodies(child)


def _chains(node: Node | None, source: bytes) -> tuple[Node, ...]:
    """The alternatives of every `||` chain (or lone comparison) under `node` that compare with an enumerator."""
    if node is None or not _ENUMERATES.search(source, node.start_byte, node.end_byte):
        return ()
    if node.type == "binary_expression":
        operator = node.child_by_field_name("operator")
        kind = operator.type if operator is not None else ""
        if kind == "||":
            sides = [node.child_by_field_name("left"), node.child_by_field_name("right")]
            return tuple(found for side in sides for found in _chains(side, source))
        if kind in {"==", "!=", "&&"}:
            return (node,)
    if node.type in {"compound_statement", "lambda_expression"}:
        return ()
    return tuple(found for child in node.named_children for found in _chains(child, source))
