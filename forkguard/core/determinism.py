"""Are two greedy texts the same, and if not, what kind of difference is it?

A greedy text must not depend on whether tokens were drafted. Where it does, the first differing token
decides: with the two best tokens almost equal there, rounding may have chosen (`near-tie`). Otherwise the
draft changed what the model computed (`corruption`), unless a server without a draft, computing the same
prefix in batches of the same size, takes the same token and goes on in the same way (`batch-shape`).
"""

from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.completion import Answer

NEAR_TIE_NATS = 0.05
"""Below this gap between the two best log probabilities a difference counts as rounding."""

NUMERICS_NATS = 1.0
"""No order of summation moves two log probabilities that far apart: above this gap nothing excuses a difference."""


class Difference(StrEnum):
    """What a comparison of two texts, or of all texts of a gate, came to.

    `batch-shape`: the arm repeats itself, and the batch's size alone makes the same difference without a draft;
    whether it is red depends on the policy. `baseline-unstable` is said only of the two runs without a draft.
    """

    IDENTICAL = "identical"
    NEAR_TIE = "near-tie"
    BATCH_SHAPE = "batch-shape"
    CORRUPTION = "corruption"
    BASELINE_UNSTABLE = "baseline-unstable"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one text differs from its reference.

    `first_difference` is the index of the first token that differs (None: the tokens are equal), which is
    also the length of the shared prefix. `expected` and `got` are the token ids there (None past the end).
    `gap` is the reference's distance in nats between its best and second-best token there; None where the
    server gave fewer than two candidates, so that the second was out of reach. `agreeing` of the `after` tokens
    behind the difference are the same again, place by place: a remark, since another token may lead elsewhere.
    """

    difference: Difference
    first_difference: int | None = None
    expected: int | None = None
    got: int | None = None
    gap: float | None = None
    agreeing: int = 0
    after: int = 0


def compare(reference: Answer, other: Answer, *, near_tie: float = NEAR_TIE_NATS) -> Comparison:
    """Hold `other` against `reference`, token by token and then by its text.

    A difference is a near tie only when the other text took the reference's second-best token and the gap
    is below `near_tie` nats.
    """
    place = first_difference(reference.tokens, other.tokens)
    if place is None:
        same = reference.text == other.text
        return Comparison(Difference.IDENTICAL if same else Difference.CORRUPTION)
    expected, got = _at(reference.tokens, place), _at(other.tokens, place)
    best = reference.candidates[place][:2] if place < len(reference.candidates) else ()
    gap = best[0].logprob - best[1].logprob if len(best) == 2 else None
    tie = gap is not None and gap < near_tie and {expected, got} == {candidate.token for candidate in best}
    behind = list(zip(reference.tokens[place + 1 :], other.tokens[place + 1 :], strict=False))
    return Comparison(
        Difference.NEAR_TIE if tie else Difference.CORRUPTION,
        place,
        expected,
        got,
        gap,
        agreeing=sum(one == another for one, another in behind),
        after=len(behind),
    )


@dataclass(frozen=True, slots=True)
class Recheck:
    """What a second look at a difference showed; None where it could not be had.

    `repeats`: whether the arm gave the same text again. `at`: what a server without a draft takes at the
    difference, given the prefix in batches of the arm's size. `on`: how it goes on behind the arm's own token.
    `rest` is the arm's text there.
    """

    repeats: bool | None = None
    at: Answer | None = None
    on: Answer | None = None
    rest: tuple[int, ...] = ()


def settle(found: Comparison, recheck: Recheck, *, near_tie: float = NEAR_TIE_NATS) -> tuple[Difference, str]:
    """The kind of a difference after the second look, and why; without one, the first look stands."""
    if found.difference is Difference.IDENTICAL or found.first_difference is None:
        return found.difference, ""
    if found.gap is None or found.gap > NUMERICS_NATS:
        return found.difference, "no rounding bridges this gap"
    if found.difference is Difference.CORRUPTION:
        if recheck.repeats is False:
            return Difference.CORRUPTION, "the arm does not repeat itself"
        if recheck.at is None:
            return Difference.CORRUPTION, ""
        if not _takes(recheck.at, found.got, near_tie=near_tie):
            return (
                Difference.CORRUPTION,
                "without a draft the same prefix, as a batch of that size, gives the reference",
            )
    if recheck.on is not None and _parts(recheck.on, recheck.rest):
        return Difference.CORRUPTION, "what follows is not what the model makes of this text without a draft"
    if found.difference is Difference.NEAR_TIE:
        return Difference.NEAR_TIE, ""
    return Difference.BATCH_SHAPE, "a batch of that size makes the same difference without a draft"


def _takes(scored: Answer, got: int | None, *, near_tie: float) -> bool:
    """Whether the token is the best one, or next to it by less than a near tie."""
    if scored.tokens[0] == got:
        return True
    best = scored.candidates[0][:2] if scored.candidates else ()
    return len(best) == 2 and best[1].token == got and best[0].logprob - best[1].logprob < near_tie


def _parts(on: Answer, rest: tuple[int, ...]) -> bool:
    """Whether a text goes another way than `on` where numerics cannot be the reason."""
    place = first_difference(on.tokens[: len(rest)], rest[: len(on.tokens)])
    if place is None:
        return False
    best = on.candidates[place][:2] if place < len(on.candidates) else ()
    if len(best) < 2 or best[0].logprob - best[1].logprob > NUMERICS_NATS:
        return True
    return _at(rest, place) != best[1].token


def first_difference(one: tuple[int, ...], other: tuple[int, ...]) -> int | None:
    """The index of the first token in which the two differ, or None.

    >>> first_difference((1, 2, 3), (1, 5, 3))
    1
    >>> first_difference((1, 2), (1, 2, 3))
    2
    """
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return None if len(one) == len(other) else min(len(one), len(other))


def _at(tokens: tuple[int, ...], place: int) -> int | None:
    return tokens[place] if place < len(tokens) else None
