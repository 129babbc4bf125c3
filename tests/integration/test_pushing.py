"""A candidate is pushed with an exact lease, or not at all."""

from pathlib import Path

import pytest

from forkguard.adapters.git import GitRepository
from forkguard.adapters.pushing import push_candidate
from forkguard.core.names import CommitHash
from forkguard.errors import CouldNotWork
from tests.support.repos import GitFolder, clone, new_repository


@pytest.fixture
def remote(tmp_path: Path) -> GitFolder:
    repository = new_repository(tmp_path / "remote")
    repository.commit("one", {"a": "1\n"})
    return repository


@pytest.fixture
def fork(remote: GitFolder, tmp_path: Path) -> GitFolder:
    return clone(remote, tmp_path / "fork", remote="origin")


def push(fork: GitFolder, commit: str, expected: str | None, *, remote: str = "origin") -> None:
    with GitRepository(fork.path) as repo:
        push_candidate(
            repo, remote=remote, branch="candidate", commit=CommitHash(commit),
            expected=None if expected is None else CommitHash(expected), timeout=60,
        )  # fmt: skip


def test_the_branch_goes_where_it_is_expected_and_nothing_else_moves(fork: GitFolder, remote: GitFolder) -> None:
    master = remote.git("rev-parse", "master")
    first = fork.commit("two", {"a": "2\n"})
    fork.git("tag", "-a", "-m", "x", "release")
    before = fork.snapshot()
    push(fork, first, None)
    second = fork.git("commit-tree", "-m", "another", f"{first}^{{tree}}")
    push(fork, second, first)
    push(fork, second, first)
    assert remote.git("rev-parse", "candidate") == second
    assert remote.git("for-each-ref", "--format=%(refname)").splitlines() == [
        "refs/heads/candidate",
        "refs/heads/master",
    ]
    assert remote.git("rev-parse", "master") == master
    assert fork.snapshot() == before, "no remote-tracking ref either"


@pytest.mark.parametrize("expected", [None, "earlier"])
def test_a_branch_that_somebody_else_moved_is_left_alone(
    fork: GitFolder, remote: GitFolder, expected: str | None
) -> None:
    theirs = remote.git("rev-parse", "master")
    remote.git("branch", "candidate", theirs)
    ours = fork.commit("two", {"a": "2\n"})
    lease = fork.git("commit-tree", "-m", "x", f"{ours}^{{tree}}") if expected else None
    with pytest.raises(CouldNotWork, match=f"candidate is at {theirs[:10]}, and no night"):
        push(fork, ours, lease)
    assert remote.git("rev-parse", "candidate") == theirs


def test_a_remote_that_is_not_there_is_said(fork: GitFolder) -> None:
    with pytest.raises(CouldNotWork, match="the fork has no remote nobody"):
        push(fork, fork.git("rev-parse", "HEAD"), None, remote="nobody")


def test_a_remote_that_refuses_is_said(fork: GitFolder, remote: GitFolder) -> None:
    hook = remote.path / ".git" / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(CouldNotWork, match="did not take the candidate"):
        push(fork, fork.commit("two", {"a": "2\n"}), None)
