"""`forkguard port`: finding the change, wrong use, hostile input, and clones that lack something."""

from pathlib import Path

import pytest

from tests.support.porting import CLONE, HERON, Desk, edit, make_desk, outcomes
from tests.support.repos import GitFolder, MiniHistory, clone
from tests.support.snapshot import fork_as_it_is


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


def tip(fork: GitFolder) -> str:
    return fork.git("rev-parse", "forkguard/201")


# -- finding the change ----------------------------------------------------------------------------------


def test_two_numbers_either_finds_the_commit(desk: Desk, history: MiniHistory) -> None:
    sketch = history.upstream.text("src/models/sketch.cpp", ref=history.after) + "\n"
    history.fork.commit("ours: explain", {"src/models/sketch.cpp": sketch})

    carried = desk.json("port", "205", status=0)
    carrier = desk.json("port", "206", status=0)

    assert carried["source"]["commits"] == carrier["source"]["commits"] == [history.tip]
    assert carried["notes"] == ["it went in through #206"]
    assert carrier["notes"] == []
    assert carried["archs"] == ["sketch"]


def test_a_subject_that_only_mentions_the_number_is_not_it(desk: Desk, history: MiniHistory) -> None:
    upstream = history.upstream
    upstream.commit("fix what (#300) broke", {"a.txt": "a\n"})
    upstream.commit('Revert "heron : support drafts (#300)" (#301)', {"b.txt": "b\n"})
    right = upstream.commit("the one (#300)", {"c.txt": "c\n"})
    history.fork.git("fetch", "-q", "upstream")

    assert desk.json("port", "300", status=0)["source"]["commits"] == [right]


