"""The threat model names tests that are there, and a test for every attack."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_is_named_exists() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 50
    there = {
        file: {
            node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)
        }
        for file in {file for file, _ in named}
    }
    assert [f"{file}::{test}" for file, test in named if test not in there[file]] == []


def test_every_attack_has_one() -> None:
    tables = PAGE.partition("## The promises")[2].partition("## Rules of the code")[0]
    rows = [
        line
        for line in tables.splitlines()
        if line.startswith("| ") and not line.startswith(("| promise", "| input"))
    ]
    assert len(rows) > 50
    assert [row for row in rows if not NAMED.search(row)] == ["| 4, strangers | see below | | |"]
