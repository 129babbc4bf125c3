"""Which pure additions to Python lists are joined, and which are left to a person."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.additive import joined
from forkguard.core.merges import Region

DICT = ["NAMES: dict[Arch, str] = {\n", '    Arch.OLD: "old",  # it\'s }\n']
SET = ["NAMES = {\n", '    "old",\n']
LIST = ["TENSORS = {\n", "    Arch.OLD: [\n", "        Tensor.OLD,\n"]
TUPLE = ["MAP = {\n", "    Tensor.OLD: (\n"]
ENUM = ["class Arch(IntEnum):\n", "    OLD       = auto()\n"]
IMPORTS = ["import os\n", "from .base import Base\n"]


def join(ours: str, theirs: str, above: list[str], *, base: str = "") -> str | None:
    sides = [tuple(text.splitlines(keepends=True)) for text in (ours, base, theirs)]
    found = joined(Region(len(above) + 1, *sides), above=above, python=True)
    return "".join(found.lines) if found else None


A, B = '    Arch.A: "a",\n', '    Arch.B: "b",\n'
LONG = "    Arch.B: [\n        Tensor.X,  # the first\n        Tensor.Y,\n    ],\n"
REMARKED = '    # what A is for\n    Arch.A: "a",\n'


@pytest.mark.parametrize(
    ("ours", "theirs", "above"),
    [
        (A, B, DICT),
        (A, LONG, DICT),
        (REMARKED, B, DICT),
        ('    "A": f(1, 2),\n', '    "B": {"x": [1]},\n', DICT),
        (A, B, DICT[:1]),
        ('    "a",\n', '    "b",\n', SET),
        ("        Tensor.A,\n", "        Tensor.B,  # why\n", LIST),
        ('        "model.{bid}.a",\n', '        "model.{bid}.b",\n', TUPLE),
        ("    A = auto()\n", "    B    = auto()  # new\n", ENUM),
        ("    A = auto()\n", "    B = auto()\n", ENUM[:1]),
        ("import re\n", "from .llama import Llama\n", IMPORTS),
    ],
)
def test_upstreams_come_first(ours: str, theirs: str, above: list[str]) -> None:
    assert join(ours, theirs, above) == theirs + ours


@pytest.mark.parametrize(
    ("ours", "theirs", "above", "reason"),
    [
        ('    Arch.A: "a",\n', '    Arch.A: "other",\n', DICT, "one key, two meanings"),
        ("    Arch.A: 7 // 2,\n", "    Arch.A: 7 // 3,\n", DICT, "a floor division is no comment"),
        ('    Arch.OLD: "a",\n', B, DICT, "the key is there already"),
        ('    Arch.A: "a"\n', B, DICT, "no comma"),
        ('    Arch.A: "a", Arch.C: "c",\n', B, DICT, "two on a line"),
        ("    **more,\n", B, DICT, "a spread"),
        ("    f(1): 2,\n", B, DICT, "a computed key"),
        ('    f"{x}": 2,\n', B, DICT, "a computed key"),
        (f"{A}}}\n", B, DICT, "the list ends"),
        (A, B, [*DICT[:1], '    Arch.OLD: "old"\n'], "the entry in front has no comma"),
        ("    a,\n", "    b,\n", ["f(\n", "    old,\n"], "arguments of a call"),
        ("    1,\n", "    2,\n", ["x = [\n", "    0,\n"], "numbers, whose place counts"),
        ("    A = 5\n", "    B = 6\n", ENUM, "numbered members"),
        ("    A = auto()\n", "    B = auto()\n", ["class Arch:\n"], "no enumeration"),
        ("    A = auto()\n", "        B = auto()\n", ENUM, "two indents"),
        (
            "    A = auto()\n",
            "    B = auto()\n",
            [*ENUM, "    def f(self):\n", "        pass\n"],
            "behind a function",
        ),
        ("import re\n", "x = 1\n", IMPORTS, "a statement"),
        ("    x = 1\n", "    y = 2\n", ["def f():\n"], "statements"),
        (A, B, ['x = """{\n'], "in a string"),
        (A, B, ["x = (]{\n"], "no Python"),
    ],
)
def test_everything_else_is_left_to_a_person(ours: str, theirs: str, above: list[str], reason: str) -> None:
    assert join(ours, theirs, above) is None, reason
    assert join(theirs, ours, above) is None, reason


def test_an_edited_line_is_never_joined() -> None:
    assert join(A, B, DICT, base='    Arch.OLD: "old",\n') is None


NAMES = st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,6}", fullmatch=True), min_size=1, max_size=5, unique=True)


@given(ours=NAMES, theirs=NAMES, depth=st.integers(min_value=0, max_value=2))
def test_nothing_is_lost_doubled_or_put_out_of_order(ours: list[str], theirs: list[str], depth: int) -> None:
    def entries(names: list[str]) -> str:
        return "".join(f'    "{name}": {"[" * depth}{len(name)}{"]" * depth},\n' for name in names)

    text = join(entries(ours), entries(theirs), ["x = {\n", '    "_old": 0,\n'])

    assert text is not None
    keys = list(ast.literal_eval('{"_old": 0,\n' + text + "}"))
    assert keys == ["_old", *(name for name in theirs if name not in ours), *ours]


@given(ours=st.text(max_size=60), theirs=st.text(max_size=60), above=st.text(max_size=40))
def test_any_text_is_read_without_an_error_and_no_line_is_made_up(ours: str, theirs: str, above: str) -> None:
    text = join(ours, theirs, above.splitlines(keepends=True))

    if text is not None:
        assert set(text.splitlines()) <= {*ours.splitlines(), *theirs.splitlines()}
