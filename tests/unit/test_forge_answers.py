"""What the forge says of a request, as values."""

import json
from typing import Any

import pytest

from forkguard.core.forge import PullInfo, parse_pull
from forkguard.core.porting import PullState
from forkguard.errors import CouldNotWork

HEAD, MERGE = "a" * 40, "b" * 40
OPEN: dict[str, Any] = {"number": 7, "title": "t", "head": {"sha": HEAD}, "merged_at": None, "state": "open"}


def read(**changed: object) -> PullInfo:
    return parse_pull(json.dumps(OPEN | changed).encode(), where="x")


def test_an_open_request() -> None:
    assert read() == PullInfo(7, PullState.OPEN, "t", HEAD, None, None)  # type: ignore[arg-type]
    assert read(merge_commit_sha=MERGE).merge is None


def test_a_merged_request_has_the_commit_by_which_it_went_in() -> None:
    found = read(merged_at="2026-09-01T00:00:00Z", state="closed", merge_commit_sha=MERGE, body="superseded by #8")
    assert (found.state, found.merge, found.heir) == (PullState.MERGED, MERGE, None)
    assert read(merged_at="2026-09-01T00:00:00Z", merge_commit_sha="no hash").merge is None


@pytest.mark.parametrize(
    ("title", "body", "heir"),
    [
        ("t", "Superseded by #8.", 8),
        ("t", "landed in https://github.com/a/b/pull/9", 9),
        ("replaced by #10", None, 10),
        ("t", "see #8", None),
        ("t", f"superseded by #{'9' * 5000}", None),
    ],
)
def test_a_closed_request_may_have_an_heir(title: str, body: str | None, heir: int | None) -> None:
    found = read(state="closed", title=title, body=body)
    assert (found.state, found.heir) == (PullState.CLOSED, heir)


@pytest.mark.parametrize("head", [{"sha": "short"}, {"sha": None}, {}, None, "x"])
def test_an_answer_without_a_head_is_none(head: object) -> None:
    with pytest.raises(CouldNotWork, match="the forge's answer"):
        read(head=head)


def test_a_title_that_no_file_can_hold_is_mended() -> None:
    assert read(title="x\ud800y").title == "x\N{REPLACEMENT CHARACTER}y"
