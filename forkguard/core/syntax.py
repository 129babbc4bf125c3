"""C++ source as units (functions, types, tables) made of pieces (statements, cases, comparisons, entries).

A piece is what drift compares: its tokens without white space and comments, and where it stands. Sources
are read as bytes and never refused: where tree-sitter gives an error node, what is inside it is read all
the same.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

LANGUAGE = Language(tree_sitter_cpp.language())

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


@dataclass(frozen=True)
class Unit:
    """A function, a type, a table or another top-level declaration of one file.

    `symbol` is its qualified name without template arguments (empty for directives and the like), `start` and
    `end` are byte offsets. `node` is its syntax tree; other languages than C++ have none.
    """

    symbol: str
    node: Node | None
    source: bytes
    start: int
    end: int

    @property
    def text(self) -> bytes:
        """The source of the whole unit."""
        return self.source[self.start : self.end]

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces of the unit, in source order."""
        if self.node is None:
            return ()
        walk = _Walk(self.source, self.symbol)
        try:
            return tuple(walk.node(self.node))
        except RecursionError:  # nested deeper than our stack: the unit is one piece
            return (walk.whole(self.node),)

    @cached_property
    def root(self) -> str:
        """The first part of the symbol: the class, for a member function."""
        return self.symbol.partition("::")[0]

    @cached_property
    def enumerators(self) -> frozenset[str]:
        """The archs and speculative types that the unit names anywhere."""
        return frozenset(ENUMERATOR.findall(self.text.decode("utf-8", "replace")))

    @cached_property
    def entries(self) -> tuple[tuple[Piece, frozenset[str]], ...]:
        """The cases, comparisons and table entries of the unit that enumerate, each with what it names."""
        listed = (piece for piece in self.pieces if piece.kind in ENTRY_KINDS) if self.enumerators else ()
        return tuple((piece, frozenset(names)) for piece in listed if (names := piece.enumerators))

    @cached_property
    def captured(self) -> dict[str, tuple[Piece, ...]]:
        """What queries found in the unit, by the text of the query; `forkguard.core.rules` fills it."""
        return {}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All tokens of the unit: equal words mean that nothing but white space and comments differs."""
        return tokens_of(self.text)


@dataclass(frozen=True)
class SourceFile:
    """One parsed file. `broken` tells that tree-sitter met something that it could not read."""

    source: bytes
    units: tuple[Unit, ...]
    root: Node | None
    broken: bool

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines without their ends, decoded for showing."""
        return tuple(line.rstrip("\r") for line in self.source.decode("utf-8", "replace").split("\n"))

    @cached_property
    def naming(self) -> dict[str, tuple[Unit, ...]]:
        """Each enumerator to the units that name it."""
        found: dict[str, list[Unit]] = {}
        for unit in self.units:
            for name in unit.enumerators:
                found.setdefault(name, []).append(unit)
        return {name: tuple(units) for name, units in found.items()}


@lru_cache(maxsize=64)
def line_starts(source: bytes) -> tuple[int, ...]:
    """The offset at which each line begins."""
    return (0, *(match.end() for match in re.finditer(rb"\n", source)))


@lru_cache(maxsize=4096)
def parse(source: bytes) -> SourceFile:
    """Parse one file; the same bytes are parsed once."""
    root = Parser(LANGUAGE).parse(source).root_node
    try:
        units = tuple(_units(root, source, ()))
    except RecursionError:  # nested deeper than our stack: the file is one unit
        units = (_unit("", root, source),)
    return SourceFile(source, units, root, _unreadable(root))


def _unreadable(node: Node) -> bool:
    """Whether something below the node was read as an error. A token that is only missing does no harm.

    (tree-sitter misses a name in each explicit instantiation, `template struct x::graph<true>;`.)
    """
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.is_error:
            return True
        waiting += [child for child in one.children if child.has_error]
    return False


def verbatim(source: bytes, start: int, end: int) -> str:
    """The source between two offsets as a person would quote it: whole lines lose their common indent."""
    text = source[start:end].decode("utf-8", "replace").replace("\r\n", "\n")
    head, *rest = text.split("\n")
    if not rest:
        return head
    margin = start - (source.rfind(b"\n", 0, start) + 1)
    return "\n".join([head, *(line[margin:] if not line[:margin].strip() else line.lstrip() for line in rest)])


# -- units ---------------------------------------------------------------------------------------------

_TRANSPARENT = {"translation_unit", "linkage_specification", "declaration_list", "template_declaration", "ERROR",
                "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "field_declaration_list",
                "namespace_definition"}  # fmt: skip
_TYPES = {"struct_specifier", "class_specifier", "union_specifier"}


def _units(node: Node, source: bytes, outer: tuple[str, ...]) -> Iterator[Unit]:
    for child in node.named_children:
        kind = child.type
        if kind in _TRANSPARENT:
            yield from _units(child, source, outer)
        elif kind == "function_definition":
            yield _unit(_qualified(child.child_by_field_name("declarator"), source, outer), child, source)
        elif (body := _type_body(child)) is not None:
            name = _type_name(child, source)
            inner = (*outer, name) if name else outer
            yield _unit("::".join(inner), child, source)
            yield from _units(body, source, inner)
        elif kind != "comment":
            yield _unit(_declared(child, source, outer), child, source)