def test_a_request_that_is_not_merged_comes_from_its_ref(desk: Desk, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    upstream.git("checkout", "-q", "-b", "topic", history.base)
    one = upstream.commit("topic: a", {"topic.txt": "a\n"})
    two = upstream.commit("topic: b", {"topic.txt": "a\nb\n"})
    upstream.git("update-ref", "refs/pull/400/head", two)
    fork.git("fetch", "-q", "upstream", "refs/pull/400/head:refs/remotes/upstream/pr/400")

    document = desk.json("port", "400", status=0)

    assert document["state"] == "open"
    assert document["source"] == {"kind": "pull-ref", "where": "refs/remotes/upstream/pr/400", "commits": [one, two]}
    assert len(document["commits"]) == 2
    assert fork.git("log", "--format=%s", "production..forkguard/400").splitlines() == ["topic: b", "topic: a"]
    assert (desk.path / "patchsets/400/series").read_text().split() == ["0001-topic-a.patch", "0002-topic-b.patch"]
    assert "Applied-Upstream" not in (desk.path / "patchsets/400/0001-topic-a.patch").read_text()


def test_a_request_in_the_clone_of_upstream_is_fetched_from_there(tmp_path: Path, history: MiniHistory) -> None:
    upstream = history.upstream
    upstream.git("checkout", "-q", "-b", "topic", history.base)
    head = upstream.commit("topic: a", {"topic.txt": "a\n"})
    upstream.git("update-ref", "refs/pull/400/head", head)
    upstream.git("checkout", "-q", "master")
    upstream.git("branch", "-q", "-D", "topic")
    desk = make_desk(tmp_path, upstream=CLONE)

    assert desk.json("port", "400", status=0)["source"]["commits"] == [head]
    assert history.fork.git("rev-parse", "refs/forkguard/pull/400") == head


def test_merges_in_a_request_are_joined(desk: Desk, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    upstream.git("checkout", "-q", "-b", "topic", history.base)
    upstream.commit("topic: a", {"topic.txt": "a\n"})
    upstream.git("merge", "-q", "-m", "Merge master", "master")
    head = upstream.commit("topic: b", {"topic.txt": "a\nb\n"})
    upstream.git("update-ref", "refs/pull/400/head", head)
    fork.git("fetch", "-q", "upstream", "refs/pull/400/head:refs/pull/400/head")

    document = desk.json("port", "400", status=0)

    assert document["stat"] == {"files": 1, "added": 2, "removed": 0}
    assert fork.git("log", "--format=%s", "production..forkguard/400") == "topic: a"
    assert "joined" in document["notes"][0]


# -- wrong use -------------------------------------------------------------------------------------------


def test_a_number_that_is_not_known_here(desk: Desk, history: MiniHistory) -> None:
    outcome = desk.run("port", "99999")

    assert outcome.status == 3
    what, where, following = outcome.told()
    assert "#99999 is not in the local history" in what
    assert where == str(history.fork.path)
    assert following.startswith(f"git -C {history.fork.path} fetch upstream")
    assert not desk.journal.exists()


@pytest.mark.parametrize("word", ["x", "0", "-1x", "27383;ls", "--upload-pack=x", "1/../2"])
def test_what_is_no_number_is_wrong_use(desk: Desk, word: str) -> None:
    outcome = desk.run("port", "--", word)

    assert outcome.status == 2
    assert outcome.told()[2] == "forkguard port 27383"


def test_a_branch_that_holds_something_else_is_left_alone(desk: Desk, history: MiniHistory) -> None:
    history.fork.git("branch", "forkguard/201", history.base)

    outcome = desk.run("port", "201")

    assert outcome.status == 2
    assert outcome.told()[0] == "the branch forkguard/201 exists already and holds something else"
    assert tip(history.fork) == history.base
    assert desk.stack_files() == {}
    assert not desk.journal.exists()


def test_a_branch_named_forkguard_is_said_to_be_in_the_way(desk: Desk, history: MiniHistory) -> None:
    history.fork.git("branch", "forkguard", history.base)
    before = fork_as_it_is(history.fork.path)

    outcome = desk.run("port", "201")

    assert outcome.status == 3
    assert "forkguard/201 could not be written" in outcome.told()[0]
    assert fork_as_it_is(history.fork.path) == before
    assert desk.stack_files() == {}
    assert not desk.journal.exists()


def test_a_bad_manifest_stops_the_port_before_anything_is_written(desk: Desk, history: MiniHistory) -> None:
    manifest = desk.path / "patchsets/201/patchset.toml"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('title = "x"\nstate = "carryed"\n')

    outcome = desk.run("port", "201")

    assert outcome.status == 2
    assert outcome.told()[1] == f"{manifest}:2"
    assert history.fork.git("branch", "--list", "forkguard/*") == ""


def test_a_change_that_writes_into_dot_git_is_refused(desk: Desk, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    blob = upstream.git("hash-object", "-w", "--stdin", stdin="[core]\n")
    inner = upstream.git("mktree", stdin=f"100644 blob {blob}\tconfig\n")
    listing = upstream.git("ls-tree", "HEAD")
    tree = upstream.git("mktree", stdin=f"{listing}\n040000 tree {inner}\t.GIT\n")
    bad = upstream.git("commit-tree", "-p", "HEAD", "-m", "helpful (#500)", tree)
    upstream.git("update-ref", "refs/heads/master", bad)
    fork.git("-c", "fetch.fsckObjects=false", "fetch", "-q", "upstream")

    outcome = desk.run("port", "500")

    assert outcome.status == 3
    assert ".GIT/config" in outcome.told()[0]
    assert fork.git("branch", "--list", "forkguard/*") == ""


def test_hostile_file_names_and_subjects_are_carried_and_shown_plainly(desk: Desk, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    names = ["--upload-pack=x", 'a "quoted" b', "tab\there", "new\nline", ":(glob)*", "ünï"]
    upstream.commit(
        "$(touch x) `id` \x1b[31m; --exec=y (#600)", {name: f"{number}\n" for number, name in enumerate(names)}
    )
    fork.git("fetch", "-q", "upstream")

    document = desk.json("port", "600", status=0)
    shown = desk.run("port", "600")

    assert sorted(hunk["path"] for hunk in document["hunks"]) == sorted(names)
    assert document["stat"] == {"files": 6, "added": 6, "removed": 0}
    assert "\x1b" not in shown.out
    (patch,) = (desk.path / "patchsets/600").glob("*.patch")
    assert patch.name == "0001-touch-x-id-31m-exec-y-600.patch"


def test_a_missing_object_is_no_conflict(desk: Desk, history: MiniHistory) -> None:
    fork = history.fork
    edit(history, HERON, '"l_out"', '"layer_out"')
    lost = fork.git("rev-parse", f"production:{HERON}")
    (fork.path / ".git/objects" / lost[:2] / lost[2:]).unlink()

    outcome = desk.run("port", "201")

    assert outcome.status == 3
    assert "fetch --refetch" in outcome.told()[2]
    assert not desk.journal.exists()
    assert fork.git("branch", "--list", "forkguard/*") == ""


def test_a_partial_clone_that_lacks_a_blob_of_the_change_is_told(tmp_path: Path, history: MiniHistory) -> None:
    history.upstream.git("config", "uploadpack.allowFilter", "true")
    partial = clone(history.upstream, tmp_path / "partial", "--filter=blob:none", "--no-checkout")
    partial.git("branch", "production", history.base)
    partial.git("checkout", "-q", "production")
    partial.git("config", "remote.upstream.url", str(tmp_path / "gone"))
    desk = make_desk(tmp_path)

    outcome = desk.run("port", "201", "--fork", str(partial.path))

    assert outcome.status == 3
    assert "Traceback" not in outcome.err
    assert outcome.told()[2]
    assert not desk.journal.exists()


def test_what_is_there_with_more_behind_it_is_left_out_of_the_merge(desk: Desk, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    readme = upstream.text("README.md") + "\n"
    upstream.commit("README : a name (#300)", {"README.md": f"{readme}named heron\n", "NAMES": "heron\n"})
    fork.git("fetch", "-q", "upstream")
    fork.commit("ours: a name, and ours", {"README.md": f"{readme}named heron\nand kept by us\n"})

    document = desk.json("port", "300", status=0)

    assert outcomes(document) == [("NAMES", "clean"), ("README.md", "already-present")]
    assert fork.git("diff", "--name-only", "production", "forkguard/300") == "NAMES"
