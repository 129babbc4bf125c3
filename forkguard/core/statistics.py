"""The few statistics that a measurement needs: medians, spread, a bootstrap interval, two tests of proportions.

The tests are two-sided. Everything is deterministic: the bootstrap draws from a fixed seed.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SEED = 20260820
RESAMPLES = 10_000
LEVEL = 0.95
_EXACT_UP_TO = 1000


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of confidence, ends included."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value lies inside."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Test:
    """The outcome of a test: its name, p, and `detectable`, the difference that it would have seen.

    `detectable` is the smallest true difference of the two proportions that a test of this size finds four
    times of five (at p < 0.05); an answer "no evidence" is worth no more than that.
    """

    __test__ = False  # no test class for pytest

    name: str
    p: float
    detectable: float


def median(values: Sequence[float]) -> float:
    """The median; `ValueError` for no values.

    >>> median([65.6, 80.3, 74.4])
    74.4
    """
    return float(statistics.median(values))


def spread(values: Sequence[float]) -> float:
    """By how much the largest exceeds the smallest, as a fraction of the smallest (all above 0).

    >>> round(spread([11.47, 11.54, 11.66]), 3)
    0.017
    """
    return max(values) / min(values) - 1.0


def ratio_interval(
    groups: Sequence[tuple[Sequence[float], Sequence[float]]], *, paired: bool, resamples: int = RESAMPLES
) -> Interval:
    """The bootstrap interval (95 %, percentiles) of the geometric mean of the groups' ratios of medians.

    Each group holds the values (above 0) of one arm and of its baseline, for one task. Groups are resampled
    each for itself; with `paired` both arms of a group draw the same places, since they ran side by side, and
    must be equally many (`ValueError`). The same input always gives the same interval.
    """
    if not groups:
        raise ValueError("an interval needs values")
    random = np.random.default_rng(SEED)
    total = np.zeros(resamples)
    for ours, theirs in groups:
        if not ours or not theirs or (paired and len(ours) != len(theirs)):
            raise ValueError("paired values must be equally many, and at least one")
        places = random.integers(0, len(ours), (resamples, len(ours)))
        others = places if paired else random.integers(0, len(theirs), (resamples, len(theirs)))
        upper = np.median(np.asarray(ours, dtype=float)[places], axis=1)
        lower = np.median(np.asarray(theirs, dtype=float)[others], axis=1)
        total += np.log(upper) - np.log(lower)
    outside = (1.0 - LEVEL) / 2.0
    low, high = np.exp(np.quantile(total / len(groups), (outside, 1.0 - outside)))
    return Interval(float(low), float(high))


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of values above 0.

    >>> round(geometric_mean([2.0, 8.0]), 6)
    4.0
    """
    return math.exp(sum(math.log(value) for value in values) / len(values))


def two_proportions(one: int, of_one: int, other: int, of_other: int) -> Test:
    """Do `one` of `of_one` and `other` of `of_other` come from the same proportion? The pooled normal test.

    >>> round(two_proportions(57, 100, 32, 60).p, 2)
    0.65
    """
    _check_counts(one, of_one)
    _check_counts(other, of_other)
    pooled = (one + other) / (of_one + of_other)
    error = math.sqrt(pooled * (1.0 - pooled) * (1.0 / of_one + 1.0 / of_other))
    gap = one / of_one - other / of_other
    p = 1.0 if error == 0.0 else math.erfc(abs(gap) / error / math.sqrt(2.0))
    return Test("two-proportion z", p, _detectable(max(error, _error_at_least(of_one, of_other))))


def mcnemar(only_one: int, only_other: int, pairs: int) -> Test:
    """Are the pairs that only one of two got right as many as those that only the other got right?

    `pairs` counts all of them. Exact (binomial) up to a thousand such pairs, then the normal form with
    continuity correction.

    >>> round(mcnemar(1, 9, 100).p, 4)
    0.0215
    """
    differing = only_one + only_other
    if min(only_one, only_other) < 0 or pairs < max(1, differing):
        raise ValueError("counts of pairs do not fit together")
    if differing <= _EXACT_UP_TO:
        tail = sum(math.comb(differing, count) for count in range(min(only_one, only_other) + 1))
        p = min(1.0, 2 * tail / 2**differing)
    else:
        p = math.erfc(max(0.0, abs(only_one - only_other) - 1.0) / math.sqrt(2.0 * differing))
    return Test("McNemar", p, _detectable(math.sqrt(max(differing, 1.0)) / pairs))


def _detectable(error: float) -> float:
    return min(1.0, (1.959964 + 0.841621) * error)


def _error_at_least(of_one: int, of_other: int) -> float:
    """The error of the least certain proportion still possible when all answers were alike."""
    share = 1.0 / (of_one + of_other + 2.0)
    return math.sqrt(share * (1.0 - share) * (1.0 / of_one + 1.0 / of_other))


def _check_counts(right: int, of: int) -> None:
    if of < 1 or not 0 <= right <= of:
        raise ValueError(f"{right} of {of} is no proportion")
