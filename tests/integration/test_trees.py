"""The checkout of a tree, after a git that was killed while it made one."""

from pathlib import Path

import pytest

from forkguard.adapters.trees import TreeStore
from forkguard.core.built_trees import Checkout, Origin
from forkguard.core.names import CommitHash
from tests.support.repos import GitFolder, new_repository

TREE = "0" * 12 + "-cpu-" + "0" * 10
STEPS = ("entry", "folder", "gitdir", "way back", "no HEAD yet", "common folder", "HEAD", "lock of the index")
"""What `git worktree add` makes one after the other."""


def cut_off(fork: GitFolder, tree: Path, commit: str, *, steps: int) -> None:
    """As `git worktree add` leaves it that is killed behind so many steps."""
    sources, entry = tree / "src", fork.path / ".git/worktrees/src"
    writes = (
        (entry / "locked", "initializing\n"),
        (sources / "nothing", None),
        (entry / "gitdir", f"{sources}/.git\n"),
        (sources / ".git", f"gitdir: {entry}\n"),
        (entry / "HEAD", "0" * 40 + "\n"),
        (entry / "commondir", "../..\n"),
        (entry / "HEAD", f"{commit}\n"),
        (entry / "index.lock", ""),
    )
    for path, text in writes[:steps]:
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text)


@pytest.mark.parametrize("steps", range(len(STEPS) + 1), ids=("nothing", *STEPS))
def test_a_checkout_that_was_cut_off_is_made_whole(tmp_path: Path, steps: int) -> None:
    fork = new_repository(tmp_path / "fork")
    commit = CommitHash(fork.commit("one", {"a.txt": "1\n", "sub/b.txt": "2\n"}))
    store = TreeStore(tmp_path / "trees")
    store.path(TREE).mkdir(parents=True)
    cut_off(fork, store.path(TREE), commit, steps=steps)

    first = store.attach(fork.path, TREE, commit, profile="cpu")
    again = store.attach(fork.path, TREE, commit, profile="cpu")

    assert (first is Origin.NEW, again) == (steps < 2, Origin.KEPT)
    assert (store.path(TREE) / "src/sub/b.txt").read_text() == "2\n"
    (info,) = store.trees()
    assert (info.checkout, info.commit) == (Checkout.ATTACHED, commit)
    assert fork.git("worktree", "list", "--porcelain").count("worktree ") == 2
