"""The faults that `make mutate` puts into sources."""

import ast
from pathlib import Path
from types import FunctionType

import pytest

from tools.faults import Fault, code_with, faults_of, functions_of, with_fault

SOURCE = '''
"""A module."""

LIMIT = 7


@staticmethod
def near(a: "int", b: int) -> bool:
    """Whether near."""
    if not a:
        raise ValueError("none" + str(b))
    return a < b + 3 and f"{a}" in ("x" if b else "y")


class Box:
    """A box."""

    size: int = 1

    def open(self) -> bool:
        def inner() -> int:
            return 1

        return inner() is True
'''


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "module.py"
    file.write_text(SOURCE)
    return file


def test_every_expression_in_a_function_or_method_gets_one_fault(source: Path) -> None:
    assert [(fault.line, fault.old, fault.new) for fault in faults_of(source)] == [
        (10, "not a", "a"),
        (12, "a < b + 3 and f'{a}' in ('x' if b else 'y')", "a < b + 3 or f'{a}' in ('x' if b else 'y')"),
        (12, "a < b + 3", "a <= b + 3"),
        (12, "b + 3", "b - 3"),
        (12, "3", "4"),
        (12, "f'{a}' in ('x' if b else 'y')", "f'{a}' not in ('x' if b else 'y')"),
        (12, "'x' if b else 'y'", "'y' if b else 'x'"),
        (12, "'x'", "'XXx'"),
        (12, "'y'", "'XXy'"),
        (22, "1", "2"),
        (24, "inner() is True", "inner() is not True"),
        (24, "True", "False"),
    ]


def test_a_fault_belongs_to_the_outermost_function_from_its_decorator_on(source: Path) -> None:
    assert functions_of(source) == {f"{source}:7": range(7, 13), f"{source}:20": range(20, 25)}
    assert {fault.function for fault in faults_of(source)} == set(functions_of(source))


def in_line(source: Path, old: str) -> Fault:
    return next(fault for fault in faults_of(source) if fault.old == old)


def test_the_code_with_a_fault_differs_in_that_alone(source: Path) -> None:
    assert FunctionType(code_with(in_line(source, "1"))[20, "Box.open"], {})(None) is False
    tree, changed = ast.parse(SOURCE), with_fault(in_line(source, "b + 3"))
    assert ast.unparse(changed) == ast.unparse(tree).replace("b + 3", "b - 3")
