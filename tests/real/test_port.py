"""Request 27383 on real llama.cpp sources: the port gives exactly what upstream has, whatever shape the fork has."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.porting import Desk, outcomes
from tests.support.real_sources import ARCH, GRAPH, MOVED_GRAPH, SQUASHED
from tests.support.repos import GitFolder
from tests.support.snapshot import fork_as_it_is

pytestmark = pytest.mark.real

PROJECT = Path(__file__).parents[2]
CLEAN, OFFSET, MOVED, PRESENT = "clean", "offset", "moved", "already-present"


@pytest.fixture
def fork(real_fork: Path) -> GitFolder:
    return GitFolder(real_fork)


@pytest.fixture
def desk(real_fork: Path) -> Desk:
    """The project's own map and declared patchset, beside the fork as the map expects it."""
    desk = real_fork.parent / "desk"
    desk.mkdir()
    text = (PROJECT / "upstream-map.toml").read_text().replace("[defaults]\n", '[defaults]\ncache = "../cache"\n')
    (desk / "upstream-map.toml").write_text(text)
    (desk / "patchsets/27383").mkdir(parents=True)
    shutil.copy(PROJECT / "patchsets/27383/patchset.toml", desk / "patchsets/27383")
    return Desk(desk)


def test_the_port_is_what_upstream_has(desk: Desk, fork: GitFolder, tmp_path: Path) -> None:
    before = fork_as_it_is(fork.path)

    document = desk.json("port", "27383", status=0)

    assert document["stat"] == {"files": 2, "added": 20, "removed": 11}
    assert {outcome for _, outcome in outcomes(document)} == {CLEAN}
    assert [item["pr"] for item in document["follow_ups"]] == [29085]
    assert {(hazard["arch"], hazard["severity"], hazard["also_upstream"]) for hazard in document["hazards"]} == {
        ("lfm2", "crash", True),
        ("lfm2moe", "crash", True),
    }
    for path in (ARCH, GRAPH):
        assert fork.git("rev-parse", f"forkguard/27383:{path}") == fork.git("rev-parse", f"upstream/master~1:{path}")
    assert fork.git("diff", "--name-only", "production", "forkguard/27383").split() == [ARCH, GRAPH]
    assert fork_as_it_is(fork.path) == before
    (patch,) = (desk.path / "patchsets/27383").glob("*.patch")
    fork.git("worktree", "add", "-q", "--detach", str(tmp_path / "am"), "production")
    fork.git("-C", str(tmp_path / "am"), "am", "-q", str(patch))
    assert fork.git("-C", str(tmp_path / "am"), "rev-parse", "HEAD^{tree}") == fork.git(
        "rev-parse", "forkguard/27383^{tree}"
    )


@pytest.mark.parametrize(
    ("branch", "expected"),
    [
        (SQUASHED, [CLEAN, CLEAN, CLEAN, CLEAN, CLEAN]),
        ("layer-input-only", [CLEAN, CLEAN, CLEAN, CLEAN, PRESENT]),
        ("registry-only", [PRESENT, OFFSET, CLEAN, CLEAN, CLEAN]),
        ("line-and-registry", [PRESENT, OFFSET, CLEAN, CLEAN, PRESENT]),
        ("crlf", [CLEAN, CLEAN, CLEAN, CLEAN, CLEAN]),
        ("moved-file", [CLEAN, CLEAN, MOVED, MOVED, MOVED]),
    ],
)
def test_other_shapes_of_the_fork(desk: Desk, fork: GitFolder, branch: str, expected: list[str]) -> None:
    document = desk.json("port", "27383", "--fork-ref", branch, status=0)

    assert [outcome for _, outcome in outcomes(document)] == expected
    graph = MOVED_GRAPH if branch == "moved-file" else GRAPH
    ported = fork.text(graph, ref="forkguard/27383").replace("\r\n", "\n")
    assert ported.count("res->t_layer_inp[il] = cur;") == 1
    assert ported == fork.text(GRAPH, ref="upstream/master~1") or branch == "moved-file"


def test_a_fork_with_other_names_gets_the_change_in_its_names(desk: Desk, fork: GitFolder) -> None:
    document = desk.json("port", "27383", "--fork-ref", "renamed", status=0)

    assert document["prerequisites"] == []
    assert any(hunk["detail"].endswith("cur is called inpL here") for hunk in document["hunks"])
    ported = fork.text(GRAPH, ref="forkguard/27383")
    assert "res->t_layer_inp[il] = inpL;" in ported
    assert not re.search(r"\bcur\b", ported)


@pytest.mark.parametrize("branch", ["line-in-a-branch", "syntax-error"])
def test_edits_in_the_same_place_are_conflicts(desk: Desk, fork: GitFolder, branch: str) -> None:
    before = fork_as_it_is(fork.path)

    document = desk.json("port", "27383", "--fork-ref", branch, status=1)

    assert [conflict["path"] for conflict in document["conflicts"]] == [GRAPH]
    assert desk.run("port", "--abort").status == 0
    assert fork_as_it_is(fork.path) == before


@pytest.mark.parametrize("line", ["res->t_layer_inp[il] = cur;", "res->t_layer_inp[il] = prev_cur;"])
def test_the_line_added_by_hand_elsewhere_in_the_loop_is_a_conflict(desk: Desk, fork: GitFolder, line: str) -> None:
    text = fork.text(GRAPH) + "\n"
    place = re.search(r"^( +)cur += build_norm\(.*attn_norm.*\n(?: {20}.*\n)*", text, re.MULTILINE)
    assert place is not None
    mended = f"{text[: place.end()]}{place[1]}{line}\n{text[place.end() :]}"
    mending = fork.commit("ours: layer input", {GRAPH: mended})

    document = desk.json("port", "27383", status=1)

    assert document["status"] == "conflict"
    (conflict,) = document["conflicts"]
    assert [commit["commit"] for commit in conflict["fork_log"]] == [mending]
    assert conflict["theirs"].strip() == "res->t_layer_inp[il] = cur;"
    assert conflict["twice"]["fork_line"] == text[: place.end()].count("\n") + 1
    marked = (Path(document["worktree"]) / GRAPH).read_text().splitlines()
    assert marked[conflict["line"] - 1] == "<<<<<<< fork"
    assert marked[conflict["twice"]["line"] - 1].strip() == line
