"""Which point is the first red one: bisection with points that give no verdict, and what does not fit the answer."""

from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.gate import Verdict
from forkguard.core.gate_bisect import Bisection, BisectResult, bisect

G, R, X = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def over(*verdicts: Verdict, extra: int = 0) -> tuple[Bisection, list[int]]:
    """The answer over these verdicts, and the points in the order in which they were judged."""
    asked: list[int] = []

    def judge(at: int) -> Verdict:
        asked.append(at)
        return verdicts[at]

    return bisect(len(verdicts), judge, extra=extra), asked


def test_the_ends_are_judged_first_and_both_sides_of_the_answer_are() -> None:
    answer, asked = over(G, G, G, G, G, R, R, R)
    assert (answer.result, answer.last_green, answer.first_red) == (BisectResult.FOUND, 4, 5)
    assert asked == [7, 0, 3, 5, 4]


def test_a_green_tip_and_a_red_base_end_it() -> None:
    assert over(G, R, G) == (Bisection(BisectResult.TIP_GREEN, 2, None), [2])
    assert over(R, G, R) == (Bisection(BisectResult.BASE_RED, None, 0), [2, 0])
    assert over(R) == (Bisection(BisectResult.BASE_RED, None, 0), [0])


def test_ends_without_a_verdict_give_no_answer() -> None:
    assert over(G, R, X)[0] == Bisection(BisectResult.INCONCLUSIVE, None, None, (2,))
    assert over(X, G, R)[0] == Bisection(BisectResult.INCONCLUSIVE, None, 2, (0,))


def test_a_point_without_a_verdict_is_left_out_and_its_neighbours_are_tried() -> None:
    answer, asked = over(G, G, X, G, R)
    assert (answer.result, answer.last_green, answer.first_red, answer.skipped) == (BisectResult.FOUND, 3, 4, (2,))
    assert asked == [4, 0, 2, 1, 3]


def test_points_without_a_verdict_right_before_the_red_one_leave_it_unclear() -> None:
    answer, _ = over(G, X, X, R)
    assert answer == Bisection(BisectResult.UNCLEAR, 0, 3, (1, 2))


def test_a_second_change_of_colour_is_told_where_it_is_looked_for() -> None:
    early = (G, R, G, G, R)
    assert over(*early)[0] == Bisection(BisectResult.FOUND, 3, 4)
    assert over(*early, extra=1)[0] == Bisection(BisectResult.FOUND, 3, 4, (), (1,))
    other = (G, R, R, R, R, G, R)
    assert over(*other)[0].monotone
    answer, asked = over(*other, extra=3)
    assert (answer.first_red, answer.others, answer.monotone) == (1, (5,), False)
    assert len(asked) == len(set(asked)) == 7


@given(st.integers(1, 20), st.integers(1, 20), st.sets(st.integers(0, 40)), st.integers(0, 3))
def test_of_one_change_of_colour_no_more_is_asked_than_it_takes(
    greens: int, reds: int, holes: set[int], extra: int
) -> None:
    verdicts = [G] * greens + [R] * reds
    last = len(verdicts) - 1
    verdicts = [X if at in holes and 0 < at < last else one for at, one in enumerate(verdicts)]
    answer, asked = over(*verdicts, extra=extra)
    low = max(at for at in range(greens) if verdicts[at] is G)
    high = min(at for at in range(greens, last + 1) if verdicts[at] is R)
    assert (answer.last_green, answer.first_red, answer.monotone) == (low, high, True)
    assert (answer.result is BisectResult.FOUND) == (high == low + 1)
    assert len(asked) == len(set(asked))
    if not answer.skipped:
        assert len(asked) <= 2 + last.bit_length() + extra
