"""Small C++ sources and hypothesis strategies for them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from forkguard.core.pieces import Piece
from forkguard.core.syntax import parse

NAMES = ("cur", "prev", "tail", "gate")
CALLS = ("norm_of", "mix_of", "scale_of")


def pieces_of(source: str, symbol: str = "") -> tuple[Piece, ...]:
    """The pieces of the units with this symbol (all units without)."""
    units = parse(source.encode()).units
    return tuple(piece for unit in units if not symbol or unit.symbol == symbol for piece in unit.pieces)


def function(statements: Sequence[str], *, name: str = "build") -> str:
    """A function with these statements inside a loop."""
    body = "".join(f"        {statement}\n" for statement in statements)
    return f"void {name}(int n) {{\n    for (int il = 0; il < n; ++il) {{\n{body}    }}\n}}\n"


def statement(target: str, call: str, argument: str, number: int) -> str:
    """`cur = norm_of(prev, 3);`"""
    return f"{target} = {call}({argument}, {number});"


names = st.sampled_from(NAMES)
statements = st.lists(
    st.builds(statement, names, st.sampled_from(CALLS), names, st.integers(0, 99)), min_size=1, max_size=8
)
distinct_statements = st.lists(
    st.builds(statement, names, st.sampled_from(CALLS), names, st.integers(0, 99)),
    min_size=2, max_size=8, unique=True,
)  # fmt: skip
