"""Are two greedy texts the same, and if not, what kind of difference is it?

A greedy text must not depend on whether tokens were drafted. Where it does, the first differing token
decides: with the two best tokens almost equal there, rounding may have chosen (`near-tie`); otherwise the
draft changed what the model computed (`corruption`).
"""

from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.completion import Answer

NEAR_TIE_NATS = 0.05
"""Below this gap between the two best log probabilities a difference counts as rounding."""


class Difference(StrEnum):
    """What a comparison of two texts, or of all texts of a gate, came to.

    `batch-shape` (each arm repeats itself, and upstream differs in the same way) can be said only with an
    upstream arm; `baseline-unstable` only of the two runs without a draft.
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
    server gave fewer than two candidates, so that the second was out of reach.
    """

    difference: Difference
    first_difference: int | None = None
    expected: int | None = None
    got: int | None = None
    gap: float | None = None


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
    return Comparison(Difference.NEAR_TIE if tie else Difference.CORRUPTION, place, expected, got, gap)


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
