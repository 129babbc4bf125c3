"""Small faults in Python sources, one at a time.

A comparison turned, `and` for `or`, a `not` taken away, a number one too large, a text changed, the branches of a
condition exchanged.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

_TURNED: dict[type[ast.AST], Any] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One change: the `number`-th node of a module, as it was and as it is, and its function: file:first line."""

    source: Path
    function: str
    number: int
    line: int
    old: str
    new: str


def faults_of(source: Path) -> list[Fault]:
    """Every fault that a module can get."""
    found = []
    for number, (function, node) in enumerate(_places(ast.parse(source.read_text()))):
        changed = _changed(node)
        if changed is not None:
            found.append(
                Fault(source, f"{source}:{function}", number, node.lineno, ast.unparse(node), ast.unparse(changed))
            )
    return found


def functions_of(source: Path) -> dict[str, range]:
    """The lines of each function and method that is in no other one, from its first decorator on."""
    waiting: list[ast.stmt] = list(ast.parse(source.read_text()).body)
    found = {}
    for node in waiting:
        if isinstance(node, ast.FunctionDef):
            found[f"{source}:{_first_line(node)}"] = range(_first_line(node), (node.end_lineno or node.lineno) + 1)
        else:
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return found


def with_fault(fault: Fault) -> ast.Module:
    """The module's tree with the fault; its lines are those of the source."""
    tree = ast.parse(fault.source.read_text())
    node = next(node for number, (_, node) in enumerate(_places(tree)) if number == fault.number)
    made = _changed(node)
    assert made is not None  # noqa: S101  (it was, when the fault was listed)
    _Put(node, made).visit(tree)
    return ast.fix_missing_locations(tree)


def code_with(fault: Fault) -> dict[tuple[int, str], CodeType]:
    """The code of each function of the module, by first line and name, with the fault."""
    found: dict[tuple[int, str], CodeType] = {}
    waiting = [compile(with_fault(fault), str(fault.source), "exec", dont_inherit=True)]
    for code in waiting:
        inner = [part for part in code.co_consts if isinstance(part, CodeType)]
        found |= {(part.co_firstlineno, part.co_qualname): part for part in inner}
        waiting += inner
    return found


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _places(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """The expressions in functions, with the function's first line; no annotations, messages or docstrings."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from ((_first_line(node), place) for place in _inside(statement))
        elif isinstance(node, (ast.stmt, ast.excepthandler)):
            yield from _places(node)


def _inside(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, (ast.Raise, ast.JoinedStr)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ):
        return
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _inside(child)


def _changed(node: ast.expr) -> ast.expr | None:
    """The node with a fault; None where this sort of node gets none."""
    made = copy.deepcopy(node)
    if isinstance(made, ast.Compare) and type(made.ops[0]) in _TURNED:
        made.ops[:1] = [_TURNED[type(made.ops[0])]()]
    elif isinstance(made, ast.BoolOp) or (isinstance(made, ast.BinOp) and type(made.op) in _TURNED):
        made.op = _TURNED[type(made.op)]()
    elif isinstance(made, ast.UnaryOp) and isinstance(made.op, ast.Not):
        return made.operand
    elif isinstance(made, ast.IfExp):
        made.body, made.orelse = made.orelse, made.body
    elif isinstance(made, ast.Constant) and isinstance(made.value, bool):
        made.value = not made.value
    elif isinstance(made, ast.Constant) and isinstance(made.value, int):
        made.value += 1
    elif isinstance(made, ast.Constant) and isinstance(made.value, str):
        made.value = "XX" + made.value
    else:
        return None
    return made


class _Put(ast.NodeTransformer):
    def __init__(self, target: ast.expr, made: ast.expr) -> None:
        self._target, self._made = target, made

    def visit(self, node: ast.AST) -> ast.AST:
        """Exchange the one node."""
        return ast.copy_location(self._made, node) if node is self._target else super().generic_visit(node)
