"""What people are told to type: every name in a command for a shell is quoted, since strangers choose names."""

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path

import forkguard
from forkguard.core.names import check_ref

ROOT = Path(forkguard.__file__).parent
GIT = "git -C "


def quotes(node: ast.AST, quoted: set[str]) -> bool:
    """Whether an expression is `shlex.quote(...)`, or a name that holds what it gave."""
    if isinstance(node, ast.Name):
        return node.id in quoted
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "shlex.quote"


def names_that_hold_quoted(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts, strict=True) if isinstance(value, ast.Tuple) and isinstance(
                target, ast.Tuple) else [(target, value)]  # fmt: skip
            found |= {name.id for name, what in pairs if isinstance(name, ast.Name) and quotes(what, set())}
    return found


def commands(tree: ast.AST) -> Iterator[tuple[int, ast.AST]]:
    """Line and folder of each `git -C {folder}`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = zip(node.values, node.values[1:], strict=False)
            for text, value in parts:
                ends = isinstance(text, ast.Constant) and str(text.value).endswith(GIT)
                if ends and isinstance(value, ast.FormattedValue):
                    yield node.lineno, value.value


def test_the_folder_of_each_git_command_is_quoted() -> None:
    bare, seen = [], 0
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text())
        quoted = names_that_hold_quoted(tree)
        for line, value in commands(tree):
            seen += 1
            if not quotes(value, quoted):
                bare.append(f"{path.relative_to(ROOT)}:{line}: {ast.unparse(value)}")
    assert bare == []
    assert seen > 20


def test_a_ref_that_git_allows_may_be_a_command() -> None:
    hostile = "x;touch${IFS}owned"
    assert check_ref(hostile) == hostile
    assert shlex.split(f"git log {shlex.quote(hostile)}") == ["git", "log", hostile]
