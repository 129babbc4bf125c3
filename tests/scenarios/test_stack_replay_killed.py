"""`stack replay --resolve` killed by SIGKILL before each of its writes: the next command goes on, or undoes it."""

import signal
from pathlib import Path

import pytest

from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import NOTES, Queue, new_queue, notes, run_stopping

RESOLVE_WRITES, CONTINUE_WRITES, ABORT_WRITES = 8, 9, 3
WANTED = notes({10: "TEN, ours"})


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    queue = new_queue(tmp_path)
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})
    return queue


def killed(queue: Queue, writes: int, *words: str) -> None:
    """A step of a replay that is killed just before write number `writes` (from 0)."""
    done = run_stopping(queue.desk.path, writes, "stack", "replay", *words, module="stopping_replay")
    assert done == -signal.SIGKILL, writes


def journal(queue: Queue) -> Path:
    return queue.desk.path / ".forkguard" / "replay.json"


def said(queue: Queue) -> bool:
    """Whether `status` says that something is open, which it does exactly while a journal is there."""
    found = bool(queue.desk.json("status", status=0)["open"])
    assert found == journal(queue).exists()
    return found


def kept(queue: Queue) -> bool:
    return bool(list((queue.desk.path / "resolutions").glob("notes.txt.*")))


def check_start(queue: Queue, before: dict[str, bytes]) -> None:
    """Everything is as it was before the replay."""
    assert fork_as_it_is(queue.fork.path) == before
    assert not journal(queue).exists()
    assert not kept(queue)
    assert list((queue.desk.path.parent / "cache" / "worktrees").glob("forkguard-replay-*")) == []


def decide(queue: Queue) -> None:
    """The conflict is open, and a person resolves it."""
    document = queue.desk.json("stack", "replay", "--resolve", "one", status=1)
    (Path(document["open"]["worktree"]) / NOTES).write_text(WANTED)


def test_an_opening_goes_on_or_is_undone(queue: Queue) -> None:
    before = fork_as_it_is(queue.fork.path)
    for writes in range(RESOLVE_WRITES):
        killed(queue, writes, "--resolve", "one")
        if said(queue):
            place = Path(queue.desk.json("stack", "replay", "--continue", status=1)["open"]["worktree"])
            assert "<<<<<<< fork" in (place / NOTES).read_text()
            queue.desk.json("stack", "replay", "--abort", status=0)
        check_start(queue, before)
        killed(queue, writes, "--resolve", "one")
        if said(queue):
            queue.desk.json("stack", "replay", "--abort", status=0)
        check_start(queue, before)


def test_what_was_decided_is_kept_by_the_next_continue_or_taken_back(queue: Queue) -> None:
    before = fork_as_it_is(queue.fork.path)
    for writes in range(CONTINUE_WRITES):
        decide(queue)
        killed(queue, writes, "--continue")
        assert said(queue)
        queue.desk.json("stack", "replay", "--abort", status=0)
        check_start(queue, before)
    for writes in range(CONTINUE_WRITES):
        decide(queue)
        killed(queue, writes, "--continue")
        document = queue.desk.json("stack", "replay", "--continue", status=0)
        assert queue.fork.text(NOTES, ref=document["tip"]) == WANTED.rstrip("\n")
        assert not said(queue)
        for file in (queue.desk.path / "resolutions").iterdir():
            file.unlink()
        check_start(queue, before)


def test_an_abort_is_finished_by_the_next(queue: Queue) -> None:
    before = fork_as_it_is(queue.fork.path)
    for writes in range(ABORT_WRITES):
        decide(queue)
        killed(queue, 6, "--continue")
        assert kept(queue)
        killed(queue, writes, "--abort")
        assert said(queue)
        queue.desk.json("stack", "replay", "--abort", status=0)
        check_start(queue, before)


@pytest.mark.parametrize(("word", "writes"), [("resolve", RESOLVE_WRITES), ("continue", CONTINUE_WRITES)])
def test_these_are_all_the_writes(queue: Queue, word: str, writes: int) -> None:
    words = ("--resolve", "one") if word == "resolve" else ("--continue",)
    if word == "continue":
        decide(queue)

    status = run_stopping(queue.desk.path, writes, "stack", "replay", *words, module="stopping_replay")

    assert status == (1 if word == "resolve" else 0)
