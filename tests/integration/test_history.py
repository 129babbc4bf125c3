"""The history: made from records, kept up to date, and made anew whatever becomes of its file."""

import json
import os
import sqlite3
from pathlib import Path

import jsonschema
import pytest

from forkguard.adapters.files import locked
from forkguard.adapters.history import LAYOUT, open_history
from forkguard.adapters.records import RecordFolder
from forkguard.core.history_rows import History, RecordKind
from forkguard.errors import CouldNotWork
from forkguard.reports.history import history_json
from forkguard.workflows.history import read_history
from tests.support.gate_documents import receipt_document
from tests.support.tiny_project import Listener
from tests.support.yearbook import START, Yearbook

DOCS = Path(__file__).parents[2] / "docs" / "schemas"


class Shelf(RecordFolder):
    """A shelf that keeps the names of what was read."""

    def __init__(self, root: Path, *, kind: RecordKind, file: str) -> None:
        super().__init__(root, kind=kind, file=file)
        self.asked: list[str] = []

    def read(self, name: str) -> bytes | str:
        self.asked.append(name)
        return super().read(name)


def shelves(state: Path) -> tuple[Shelf, Shelf]:
    return (
        Shelf(state / "nightly", kind=RecordKind.NIGHT, file="night.json"),
        Shelf(state / "receipts", kind=RecordKind.RECEIPT, file="receipt.json"),
    )


def told(state: Path, *, wait: float = 10.0) -> tuple[History, list[str], str]:
    """The history, the records that were read for it, and its remark."""
    both = shelves(state)
    with open_history(state / "history.sqlite", wait=wait) as book:
        return read_history(book, both, talk=Listener()), [name for one in both for name in one.asked], book.remark


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return Yearbook(tmp_path / ".forkguard").write(nights=6, extra_receipts=1).state


def test_rows_hold_what_the_records_say(state: Path) -> None:
    history, read, remark = told(state)
    assert (len(history.nights), len(history.receipts), history.skipped, remark) == (6, 3, (), "")
    assert len(read) == 9
    last = history.nights[-1]
    assert (last.name, last.verdict, last.behind, last.uncovered) == ("20250906T030005Z", "red", 100, 1)
    assert last.drift == {"corruption": 1, "change": 1}
    assert last.patches_with("conflict") == 1
    assert (history.nights[0].drift, history.nights[0].candidate) == (
        {"crash": 1},
        "forkguard/candidate/2025-09-01",
    )
    speeds = {(row.arm, row.asked): row for row in history.receipts[0].speeds}
    assert len(speeds["draft-f16", 200].runs) == 3
    assert speeds["draft-f16", 200].wide
    assert history.receipts[0].checks[2].kind == "identical"


def test_only_what_is_new_or_changed_is_read(state: Path) -> None:
    before = told(state)[0]
    assert told(state)[1] == []
    night = state / "nightly" / before.nights[0].name / "night.json"
    os.utime(night, (1, 1))
    again = told(state)
    assert (again[0], again[1]) == (before, [before.nights[0].name])
    assert told(state)[1] == []
    night.write_text(night.read_text().replace('"days_red": 1', '"days_red": 7'))
    assert told(state)[0].nights[0].days_red == 7


def test_a_record_that_is_gone_is_forgotten(state: Path) -> None:
    name = told(state)[0].receipts[0].name
    (state / "receipts" / name / "receipt.json").unlink()
    history = told(state)[0]
    assert name not in [row.name for row in history.receipts]
    assert len(history.receipts) == 2


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 400)


