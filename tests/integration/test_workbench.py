"""Merging beside the fork, on real git."""

import threading
from pathlib import Path

import pytest

from forkguard.adapters.git import GitRepository
from forkguard.adapters.workbench import Workbench
from forkguard.adapters.worktrees import Worktrees
from forkguard.core.names import CommitHash, TreeHash, TreePath
from forkguard.core.trees import TreeEntry
from forkguard.errors import CouldNotWork, UsageProblem
from tests.support.repos import GitFolder, new_repository
from tests.support.snapshot import fork_as_it_is


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    folder = new_repository(tmp_path / "repo")
    folder.commit("one", {"a.txt": "1\n2\n3\n4\n5\n", "sub/b.txt": "b\n", "marks.txt": "<<<<<<< abcdef1\n"})
    return folder


def bench_of(folder: GitFolder, tmp_path: Path) -> Workbench:
    return Workbench(GitRepository(folder.path), tmp_path / "cache")


def tree_of(folder: GitFolder) -> TreeHash:
    return TreeHash(folder.git("rev-parse", "HEAD^{tree}"))


def test_a_merge_takes_the_base_that_it_is_given(folder: GitFolder, tmp_path: Path) -> None:
    base = tree_of(folder)
    folder.commit("ours", {"a.txt": "one\n2\n3\n4\n5\n"})
    ours = tree_of(folder)
    folder.commit("theirs", {"a.txt": "1\n2\n3\n4\nfive\n"})
    before = fork_as_it_is(folder.path)

    merged = bench_of(folder, tmp_path).merge(base, ours, tree_of(folder), ours_label="fork", theirs_label="upstream")

    assert merged.stages == ()
    assert folder.git("show", f"{merged.tree}:a.txt") == "one\n2\n3\n4\nfive"
    assert fork_as_it_is(folder.path) == before


def test_only_the_markers_of_the_merge_are_renamed(folder: GitFolder, tmp_path: Path) -> None:
    base = tree_of(folder)
    folder.commit("ours", {"marks.txt": "<<<<<<< abcdef1\nours\n"})
    ours = tree_of(folder)
    folder.commit("theirs", {"marks.txt": "<<<<<<< abcdef1\ntheirs\n"})

    merged = bench_of(folder, tmp_path).merge(base, ours, tree_of(folder), ours_label="fork", theirs_label="upstream")

    assert folder.git("show", f"{merged.tree}:marks.txt").splitlines() == [
        "<<<<<<< abcdef1", "<<<<<<< fork", "ours", "||||||| base", "=======", "theirs", ">>>>>>> upstream",
    ]  # fmt: skip


def test_a_tree_is_edited_file_by_file(folder: GitFolder, tmp_path: Path) -> None:
    bench = bench_of(folder, tmp_path)
    blob = bench.put_blob(b"new\n")

    tree = bench.edit(
        tree_of(folder), {TreePath("sub/b.txt"): None, TreePath("sub/c\n.txt"): TreeEntry("100755", blob)}
    )

    assert folder.git("ls-tree", "-r", "-z", "--name-only", tree).split("\0")[:-1] == [
        "a.txt",
        "marks.txt",
        "sub/c\n.txt",
    ]
    assert bench.edit(tree, {}) == tree


def test_a_repository_with_longer_ids(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    folder = GitFolder(tmp_path / "repo")
    folder.git("init", "-q", "--object-format=sha256")
    folder.commit("one", {"a.txt": "1\n"})
    base = tree_of(folder)
    folder.commit("two", {"a.txt": "2\n"})

    bench = bench_of(folder, tmp_path)

    merged = bench.merge(base, base, tree_of(folder), ours_label="fork", theirs_label="upstream")
    assert merged.tree == tree_of(folder)
    assert len(bench.edit(base, {TreePath("a.txt"): None})) == 64


@pytest.mark.parametrize("name", ["master", "forkguard/../master", "forkguard/a/b", "forkguard/-x", "refs/heads/x"])
def test_no_branch_but_forkguards_own_is_written(folder: GitFolder, tmp_path: Path, name: str) -> None:
    checkouts = Worktrees(GitRepository(folder.path), tmp_path / "cache")
    head = CommitHash(folder.git("rev-parse", "HEAD"))

    with pytest.raises(UsageProblem):
        checkouts.set_branch(name, head, before=None)
    with pytest.raises(UsageProblem):
        checkouts.drop_branch(name, head)


def test_a_branch_that_moved_meanwhile_is_left(folder: GitFolder, tmp_path: Path) -> None:
    checkouts = Worktrees(GitRepository(folder.path), tmp_path / "cache")
    one = CommitHash(folder.git("rev-parse", "HEAD"))
    two = CommitHash(folder.commit("two", {"a.txt": "2\n"}))
    folder.git("branch", "forkguard/7", two)

    with pytest.raises(CouldNotWork):
        checkouts.set_branch("forkguard/7", one, before=None)
    checkouts.drop_branch("forkguard/7", one)
    assert checkouts.branch("forkguard/7") == two


def test_only_checkouts_in_its_own_folder_are_removed(folder: GitFolder, tmp_path: Path) -> None:
    with pytest.raises(CouldNotWork):
        Worktrees(GitRepository(folder.path), tmp_path / "cache").close(folder.path)
    assert (folder.path / "a.txt").exists()


def test_a_bench_is_made_by_many_at_once(folder: GitFolder, tmp_path: Path) -> None:
    repo = GitRepository(folder.path)
    made: list[Path] = []
    start = threading.Barrier(8)

    def make() -> None:
        start.wait()
        made.append(Workbench(repo, tmp_path / "cache").place[0])

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == [tmp_path / "cache" / "bench-sha1.git"] * 8
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == ["bench-sha1.git"]


def test_a_lock_that_a_killed_git_left_stops_no_bench(folder: GitFolder, tmp_path: Path) -> None:
    home, _ = bench_of(folder, tmp_path).place
    (home / "config.lock").touch()

    assert bench_of(folder, tmp_path).put_blob(b"1\n") == folder.git("hash-object", "--stdin", stdin="1\n")


def test_what_is_in_the_place_of_a_bench_is_named(folder: GitFolder, tmp_path: Path) -> None:
    place = tmp_path / "cache" / "bench-sha1.git"
    place.mkdir(parents=True)
    (place / "notes.txt").touch()

    with pytest.raises(CouldNotWork, match="something else is in its place") as caught:
        bench_of(folder, tmp_path)

    assert caught.value.where == str(place)
    assert caught.value.hint.startswith(f"rm -r {place}")


def test_a_lock_on_a_kept_ref_is_told_with_what_mends_it(folder: GitFolder, tmp_path: Path) -> None:
    lock = folder.path / ".git/refs/forkguard/imported/one.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    checkouts = Worktrees(GitRepository(folder.path), tmp_path / "cache")

    with pytest.raises(CouldNotWork, match="the ref refs/forkguard/imported/one is locked") as caught:
        checkouts.keep(CommitHash(folder.git("rev-parse", "HEAD")), "refs/forkguard/imported/one")

    assert caught.value.where == str(lock)
    assert f"rm {lock}" in caught.value.hint
