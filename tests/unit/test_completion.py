"""Answers of a server are read strictly."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.completion import BadAnswer, Candidate, parse_completion


def body(**changes: Any) -> bytes:
    whole: dict[str, Any] = {
        "content": "ab",
        "tokens": [7, 8],
        "timings": {"draft_n": 6, "draft_n_accepted": 2, "predicted_ms": 1.5, "odd": "no"},
        "completion_probabilities": [
            {"id": 7, "top_logprobs": [{"id": 9, "logprob": -2.0}, {"id": 7, "logprob": -0.5}]},
            {"id": 8, "top_logprobs": [{"id": 8, "logprob": -0.1}]},
        ],
    }
    return json.dumps(whole | changes).encode()


def test_a_whole_answer() -> None:
    answer = parse_completion(body())
    assert (answer.tokens, answer.text, answer.drafted, answer.accepted) == ((7, 8), "ab", 6, 2)
    assert answer.candidates == ((Candidate(7, -0.5), Candidate(9, -2.0)), (Candidate(8, -0.1),))
    assert answer.timings == {"draft_n": 6, "draft_n_accepted": 2, "predicted_ms": 1.5}


def test_without_drafts_and_probabilities() -> None:
    answer = parse_completion(body(timings={}, completion_probabilities=None))
    assert (answer.drafted, answer.accepted, answer.candidates) == (0, 0, ((), ()))


def test_probabilities_of_another_token_are_not_taken() -> None:
    rows = [{"id": 1, "top_logprobs": [{"id": 1, "logprob": 0}]}, {"id": 8, "top_logprobs": "none"}]
    assert parse_completion(body(completion_probabilities=rows)).candidates == ((), ())


@pytest.mark.parametrize(
    "bad",
    [
        b"", b"\xff\x00", b"[]", b"3", b'{"content": "a", "tokens": [1', b"[" * 100_000,
        body(tokens=[]), body(tokens=[1.5]), body(tokens=[True]), body(tokens="12"), body(content=None),
        body(timings={"draft_n": float("nan")}),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused(bad: bytes) -> None:
    with pytest.raises(BadAnswer):
        parse_completion(bad)


def test_numbers_without_bounds_are_left_out() -> None:
    for number in (b"1e999", b"1" + b"0" * 400, b"-1" + b"0" * 400):
        assert parse_completion(body().replace(b"1.5", number)).timings == {"draft_n": 6, "draft_n_accepted": 2}
        assert parse_completion(body().replace(b"-2.0", number)).candidates[0] == (Candidate(7, -0.5),)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(BadAnswer):
        parse_completion(data)
