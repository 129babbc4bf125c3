"""`forkguard port` where the fork and upstream changed the same lines: stop, continue, abort."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from tests.support.porting import ARCH, HERON, Desk, edit, make_conflict, make_desk, outcomes
from tests.support.repos import MiniHistory
from tests.support.snapshot import fork_as_it_is

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/port.json").read_text())


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    make_conflict(history)
    return make_desk(tmp_path)


OWN_WRITES = (
    "            for (uint32_t slot = 0; slot <= cparams.n_rs_seq; ++slot) {\n"
    "                ggml_build_forward_expand(gf, ggml_dup(ctx0, tail, own_slot(il))); // all slots\n            }\n"
)


def resolve(place: Path, text: str = OWN_WRITES) -> None:
    """Replace each marked region of heron.cpp."""
    kept, inside = [], False
    for line in (place / HERON).read_text().splitlines(keepends=True):
        if line.startswith("<<<<<<< "):
            inside = True
            kept.append(text)
        elif line.startswith(">>>>>>> "):
            inside = False
        elif not inside:
            kept.append(line)
    (place / HERON).write_text("".join(kept))


def test_a_conflict_says_where_and_what_and_keeps_a_worktree(desk: Desk, history: MiniHistory) -> None:
    before = fork_as_it_is(history.fork.path, with_worktrees=False)

    document = desk.json("port", "201", status=1)

    jsonschema.validate(document, SCHEMA)
    assert document["status"] == "conflict"
    assert outcomes(document) == [("llama-arch.cpp", "clean"), ("heron.cpp", "conflict")]
    (conflict,) = document["conflicts"]
    marked = Path(document["worktree"], HERON).read_text().splitlines()
    assert conflict["path"] == HERON
    assert marked[conflict["line"] - 1] == "<<<<<<< fork"
    assert conflict["header"].startswith("@@ -13,11 +13,14 @@")
    assert "own_slot(il)" in conflict["ours"]
    assert "state_slot(il, 0)" in conflict["base"]
    assert "tail_at(tail, slot)" in conflict["theirs"]
    assert marked.count("||||||| base") == marked.count(">>>>>>> upstream #201") == 1
    assert fork_as_it_is(history.fork.path, with_worktrees=False) == before
    assert history.fork.git("branch", "--list", "forkguard/*") == ""
    assert desk.stack_files() == {}


def test_the_worktree_shows_the_conflict_to_git(desk: Desk, history: MiniHistory) -> None:
    place = Path(desk.json("port", "201", status=1)["worktree"])

    status = history.fork.git("-C", str(place), "status", "--porcelain").splitlines()
    assert sorted(status) == sorted([f"UU {HERON}", f"M  {ARCH}"])
    assert history.fork.git("-C", str(place), "branch", "--show-current") == ""


def test_the_text_shows_both_sides_and_both_ways_on(desk: Desk) -> None:
    outcome = desk.run("port", "201")

    assert outcome.status == 1
    lines = outcome.out.splitlines()
    assert lines[0] == "#201 conflicts with production; nothing of yours was changed"
    assert any(line.startswith("    fork     |") and "own_slot(il)" in line for line in lines)
    assert any(line.startswith("    upstream |") and "slot" in line for line in lines)
    assert "  forkguard port --continue" in lines
    assert any(line.startswith("  forkguard port --abort") for line in lines)


def test_continue_after_resolving(desk: Desk, history: MiniHistory) -> None:
    before = fork_as_it_is(history.fork.path)
    place = Path(desk.json("port", "201", status=1)["worktree"])
    resolve(place)

    document = desk.json("port", "--continue", status=0)

    jsonschema.validate(document, SCHEMA)
    assert document["status"] == "applied"
    assert [hunk["detail"] for hunk in document["hunks"]] == ["", "resolved by hand"]
    text = history.fork.text(HERON, ref="forkguard/201")
    assert "own_slot(il))); // all slots" in text
    assert "res->t_layer_inp[il] = cur;" in text
    assert "case LLM_ARCH_HERONMOE" in history.fork.text(ARCH, ref="forkguard/201")
    assert fork_as_it_is(history.fork.path) == before
    assert desk.checkouts == []
    assert not desk.journal.exists()
    assert desk.stack_files()["series"] == b"201\n"


def test_the_same_resolution_gives_the_same_commit(desk: Desk, history: MiniHistory) -> None:
    commits = []
    for _ in range(2):
        resolve(Path(desk.json("port", "201", status=1)["worktree"]))
        commits.append(desk.json("port", "201", "--continue", status=0)["commits"])
        shutil.rmtree(desk.path / "resolutions")
        history.fork.git("branch", "-D", "forkguard/201")

    assert commits[0] == commits[1]


def test_a_resolution_that_was_added_or_committed_counts_too(desk: Desk, history: MiniHistory) -> None:
    place = Path(desk.json("port", "201", status=1)["worktree"])
    resolve(place)
    (place / "extra.txt").write_text("needed\n")
    history.fork.git("-C", str(place), "add", "extra.txt", HERON)
    history.fork.git("-C", str(place), "commit", "-q", "-m", "resolved")
    (place / "build.log").write_text("not mine to keep\n")

    desk.json("port", "--continue", status=0)

    changed = history.fork.git("diff", "--name-only", "production", "forkguard/201").split()
    assert changed == ["extra.txt", ARCH, HERON]
    assert history.fork.git("rev-parse", "forkguard/201^") == history.fork.git("rev-parse", "production")


def test_markers_that_are_left_are_refused(desk: Desk, history: MiniHistory) -> None:
    document = desk.json("port", "201", status=1)

    outcome = desk.run("port", "--continue")

    assert outcome.status == 2
    what, where, following = outcome.told()
    assert what == "conflict markers are left"
    assert where == f"{document['worktree']}/{HERON}:{document['conflicts'][0]['line']}"
    assert "forkguard port --continue" in following
    resolve(Path(document["worktree"]))
    assert desk.json("port", "--continue", status=0)["status"] == "applied"


def test_abort_takes_everything_back(desk: Desk, history: MiniHistory) -> None:
    before = fork_as_it_is(history.fork.path)
    place = Path(desk.json("port", "201", status=1)["worktree"])
    resolve(place)

    outcome = desk.run("port", "--abort")

    assert outcome.status == 0
    assert outcome.out == "#201: the port is taken back; the fork is as it was\n"
    assert fork_as_it_is(history.fork.path) == before
    assert desk.checkouts == []
    assert desk.stack_files() == {}
    assert not desk.journal.exists()
    assert desk.run("port", "--abort").status == 2


def test_worktrees_of_the_user_survive_an_abort(desk: Desk, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("worktree", "add", "-q", "--detach", str(desk.path.parent / "theirs"), "production")
    fork.git("worktree", "add", "-q", "--detach", str(desk.path.parent / "gone"), "production")
    (desk.path.parent / "gone").rename(desk.path.parent / "elsewhere")
    before = fork_as_it_is(fork.path)
    desk.json("port", "201", status=1)

    assert desk.run("port", "--abort").status == 0
    assert fork_as_it_is(fork.path) == before


@pytest.mark.parametrize("words", [("port", "201"), ("port", "202")])
def test_a_port_in_progress_is_said_with_both_ways_on(
    desk: Desk, history: MiniHistory, words: tuple[str, ...]
) -> None:
    place = desk.json("port", "201", status=1)["worktree"]

    outcome = desk.run(*words)

    assert outcome.status == 2
    what, where, following = outcome.told()
    assert what == "a port of #201 is in progress, with conflicts to resolve"
    assert where == place
    assert "--continue" in following
    assert "--abort" in following


def test_continue_of_another_number_is_refused(desk: Desk) -> None:
    desk.json("port", "201", status=1)

    assert desk.run("port", "202", "--continue").told()[0] == "the port in progress is of #201, not of #202"
    assert desk.run("port", "--continue", "--abort").status == 2


@pytest.mark.parametrize("word", ["--continue", "--abort"])
def test_nothing_in_progress(desk: Desk, word: str) -> None:
    assert desk.run("port", word).status == 2


def test_a_worktree_that_was_deleted_is_said_and_can_be_aborted(desk: Desk, history: MiniHistory) -> None:
    before = fork_as_it_is(history.fork.path)
    place = Path(desk.json("port", "201", status=1)["worktree"])
    history.fork.git("worktree", "remove", "--force", str(place))

    outcome = desk.run("port", "--continue")

    assert outcome.status == 3
    assert outcome.told()[2] == "forkguard port --abort"
    assert desk.run("port", "--abort").status == 0
    assert fork_as_it_is(history.fork.path) == before


def test_a_file_that_only_one_side_kept_must_be_decided(tmp_path: Path, history: MiniHistory) -> None:
    history.fork.commit("ours: no heron", removed=(HERON,))
    desk = make_desk(tmp_path)
    document = desk.json("port", "201", status=1)
    place = Path(document["worktree"])

    assert [(c["path"], c["line"]) for c in document["conflicts"]] == [(HERON, None)]
    assert "modify/delete" in document["conflicts"][0]["reason"]
    undecided = desk.run("port", "--continue")
    assert undecided.status == 2
    assert f"git -C {place} rm -- {HERON}" in undecided.told()[2]
    history.fork.git("-C", str(place), "rm", "-q", HERON)
    assert desk.json("port", "--continue", status=1)["status"] == "blocked"
    assert desk.json("port", "--continue", "--force", status=0)["stat"] == {"files": 1, "added": 2, "removed": 0}


def test_a_resolution_that_leaves_nothing_is_said(tmp_path: Path, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    upstream.commit("README : other words (#300)", {"README.md": "another machine\n"})
    fork.commit("ours: words", {"README.md": "our machine\n"})
    fork.git("fetch", "-q", "upstream")
    desk = make_desk(tmp_path)
    place = Path(desk.json("port", "300", status=1)["worktree"])
    (place / "README.md").write_text("our machine\n")

    outcome = desk.run("port", "--continue")

    assert outcome.status == 2
    assert outcome.told()[0] == "what you resolved leaves nothing of the change"
    assert desk.run("port", "--abort").status == 0


def test_a_request_of_several_commits_may_stop_more_than_once(tmp_path: Path, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    upstream.git("checkout", "-q", "-b", "topic", history.base)
    upstream.commit("one", {"README.md": "first words\n"})
    upstream.commit("two", {"README.md": "first words\n", "two.txt": "2\n"})
    head = upstream.commit("three", {"README.md": "third words\n"})
    upstream.git("update-ref", "refs/pull/400/head", head)
    fork.git("fetch", "-q", "upstream", "refs/pull/400/head:refs/pull/400/head")
    fork.commit("ours: words", {"README.md": "our words\n"})
    before = fork_as_it_is(fork.path)
    desk = make_desk(tmp_path)

    place = Path(desk.json("port", "400", status=1)["worktree"])
    (place / "README.md").write_text("our first words\n")
    second = desk.json("port", "--continue", status=1)
    assert second["conflicts"][0]["ours"] == "our first words\n"
    (Path(second["worktree"]) / "README.md").write_text("our third words\n")
    done = desk.json("port", "--continue", status=0)

    assert len(done["commits"]) == 3
    assert fork.text("README.md", ref="forkguard/400") == "our third words"
    assert fork.text("README.md", ref="forkguard/400~1") == "our first words"
    assert fork_as_it_is(fork.path) == before


def test_crlf_files_keep_their_ends_through_a_conflict(tmp_path: Path, history: MiniHistory) -> None:
    make_conflict(history)
    crlf = (history.fork.path / HERON).read_bytes().replace(b"\n", b"\r\n")
    history.fork.commit("ours: crlf", {HERON: crlf})
    desk = make_desk(tmp_path)

    document = desk.json("port", "201", status=1)

    content = Path(document["worktree"], HERON).read_bytes()
    assert len(document["conflicts"]) == 1
    assert content.count(b"\r\n") == content.count(b"\n")
    assert content.count(b"<<<<<<< fork\r\n") == content.count(b">>>>>>> upstream #201\r\n") == 1


def test_a_clean_neighbour_in_a_conflicting_file_is_told_apart(desk: Desk, history: MiniHistory) -> None:
    upstream = history.upstream
    text = upstream.text(HERON) + "\n"
    changed = text.replace("LLM_NORM_RMS, il);", "LLM_NORM, il);").replace('#include "models.h"', '#include "more.h"')
    upstream.commit("heron : norms (#300)", {HERON: changed})
    fork = history.fork
    fork.git("fetch", "-q", "upstream")
    edit(history, HERON, "LLM_NORM_RMS, il);", "LLM_NORM_OWN, il);")

    document = desk.json("port", "300", status=1)

    assert outcomes(document) == [("heron.cpp", "clean"), ("heron.cpp", "conflict")]
