"""Edits of the stack: what each changes, what it leaves, and what a kill leaves."""

import signal
from pathlib import Path

import pytest

from forkguard.adapters.files import locked
from forkguard.core.patchset import parse_manifest
from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import NOTES, Queue, held, new_queue, notes, run_stopping


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    made = new_queue(tmp_path)
    made.patch("one", {NOTES: notes({10: "ten, ours"})})
    made.patch("two", {"README.md": "ours\n"})
    made.patch("three", {"docs/three.txt": "three\n"})
    series = made.desk.path / "patchsets/series"
    series.write_text("# ours, in order\none\ntwo  # keep\nthree\n")
    return made


def done(queue: Queue, *words: str, status: int = 0) -> str:
    """One edit, which leaves the fork as it was; returns the text."""
    before = fork_as_it_is(queue.fork.path)
    outcome = queue.desk.run("stack", *words)
    assert outcome.status == status, outcome.err
    assert fork_as_it_is(queue.fork.path) == before
    return outcome.out or outcome.err


def series(queue: Queue) -> str:
    return (queue.desk.path / "patchsets/series").read_text()


def manifest(queue: Queue, name: str) -> tuple[str, str]:
    """State and reason."""
    read = parse_manifest((queue.desk.path / f"patchsets/{name}/patchset.toml").read_text(), name=name)
    return read.state.value, read.reason


def test_reorder(queue: Queue) -> None:
    said = done(queue, "reorder", "two", "--first")

    assert series(queue) == "# ours, in order\ntwo  # keep\none\nthree\n"
    assert said == "two: moved\n  the stack is: two, one, three\n\nNext\n  forkguard stack verify\n"
    done(queue, "reorder", "one", "--after", "three")
    assert series(queue) == "# ours, in order\ntwo  # keep\nthree\none\n"
    assert done(queue, "reorder", "one", "--last").startswith("one: was there already\n")


def test_an_order_in_which_a_patch_does_not_apply_is_refused(queue: Queue) -> None:
    queue.patch("four", {NOTES: notes({10: "ten, ours, and more"})})
    before = queue.desk.stack_files()

    said = done(queue, "reorder", "four", "--before", "one", status=2)

    assert "in that order a patch does not apply: four/0001-ours-four.patch (conflict)" in said
    assert queue.desk.stack_files() == before
    assert "does not apply any more: four/" in done(queue, "reorder", "four", "--before", "one", "--force")
    assert series(queue) == "# ours, in order\nfour\none\ntwo  # keep\nthree\n"
    assert "does not apply" not in done(queue, "reorder", "two", "--first")  # what was broken before is no news


@pytest.mark.parametrize(
    "words", [(), ("--first", "--before", "two"), ("--before", "nine"), ("--after", "one"), ("--before", "--x")]
)
def test_a_place_that_is_none_changes_nothing(queue: Queue, words: tuple[str, ...]) -> None:
    before = queue.desk.stack_files()

    done(queue, "reorder", "one", *words, status=2)

    assert queue.desk.stack_files() == before


def test_disable_and_enable(queue: Queue) -> None:
    done(queue, "disable", "two", "--reason", "crashes on b10549")
    assert manifest(queue, "two") == ("disabled", "crashes on b10549")
    assert [each[0] for each in queue.statuses(queue.desk.json("stack", "replay", status=0))] == ["one", "three"]
    assert "crashes on b10549" in queue.desk.run("stack", "show", "two").out

    done(queue, "enable", "two")

    assert manifest(queue, "two") == ("carried", "")
    assert series(queue) == "# ours, in order\none\ntwo  # keep\nthree\n"


def test_disabling_needs_a_reason(queue: Queue) -> None:
    done(queue, "disable", "two", status=2)
    done(queue, "disable", "two", "--reason", " ", status=2)

    assert manifest(queue, "two") == ("carried", "")


def test_drop_keeps_the_files_aside(queue: Queue) -> None:
    files = {name: content for name, content in queue.desk.stack_files().items() if name.startswith("two/")}

    said = done(queue, "drop", "two")

    assert series(queue) == "# ours, in order\none\nthree\n"
    assert not (queue.desk.path / "patchsets/two").exists()
    kept = queue.desk.path / ".forkguard/dropped"
    assert str(kept / "two") in said
    assert {
        path.relative_to(kept).as_posix(): path.read_bytes() for path in kept.rglob("*") if path.is_file()
    } == files


