"""What a server's answer to `/completion` holds, read strictly: a stranger wrote it."""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass

_SHOWN = 80


class BadAnswer(ValueError):
    """The answer is not what `/completion` returns; the text says in which way."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that could have been taken at one position, with its natural-log probability."""

    token: int
    logprob: float


@dataclass(frozen=True, slots=True)
class Answer:
    """One generated text.

    `tokens` are the ids in order, at least one. `candidates` has one entry per token: the best candidates at
    that position, best first, or nothing where the server gave none. `drafted` and `accepted` count draft
    tokens; `timings` are the server's own numbers.
    """

    tokens: tuple[int, ...]
    text: str
    candidates: tuple[tuple[Candidate, ...], ...]
    drafted: int
    accepted: int
    timings: Mapping[str, float]


def parse_completion(body: bytes) -> Answer:
    """Read the JSON of one `/completion` answer that was asked for with `return_tokens`; else `BadAnswer`."""
    try:
        answer = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BadAnswer(f"the answer is no JSON: {_shown(body)}") from error
    if not isinstance(answer, dict):
        raise BadAnswer(f"the answer is no JSON object: {_shown(body)}")
    tokens, text = answer.get("tokens"), answer.get("content")
    if not isinstance(text, str) or not isinstance(tokens, list) or not all(type(token) is int for token in tokens):
        raise BadAnswer(f"the answer lacks `tokens` or `content`: {_shown(body)}")
    if not tokens:
        raise BadAnswer("the server generated no token")
    timings = _numbers(answer.get("timings"))
    return Answer(
        tokens=tuple(tokens),
        text=text,
        candidates=_candidates(answer.get("completion_probabilities"), tokens),
        drafted=int(timings.get("draft_n", 0)),
        accepted=int(timings.get("draft_n_accepted", 0)),
        timings=timings,
    )


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    return {str(name): number for name, number in value.items() if _is_number(number)}


def _is_number(value: object) -> bool:
    """Whether it is a number that a float can hold; a JSON integer has no bound."""
    if type(value) is int:
        return abs(value) <= sys.float_info.max
    return isinstance(value, float) and math.isfinite(value)


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _candidates(value: object, tokens: list[int]) -> tuple[tuple[Candidate, ...], ...]:
    rows = value if isinstance(value, list) and len(value) == len(tokens) else [None] * len(tokens)
    return tuple(_row(row, token) for row, token in zip(rows, tokens, strict=True))


def _row(row: object, token: int) -> tuple[Candidate, ...]:
    if not isinstance(row, dict) or row.get("id") != token or not isinstance(row.get("top_logprobs"), list):
        return ()
    found = [
        Candidate(entry["id"], float(entry["logprob"]))
        for entry in row["top_logprobs"]
        if isinstance(entry, dict) and type(entry.get("id")) is int and _is_number(entry.get("logprob"))
    ]
    return tuple(sorted(found, key=lambda candidate: -candidate.logprob))


def _shown(body: bytes) -> str:
    text = body[:_SHOWN].decode("utf-8", "replace")
    return repr(text) + (" …" if len(body) > _SHOWN else "")
