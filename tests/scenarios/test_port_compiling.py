"""`forkguard port` reads what it ported with the compiler of a built tree; the tree is a few lines of ninja here."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.support.porting import Desk, make_desk
from tests.support.programs import BUILDING
from tests.support.repos import MiniHistory

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/port.json").read_text())
RULES = """\
rule cxx
  command = g++ -I{src} -MD -MF $out.d -o $out -c $in
rule link
  command = g++ -o $out $in
build sum.o: cxx {src}/lib/sum.cpp
build sum: link sum.o
"""
HEADER = "#pragma once\nint sum(int a, int b);\n"
SOURCE = '#include "lib/sum.h"\nint sum(int a, int b) { return a + b; }\n'


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


def make_tree(desk: Desk, history: MiniHistory) -> Path:
    """A tree as `forkguard build` leaves it, of the fork's present commit."""
    commit = history.fork.git("rev-parse", "production")
    tree = desk.path.parent / "cache/trees" / f"{commit[:12]}-default-0123456789"
    (tree / "build").mkdir(parents=True)
    (tree / "src/lib").mkdir(parents=True)
    (tree / "build/build.ninja").write_text(RULES.format(src=tree / "src"))
    about = {"commit": commit, "profile": "default", "repository": str(history.fork.path), "built": True}
    (tree / "tree.json").write_text(json.dumps(about))
    return tree


def request(history: MiniHistory, files: dict[str, str]) -> None:
    """Request 300, on top of a library that the fork has, too."""
    first = {"lib/sum.h": HEADER, "lib/sum.cpp": SOURCE}
    history.fork.commit("ours: a sum", first)
    history.upstream.commit("a sum (#299)", first)
    history.upstream.commit("more (#300)", files)
    history.fork.git("fetch", "-q", "upstream")


@pytest.mark.needs(*BUILDING)
def test_good_sources_are_said(desk: Desk, history: MiniHistory) -> None:
    request(
        history,
        {
            "lib/sum.h": HEADER + "int twice(int a);\n",
            "lib/sum.cpp": SOURCE + "int twice(int a) { return sum(a, a); }\n",
        },
    )
    tree = make_tree(desk, history)
    before = sorted(tree.rglob("*"))

    document = desk.json("port", "300", status=0)

    jsonschema.validate(document, SCHEMA)
    assert document["compiled"] == {"checked": ["lib/sum.cpp"], "failed": [], "note": ""}
    assert sorted(tree.rglob("*")) == before


@pytest.mark.needs(*BUILDING)
def test_a_source_that_does_not_compile_is_a_finding(desk: Desk, history: MiniHistory) -> None:
    request(history, {"lib/sum.cpp": SOURCE + "int twice(int a) { return product(a, 2); }\n"})
    make_tree(desk, history)

    document = desk.json("port", "300", status=1)

    (failed,) = document["compiled"]["failed"]
    assert (document["status"], failed["path"]) == ("applied", "lib/sum.cpp")
    assert failed["text"].startswith("lib/sum.cpp:3:")
    assert "product" in failed["text"]


@pytest.mark.needs(*BUILDING)
def test_a_source_that_the_tree_does_not_build_is_said(desk: Desk, history: MiniHistory) -> None:
    request(history, {"lib/new.cpp": "int x;\n", "lib/sum.cpp": SOURCE + "int y;\n"})
    make_tree(desk, history)

    compiled = desk.json("port", "300", status=0)["compiled"]

    assert compiled["checked"] == ["lib/sum.cpp"]
    assert compiled["note"] == "1 of 2 sources were not compiled: that tree does not build them"


def test_without_a_tree_it_is_said(desk: Desk, history: MiniHistory) -> None:
    compiled = desk.json("port", "201", status=0)["compiled"]

    assert compiled == {
        "checked": [],
        "failed": [],
        "note": "not compiled: there is no built tree; forkguard build makes one",
    }
