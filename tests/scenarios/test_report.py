"""`forkguard report`, whole: the folder, the documents, and what it does where something is wrong."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import jsonschema
import pytest

from tests.support.commands import Outcome, forkguard
from tests.support.gate_documents import HOSTILE
from tests.support.repos import MiniHistory
from tests.support.snapshot import fork_as_it_is
from tests.support.yearbook import START, Yearbook

MAP = '[fork]\npath = "../fork"\nref = "production"\n\n[upstream]\nremote = "upstream"\nref = "upstream/master"\n'
SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/history.json").read_text())


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "upstream-map.toml").write_text(MAP)
    return folder


@pytest.fixture
def full(desk: Path) -> Path:
    Yearbook(desk / ".forkguard").write(nights=12, patchsets=5, extra_receipts=1)
    return desk


def written(desk: Path, *words: str | Path) -> Path:
    outcome = forkguard("report", *words, cwd=desk)
    assert outcome.status == 0, outcome.err
    index = Path(outcome.out.strip())
    assert index.name == "index.html"
    return index.parent


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def words(page: Path) -> str:
    """A page's text without its tags, white space folded."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.read_text())).split())


def test_the_first_page_says_the_verdict_and_what_to_type(full: Path) -> None:
    text = words(written(full) / "index.html")
    assert "Last night: red router-log/0001-router-log.patch does not apply since e0d7673d05" in text
    needs = text[text.index("What needs you today") : text.index("Where the fork stands")]
    assert re.search(r"patchset router-log forkguard stack replay --onto [0-9a-f]{12} --resolve router-log", needs)
    for command in (
        "stack import --from-branch production",
        "drift --arch qwen35",
        "drift --arch lfm2",
        "stack retire 27383",
    ):
        assert f"forkguard {command}" in needs
    assert "behind 172, 12 of them new that night" in text
    assert "stack 8 patches: 4 apply, 1 joined, 2 landed, 1 conflict" in text
    assert "not green for 5 days" in text


def test_there_is_a_page_for_each_night_patchset_arch_and_receipt(full: Path) -> None:
    there = files(written(full))
    for folder, count in (("nights", 12), ("patchsets", 5), ("archs", 3), ("receipts", 8)):
        assert sum(name.startswith(f"{folder}/") for name in there) == count, folder
    night = words(full / ".forkguard/report/nights/20250909T030005Z.html")
    assert "What changed in the stack since 2025-09-07 03:00" in night
    assert "router-log/0001-router-log.patch applies conflict e0d7673d05" in night


def test_the_same_records_give_the_same_bytes_and_old_pages_go(full: Path, tmp_path: Path) -> None:
    first = files(written(full))
    (full / ".forkguard/history.sqlite").unlink()
    assert files(written(full, "--output", tmp_path / "elsewhere")) == first
    shutil.rmtree(full / ".forkguard/nightly/20250901T030005Z")
    (full / ".forkguard/report/nights/stray.html").write_text("old")
    again = files(written(full))
    assert "nights/20250901T030005Z.html" not in again
    assert "nights/stray.html" not in again
    assert sorted(path.name for path in (full / ".forkguard").iterdir()) == [
        "history.sqlite", "history.sqlite.lock", "nightly", "receipts", "report", "report.lock",
    ]  # fmt: skip


def test_texts_of_strangers_are_shown_and_never_obeyed(full: Path) -> None:
    report = written(full)
    for page in report.rglob("*.html"):
        text = page.read_text()
        assert "<script" not in text.lower(), page
        assert "<img" not in text, page
        assert "\x1b" not in text, page
        assert "\u202e" not in text, page
    shown = HOSTILE.replace("\x1b", "\ufffd").replace("\u202e", "\ufffd")
    assert shown.split("> ")[1] in unescape((report / "nights/20250912T030005Z.html").read_text())


def test_a_damaged_newest_record_is_never_green(full: Path) -> None:
    folder = full / ".forkguard/nightly/20250913T030005Z"
    folder.mkdir()
    (folder / "night.json").write_text("{")
    text = words(written(full) / "index.html")
    assert "Last night: could not run the record of the newest night, 20250913T030005Z, cannot be read" in text
    assert "the night 20250913T030005Z cannot be read (this is no JSON" in text
    assert "1 could not be read" in text


def test_a_night_without_a_record_is_said(desk: Path) -> None:
    Yearbook(desk / ".forkguard").write(nights=12, patchsets=5)
    for late in ("09", "10", "11", "12"):
        shutil.rmtree(desk / f".forkguard/nightly/202509{late}T030005Z")
    assert "Last night: could not run" in words(written(desk) / "index.html")
    shutil.rmtree(desk / ".forkguard/nightly/20250908T030005Z")
    assert "Last night: green" in words(written(desk) / "index.html")
    (desk / ".forkguard/nightly/20250913T030005Z").mkdir()
    text = words(written(desk) / "index.html")
    assert "Last night: could not run the night 20250913T030005Z has no record" in text


