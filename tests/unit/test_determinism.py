"""Two texts are held against each other at their first differing token."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.completion import Answer, Candidate
from forkguard.core.determinism import Comparison, Difference, Recheck, compare, first_difference, settle


def answer(*tokens: int, gap: float | None = 1.0, text: str | None = None) -> Answer:
    """A text whose second-best token is everywhere the best one plus 1, `gap` nats away."""
    rows = tuple(
        (Candidate(token, -0.1),) if gap is None else (Candidate(token, -0.1), Candidate(token + 1, -0.1 - gap))
        for token in tokens
    )
    return Answer(tokens, text if text is not None else repr(tokens), rows, 0, 0, {})


def test_the_same_tokens_and_bytes_are_identical() -> None:
    assert compare(answer(5, 6, 7), answer(5, 6, 7)) == Comparison(Difference.IDENTICAL)


def test_the_same_tokens_with_other_bytes_are_corruption() -> None:
    assert compare(answer(5, text="a"), answer(5, text="b")).difference is Difference.CORRUPTION


def test_the_second_best_token_within_the_threshold_is_a_near_tie() -> None:
    found = compare(answer(5, 6, 7, gap=0.022), answer(5, 7, 9))
    assert (found.difference, found.first_difference, found.expected, found.got) == (Difference.NEAR_TIE, 1, 6, 7)
    assert found.gap is not None
    assert round(found.gap, 6) == 0.022


def test_the_threshold_itself_is_no_near_tie() -> None:
    assert compare(answer(5, gap=0.5), answer(6), near_tie=0.25).difference is Difference.CORRUPTION


def test_a_third_token_is_corruption_however_close_the_first_two_are() -> None:
    assert compare(answer(5, gap=0.001), answer(9)).difference is Difference.CORRUPTION


def test_without_a_second_candidate_nothing_was_near() -> None:
    found = compare(answer(5, gap=None), answer(6))
    assert (found.difference, found.gap) == (Difference.CORRUPTION, None)


def test_a_text_that_ends_early_differs_where_it_ends() -> None:
    found = compare(answer(5, 6), answer(5, gap=0.001))
    assert (found.difference, found.first_difference, found.expected, found.got) == (
        Difference.CORRUPTION, 1, 6, None,
    )  # fmt: skip
    longer = compare(answer(5, gap=0.001), answer(5, 6))
    assert (longer.difference, longer.expected, longer.got) == (Difference.CORRUPTION, None, 6)


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_the_first_difference_is_the_length_of_the_shared_prefix(one: list[int], other: list[int]) -> None:
    place = first_difference(tuple(one), tuple(other))
    if place is None:
        assert one == other
    else:
        assert one[:place] == other[:place]
        assert one[place : place + 1] != other[place : place + 1]


TAKEN = Comparison(Difference.CORRUPTION, 2, 6, 7, 0.4)
"""The reference took 6, the draft 7."""
REST = (8, 9)


@pytest.mark.parametrize(
    ("found", "recheck", "kind"),
    [
        (TAKEN, Recheck(repeats=True, at=answer(7), on=answer(8, 9), rest=REST), Difference.BATCH_SHAPE),
        (TAKEN, Recheck(repeats=True, at=answer(7), rest=()), Difference.BATCH_SHAPE),
        (TAKEN, Recheck(repeats=True, at=answer(6, gap=0.03), on=answer(8, 9), rest=REST), Difference.BATCH_SHAPE),
        (TAKEN, Recheck(repeats=True, at=answer(7), on=answer(8, 8, gap=0.3), rest=REST), Difference.BATCH_SHAPE),
        (TAKEN, Recheck(repeats=True, at=answer(6), on=answer(8, 9), rest=REST), Difference.CORRUPTION),
        (TAKEN, Recheck(repeats=True, at=answer(7), on=answer(8, 5), rest=REST), Difference.CORRUPTION),
        (TAKEN, Recheck(repeats=True, at=answer(7), on=answer(8, 8, gap=1.2), rest=REST), Difference.CORRUPTION),
        (TAKEN, Recheck(repeats=False, at=answer(7), on=answer(8, 9), rest=REST), Difference.CORRUPTION),
        (TAKEN, Recheck(), Difference.CORRUPTION),
        (
            replace(TAKEN, gap=1.1),
            Recheck(repeats=True, at=answer(7), on=answer(8, 9), rest=REST),
            Difference.CORRUPTION,
        ),
        (
            replace(TAKEN, gap=None),
            Recheck(repeats=True, at=answer(7), on=answer(8, 9), rest=REST),
            Difference.CORRUPTION,
        ),
        (replace(TAKEN, difference=Difference.NEAR_TIE, gap=0.01), Recheck(), Difference.NEAR_TIE),
        (
            replace(TAKEN, difference=Difference.NEAR_TIE, gap=0.01),
            Recheck(on=answer(8, 5), rest=REST),
            Difference.CORRUPTION,
        ),
        (Comparison(Difference.IDENTICAL), Recheck(), Difference.IDENTICAL),
    ],
)
def test_a_second_look_settles_what_a_difference_is(found: Comparison, recheck: Recheck, kind: Difference) -> None:
    assert settle(found, recheck)[0] is kind


def test_how_far_texts_agree_again_is_told() -> None:
    found = compare(answer(1, 2, 3, 4, 5), answer(1, 9, 3, 8, 5))
    assert (found.agreeing, found.after) == (2, 3)


@pytest.mark.parametrize(
    ("found", "recheck", "why"),
    [
        (replace(TAKEN, gap=1.1), Recheck(), "no rounding bridges this gap"),
        (TAKEN, Recheck(repeats=False), "the arm does not repeat itself"),
        (TAKEN, Recheck(repeats=True), ""),
        (TAKEN, Recheck(at=answer(6)),
         "without a draft the same prefix, as a batch of that size, gives the reference"),
        (TAKEN, Recheck(at=answer(7), on=answer(8, 5), rest=REST),
         "what follows is not what the model makes of this text without a draft"),
        (TAKEN, Recheck(at=answer(7)), "a batch of that size makes the same difference without a draft"),
        (replace(TAKEN, difference=Difference.NEAR_TIE, gap=0.01), Recheck(), ""),
        (Comparison(Difference.CORRUPTION), Recheck(at=answer(7)), ""),
    ],
)  # fmt: skip
def test_a_second_look_says_why(found: Comparison, recheck: Recheck, why: str) -> None:
    assert settle(found, recheck)[1] == why


def flat(*tokens: int, gap: float) -> Answer:
    """As `answer`, with a best log probability of 0, so that the gap is exact."""
    return replace(answer(*tokens), candidates=tuple((Candidate(t, 0.0), Candidate(t + 1, -gap)) for t in tokens))


def test_the_bounds_of_a_second_look_are_exact() -> None:
    on_the_bound = Recheck(at=answer(7), on=flat(8, 8, gap=1.0), rest=REST)
    assert settle(replace(TAKEN, gap=1.0), on_the_bound)[0] is Difference.BATCH_SHAPE
    near = Recheck(at=flat(6, gap=0.05))
    assert settle(TAKEN, near)[0] is Difference.CORRUPTION
    assert settle(TAKEN, near, near_tie=0.06)[0] is Difference.BATCH_SHAPE
    third = Recheck(at=flat(5, gap=0.01))
    assert settle(TAKEN, third)[0] is Difference.CORRUPTION


def test_a_rest_is_compared_as_far_as_both_go() -> None:
    longer = Recheck(at=answer(7), on=answer(8, 9, 9), rest=REST)
    shorter = Recheck(at=answer(7), on=answer(8), rest=REST)
    assert {settle(TAKEN, one)[0] for one in (longer, shorter)} == {Difference.BATCH_SHAPE}
    alone = Recheck(at=answer(7), on=answer(8, 8, gap=None), rest=REST)
    assert settle(TAKEN, alone)[0] is Difference.CORRUPTION
