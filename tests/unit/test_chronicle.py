"""Turns and spells of the stack over nights, and how long it has been green."""

from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.chronicle import days_green, patchset_stories, replayed_before, turns, verdict_spells
from forkguard.core.history_rows import History, NightRow, PatchRow
from forkguard.core.range_diff import sections


def patch(patchset: str, status: str, breaking: str | None = None) -> PatchRow:
    return PatchRow(patchset, "0001-x.patch", status, breaking, None)


def row(day: int, *patches: PatchRow, verdict: str = "green", hour: int = 3) -> NightRow:
    moment = f"2026-09-{day:02}T{hour:02}:00:00Z"
    return NightRow(
        name=f"202609{day:02}T{hour:02}0000Z", started=moment, finished=moment, verdict=verdict, reason="", story="",
        repeats=0, days_red=0, fork=None, base=None, upstream=None, commits=None, behind=None, ahead=None,
        uncovered=0, candidate=None, drift=None, archs={}, patches=patches,
    )  # fmt: skip


NIGHTS = (
    row(1, patch("a", "applies"), patch("b", "applies")),
    row(2, patch("a", "conflict", "x"), patch("b", "applies"), verdict="red"),
    row(3, verdict="could-not-run"),
    row(4, patch("a", "conflict", "x"), patch("c", "applies"), verdict="red"),
    row(5, patch("a", "conflict", "y"), patch("c", "applies"), verdict="red"),
)


def test_turns_are_changes_arrivals_and_departures() -> None:
    assert turns(None, NIGHTS[0]) == ()
    (turn,) = turns(NIGHTS[0], NIGHTS[1])
    assert (turn.label, turn.before, turn.after, turn.breaking_commit) == (
        "a/0001-x.patch",
        "applies",
        "conflict",
        "x",
    )
    assert [(one.patchset, one.before, one.after) for one in turns(NIGHTS[1], NIGHTS[3])] == [
        ("c", "", "applies"),
        ("b", "applies", ""),
    ]


def test_the_night_before_is_the_last_one_that_replayed() -> None:
    history = History(NIGHTS, (), ())
    assert replayed_before(history, NIGHTS[3].name) is NIGHTS[1]
    assert replayed_before(history, NIGHTS[0].name) is None


def test_a_patchset_has_spells_that_a_night_without_a_replay_does_not_interrupt() -> None:
    stories = {story.name: story for story in patchset_stories(NIGHTS)}
    assert list(stories) == ["a", "c", "b"]
    a = stories["a"]
    assert [(one.status, one.nights, one.breaking_commit) for one in a.spells] == [
        ("applies", 1, None), ("conflict", 2, "x"), ("conflict", 1, "y"),
    ]  # fmt: skip
    assert [one.nights for one in a.bars] == [1, 1, 1, 1, 1]
    assert a.since is not None
    assert (a.status, a.since.first.day) == ("conflict", "2026-09-05")
    assert [(one.status, one.nights) for one in stories["b"].bars] == [("applies", 2), ("not looked at", 3)]


def test_verdicts_have_spells_and_days_are_counted_once() -> None:
    assert [(one.status, one.nights) for one in verdict_spells(NIGHTS)] == [
        ("green", 1), ("red", 1), ("could-not-run", 1), ("red", 2),
    ]  # fmt: skip
    assert days_green(NIGHTS) == 0
    assert days_green([*NIGHTS, row(6), row(6, hour=5), row(7)]) == 2


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")))
def test_a_range_diff_is_cut_at_its_heads_and_loses_nothing_behind_them(noise: str, subject: str) -> None:
    head = f"1:  aaaaaaa ! 1:  bbbbbbb {subject}"
    found = sections(f"{noise}\n{head}\n    @@ x\n2:  ccccccc < -:  ------- gone\n")
    assert [(one.mark, one.subject) for one in found[-2:]] == [("!", subject), ("<", "gone")]
    assert found[-2].text == f"{head}\n    @@ x"
