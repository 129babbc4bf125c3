"""What reports read of a receipt."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.history_rows import receipt_row
from forkguard.core.receipt_view import ComparisonView, difference_at, view_receipt
from forkguard.core.receipts import BadReceipt
from forkguard.reports.site_words import shown, tone
from tests.support.gate_documents import receipt_document
from tests.support.yearbook import START


def view(**changes: Any) -> Any:
    return view_receipt(json.dumps(receipt_document(START, 1) | changes).encode())


def test_a_receipt_of_an_older_version_is_read_without_what_it_lacks() -> None:
    document = receipt_document(START, 1)
    for name in ("measurements", "not_run", "settings", "box", "logs", "job", "upstream"):
        del document[name]
    receipt = view_receipt(json.dumps(document).encode())
    assert (receipt.verdict, receipt.speed, receipt.reason) == ("pass", None, None)
    assert receipt_row("x", receipt).speeds == ()


@pytest.mark.parametrize("name", ["verdict", "checks", "arms", "tree", "arch", "started"])
def test_what_judges_is_required(name: str) -> None:
    document = receipt_document(START, 1)
    del document[name]
    with pytest.raises(BadReceipt, match=name):
        view_receipt(json.dumps(document).encode())


def test_a_pass_without_a_check_is_no_receipt() -> None:
    with pytest.raises(BadReceipt, match="says pass"):
        view(checks=[])


@given(st.binary())
def test_no_bytes_break_the_reader(content: bytes) -> None:
    with pytest.raises(BadReceipt):
        view_receipt(content)


def test_the_first_difference_is_found_on_both_sides() -> None:
    receipt = view_receipt(json.dumps(receipt_document(START, 1, verdict="inconclusive")).encode())
    (evidence,) = receipt.checks[2].evidence
    context = difference_at(receipt, evidence, around=3)
    assert context is not None
    assert (context.shared, context.expected, context.got) == ((417, 418, 419), (420, 421, 422), (777, 778, 779))
    assert context.got_text.startswith(" and something else")
    whole = difference_at(receipt, evidence, around=10_000)
    assert whole is not None
    assert (whole.shared[:2], len(whole.shared)) == ((400, 401), whole.place)


def test_comparisons_over_all_tasks_are_told_from_those_of_one() -> None:
    speed = view_receipt(json.dumps(receipt_document(START, 1)).encode()).speed
    assert speed is not None
    one = ComparisonView.model_construct(arm="draft-3", task="code", asked=1)
    whole = ComparisonView.model_construct(arm="draft-3", task=None, asked=1)
    assert speed.model_copy(update={"comparisons": (one, whole)}).overall == (whole,)


@pytest.mark.parametrize(
    "change", [{"arm": "gone"}, {"prompt": None}, {"first_difference": None}, {"first_difference": -1}, {"arm": 3}]
)
def test_evidence_that_names_no_place_gives_no_context(change: dict[str, Any]) -> None:
    receipt = view_receipt(json.dumps(receipt_document(START, 1, verdict="inconclusive")).encode())
    assert difference_at(receipt, {**receipt.checks[2].evidence[0], **change}) is None


@given(st.text())
def test_nothing_that_turns_text_around_or_steers_a_terminal_is_shown(text: str) -> None:
    found = str(shown(text))
    assert len(found) == len(text)
    assert all(letter.isprintable() or letter in "\n\t" for letter in found)


def test_a_status_that_nobody_listed_does_not_look_good() -> None:
    assert {tone(word) for word in ("applies", "green", "pass", "faster")} == {"good"}
    assert tone("a new status") == "unknown"
