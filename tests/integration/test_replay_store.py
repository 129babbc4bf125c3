"""What a replay makes in the repository of forkguard's own, after a git that was killed there."""

from pathlib import Path

import pytest

from forkguard.adapters.git import GitRepository
from forkguard.adapters.replay_store import ReplayStore
from forkguard.adapters.workbench import Workbench
from forkguard.core.fitting import Version
from forkguard.core.names import CommitHash, TreePath
from tests.support.repos import GitFolder, new_repository

STEP = (b"Ada Otter <ada@example.org> 1767268800 +0000", b"two\n", {TreePath("a.txt"): Version("100644", b"2\n")})


@pytest.fixture
def folder(tmp_path: Path) -> GitFolder:
    folder = new_repository(tmp_path / "repo")
    folder.commit("one", {"a.txt": "1\n"})
    return folder


def leave_lock(home: Path, name: str) -> Path:
    """As a git leaves it that is killed while it writes a branch."""
    lock = home / "refs/heads" / f"{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    return lock


def test_locks_that_a_killed_git_left_stop_no_replay(folder: GitFolder, tmp_path: Path) -> None:
    repo = GitRepository(folder.path)
    home, env = Workbench(repo, tmp_path / "cache").place
    store = ReplayStore(repo, home, env)
    base = CommitHash(folder.git("rev-parse", "HEAD"))

    lock = leave_lock(home, "replay")
    (tip,) = store.commit_series(base, [STEP])
    assert folder.text("a.txt", ref=tip) == "2"
    assert not lock.exists()

    lock = leave_lock(home, "forkguard/stack")
    bundle = store.bundle(base, tip, branch="forkguard/stack")
    assert bundle.startswith(b"# v2 git bundle\n")
    assert not lock.exists()
