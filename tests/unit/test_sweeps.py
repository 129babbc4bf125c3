"""Names that upstream exchanged everywhere: a pair of statements that differ in them alone is one note."""

from forkguard.core.archs import SourceTree
from forkguard.core.differences import Difference, Sort, Trees
from forkguard.core.names import TreePath
from forkguard.core.pieces import Piece
from forkguard.core.sweeps import fold_exchanged_names
from forkguard.core.syntax import parse

PATH = TreePath("src/models/otter.cpp")


def source(statement: str, *, times: int = 6) -> bytes:
    return b"void f() {\n" + f"    {statement}\n".encode() * times + b"}\n"


def trees(old: bytes, new: bytes) -> Trees:
    ours, theirs = SourceTree({PATH: old}), SourceTree({PATH: new})
    return Trees(fork=ours, upstream=theirs, base=ours)


def piece(text: bytes) -> Piece:
    (unit,) = parse(text).units
    return unit.pieces[-1]


def folded(old: str, new: str, *, times: int = 6) -> list[tuple[Sort, str]]:
    before, after = source(old, times=times), source(new, times=times)
    missing = Difference(Sort.MISSING, "otter", None, "f", PATH, 2, theirs=piece(after), their_path=PATH, group="f")
    stale = Difference(Sort.STALE, "otter", None, "f", PATH, 2, ours=piece(before), our_path=PATH, group="f")
    return [(one.sort, one.note) for one in fold_exchanged_names([missing, stale], trees(before, after))]


def test_a_member_that_upstream_renamed_everywhere_is_one_difference() -> None:
    assert folded("use(hparams.is_slow(il), 2);", "use(hparams.is_idle(il), 2);") == [
        (Sort.RENAMED, "is_slow is is_idle()")
    ]


def test_a_member_that_became_a_call_everywhere_is_one_difference() -> None:
    assert folded("use(hparams.n_legs);", "use(hparams.n_legs());") == [(Sort.RENAMED, "n_legs is n_legs()")]


def test_few_uses_are_no_evidence() -> None:
    assert [sort for sort, _ in folded("use(a.one);", "use(a.two);", times=4)] == [Sort.MISSING, Sort.STALE]


def test_another_argument_beside_the_name_stays_drift() -> None:
    assert [sort for sort, _ in folded("use(a.one, 1);", "use(a.two, 2);")] == [Sort.MISSING, Sort.STALE]


def test_a_name_that_upstream_still_uses_is_not_exchanged() -> None:
    old, new = source("use(a.one);"), source("use(a.two);") + source("keep(a.one);")
    missing = Difference(Sort.MISSING, "otter", None, "f", PATH, 2, theirs=piece(source("use(a.two);")),
                         their_path=PATH, group="f")  # fmt: skip
    stale = Difference(Sort.STALE, "otter", None, "f", PATH, 2, ours=piece(old), our_path=PATH, group="f")
    kept = fold_exchanged_names([missing, stale], trees(old, new))
    assert [one.sort for one in kept] == [Sort.MISSING, Sort.STALE]
