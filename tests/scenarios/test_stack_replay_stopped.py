"""`stack replay` ended by a signal: nothing is left but objects, and the next replay says what it would have said."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repos import frozen_environment
from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import NOTES, Queue, new_queue, notes

QUESTIONS = 8
ROOT = Path(__file__).parents[2]


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    queue = new_queue(tmp_path)
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {"README.md": "ours\n"})
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})
    return queue


def stopped(queue: Queue, questions: int, name: str) -> int:
    """A replay that gets a signal before that question to git (from 0); its status."""
    words = ["-m", "tests.support.stopping_memory", str(questions), name, "stack", "replay", "--no-bisect"]
    temporary = queue.desk.path.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = frozen_environment() | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    return subprocess.run(
        [sys.executable, *words], cwd=queue.desk.path, env=environment, capture_output=True, check=False, timeout=120
    ).returncode


def test_killed_or_interrupted_it_leaves_objects_alone(queue: Queue) -> None:
    wanted = queue.desk.json("stack", "replay", "--no-bisect", status=1)
    before = fork_as_it_is(queue.fork.path)
    files = {path: path.read_bytes() for path in queue.desk.path.rglob("*") if path.is_file()}

    for questions in (0, QUESTIONS // 2, QUESTIONS - 1):
        assert stopped(queue, questions, "SIGINT") == 130
    assert list((queue.desk.path.parent / "temporary").iterdir()) == []
    for questions in range(QUESTIONS):
        assert stopped(queue, questions, "SIGKILL") == -signal.SIGKILL
    assert stopped(queue, QUESTIONS, "SIGKILL") == 1, "these are all the questions"

    assert fork_as_it_is(queue.fork.path) == before
    assert {path: path.read_bytes() for path in queue.desk.path.rglob("*") if path.is_file()} == files
    assert queue.desk.json("stack", "replay", "--no-bisect", status=1) == wanted
