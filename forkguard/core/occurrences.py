"""What a source must not hold twice, each with its place: functions, types, rows, cases, statements of one block.

Read from the units and pieces of `forkguard.core.syntax` and `forkguard.core.pysource`; nothing is parsed here.
"""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum

from tree_sitter import Node

from forkguard.core.pieces import Piece, PieceKind, tokens_of, type_body
from forkguard.core.pysource import python_tokens
from forkguard.core.syntax import SourceFile, Unit


class What(StrEnum):
    """What it is that stands somewhere; the values are how messages and JSON call it."""

    FUNCTION = "function"
    TYPE = "type"
    VARIABLE = "variable"
    MEMBER = "member"
    DEFINE = "define"
    STATEMENT = "statement"
    ASSIGNMENT = "assignment"  # to one member or element, whatever the value
    CASE = "case"
    BRANCH = "branch"  # of a chain of `else if`s, by its condition
    COMPARISON = "comparison"
    ROW = "row"  # of a table, by its key
    ENTRY = "entry"  # of a list, as it stands
    ENUMERATOR = "enumerator"


@dataclass(frozen=True)
class Occurrence:
    """One of them. Equal `key`s are the same thing, wherever in the file; `row` is the key of a table's row.

    `end` and `last` (a line from 1, as `line`) take in what belongs to it: the statement behind a case.
    """

    what: What
    name: str
    key: tuple[str, ...]
    start: int
    end: int
    line: int
    last: int
    node: Node | None = None
    outcome: str = ""
    row: tuple[str, ...] | None = None


_LOOPS_AND_BRANCHES = frozenset({"if_statement", "else_clause"})
_TRIVIAL = frozenset({"break", "continue", "return", "goto", ";", "case", "default"})
_PLACES = frozenset({"compound_statement", "case_statement"})
_LISTS = frozenset({"initializer_list", "enumerator_list"})
_NAMED = re.compile(r"[A-Za-z_\"]")


def occurrences(file: SourceFile, symbols: AbstractSet[str]) -> Iterator[Occurrence]:
    """Everything of the kinds above: units of the whole file, pieces of the units called `symbols`."""
    for unit in file.units:
        found = _unit(unit) if unit.node is not None else _python_unit(unit)
        if found is not None:
            yield found
        if unit.symbol in symbols:
            yield from _inside(unit)


# -- units ---------------------------------------------------------------------------------------------


def _unit(unit: Unit) -> Occurrence | None:
    node = unit.node
    assert node is not None  # noqa: S101  (the caller saw it)
    scope = (*_namespaces(node), unit.symbol)
    if node.type == "function_definition":
        return _whole(unit, What.FUNCTION, (*scope, *_signature(node, unit.source)))
    if node.type in {"preproc_def", "preproc_function_def"}:
        name = _text(node.child_by_field_name("name"), unit.source)
        return _whole(unit, What.DEFINE, (name,), name=name)
    if type_body(node) is not None:
        return _whole(unit, What.TYPE, (*scope, *_head(node, unit.source))) if unit.symbol else None
    enum = node if node.type == "enum_specifier" else node.child_by_field_name("type")
    if enum is not None and enum.type == "enum_specifier" and enum.child_by_field_name("body") is not None:
        return _whole(unit, What.TYPE, (*scope, "enum")) if unit.symbol else None
    if node.type == "field_declaration" and unit.symbol:
        return _whole(unit, What.MEMBER, (*scope, *tokens_of(unit.text)))
    initialized = any(child.type == "init_declarator" for child in node.named_children)
    if node.type == "declaration" and unit.symbol and initialized:
        return _whole(unit, What.VARIABLE, scope)
    return None


def _python_unit(unit: Unit) -> Occurrence | None:
    """A function or class; what is decorated otherwise (a setter, an overload) is another."""
    decorators, mark, _ = re.split(rb"^\s*(?:async\s+)?(def|class)\b", unit.text, maxsplit=1, flags=re.MULTILINE) \
        if re.search(rb"^\s*(?:async\s+)?(?:def|class)\b", unit.text, re.MULTILINE) else (b"", b"", b"")  # fmt: skip
    if not mark:
        return None
    what = What.FUNCTION if mark == b"def" else What.TYPE
    return _whole(unit, what, (unit.symbol, *python_tokens(decorators)))


