"""`forkguard port` killed by SIGKILL before each of its writes: the next command finishes it or undoes it."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.scenarios.test_port_conflicts import resolve
from tests.support.porting import Desk, make_conflict, make_desk
from tests.support.repos import MiniHistory
from tests.support.snapshot import fork_as_it_is

PROJECT = Path(__file__).parents[2]
CLEAN_WRITES = 8
CONFLICT_WRITES = 8
CONTINUE_WRITES = 13


@dataclass(frozen=True)
class Scene:
    """A desk, its fork, and the fork as it was before any port."""

    desk: Desk
    history: MiniHistory
    before: dict[str, bytes]

    def killed(self, writes: int, *words: str) -> bool:
        """Run a command that is killed before write number `writes`; whether it was (else it came to its end)."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.stopping", str(writes), *words],
            cwd=self.desk.path, env=os.environ | {"PYTHONPATH": str(PROJECT)},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode in (0, 1, -signal.SIGKILL), done.stderr
        return done.returncode == -signal.SIGKILL

    def check_untouched(self) -> None:
        """The fork is as it was, and nothing is left in progress."""
        assert fork_as_it_is(self.history.fork.path) == self.before
        assert self.desk.checkouts == []
        assert not self.desk.journal.exists()

    def branch(self) -> str:
        """Where `forkguard/201` points; empty where it is not there."""
        return self.history.fork.git("for-each-ref", "--format=%(objectname)", "refs/heads/forkguard/201")


@pytest.fixture
def clean(tmp_path: Path, history: MiniHistory) -> Scene:
    return Scene(make_desk(tmp_path), history, fork_as_it_is(history.fork.path))


@pytest.fixture
def conflicting(tmp_path: Path, history: MiniHistory) -> Scene:
    make_conflict(history)
    return Scene(make_desk(tmp_path), history, fork_as_it_is(history.fork.path))


@pytest.mark.parametrize("writes", range(CLEAN_WRITES))
def test_a_killed_port_is_finished_by_the_next(clean: Scene, writes: int) -> None:
    assert clean.killed(writes, "port", "201")

    document = clean.desk.json("port", "201", status=0)

    assert document["status"] == "applied"
    assert clean.branch() == document["commits"][0]
    clean.check_untouched()
    files = clean.desk.stack_files()
    assert sorted(files) == ["201/0001-heron-support-drafts-201.patch", "201/patchset.toml", "201/series", "series"]


@pytest.mark.parametrize("writes", range(CLEAN_WRITES))
def test_a_killed_port_is_undone_by_abort(clean: Scene, writes: int) -> None:
    assert clean.killed(writes, "port", "201")
    begun = clean.desk.journal.exists()

    outcome = clean.desk.run("port", "--abort")

    assert outcome.status == (0 if begun else 2), outcome.err
    clean.check_untouched()
    assert clean.branch() == ""
    assert clean.desk.stack_files() == {}


@pytest.mark.parametrize("writes", [0, 1, 4])
def test_a_killed_port_is_finished_before_another_begins(clean: Scene, writes: int) -> None:
    assert clean.killed(writes, "port", "201")
    begun = clean.desk.journal.exists()

    assert clean.desk.json("port", "202", status=0)["status"] == "applied"

    clean.check_untouched()
    assert bool(clean.branch()) == begun
    assert clean.desk.stack_files()["series"] == (b"201\n202\n" if begun else b"202\n")


def test_a_clean_port_has_no_more_writes(clean: Scene) -> None:
    assert not clean.killed(CLEAN_WRITES, "port", "201")
    clean.check_untouched()


@pytest.mark.parametrize("writes", range(CONFLICT_WRITES))
def test_a_port_killed_while_it_makes_its_worktree_starts_again(conflicting: Scene, writes: int) -> None:
    assert conflicting.killed(writes, "port", "201")

    document = conflicting.desk.json("port", "201", status=1)

    resolve(Path(document["worktree"]))
    assert conflicting.desk.json("port", "--continue", status=0)["status"] == "applied"
    conflicting.check_untouched()


@pytest.mark.parametrize("writes", range(CONFLICT_WRITES))
def test_a_port_killed_while_it_makes_its_worktree_is_undone(conflicting: Scene, writes: int) -> None:
    assert conflicting.killed(writes, "port", "201")
    begun = conflicting.desk.journal.exists()

    assert conflicting.desk.run("port", "--abort").status == (0 if begun else 2)

    conflicting.check_untouched()
    assert conflicting.branch() == ""


def test_a_conflict_has_no_more_writes(conflicting: Scene) -> None:
    assert not conflicting.killed(CONFLICT_WRITES, "port", "201")


@pytest.mark.parametrize("writes", range(CONTINUE_WRITES))
def test_a_killed_continue_keeps_what_was_resolved(conflicting: Scene, writes: int) -> None:
    resolve(Path(conflicting.desk.json("port", "201", status=1)["worktree"]))
    assert conflicting.killed(writes, "port", "--continue")

    document = conflicting.desk.json("port", "--continue", status=0)

    text = conflicting.history.fork.text("src/models/heron.cpp", ref="forkguard/201")
    assert "own_slot(il))); // all slots" in text
    assert conflicting.branch() == document["commits"][0]
    conflicting.check_untouched()


@pytest.mark.parametrize("writes", range(CONTINUE_WRITES))
def test_a_killed_continue_can_be_aborted(conflicting: Scene, writes: int) -> None:
    resolve(Path(conflicting.desk.json("port", "201", status=1)["worktree"]))
    assert conflicting.killed(writes, "port", "--continue")

    assert conflicting.desk.run("port", "--abort").status == 0

    conflicting.check_untouched()
    assert conflicting.branch() == ""
    assert conflicting.desk.stack_files() == {}


def test_a_continue_has_no_more_writes(conflicting: Scene) -> None:
    resolve(Path(conflicting.desk.json("port", "201", status=1)["worktree"]))
    assert not conflicting.killed(CONTINUE_WRITES, "port", "--continue")


def test_a_lock_that_a_killed_git_left_is_said_with_what_mends_it(clean: Scene) -> None:
    lock = clean.history.fork.path / ".git/refs/heads/forkguard/201.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("")

    outcome = clean.desk.run("port", "201")

    assert outcome.status == 3
    assert "the branch forkguard/201 is locked" in outcome.err
    assert f"where: {lock}" in outcome.err
    assert f"rm {lock}" in outcome.err
    assert not clean.desk.journal.exists()
    lock.unlink()
    clean.desk.json("port", "201", status=0)
    clean.check_untouched()