def _torn(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : len(content) - 4096] = b"\xff" * (len(content) - 8192)
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("harm", ["lost", "garbage", "torn", "older", "newer", "empty"])
def test_a_history_that_is_no_good_is_made_anew(state: Path, harm: str) -> None:
    before = told(state)[0]
    path = state / "history.sqlite"
    if harm == "lost":
        path.unlink()
    elif harm == "garbage":
        _garbage(path)
    elif harm == "torn":
        _torn(path)
    elif harm == "empty":
        path.write_bytes(b"")
    else:
        with sqlite3.connect(path) as base:
            base.execute("DROP TABLE night_patch")
            base.execute(f"PRAGMA user_version = {LAYOUT + (1 if harm == 'newer' else -1)}")
        base.close()
    history, read, remark = told(state)
    assert (history, len(read), remark) == (before, 9, "")
    assert told(state)[1] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "this is no JSON"),
        ('{"schema": "forkguard/nightly@9"}', "this is no forkguard/nightly@1"),
        ("\udcff", "this is no UTF-8"),
    ],
)
def test_a_damaged_night_is_skipped_and_said_and_read_once(state: Path, text: str, why: str) -> None:
    folder = state / "nightly" / "20250907T030005Z"
    folder.mkdir()
    (folder / "night.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    history = told(state)[0]
    (skipped,) = history.skipped
    assert (skipped.kind, skipped.name) == (RecordKind.NIGHT, folder.name)
    assert skipped.why.startswith(why)
    assert len(history.nights) == 6
    assert told(state)[1] == []


def test_a_receipt_that_contradicts_itself_and_one_that_is_a_link_are_skipped(state: Path) -> None:
    liar, link = state / "receipts" / "20250910T000000Z-liar", state / "receipts" / "20250911T000000Z-link"
    liar.mkdir()
    link.mkdir()
    document = receipt_document(START, 1, verdict="fail") | {"verdict": "pass"}
    (liar / "receipt.json").write_text(json.dumps(document))
    (link / "receipt.json").symlink_to(liar / "receipt.json")
    assert [(one.name, one.why[:22]) for one in told(state)[0].skipped] == [
        (liar.name, "it says pass, and its "),
        (link.name, "it cannot be read: Too"),
    ]


def test_a_receipt_that_was_changed_after_it_was_sealed_is_skipped(state: Path) -> None:
    path = sorted((state / "receipts").glob("*/receipt.json"))[0]
    path.write_text(path.read_text().replace('"seconds": 11.2', '"seconds": 11.3', 1))
    history = told(state)[0]
    assert [(one.name, one.why) for one in history.skipped] == [
        (path.parent.name, "it is not the receipt that its SHA256SUMS names")
    ]
    assert len(history.receipts) == 2


def test_a_night_that_lies_in_anothers_folder_is_skipped(state: Path) -> None:
    (state / "nightly" / "20250901T030005Z").rename(state / "nightly" / "20250921T030005Z")
    assert [one.why for one in told(state)[0].skipped] == ["it says that it is 20250901T030005Z"]


def test_a_locked_history_is_said_after_a_bounded_wait(state: Path) -> None:
    told(state)
    path = state / "history.sqlite"
    (state / "nightly" / "20250901T030005Z" / "night.json").unlink()
    other = sqlite3.connect(path)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(CouldNotWork, match="locked by another program"):
        told(state, wait=0.05)
    other.close()
    assert len(told(state)[0].nights) == 5


def test_another_run_that_holds_the_history_is_named(state: Path) -> None:
    lock = locked(state / "history.sqlite.lock", purpose="a long report")
    with lock, pytest.raises(CouldNotWork, match="a long report"):
        told(state, wait=0.05)


def test_where_no_file_can_be_written_every_record_is_read_and_that_is_said(state: Path) -> None:
    before = told(state)[0]
    (state / "history.sqlite").unlink()
    (state / "history.sqlite").mkdir()
    history, read, remark = told(state)
    assert (history, len(read)) == (before, 9)
    assert "the history's file cannot be written" in remark


def test_the_export_is_one_document_that_its_schema_takes(state: Path) -> None:
    document = json.loads(history_json(told(state)[0]))
    jsonschema.validate(document, json.loads((DOCS / "history.json").read_text()))
    assert document["nights"][0]["id"] == "20250901T030005Z"
    assert document["receipts"][0]["checks"][0] == {"name": "crash", "verdict": "pass", "class": None}


def test_the_records_of_these_tests_are_what_forkguard_writes(state: Path) -> None:
    gate = json.loads((DOCS / "gate.json").read_text())
    for path in (state / "receipts").glob("*/receipt.json"):
        jsonschema.validate(json.loads(path.read_text()), gate)
    for verdict in ("fail", "inconclusive"):
        jsonschema.validate(receipt_document(START, 3, verdict=verdict), gate)
    drift = json.loads((DOCS / "drift.json").read_text())
    for path in (state / "nightly").glob("*/drift.json"):
        jsonschema.validate(json.loads(path.read_text()), drift)
