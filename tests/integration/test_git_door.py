"""A git that does not end: it is ended, whoever ends the wait, and asked first, so that it removes its locks."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from forkguard.adapters.git import GitRepository
from forkguard.errors import ProcessFailed, TimedOut
from tests.support.repos import new_repository

TELL = "echo $$ > pid.part && mv pid.part pid"
STAY = f"alias.stay=!{TELL} && exec sleep 600"
LOCKED = f"alias.locked=!trap 'rm lock; kill $!; exit' TERM; touch lock; {TELL}; sleep 600 & wait"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[GitRepository]:
    folder = new_repository(tmp_path / "repo")
    folder.commit("one", {"a.txt": "1\n"})
    with GitRepository(folder.path) as opened:
        yield opened


def still_there(repo: GitRepository) -> bool:
    pid = int((repo.path / "pid").read_text())
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_git_that_takes_too_long_is_ended(repo: GitRepository) -> None:
    with pytest.raises(TimedOut) as caught:
        repo.run("-c", LOCKED, "locked", timeout=1.5)
    assert caught.value.what == "git locked did not end within 1.5 s"
    assert caught.value.where == str(repo.path)
    assert not (repo.path / "lock").exists()
    assert not still_there(repo)


def test_an_interrupt_ends_the_git_that_is_at_work(repo: GitRepository) -> None:
    def interrupt(*_: object) -> None:
        if (repo.path / "pid").exists():
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            repo.run("-c", STAY, "stay", timeout=60)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not still_there(repo)


def test_what_git_says_is_told_and_not_its_advice(repo: GitRepository) -> None:
    (repo.git_dir / "refs/heads/main.lock").touch()
    with pytest.raises(ProcessFailed) as caught:
        repo.run("-c", "core.filesRefLockTimeout=0", "update-ref", "refs/heads/main", "HEAD")
    assert caught.value.what.startswith("git update-ref refs/heads/main failed with status 128: fatal: ")
    assert caught.value.what.endswith("main.lock': File exists.")