def _unit(symbol: str, node: Node, source: bytes) -> Unit:
    return Unit(symbol, node, source, node.start_byte, node.end_byte)


def _type_body(node: Node) -> Node | None:
    """The member list of a struct or class definition (also behind a declaration), else None."""
    holder = node if node.type in _TYPES else node.child_by_field_name("type")
    if holder is None or holder.type not in _TYPES:
        return None
    return holder.child_by_field_name("body")


def _type_name(node: Node, source: bytes) -> str:
    holder = node if node.type in _TYPES else node.child_by_field_name("type")
    name = holder.child_by_field_name("name") if holder is not None else None
    return plain_name(source[name.start_byte : name.end_byte]) if name is not None else ""


def plain_name(name: bytes) -> str:
    """A qualified name without template arguments and white space.

    >>> plain_name(b"llama_model_x::graph<iswa> ::graph")
    'llama_model_x::graph::graph'
    """
    text = re.sub(r"\s+", "", name.decode("utf-8", "replace"))
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text


def _qualified(declarator: Node | None, source: bytes, outer: tuple[str, ...]) -> str:
    while declarator is not None and declarator.type not in _NAMES:
        inner = declarator.child_by_field_name("declarator")
        declarator = inner if inner is not None else next(iter(declarator.named_children), None)
    name = plain_name(source[declarator.start_byte : declarator.end_byte]) if declarator is not None else ""
    return "::".join((*outer, name))


def _declared(node: Node, source: bytes, outer: tuple[str, ...]) -> str:
    """The name that a declaration, enumeration or alias introduces; empty for directives."""
    if node.type in {"declaration", "field_declaration"}:
        declarator = node.child_by_field_name("declarator")
        kind = node.child_by_field_name("type")
        if kind is not None and kind.type == "enum_specifier":
            return _declared(kind, source, outer)
        return _qualified(declarator, source, outer) if declarator is not None else "::".join(outer)
    name = node.child_by_field_name("name")
    if name is not None and not node.type.startswith("preproc"):
        return "::".join((*outer, plain_name(source[name.start_byte : name.end_byte])))
    return "::".join(outer)


# -- pieces --------------------------------------------------------------------------------------------

_SEQUENCES = {"compound_statement", "else_clause", "ERROR", "case_statement", "try_statement", "catch_clause",
              "labeled_statement", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"}  # fmt: skip
_NAMES = {"identifier", "qualified_identifier", "field_identifier", "destructor_name", "operator_name",
          "template_function"}  # fmt: skip
_LOOPS = {"for_statement", "while_statement", "do_statement", "for_range_loop"}
_SHORT_LIST = 2
"""An initializer of so many elements is one piece; a longer one is a table, and each element a piece."""


class _Walk:
    """Cuts one unit into pieces, carrying the loops and branches around the current place."""

    def __init__(self, source: bytes, symbol: str) -> None:
        self._source = source
        self._symbol = symbol
        self._loops: tuple[str, ...] = ()
        self._guards: tuple[str, ...] = ()

    def whole(self, node: Node) -> Piece:
        """A node as one piece, whatever is inside it."""
        return Piece(PieceKind.STATEMENT, self._symbol, tokens_of(self._source[node.start_byte : node.end_byte]), "",
                     node.start_byte, node.end_byte, node.start_point[0] + 1, node.end_point[0] + 1)  # fmt: skip

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
        elif _type_body(node) is not None:
            yield from self._type(node)
        else:
            yield from self._leaf(node)

    def _children(self, node: Node) -> Iterator[Piece]:
        for child in node.named_children:
            yield from self.node(child)

    def _type(self, node: Node) -> Iterator[Piece]:
        """The head of a type and those members that are no units of their own."""
        body = _type_body(node)
        assert body is not None  # noqa: S101
        yield self._piece(PieceKind.HEADER, node.start_byte, body.start_byte)

    def _leaf(self, node: Node) -> Iterator[Piece]:
        """A statement or declaration: whole, or cut at the bodies and lists inside it."""
        body = _first_body(node) if b"{" in self._source[node.start_byte : node.end_byte] else None
        if body is None:
            yield from self._comparisons(node, outcome="")
            yield self._piece(
                PieceKind.STATEMENT, node.start_byte, node.end_byte, without=_chains(node, self._source)
            )
        elif body.type in {"initializer_list", "enumerator_list"}:
            yield self._piece(PieceKind.HEADER, node.start_byte, body.start_byte)
            yield from self._entries(body)
        else:
            yield self._piece(PieceKind.HEADER, node.start_byte, body.start_byte)
            yield from self._children(body)

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


def _first_body(node: Node) -> Node | None:
    """The first function body, lambda body or table inside a statement, where it is to be cut."""
    for child in node.named_children:
        if child.type in {"compound_statement", "enumerator_list"}:
            return child
        if (
            child.type == "initializer_list"
            and node.type == "init_declarator"
            and child.named_child_count > _SHORT_LIST
        ):
            return child
        if child.type not in {"comment", "parameter_list", "template_parameter_list", "base_class_clause"}:
            found = _first_body(child)
            if found is not None:
                return found
    return None


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
