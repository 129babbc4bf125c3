"""The rooms import one way, and only the command line prints or exits."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "forkguard"
ROOMS = ("core", "adapters", "workflows", "reports", "cli")
MAY_IMPORT = {
    "errors": set(),
    "core": {"errors", "core"},
    "ports": {"errors", "core", "ports"},
    "adapters": {"errors", "core", "ports", "adapters"},
    "workflows": {"errors", "core", "ports", "workflows"},
    "reports": {"errors", "core", "reports"},
    "cli": {"errors", "core", "ports", "adapters", "workflows", "reports", "cli", "__init__"},
    "__main__": {"cli"},
    "__init__": {"__init__"},
}
ONLY_IN_CLI = {"click"}
NOT_IN_CORE = {"os", "subprocess", "pathlib", "time", "git", "httpx", "socket", "shutil", "tempfile", "urllib"}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def room_of(source: Path) -> str:
    parts = source.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else source.stem


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(source: Path) -> None:
    room = room_of(source)
    for name in imported(ast.parse(source.read_text())):
        top, _, rest = name.partition(".")
        if top == "forkguard":
            target = rest.split(".")[0] if rest.split(".")[0] in MAY_IMPORT else "__init__"
            assert target in MAY_IMPORT[room], f"{room} must not import {name}"
        if top in ONLY_IN_CLI:
            assert room == "cli", f"only cli imports {top}"
        if room == "core":
            assert top not in NOT_IN_CORE, f"core must not import {top}"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_prints_or_exits(source: Path) -> None:
    if room_of(source) == "cli":
        return
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "exit", "input"}, f"line {node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {("sys", "exit"), ("os", "_exit")}, f"line {node.lineno}"


def test_every_room_is_there() -> None:
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"} >= set(ROOMS)
