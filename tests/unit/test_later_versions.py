"""A hunk in the form that upstream gave it later: where it stands then, and when the fork has it so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.hunks import Change, Hunk, changes_of
from forkguard.core.later_versions import LaterVersion, has_later, nearest_version
from forkguard.core.names import BlobHash

BASE = [f"{at}\n" for at in range(20)]


def runs(old: list[str], new: list[str]) -> tuple[Change, ...]:
    """Line by line, for versions that only replace lines in place or change their number in one place."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    if head == len(old) == len(new):
        return ()
    return (Change(head, tuple(old[head : len(old) - tail]), tuple(new[head : len(new) - tail])),)


def hunk(at: int, added: list[str], *, removed: int = 1) -> Hunk:
    """A hunk of the base that puts lines in the place of `removed` ones, with three lines around."""
    rows = [(" ", line) for line in BASE[at - 3 : at]] + [("-", line) for line in BASE[at : at + removed]]
    rows += [("+", line) for line in added] + [(" ", line) for line in BASE[at + removed : at + removed + 3]]
    before = tuple(text for kind, text in rows if kind != "+")
    after = tuple(text for kind, text in rows if kind != "-")
    return Hunk("@@", at - 3, before, after, changes_of(at - 3, rows))


AFTER = [*BASE[:9], "nine\n", *BASE[10:]]
LATER = [*AFTER[:9], "nine, later\n", "and more\n", *AFTER[10:]]


@pytest.mark.parametrize(
    ("fork", "there"),
    [
        (LATER, True),
        (["new\n", *LATER], True),  # the fork's own lines elsewhere
        ([*LATER[:9], "nine, ours\n", *LATER[10:]], False),
        ([*LATER[:10], *LATER[11:]], False),  # one of the later lines is gone
        ([*LATER[:9], "between\n", *LATER[9:]], False),
        ([*LATER[:8], "eight, ours\n", *LATER[9:]], False),  # the line above counts
        ([*LATER[:11], "ten, ours\n", *LATER[12:]], False),
        ([*LATER[:7], "seven, ours\n", *LATER[8:]], True),
        (AFTER, False),
    ],
)
def test_the_lines_and_their_neighbours_must_be_as_they_were_later(fork: list[str], *, there: bool) -> None:
    mine = hunk(9, ["nine\n"])
    assert has_later(mine, [mine], LaterVersion(runs(AFTER, LATER), runs(LATER, fork), "#2")) is there


def test_a_later_change_that_touches_the_neighbours_belongs_to_them() -> None:
    later = [*AFTER[:7], "seven, later\n", *AFTER[8:]]
    mine = hunk(9, ["nine\n"])
    for ours, there in (("seven, later\n", True), ("seven, ours\n", False)):
        fork = [*later[:7], ours, *later[8:]]
        assert has_later(mine, [mine], LaterVersion(runs(AFTER, later), runs(later, fork), "#2")) is there


def test_lines_that_were_taken_away_later_must_be_gone_here_too() -> None:
    mine = hunk(9, ["nine\n"])
    gone = [*AFTER[:9], *AFTER[10:]]
    assert has_later(mine, [mine], LaterVersion(runs(AFTER, gone), (), "#2"))
    assert not has_later(mine, [mine], LaterVersion(runs(AFTER, gone), runs(gone, AFTER), "#2"))


def test_hunks_above_shift_a_hunk() -> None:
    first, second = hunk(4, ["a\n", "b\n", "c\n"]), hunk(14, ["d\n"])
    after = [*BASE[:4], "a\n", "b\n", "c\n", *BASE[5:14], "d\n", *BASE[15:]]
    other = [*after[:16], "ours\n", *after[17:]]
    assert after[16] == "d\n"
    assert has_later(first, [first, second], LaterVersion((), runs(after, other), "#2"))
    assert not has_later(second, [first, second], LaterVersion((), runs(after, other), "#2"))


@given(at=st.integers(3, 16), fork_at=st.integers(0, 19), later_at=st.integers(0, 19))
def test_an_edit_of_the_fork_counts_exactly_where_it_reaches_the_hunk(at: int, fork_at: int, later_at: int) -> None:
    mine = hunk(at, ["new\n"])
    after = [*BASE[:at], "new\n", *BASE[at + 1 :]]
    later = [*after[:later_at], "later\n", *after[later_at + 1 :]]
    fork = [*later[:fork_at], "ours\n", *later[fork_at + 1 :]]
    reach = {at - 1, at, at + 1}
    if abs(later_at - at) <= 2:  # what upstream changed beside the hunk belongs to the place
        reach.add(later_at)

    found = has_later(mine, [mine], LaterVersion(runs(after, later), runs(later, fork), "#2"))

    assert found is (fork_at not in reach)


def test_the_nearest_version_must_be_nearer_than_the_file_before_the_change() -> None:
    one, two = BlobHash("1"), BlobHash("2")
    versions = {one: b"a\nb\nc\n", two: b"a\nb\nd\n"}
    assert nearest_version(b"a\nb\nd\nx\n", before=b"a\n", versions=versions) == two
    assert nearest_version(b"a\nb\nc\nx\n", before=b"a\n", versions=versions) == one
    assert nearest_version(b"a\nb\nx\n", before=b"a\n", versions=versions) is None
    assert nearest_version(b"a\nx\n", before=b"a\nx\n", versions=versions) is None
    assert nearest_version(b"a\nb\nc\n", before=b"a\nb\nc\n", versions=versions) is None
    assert nearest_version(b"a\n", before=b"", versions={}) is None
