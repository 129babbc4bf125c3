"""Which patchset of the stack makes the gate red: a bisection over three answers. JSON: bisect@1."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.findings import Side
from forkguard.core.gate import Verdict
from forkguard.core.names import CommitHash
from forkguard.core.replay import spread
from forkguard.core.self_test import Gated


class BisectResult(StrEnum):
    """What a bisection came to. `unclear`: the points between the last green and the first red gave no verdict."""

    FOUND = "found"
    UNCLEAR = "unclear"
    BASE_RED = "base-red"
    TIP_GREEN = "tip-green"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Bisection:
    """The answer over points 0 (the base) to the last. `first_red` and `last_green` were both judged.

    `skipped` are the points without a verdict. `others` are points whose verdict does not fit the answer: red before
    the first red one, or green behind it.
    """

    result: BisectResult
    last_green: int | None
    first_red: int | None
    skipped: tuple[int, ...] = ()
    others: tuple[int, ...] = ()

    @property
    def monotone(self) -> bool:
        """Whether every verdict fits the answer."""
        return not self.others


def bisect(points: int, judge: Callable[[int], Verdict], *, extra: int = 0) -> Bisection:
    """The first of the points 0..points-1 that is red, the last and the first being judged first.

    A point without a verdict is left out and its neighbours are tried, the one nearest to the middle first. Up to
    `extra` further points on either side are judged afterwards, to see whether the answer is the only one.

    >>> bisect(6, lambda at: Verdict.FAIL if at >= 4 else Verdict.PASS)
    Bisection(result=<BisectResult.FOUND: 'found'>, last_green=3, first_red=4, skipped=(), others=())
    """
    known = {points - 1: judge(points - 1)}
    if known[points - 1] is Verdict.PASS:
        return Bisection(BisectResult.TIP_GREEN, points - 1, None)
    if known[points - 1] is Verdict.INCONCLUSIVE:
        return Bisection(BisectResult.INCONCLUSIVE, None, None, (points - 1,))
    if points > 1:
        known[0] = judge(0)
    if known[0] is Verdict.FAIL:
        return Bisection(BisectResult.BASE_RED, None, 0)
    if known[0] is Verdict.INCONCLUSIVE:
        return Bisection(BisectResult.INCONCLUSIVE, None, points - 1, (0,))
    low, high = 0, points - 1
    while (middle := _nearest_to_middle(low, high, known)) is not None:
        known[middle] = judge(middle)
        if known[middle] is not Verdict.INCONCLUSIVE:
            low, high = (low, middle) if known[middle] is Verdict.FAIL else (middle, high)
    for at in spread(points, set(known)):
        if extra <= 0:
            break
        known[at] = judge(at)
        extra -= 1
    return _answer(low, high, known)


def _nearest_to_middle(low: int, high: int, known: Mapping[int, Verdict]) -> int | None:
    free = [at for at in range(low + 1, high) if at not in known]
    return min(free, key=lambda at: abs(2 * at - low - high), default=None)


def _answer(low: int, high: int, known: Mapping[int, Verdict]) -> Bisection:
    skipped = tuple(at for at in sorted(known) if known[at] is Verdict.INCONCLUSIVE)
    wrong = {True: Verdict.PASS, False: Verdict.FAIL}
    others = tuple(at for at in sorted(known) if known[at] is wrong[at >= high])
    return Bisection(BisectResult.FOUND if high - low == 1 else BisectResult.UNCLEAR, low, high, skipped, others)


@dataclass(frozen=True, slots=True)
class Point:
    """A state of the stack: the base with the first patchsets. `patchset` is the last of these, None for the base."""

    patchset: str | None
    commit: CommitHash


@dataclass(frozen=True, slots=True)
class Judged:
    """One gate run of the bisection, in the order in which they were made; `gated` is None where none could be."""

    at: int
    point: Point
    gated: Gated | None
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class BisectReport:
    """A whole bisection. `upstream` is the ref of the base's side; `notes` say what the answer does not cover."""

    arch: str
    profile: str
    fork: Side
    upstream: str
    points: tuple[Point, ...]
    judged: tuple[Judged, ...]
    answer: Bisection
    notes: tuple[str, ...]
    seconds: float

    @property
    def suspects(self) -> tuple[str, ...]:
        """The patchsets that may be the first: one where it is found."""
        low, high = self.answer.last_green, self.answer.first_red
        if low is None or high is None:
            return ()
        return named(self.points[low + 1 : high + 1])

    def run(self, at: int | None) -> Judged | None:
        """The gate run of a point."""
        return next((one for one in self.judged if one.at == at), None)


def named(points: Sequence[Point]) -> tuple[str, ...]:
    """The patchsets of some points, the base left out."""
    return tuple(point.patchset for point in points if point.patchset is not None)
