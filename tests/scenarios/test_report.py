"""`forkguard report`, whole: the folder, the documents, and what it does where something is wrong."""

import json
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import jsonschema
import pytest

from forkguard.core.nightly import Candidate, NightDrift, NightSide, NightUpstream
from tests.support.commands import Outcome, forkguard
from tests.support.gate_documents import HOSTILE
from tests.support.repos import MiniHistory
from tests.support.small_disk import fill, small_disk
from tests.support.snapshot import fork_as_it_is
from tests.support.yearbook import START, Yearbook, make_night

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
        "drift --arch qwen35 --upstream-ref ",
        "drift --arch lfm2 --upstream-ref ",
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
    patchset = (full / ".forkguard/report/patchsets/router-log.html").read_text()
    assert (
        '<a href="../nights/20250912T030005Z.html#packet-1">Conflict packet of 0001-router-log.patch</a>' in patchset
    )


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


def test_wiring_and_range_diff_are_read_from_the_fork(desk: Path, history: MiniHistory) -> None:
    fork, lines = history.fork, "".join(f"line {number}\n" for number in range(12))
    candidates = []
    for onto, text in ((history.base, lines), (history.tip, lines.replace("line 5", "line five"))):
        fork.git("checkout", "-q", "--detach", onto)
        candidates.append(fork.commit("27383 : step 1", {"badge.txt": text}))
    fork.git("checkout", "-q", "production")
    before = fork_as_it_is(fork.path)
    book = Yearbook(desk / ".forkguard")
    for number, (onto, candidate) in enumerate(zip((history.base, history.tip), candidates, strict=True)):
        night = make_night(number, ("27383",), of=20)
        upstream = NightUpstream("upstream/master", history.base, onto, 1, 1)
        book.put_night(
            replace(
                night, fork=NightSide("production", history.own[1]), upstream=upstream, gate=(),
                candidate=Candidate(f"forkguard/candidate/{number}", candidate),
                drift=NightDrift({"otter": "clean"}),
            )
        )  # fmt: skip
    report = written(desk)
    page = words(report / "patchsets/27383.html")
    assert "Between the last two candidates From the night 20250901T030005Z to the night 20250902T030005Z" in page
    assert "27383 : step 1: changed (range-diff)" in page
    assert "-+line 5 ++line five" in page
    assert "layer-input yes yes crash" in words(report / "archs/otter.html")
    assert "could not be read" not in words(report / "index.html")
    assert fork_as_it_is(fork.path) == before
    alone = words(written(desk, "--records-only") / "patchsets/27383.html")
    assert "range-diff" not in alone


def test_a_fork_that_is_not_there_or_lacks_the_commits_is_said(full: Path, history: MiniHistory) -> None:
    assert "the wiring of that night's commits could not be read" in words(written(full) / "index.html")
    history.fork.path.rename(history.fork.path.with_name("moved"))
    text = words(written(full) / "index.html")
    assert "note the fork is not there: without it there is no wiring and no range-diff" in text


def test_a_full_disk_leaves_the_old_report(full: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", kilobytes=1024) as disk:
        report = written(full, "--output", disk / "report")
        before = files(report)
        fill(disk)
        outcome = forkguard("report", "--output", report, cwd=full)
        assert outcome.status == 3
        assert outcome.told()[0] == "cannot write the report: No space left on device"
        assert files(report) == before
        assert sorted(path.name for path in disk.iterdir()) == ["filler", "report"]


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


@pytest.mark.parametrize("name", [".forkguard", ".forkguard/history.sqlite", ".forkguard/report"])
def test_a_link_into_the_fork_is_not_followed(name: str, full: Path, history: MiniHistory) -> None:
    inside = history.fork.path / "docs"
    if name == ".forkguard":
        shutil.copytree(full / name, inside / "state")
        shutil.rmtree(full / name)
        (full / name).symlink_to(inside / "state")
    else:
        (full / name).symlink_to(inside)
    before = fork_as_it_is(history.fork.path)
    outcome = forkguard("report", cwd=full)
    assert outcome.status == 2, outcome.err
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
    other.with_name("SHA256SUMS").unlink()
    text = words(written(desk) / "index.html")
    assert "the last gate of lfm2 is fail: crash: draft-3: abort at the first decode" in text
    assert "forkguard gate --arch lfm2" in text
    markdown = forkguard("report", "--format", "markdown", cwd=desk).out
    assert "Last gates: `lfm2` fail (2025-09-01 03:00 UTC), `heron` pass (2025-09-01 04:00 UTC)." in markdown


def test_help_names_the_formats() -> None:
    outcome: Outcome = forkguard("report", "--help", cwd=Path.cwd())
    assert "html|markdown|json" in outcome.out