def test_what_was_dropped_before_is_not_written_over(queue: Queue) -> None:
    done(queue, "drop", "two")
    queue.author.git("checkout", "-q", "HEAD~1")
    queue.patch("two", {"README.md": "ours, again\n"})

    done(queue, "drop", "two")

    kept = queue.desk.path / ".forkguard/dropped"
    assert sorted(path.name for path in kept.iterdir()) == ["two", "two.2"]


def test_retire_only_what_landed(queue: Queue) -> None:
    said = done(queue, "retire", "one", status=2)
    assert said.startswith("forkguard: one has not landed in upstream/master: one/0001-ours-one.patch is applies\n")
    assert manifest(queue, "one") == ("carried", "")

    landed = queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "ten, ours"})})
    said = done(queue, "retire", "one")

    assert manifest(queue, "one") == ("retired", f"landed in upstream/master with {landed[:10]}")
    assert series(queue) == "# ours, in order\ntwo  # keep\nthree\n"
    assert (queue.desk.path / "patchsets/one/0001-ours-one.patch").is_file()
    assert "the stack is: two, three" in said


def test_retire_by_force_needs_a_reason(queue: Queue) -> None:
    done(queue, "retire", "one", "--force", status=2)
    done(queue, "retire", "one", "--force", "--reason", "ours is better")

    assert manifest(queue, "one") == ("retired", "ours is better")
    done(queue, "enable", "one")
    assert series(queue).endswith("three\none\n")


@pytest.mark.parametrize(
    "words", [("drop",), ("disable", "--reason", "x"), ("enable",), ("retire",), ("reorder", "--first")]
)
@pytest.mark.parametrize("name", ["nine", "../desk", "a/b"])
def test_a_patchset_that_is_not_there(queue: Queue, words: tuple[str, ...], name: str) -> None:
    before = queue.desk.stack_files()

    done(queue, words[0], *words[1:], "--", name, status=2)

    assert queue.desk.stack_files() == before


def test_two_writers_at_once(queue: Queue) -> None:
    with locked(queue.desk.path / ".forkguard/port.lock", purpose="forkguard port"):
        said = done(queue, "drop", "two", status=3)

    assert "another forkguard run is at work: forkguard port" in said


def test_while_a_port_is_half_written_nothing_is_edited(queue: Queue) -> None:
    (queue.desk.path / ".forkguard").mkdir(exist_ok=True)
    (queue.desk.path / ".forkguard/port.json").write_text("{}")

    assert "journal of a port cannot be read" in done(queue, "drop", "two", status=3)
    assert "two" in series(queue)


@pytest.mark.parametrize(
    "words", [("drop", "two"), ("retire", "two", "--force", "--reason", "x"), ("reorder", "two", "--first")]
)
def test_a_kill_before_any_write_loses_nothing_and_can_be_gone_on_with(queue: Queue, words: tuple[str, ...]) -> None:
    before = queue.desk.stack_files()
    for writes in range(30):
        for name, content in before.items():
            path = queue.desk.path / "patchsets" / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        killed = run_stopping(queue.desk.path, writes, "stack", *words)
        listed = [line.split()[0] for line in series(queue).splitlines() if not line.startswith("#")]
        for name in listed:
            assert (queue.desk.path / f"patchsets/{name}/0001-ours-{name}.patch").is_file(), (writes, name)
        kept = [
            *queue.desk.path.glob("patchsets/two/*.patch"),
            *queue.desk.path.glob(".forkguard/dropped/two/*.patch"),
        ]
        assert kept, writes
        if killed == 0:
            assert writes > 0
            return
        assert killed == -signal.SIGKILL
        if (queue.desk.path / "patchsets/two/patchset.toml").is_file():
            done(queue, *words)
    pytest.fail("it never ended")


def test_the_list_with_the_state_on_another_upstream(queue: Queue) -> None:
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})
    queue.upstream_commit("three (#302)", {"docs/three.txt": "three\n"})

    outcome = queue.desk.run("stack", "list", "--onto", "upstream/master")

    assert outcome.status == 0
    assert " 1. one    carried   one\n" in outcome.out
    rows = [line.strip() for line in outcome.out.splitlines() if "on upstream/master" in line]
    assert rows == [
        "on upstream/master: 1 conflict",
        "on upstream/master: 1 applies",
        "on upstream/master: 1 landed",
    ]
    document = held(queue.desk.json("stack", "list", "--onto", "upstream/master", status=0))
    held(queue.desk.json("stack", "list", status=0))
    held(queue.desk.json("stack", "show", "one", status=0))
    held(queue.desk.json("stack", "reorder", "two", "--first", status=0))
    assert [each["patches"][0]["status"] for each in document["stack"]] == ["conflict", "applies", "landed"]
