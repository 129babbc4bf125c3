"""`forkguard status`, whole: numbers, the stack, what no patchset covers, and the JSON's schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.commands import forkguard
from tests.support.repos import GitFolder, MiniHistory

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/status.json").read_text())
MAP = '[fork]\npath = "../fork"\nref = "production"\n\n[upstream]\nremote = "upstream"\nref = "upstream/master"\n'
MANIFEST = 'title = "name the output"\nstate = "{state}"\n'


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "upstream-map.toml").write_text(MAP)
    return folder


def status(desk: Path, *words: str) -> dict[str, Any]:
    outcome = forkguard("status", "--format", "json", *words, cwd=desk)
    assert outcome.status == 0, outcome.err
    document: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(document, SCHEMA)
    return document


def carry(desk: Path, name: str, fork: GitFolder, commit: str, *, state: str = "carried") -> Path:
    """A patchset whose one patch is a commit of the fork, made by plain git."""
    folder = desk / "patchsets" / name
    folder.mkdir(parents=True)
    (folder / "patchset.toml").write_text(MANIFEST.format(state=state))
    (folder / "0001-it.patch").write_text(fork.git("format-patch", "--stdout", "-1", commit) + "\n")
    (folder / "series").write_text("0001-it.patch\n")
    with (desk / "patchsets/series").open("a") as series:
        series.write(f"{name}\n")
    return folder


def test_a_fork_without_patchsets(desk: Path, history: MiniHistory) -> None:
    document = status(desk)
    assert document["fork"] == {"ref": "production", "commit": history.own[1]}
    assert document["upstream"] == {"ref": "upstream/master", "commit": history.tip}
    assert document["base"] == {
        "commit": history.base,
        "how": "merge-base",
        "date": "2026-01-01T15:00:00+00:00",
        "subject": "docs : say more (#103)",
        "equal": None,
        "total": None,
    }
    assert (document["behind"], document["ahead"]) == (3, 2)
    assert [each["commit"] for each in document["uncovered"]] == [history.own[1], history.own[0]]
    assert document["uncovered"][1]["subject"] == "ours: a service file"
    assert (document["stack"], document["nightly"], document["receipt"]) == ([], None, None)


def test_a_patch_covers_the_commit_that_makes_its_change(desk: Path, history: MiniHistory) -> None:
    carry(desk, "output", history.fork, history.own[1])
    document = status(desk)
    assert [each["commit"] for each in document["uncovered"]] == [history.own[0]]
    assert document["stack"] == [
        {"patchset": "output", "title": "name the output", "state": "carried", "pr": None, "patches": 1}
    ]


def test_a_commit_that_was_changed_since_is_not_covered(desk: Path, history: MiniHistory) -> None:
    folder = carry(desk, "output", history.fork, history.own[1])
    patch = folder / "0001-it.patch"
    patch.write_text(patch.read_text().replace('+        cb(cur, "layer_out"', '+        cb(cur, "layer_end"'))
    assert [each["commit"] for each in status(desk)["uncovered"]] == [history.own[1], history.own[0]]


@pytest.mark.parametrize("state", ["disabled", "retired", "declared"])
def test_a_patchset_that_is_not_carried_covers_nothing(state: str, desk: Path, history: MiniHistory) -> None:
    carry(desk, "output", history.fork, history.own[1], state=state)
    assert len(status(desk)["uncovered"]) == 2


def test_a_port_covers_itself_once_it_is_merged(desk: Path, history: MiniHistory) -> None:
    assert forkguard("port", "201", cwd=desk).status == 0
    history.fork.git("merge", "-q", "--ff-only", "forkguard/201")
    document = status(desk)
    assert document["ahead"] == 3
    assert [each["subject"] for each in document["uncovered"]] == [
        "ours: name otter's output",
        "ours: a service file",
    ]
    assert [(each["patchset"], each["pr"], each["patches"]) for each in document["stack"]] == [("201", 201, 1)]


def test_a_trailer_covers_a_commit_whose_change_was_adapted(desk: Path, history: MiniHistory) -> None:
    carry(desk, "output", history.fork, history.own[1])
    adapted = history.fork.commit("ours: more of it\n\nForkguard-Patchset: output", {"more.txt": "more\n"})
    document = status(desk)
    assert document["fork"]["commit"] == adapted
    assert [each["commit"] for each in document["uncovered"]] == [history.own[0]]


def test_a_trailer_of_a_patchset_that_is_not_there_covers_nothing(desk: Path, history: MiniHistory) -> None:
    history.fork.commit("ours: more\n\nForkguard-Patchset: 999", {"more.txt": "more\n"})
    assert len(status(desk)["uncovered"]) == 3


def test_a_merge_of_upstream_moves_the_base(desk: Path, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("merge", "-q", "--no-edit", "-m", "Merge upstream", history.after)
    document = status(desk)
    assert document["base"]["commit"] == history.after
    assert (document["behind"], document["ahead"]) == (1, 3)
    assert len(document["uncovered"]) == 2


def test_a_squashed_fork_has_a_base_by_content(desk: Path, history: MiniHistory) -> None:
    fork = history.fork
    root = fork.git("commit-tree", fork.git("rev-parse", "production^{tree}"), "-m", "ours")
    fork.git("update-ref", "refs/heads/production", root)
    document = status(desk)
    assert (document["base"]["commit"], document["base"]["how"]) == (history.base, "content")
    assert 0 < document["base"]["equal"] < document["base"]["total"]
    assert (document["behind"], document["ahead"]) == (3, 1)
    assert [each["commit"] for each in document["uncovered"]] == [root]


def test_a_base_can_be_configured(desk: Path, history: MiniHistory) -> None:
    path = desk / "upstream-map.toml"
    path.write_text(path.read_text() + f'base = "{history.base}~1"\n')
    document = status(desk)
    assert document["base"]["how"] == "configured"
    assert document["behind"] == 4


def test_the_newest_receipt_is_told(desk: Path, history: MiniHistory) -> None:
    for stamp, verdict in (("20260102T000000Z-a", "fail"), ("20260103T000000Z-a", "pass")):
        folder = desk / ".forkguard/receipts" / stamp
        folder.mkdir(parents=True)
        receipt = {"verdict": verdict, "started": "2026-01-03T00:00:00Z", "tree": {"commit": history.own[1]}}
        (folder / "receipt.json").write_text(json.dumps(receipt))
    (desk / ".forkguard/receipts/20260104T000000Z-cut-off").mkdir()
    assert status(desk)["receipt"] == {
        "path": str(desk / ".forkguard/receipts/20260103T000000Z-a/receipt.json"),
        "verdict": "pass",
        "started": "2026-01-03T00:00:00Z",
        "commit": history.own[1],
    }
    assert f"receipt   pass of {history.own[1][:12]}" in forkguard("status", cwd=desk).out


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"verdict": "pass"}', '{"verdict": "pass", "started": "x", "tree": 1}']
)
def test_a_damaged_receipt_is_not_passed_over(text: str, desk: Path) -> None:
    folder = desk / ".forkguard/receipts/20260103T000000Z-a"
    folder.mkdir(parents=True)
    (folder / "receipt.json").write_text(text)
    outcome = forkguard("status", cwd=desk)
    assert outcome.status == 3
    assert outcome.told()[:2] == ("this receipt is damaged", str(folder / "receipt.json"))


def test_the_text_is_what_a_person_needs(desk: Path, history: MiniHistory) -> None:
    carry(desk, "output", history.fork, history.own[1])
    outcome = forkguard("status", cwd=desk)
    assert outcome.err == ""
    assert outcome.out == (
        f"fork      production at {history.own[1][:12]}\n"
        f"upstream  upstream/master at {history.tip[:12]}\n"
        f"base      {history.base[:12]} 2026-01-01 docs : say more (#103)  (by merge-base)\n"
        "          3 commits behind, 2 ahead\n"
        "stack     1 patchset\n"
        "  output  carried  1 patch  name the output\n"
        "uncovered 1 commit of the fork that no patchset covers\n"
        f"  {history.own[0][:12]} 2026-01-02 ours: a service file\n"
        "nightly   none yet\n"
        "receipt   none yet\n"
    )


def test_a_subject_cannot_paint_the_terminal(desk: Path, history: MiniHistory) -> None:
    history.fork.commit("evil \x1b[2J\x07 subject", {"x": "x"})
    out = forkguard("status", cwd=desk).out
    assert "\x1b" not in out
    assert "evil \ufffd[2J\ufffd subject" in out
    assert status(desk)["uncovered"][0]["subject"] == "evil \x1b[2J\x07 subject"


def test_a_file_is_written_whole_and_stdout_stays_empty(desk: Path, tmp_path: Path) -> None:
    outcome = forkguard("status", "--format", "json", "--output", "out/status.json", cwd=desk)
    assert (outcome.status, outcome.out) == (0, "")
    jsonschema.validate(json.loads((desk / "out/status.json").read_text()), SCHEMA)


def test_nothing_of_the_users_changes(desk: Path, history: MiniHistory) -> None:
    before = history.fork.snapshot()
    files = set(desk.rglob("*"))
    status(desk)
    assert history.fork.snapshot() == before
    assert set(desk.rglob("*")) == files