def test_nothing_yet_is_said_with_what_to_do(desk: Path) -> None:
    outcome = forkguard("report", cwd=desk)
    assert outcome.status == 3
    assert outcome.told() == (
        "there is nothing to report yet: no night and no gate has run here", str(desk / ".forkguard"),
        "forkguard nightly, or: forkguard gate",
    )  # fmt: skip
    assert sorted(path.name for path in desk.iterdir()) == ["upstream-map.toml"]


def test_a_folder_that_is_no_report_is_left_alone(full: Path, tmp_path: Path) -> None:
    other = tmp_path / "papers"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    outcome = forkguard("report", "--output", other, cwd=full)
    assert outcome.status == 2
    assert outcome.told()[0] == "this folder is no report of forkguard's, so it is not replaced"
    assert files(other) == {"thesis.txt": b"mine"}
    assert [path.name for path in tmp_path.iterdir() if "papers" in path.name] == ["papers"]


def test_the_forks_work_tree_is_left_alone(full: Path, history: MiniHistory) -> None:
    before = fork_as_it_is(history.fork.path)
    outcome = forkguard("report", "--output", history.fork.path / "report", cwd=full)
    assert outcome.status == 2
    assert "inside the fork's own work tree" in outcome.told()[0]
    assert fork_as_it_is(history.fork.path) == before


def test_markdown_is_one_document_with_what_failed(full: Path) -> None:
    outcome = forkguard("report", "--format", "markdown", cwd=full)
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "### forkguard: last night red"
    assert "- **now** `router-log/0001-router-log.patch: conflict since upstream e0d7673d05`: " in outcome.out
    assert (
        "| `router-log/0001-router-log.patch` | **conflict** | `e0d7673d05` | `hunk 2 of src/llama-graph.cpp` |"
        in lines
    )
    assert (
        "Conflict packet of `router-log/0001-router-log.patch`; resume with `forkguard stack replay router-log`"
        in lines
    )
    assert "\x1b" not in outcome.out
    assert len(outcome.out) < 60_000


def test_the_export_is_the_history(full: Path, tmp_path: Path) -> None:
    outcome = forkguard("report", "--export", "json", cwd=full)
    document = json.loads(outcome.out)
    jsonschema.validate(document, SCHEMA)
    assert (len(document["nights"]), len(document["receipts"])) == (12, 8)
    assert forkguard("report", "--format", "json", cwd=full).out == outcome.out
    target = tmp_path / "history.json"
    assert forkguard("report", "--export", "json", "--output", target, cwd=full).status == 0
    assert target.read_text() == outcome.out == (written(full) / "history.json").read_text()


def test_a_report_that_a_kill_left_half_swapped_is_put_back_and_replaced(full: Path) -> None:
    report = written(full)
    before = files(report)
    report.rename(report.with_name(".report.old"))
    (report.with_name(".report.new-1-abcd")).mkdir()
    assert files(written(full)) == before
    assert not [path.name for path in report.parent.iterdir() if path.name.startswith(".report")]


def test_gates_alone_make_a_report(desk: Path) -> None:
    Yearbook(desk / ".forkguard").write(nights=0, extra_receipts=2)
    text = words(written(desk) / "index.html")
    assert text.startswith("No night yet", text.index("No night yet"))
    assert "What needs you today Nothing." in text
    assert "The last gate runs" in text


def test_an_arch_whose_last_gate_is_red_is_not_hidden_by_another_one(desk: Path) -> None:
    book = Yearbook(desk / ".forkguard")
    book.put_receipt(START, 1, name="a", verdict="fail")
    other = book.put_receipt(START.replace(hour=4), 2, name="b")
    other.write_text(other.read_text().replace('"arch": "lfm2",\n  "checks"', '"arch": "heron",\n  "checks"'))
    text = words(written(desk) / "index.html")
    assert "the last gate of lfm2 is fail: crash: draft-3: abort at the first decode" in text
    assert "forkguard gate --arch lfm2" in text
    markdown = forkguard("report", "--format", "markdown", cwd=desk).out
    assert "Last gates: `lfm2` fail (2025-09-01 03:00 UTC), `heron` pass (2025-09-01 04:00 UTC)." in markdown


def test_help_names_the_formats() -> None:
    outcome: Outcome = forkguard("report", "--help", cwd=Path.cwd())
    assert "html|markdown|json" in outcome.out
