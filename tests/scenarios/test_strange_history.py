"""Commits as only a stranger makes them: dates outside of any calendar, subjects without end, escapes, odd names."""

import json
import re
from xml.etree import ElementTree

import pytest

from tests.support.porting import HERON, Desk, make_desk
from tests.support.repos import MiniHistory

ODD_DATES = [
    "253402300800 +0000",
    "1700000000 +9999",
    "1700000000 -9959",
    "67767976233529199 +0000",
    "x y",
    "-5 +0000",
]


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory, history: MiniHistory) -> Desk:
    return make_desk(history.fork.path.parent)


def odd_commit(history: MiniHistory, *, date: str, subject: str) -> str:
    """Upstream's next commit, which brings a line that the fork lacks; fetched by the fork."""
    upstream = history.upstream
    text = (upstream.path / HERON).read_text()
    upstream.commit("odd", {HERON: text.replace("\n}\n", "\n    odd_call(ctx);\n}\n", 1)})
    raw = upstream.git("cat-file", "commit", "HEAD")
    head, _, _ = raw.partition("\n\n")
    head = re.sub(r"^(author|committer) (.*>) .*$", rf"\1 \2 {date}", head, flags=re.MULTILINE)
    made = upstream.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=f"{head}\n\n{subject}\n")
    upstream.git("update-ref", "refs/heads/master", made)
    history.fork.git("-c", "fetch.fsckObjects=false", "fetch", "-q", "upstream")
    return made


@pytest.mark.parametrize("date", ODD_DATES)
def test_a_date_that_no_calendar_has(desk: Desk, history: MiniHistory, date: str) -> None:
    made = odd_commit(history, date=date, subject="heron : an odd call")

    document = desk.json("drift", "--arch", "heron", status=1)

    brought = [finding for finding in document["findings"] if (finding["upstream"] or {}).get("commit") == made]
    assert len(brought) == 1
    assert "odd_call(ctx);" in brought[0]["text"]
    assert desk.run("status").status == 0
    assert desk.run("doctor", "--for", "drift").status == 0


def test_a_request_number_without_end(desk: Desk, history: MiniHistory) -> None:
    made = odd_commit(history, date="1700000000 +0000", subject=f"odd, as in #{'8' * 5000} (#{'9' * 5000})")

    document = desk.json("drift", "--arch", "heron", status=1)

    (brought,) = [finding for finding in document["findings"] if (finding["upstream"] or {}).get("commit") == made]
    assert brought["upstream"]["pr"] is None
    assert desk.run("status").status == 0


HOSTILE = "\x1b]0;owned\x07<script>alert(1)</script> | `x` [a](javascript:b) ::set-output name=a::b %0A]]> ' onload="


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "markdown"])
def test_a_hostile_subject_in_every_format(desk: Desk, history: MiniHistory, form: str) -> None:
    odd_commit(history, date="1700000000 +0000", subject=HOSTILE)

    outcome = desk.run("drift", "--arch", "heron", "--format", form)

    assert outcome.status == 1
    assert not {"\x1b", "\x07"} & set(outcome.out + outcome.err)
    assert "set-output" in outcome.out
    assert not re.search(r"^::", outcome.out + outcome.err, re.MULTILINE)
    if form in ("json", "sarif"):
        json.loads(outcome.out)
    elif form == "junit":
        ElementTree.fromstring(outcome.out)  # noqa: S314  (our own)
        assert "<script" not in outcome.out
    elif form == "markdown":
        outside_of_code = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", outcome.out)
        assert "script" not in outside_of_code
        assert "script" in outcome.out
