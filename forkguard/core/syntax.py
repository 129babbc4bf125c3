"""C++ source as units: functions, types, tables, each of which is made of pieces (`forkguard.core.pieces`).

Sources are read as bytes and never refused: where tree-sitter gives an error node, what is inside it is read all
the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from forkguard.core.pieces import ENTRY_KINDS, ENUMERATOR, TYPES, Piece, pieces_of, tokens_of, type_body

LANGUAGE = Language(tree_sitter_cpp.language())


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
        return pieces_of(self.node, self.source, self.symbol) if self.node is not None else ()

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
_NAMES = {"identifier", "qualified_identifier", "field_identifier", "destructor_name", "operator_name",
          "template_function"}  # fmt: skip


def _units(node: Node, source: bytes, outer: tuple[str, ...]) -> Iterator[Unit]:
    for child in node.named_children:
        kind = child.type
        if kind in _TRANSPARENT:
            yield from _units(child, source, outer)
        elif kind == "function_definition":
            yield _unit(_qualified(child.child_by_field_name("declarator"), source, outer), child, source)
        elif (body := type_body(child)) is not None:
            name = _type_name(child, source)
            inner = (*outer, name) if name else outer
            yield _unit("::".join(inner), child, source)
            yield from _units(body, source, inner)
        elif kind != "comment":
            yield _unit(_declared(child, source, outer), child, source)


def _unit(symbol: str, node: Node, source: bytes) -> Unit:
    return Unit(symbol, node, source, node.start_byte, node.end_byte)


def _type_name(node: Node, source: bytes) -> str:
    holder = node if node.type in TYPES else node.child_by_field_name("type")
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
