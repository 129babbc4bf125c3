"""Python tables and converters become the same pieces as C++ registries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.archs import SourceTree
from forkguard.core.names import TreePath
from forkguard.core.pieces import PieceKind
from forkguard.core.pysource import parse_python, python_tokens
from forkguard.core.registries import entries

CONSTANTS = b"""\
import gguf

MODEL_ARCH_NAMES = {
    MODEL_ARCH.ONE: "one",  # the first
    MODEL_ARCH.TWO: "two",
}

MODEL_TENSORS: dict = {
    MODEL_ARCH.ONE: [
        MODEL_TENSOR.A,
        MODEL_TENSOR.B,
    ],
}


@register("OneForCausalLM")
class OneModel(Base):
    model_arch = gguf.MODEL_ARCH.ONE

    def write(self):
        if self.arch == MODEL_ARCH.ONE:
            return 1
        return 2
"""


def test_tables_give_an_entry_for_each_member() -> None:
    tree = SourceTree({TreePath("gguf-py/gguf/constants.py"): CONSTANTS})
    found = [(piece.symbol, piece.line, piece.text) for _, piece in entries(tree, ["MODEL_ARCH.ONE"])]
    assert found == [
        ("MODEL_ARCH_NAMES", 4, 'MODEL_ARCH.ONE : "one"'),
        ("MODEL_TENSORS", 9, "MODEL_ARCH.ONE"),
        ("MODEL_TENSORS", 10, "MODEL_ARCH.ONE : MODEL_TENSOR.A"),
        ("MODEL_TENSORS", 11, "MODEL_ARCH.ONE : MODEL_TENSOR.B"),
        ("OneModel", 18, "model_arch = MODEL_ARCH.ONE"),
    ]
    assert tree.python_names == (("MODEL_ARCH.ONE", "one"), ("MODEL_ARCH.TWO", "two"))


def test_functions_are_cut_at_their_statements() -> None:
    unit = next(unit for unit in parse_python(CONSTANTS).units if unit.symbol == "OneModel.write")
    assert [(piece.kind, piece.text) for piece in unit.pieces] == [
        (PieceKind.HEADER, "def write ( self ) :"),
        (PieceKind.HEADER, "if self.arch == MODEL_ARCH.ONE :"),
        (PieceKind.STATEMENT, "return 1"),
        (PieceKind.STATEMENT, "return 2"),
    ]


def test_a_class_begins_at_its_decorator() -> None:
    unit = next(unit for unit in parse_python(CONSTANTS).units if unit.symbol == "OneModel")
    assert unit.text.startswith(b'@register("OneForCausalLM")')
    assert unit.pieces[0].line == 16


def test_what_a_class_assigns_is_an_entry_and_what_a_function_assigns_is_a_statement() -> None:
    source = b"class A:\n    x = 1\n    y: int = 2\n    go()\ndef f():\n    x = 1\n    if x:\n        y = 2\nz = 3\n"
    assert [(piece.kind, piece.text) for unit in parse_python(source).units for piece in unit.pieces] == [
        (PieceKind.HEADER, "class A :"), (PieceKind.ENTRY, "x = 1"), (PieceKind.ENTRY, "y : int = 2"),
        (PieceKind.STATEMENT, "go ( )"), (PieceKind.HEADER, "def f ( ) :"), (PieceKind.STATEMENT, "x = 1"),
        (PieceKind.HEADER, "if x :"), (PieceKind.STATEMENT, "y = 2"), (PieceKind.STATEMENT, "z = 3"),
    ]  # fmt: skip


def test_every_part_of_a_try_is_cut() -> None:
    source = (
        b"def f():\n    try:\n        one()\n    except (A, B) as e:\n        two(e)\n    else:\n        three()\n"
    )
    source += b"    finally:\n        four()\n"
    (unit,) = parse_python(source).units
    assert [(piece.text, piece.line) for piece in unit.pieces] == [
        ("def f ( ) :", 1), ("try :", 2), ("one ( )", 3), ("except ( A , B ) as e :", 4), ("two ( e )", 5),
        ("three ( )", 7), ("four ( )", 9),
    ]  # fmt: skip


@pytest.mark.filterwarnings("error")
def test_an_escape_that_python_warns_of_is_read_in_silence() -> None:
    assert [piece.text for piece in parse_python(b"x = '\\d'\n").units[0].pieces] == ["x = '\\d'"]


DEEP = b"-" * 100_000 + b"1"


@pytest.mark.parametrize("source", [b"def broken(:\n", b"x = '\xff'\n", b"a = 1\0\n", DEEP], ids=range(4))
def test_what_python_cannot_parse_is_broken_and_raises_nothing(source: bytes) -> None:
    parsed = parse_python(source)
    assert (parsed.broken, parsed.units) == (True, ())


def test_lines_end_as_python_ends_them() -> None:
    one, two, three = parse_python(b"a = 1\rb = 2\r\nc = 3\n").units
    assert (one.text, two.text, three.text) == (b"a = 1", b"b = 2", b"c = 3")


@given(st.binary(max_size=200))
def test_any_bytes_are_read(source: bytes) -> None:
    parse_python(source)
    python_tokens(source)


def test_comments_and_spacing_make_no_difference() -> None:
    assert python_tokens(b"{ A : 'b' , }  # c") == python_tokens(b"{A:'b',}")