def _whole(unit: Unit, what: What, key: tuple[str, ...], *, name: str = "") -> Occurrence:
    node = unit.node
    template = node.parent if node is not None and node.parent is not None else None
    start = template.start_byte if template is not None and template.type == "template_declaration" else unit.start
    line = unit.source.count(b"\n", 0, start) + 1
    last = line + unit.source[start : unit.end].rstrip().count(b"\n")
    key = (what.value, *key)
    return Occurrence(what, name or unit.symbol, key, start, unit.end, line, last, node)


def _text(node: Node | None, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""


def _namespaces(node: Node) -> tuple[str, ...]:
    found = []
    while (node := node.parent) is not None:  # type: ignore[assignment]
        if node.type == "namespace_definition":
            name = node.child_by_field_name("name")
            found.append(name.text.decode("utf-8", "replace") if name is not None and name.text else "")
    return tuple(found)


def _head(node: Node, source: bytes) -> tuple[str, ...]:
    """The name of a type with its template arguments, and what it is a template of."""
    holder = node.child_by_field_name("type") or node
    name = holder.child_by_field_name("name") or node.child_by_field_name("name")
    return (*_template(node, source), *tokens_of(_text(name, source).encode()))


def _template(node: Node, source: bytes) -> tuple[str, ...]:
    parent = node.parent
    if parent is None or parent.type != "template_declaration":
        return ()
    return tokens_of(source[parent.start_byte : node.start_byte])


def _signature(node: Node, source: bytes) -> tuple[str, ...]:
    """The name with its template arguments and the types of the parameters: what tells overloads apart."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        inner = declarator.child_by_field_name("declarator")
        declarator = inner if inner is not None else next(iter(declarator.named_children), None)
    if declarator is None:
        return tokens_of(source[node.start_byte : node.end_byte])
    parameters = declarator.child_by_field_name("parameters")
    if parameters is None:
        return tokens_of(source[declarator.start_byte : declarator.end_byte])
    name = tokens_of(source[declarator.start_byte : parameters.start_byte])
    types = [token for each in parameters.named_children for token in (*_type_of(each, source), ",")]
    return (*_template(node, source), *name, "(", *types, ")",
            *tokens_of(source[parameters.end_byte : declarator.end_byte]))  # fmt: skip


def _type_of(parameter: Node, source: bytes) -> tuple[str, ...]:
    """A parameter without its name and its default."""
    if parameter.type == "comment":
        return ()
    default = parameter.child_by_field_name("default_value")
    end = default.start_byte if default is not None else parameter.end_byte
    name = parameter.child_by_field_name("declarator")
    while name is not None and name.type != "identifier":
        inner = name.child_by_field_name("declarator")
        name = inner if inner is not None else next(iter(name.named_children), None)
    cut = (name.start_byte, name.end_byte) if name is not None else (end, end)
    tokens = (*tokens_of(source[parameter.start_byte : cut[0]]), *tokens_of(source[cut[1] : end]))
    return tokens[:-1] if default is not None and tokens[-1:] == ("=",) else tokens


# -- pieces --------------------------------------------------------------------------------------------


def _inside(unit: Unit) -> Iterator[Occurrence]:
    function = unit.node is not None and unit.node.type == "function_definition"
    for piece in unit.pieces:
        if piece.kind in {PieceKind.STATEMENT, PieceKind.HEADER}:
            if function:
                yield from _statement(unit, piece)
        elif piece.kind is PieceKind.ENTRY:
            yield _entry(unit, piece)
        elif piece.kind is PieceKind.CASE:
            node = _climbed(unit, piece, {"case_statement"})
            end = node.end_byte if node is not None else piece.end
            yield _of_piece(What.CASE, piece, piece.tokens, node=node, end=end, source=unit.source)
        elif piece.kind is PieceKind.COMPARISON:
            node = _statement_node(unit, piece)
            yield _of_piece(What.COMPARISON, piece, (*piece.tokens, piece.outcome), node=node, source=unit.source)


def _of_piece(
    what: What, piece: Piece, tokens: tuple[str, ...], *, node: Node | None, source: bytes, end: int = 0
) -> Occurrence:
    key = (what.value, piece.symbol, *tokens)
    end = end or piece.end
    last = piece.line + source[piece.start : end].rstrip().count(b"\n")
    return Occurrence(what, " ".join(piece.tokens), key, piece.start, end, piece.line, last, node, piece.outcome)


def _statement(unit: Unit, piece: Piece) -> Iterator[Occurrence]:
    """A statement of a block, as a whole with all that is inside it; and what it assigns to."""
    node = _statement_node(unit, piece)
    if node is None or node.start_byte != piece.start or node.start_byte == unit.start:
        return
    if node.type == "if_statement":
        yield from _branch(unit, piece, node)
    tokens = tokens_of(unit.source[node.start_byte : node.end_byte])
    if not tokens or tokens[0] in _TRIVIAL or len(tokens) < 3:
        return
    yield _of_piece(What.STATEMENT, piece, tokens, node=node, end=node.end_byte, source=unit.source)
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
    if inner is not None and inner.type == "assignment_expression":
        left, sign = inner.child_by_field_name("left"), inner.child_by_field_name("operator")
        if left is not None and left.type in {"field_expression", "subscript_expression"} and sign is not None \
                and sign.type == "=":  # fmt: skip
            to = tokens_of(unit.source[left.start_byte : left.end_byte])
            yield _of_piece(What.ASSIGNMENT, piece, to, node=node, end=node.end_byte, source=unit.source)


def _branch(unit: Unit, piece: Piece, node: Node) -> Iterator[Occurrence]:
    """A condition with its lines up to the brace that ends them."""
    consequence = node.child_by_field_name("consequence")
    if consequence is not None:
        found = _of_piece(What.BRANCH, piece, piece.tokens, node=node, end=consequence.end_byte, source=unit.source)
        yield replace(found, last=max(found.line, found.last - 1))


def _entry(unit: Unit, piece: Piece) -> Occurrence:
    tokens = piece.tokens
    node = None
    if unit.node is not None:
        node = _climbed(unit, piece, frozenset())
        if node is not None and node.type == "enumerator":
            return _of_piece(What.ENUMERATOR, piece, tokens[:1], node=node, source=unit.source)
        row = _row_key(tokens)
    else:
        row = _python_row(unit, piece)
    found = _of_piece(What.ENTRY, piece, tokens, node=node, source=unit.source)
    return found if row is None else _with_row(found, row)


def _with_row(found: Occurrence, row: tuple[str, ...]) -> Occurrence:
    return Occurrence(What.ROW, found.name, found.key, found.start, found.end, found.line, found.last,
                      found.node, row=("row", found.key[1], *row))  # fmt: skip


def _row_key(tokens: tuple[str, ...]) -> tuple[str, ...] | None:
    """The first element of a row `{ KEY, ... }`, or what a designator names; None for what has no key."""
    if tokens[0] in {"[", "."} and "=" in tokens:
        return tokens[: tokens.index("=")]
    if tokens[0] != "{" or "," not in tokens or not _NAMED.match(tokens[1]):
        return None
    return tokens[1 : tokens.index(",")]


def _python_row(unit: Unit, piece: Piece) -> tuple[str, ...] | None:
    """The key of a dict's entry or the name of a class's attribute; None for an element of a list behind a key."""
    if python_tokens(unit.source[piece.start : piece.end]) != piece.tokens:
        return None
    ends = [piece.tokens.index(mark) for mark in (":", "=") if mark in piece.tokens]
    return piece.tokens[: min(ends)] if ends else piece.tokens


def _climbed(unit: Unit, piece: Piece, kinds: AbstractSet[str]) -> Node | None:
    """The outermost node that begins where the piece does, or the first of these kinds."""
    assert unit.node is not None  # noqa: S101  (the callers saw it)
    node = unit.node.descendant_for_byte_range(piece.start, piece.start + 1)
    while node is not None and node.type not in kinds:
        parent = node.parent
        if parent is None or parent.start_byte != piece.start:
            break
        node = parent
    return node


def _statement_node(unit: Unit, piece: Piece) -> Node | None:
    """The child of a block that holds the beginning of a piece."""
    assert unit.node is not None  # noqa: S101  (pieces of Python are never asked)
    node = unit.node.descendant_for_byte_range(piece.start, piece.start + 1)
    while node is not None and node.parent is not None and not _is_place(node.parent, node):
        node = node.parent
    return node


def _is_place(parent: Node, child: Node) -> bool:
    if parent.type in _PLACES or parent.type.startswith("preproc_") or parent.type == "else_clause":
        return True
    consequence = parent.child_by_field_name("consequence") or parent.child_by_field_name("body")
    return consequence == child and child.type != "compound_statement"


# -- places --------------------------------------------------------------------------------------------


def same_place(one: Occurrence, other: Occurrence) -> bool:
    """Whether two occurrences in one file meet: in one block, switch, list or scope, not in two arms of an `#if`.

    Blocks of two `if`s with the same condition, side by side, are the same; those of two loops are not.
    """
    if one.node is None or other.node is None:
        return True
    mine, yours = conditions(one.node), conditions(other.node)
    return (mine <= yours or yours <= mine) and place_of(one) == place_of(other)


def place_of(found: Occurrence) -> tuple[object, ...]:
    """The block, switch or list that it stands in, among those of one file; the same for all units, and in Python."""
    node = found.node
    if node is None:
        return ()
    if found.what in {What.STATEMENT, What.ASSIGNMENT}:
        return _block(node)
    if found.what is What.COMPARISON:
        return (node.start_byte,)
    if found.what is What.BRANCH:
        return (_chain(node).start_byte,)
    if found.what is What.CASE:
        return _around(node, {"switch_statement"})
    if found.what in {What.ROW, What.ENTRY, What.ENUMERATOR}:
        return _around(node, _LISTS)
    return ()


def _around(node: Node, kinds: AbstractSet[str]) -> tuple[object, ...]:
    start = node.start_byte
    parent = node.parent
    while parent is not None and not (parent.type in kinds and parent.start_byte < start):
        parent = parent.parent
    return (parent.start_byte,) if parent is not None else ()


def _block(node: Node) -> tuple[object, ...]:
    """The block that a statement belongs to; those of an `if` by its condition and the block around it."""
    parent = node.parent
    while parent is not None and parent.type.startswith("preproc_"):
        node, parent = parent, parent.parent
    if parent is None:
        return ()
    if parent.type == "compound_statement" and parent.parent is not None \
            and parent.parent.type in _LOOPS_AND_BRANCHES:  # fmt: skip
        node, parent = parent, parent.parent
    if parent.type == "else_clause" and parent.parent is not None:
        return ("else", *_condition(parent.parent), *_block(parent.parent))
    if parent.type == "if_statement":
        return ("if", *_condition(parent), *_block(parent))
    return (parent.start_byte,)


def _chain(branch: Node) -> Node:
    """The first `if` of a chain."""
    while branch.parent is not None and branch.parent.type == "else_clause" and branch.parent.parent is not None:
        branch = branch.parent.parent
    return branch


def _condition(branch: Node) -> tuple[str, ...]:
    condition = branch.child_by_field_name("condition")
    return tokens_of(condition.text or b"") if condition is not None else ()


def conditions(node: Node) -> frozenset[tuple[str, bool]]:
    """The conditions of the preprocessor under which a node is compiled: their text, and whether they hold."""
    found = set()
    parent = node.parent
    while parent is not None:
        if parent.type in {"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef"}:
            holds = parent.child_by_field_name("alternative") != node
            condition = parent.child_by_field_name("condition") or parent.child_by_field_name("name")
            text = " ".join(tokens_of(condition.text or b"")) if condition is not None else ""
            if parent.children and parent.children[0].type in {"#ifndef", "#elifndef"}:
                holds = not holds
            while text.startswith("! "):
                text, holds = text.removeprefix("! "), not holds
            plain = re.fullmatch(r"defined (?:\( )?(\w+)(?: \))?", text)
            found.add((plain[1] if plain else text, holds))
        node, parent = parent, parent.parent
    return frozenset(found)
