"""The statistics, held against figures worked out by hand or published, and against their own laws."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkguard.core.statistics import (
    geometric_mean,
    mcnemar,
    median,
    ratio_interval,
    spread,
    two_proportions,
)

RATES = st.lists(st.floats(0.1, 1000.0), min_size=1, max_size=6)


def test_medians_and_spread() -> None:
    assert median([93.5, 94.1, 93.9]) == 93.9
    assert median([1.0, 2.0]) == 1.5
    assert spread([102.7, 110.5, 130.0]) == pytest.approx(0.2658, abs=1e-4)
    assert spread([5.0]) == 0.0
    assert geometric_mean([1.0, 4.0, 16.0]) == pytest.approx(4.0)


def test_the_interval_of_an_arm_that_is_always_slower_stays_below_one() -> None:
    found = ratio_interval([([65.6, 74.4, 80.3], [93.5, 94.1, 93.9])], paired=True)
    assert found.low == pytest.approx(65.6 / 93.5)
    assert found.high == pytest.approx(80.3 / 93.9)
    assert not found.holds(1.0)


def test_pairs_share_what_the_box_did_to_both() -> None:
    base = [50.0, 60.0, 100.0, 80.0, 70.0]
    twice = [2 * value for value in base]
    side_by_side = ratio_interval([(twice, base)], paired=True)
    assert (side_by_side.low, side_by_side.high) == pytest.approx((2.0, 2.0))
    apart = ratio_interval([(twice, base)], paired=False)
    assert apart.low < 1.5
    assert apart.high > 2.5


def test_groups_count_alike_whatever_their_speed() -> None:
    found = ratio_interval([([2.0], [1.0]), ([800.0], [100.0])], paired=True)
    assert (found.low, found.high) == pytest.approx((4.0, 4.0))


@given(RATES, RATES)
@settings(max_examples=40, deadline=None)
def test_the_interval_repeats_itself_and_lies_within_the_extremes(ours: list[float], theirs: list[float]) -> None:
    found = ratio_interval([(ours, theirs)], paired=False, resamples=200)
    assert found == ratio_interval([(ours, theirs)], paired=False, resamples=200)
    assert found.low <= found.high
    assert found.low >= min(ours) / max(theirs) * (1 - 1e-9)
    assert found.high <= max(ours) / min(theirs) * (1 + 1e-9)


@pytest.mark.parametrize("groups", [[], [([], [1.0])], [([1.0, 2.0], [1.0])]])
def test_an_interval_of_nothing_is_refused(groups: list[tuple[list[float], list[float]]]) -> None:
    with pytest.raises(ValueError, match=r"interval needs|equally many"):
        ratio_interval(groups, paired=True)


def test_two_proportions() -> None:
    found = two_proportions(57, 100, 32, 60)
    assert found.p == pytest.approx(0.6514, abs=1e-4)
    assert found.detectable == pytest.approx(0.2273, abs=1e-3)
    assert two_proportions(90, 100, 60, 100).p == pytest.approx(9.6e-7, rel=0.05)
    assert two_proportions(5, 5, 7, 7).p == 1.0
    assert two_proportions(5, 5, 7, 7).detectable == pytest.approx(0.4225, abs=1e-3)
    for wrong in ((1, 0, 1, 2), (3, 2, 1, 2), (-1, 2, 1, 2)):
        with pytest.raises(ValueError, match="is no proportion"):
            two_proportions(*wrong)


def test_mcnemar_is_exact_for_small_counts() -> None:
    assert mcnemar(0, 5, 20).p == pytest.approx(2 / 2**5)
    assert mcnemar(0, 0, 7).p == 1.0
    assert mcnemar(10, 10, 40).p == 1.0
    assert mcnemar(400, 599, 5000).p == pytest.approx(mcnemar(599, 400, 5000).p)
    with pytest.raises(ValueError, match="do not fit"):
        mcnemar(5, 6, 10)


def test_mcnemars_two_forms_agree_where_they_meet() -> None:
    exact = mcnemar(460, 540, 3000).p
    normal = mcnemar(460, 541, 3000).p
    assert math.isclose(exact, normal, rel_tol=0.1)


@given(st.integers(0, 30), st.integers(0, 30))
def test_mcnemar_does_not_mind_the_order(one: int, other: int) -> None:
    pairs = max(1, one + other)
    assert mcnemar(one, other, pairs).p == mcnemar(other, one, pairs).p
    assert 0.0 < mcnemar(one, other, pairs).p <= 1.0
