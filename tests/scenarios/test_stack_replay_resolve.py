"""`stack replay --resolve`: a person decides a conflict once, and every later replay uses it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import NOTES, Queue, held, new_queue, notes

ONE, TWO, THREE = "one/0001-ours-one.patch", "two/0001-ours-two.patch", "three/0001-ours-three.patch"


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    """Three patches: the first and the last conflict with upstream, the one between them does not."""
    queue = new_queue(tmp_path)
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {"README.md": "ours\n"})
    queue.patch("three", {NOTES: notes({10: "ten, ours", 30: "thirty, ours"})})
    queue.upstream_commit("notes : words (#301)", {NOTES: notes({10: "TEN", 30: "THIRTY"})})
    return queue


def step(queue: Queue, *words: str, status: int) -> dict[str, Any]:
    """One step of a replay: its JSON, held against its schema."""
    return held(queue.desk.json("stack", "replay", *words, status=status))


def decide(queue: Queue, document: dict[str, Any], edits: dict[int, str]) -> Path:
    """Resolve the conflict that is open: the notes get these lines. Returns the worktree."""
    place = Path(document["open"]["worktree"])
    assert "<<<<<<< fork" in (place / NOTES).read_text()
    (place / NOTES).write_text(notes(edits))
    return place


def resolutions(queue: Queue) -> list[Path]:
    return sorted((queue.desk.path / "resolutions").glob("*"))


def test_decided_once_and_used_by_every_later_replay(queue: Queue) -> None:
    before = fork_as_it_is(queue.fork.path)
    first = step(queue, "--resolve", "one", status=1)
    assert first["open"] == {
        "patch": ONE, "onto": "upstream/master", "worktree": first["open"]["worktree"],
        "paths": [NOTES], "decided": [], "skipped": [],
    }  # fmt: skip
    place = decide(queue, first, {10: "TEN, ours", 30: "THIRTY"})

    second = step(queue, "--continue", status=1)
    assert (second["open"]["patch"], second["open"]["decided"]) == (THREE, [ONE])
    assert not place.exists()
    place = decide(queue, second, {10: "TEN, ours", 30: "THIRTY, ours"})
    last = step(queue, "--continue", status=0)

    assert last["open"] is None
    assert [each["status"] for each in last["stack"]] == ["applies", "applies", "applies"]
    assert not place.exists()
    assert fork_as_it_is(queue.fork.path) == before
    assert len(resolutions(queue)) == 2
    again = step(queue, status=0)
    assert again["tip"] == last["tip"]
    names = {f"resolved as before: resolutions/{path.name}" for path in resolutions(queue)}
    assert {again["stack"][0]["how"], again["stack"][2]["how"]} == names
    assert queue.fork.text(NOTES, ref=again["tip"]) == notes({10: "TEN, ours", 30: "THIRTY, ours"}).rstrip("\n")


def test_a_resolution_is_for_its_own_sides_alone(queue: Queue) -> None:
    decide(queue, step(queue, "--resolve", "one", status=1), {10: "TEN, ours", 30: "THIRTY"})
    step(queue, "--continue", status=1)
    step(queue, "--quit", status=0)
    queue.upstream_commit("notes : again (#302)", {NOTES: notes({10: "X", 30: "THIRTY"})})

    document = step(queue, status=1)

    assert [each["status"] for each in document["stack"]] == ["conflict", "applies", "conflict"]


def test_a_resolution_with_a_marker_inside_is_not_used(queue: Queue) -> None:
    decide(queue, step(queue, "--resolve", "one", status=1), {10: "TEN, ours", 30: "THIRTY"})
    step(queue, "--continue", status=1)
    step(queue, "--quit", status=0)
    (kept,) = resolutions(queue)
    kept.write_text(kept.read_text() + "<<<<<<< fork\n")

    assert step(queue, status=1)["stack"][0]["status"] == "conflict"


def test_skip_leaves_a_patch_out_and_goes_on(queue: Queue) -> None:
    step(queue, "--resolve", "one", status=1)

    second = step(queue, "--skip", status=1)

    one = second["stack"][0]
    assert (one["status"], one["note"], one["commit"]) == ("conflict", "left out (--skip)", None)
    assert (second["open"]["patch"], second["open"]["skipped"]) == (THREE, [ONE])
    last = step(queue, "--skip", status=1)
    assert last["open"] is None
    assert resolutions(queue) == []
    assert [each["status"] for each in step(queue, status=1)["stack"]] == ["conflict", "applies", "conflict"]


def test_abort_goes_back_to_the_start_and_quit_keeps_what_was_decided(queue: Queue) -> None:
    before = fork_as_it_is(queue.fork.path)
    decide(queue, step(queue, "--resolve", "one", status=1), {10: "TEN, ours", 30: "THIRTY"})
    place = Path(step(queue, "--continue", status=1)["open"]["worktree"])

    assert step(queue, "--abort", status=0) == {
        "schema": "forkguard/replay-end@1", "patch": THREE, "taken_back": 1, "kept": 0,
    }  # fmt: skip
    assert resolutions(queue) == []
    assert not place.exists()
    assert fork_as_it_is(queue.fork.path) == before

    decide(queue, step(queue, "--resolve", "one/0001", status=1), {10: "TEN, ours", 30: "THIRTY"})
    step(queue, "--continue", status=1)
    assert step(queue, "--quit", status=0)["kept"] == 1
    assert len(resolutions(queue)) == 1
    assert queue.desk.run("stack", "replay", "--continue").told()[0] == "there is no replay to continue"


def test_abort_puts_back_the_resolution_that_was_there(queue: Queue) -> None:
    decide(queue, step(queue, "--resolve", "one", status=1), {10: "TEN, ours", 30: "THIRTY"})
    step(queue, "--continue", status=1)
    step(queue, "--quit", status=0)
    (kept,) = resolutions(queue)
    kept.write_text("no resolution at all\n")
    decide(queue, step(queue, "--resolve", "one", status=1), {10: "ten, otherwise", 30: "THIRTY"})
    step(queue, "--continue", status=1)
    assert "ten, otherwise" in kept.read_text()

    step(queue, "--abort", status=0)

    assert kept.read_text() == "no resolution at all\n"


def test_everybody_says_what_is_open(queue: Queue) -> None:
    place = step(queue, "--resolve", "one", status=1)["open"]["worktree"]

    assert step(queue, status=1)["open"]["worktree"] == place
    hint = "forkguard stack replay --continue, --skip, --quit or --abort"
    what = f"a replay on upstream/master waits for the conflict of {ONE} to be resolved"
    assert f"{what}: {hint}\n" in queue.desk.run("stack", "replay").out
    status = held(queue.desk.json("status", status=0))
    assert status["open"] == [{"what": what, "where": place, "next": hint}]
    assert f"open      {what} in {place}\n          {hint}\n" in queue.desk.run("status").out
    assert f"{what}: {hint}" in queue.desk.run("port", "301", "--dry-run").err
    second = queue.desk.run("stack", "replay", "--resolve", "three")
    assert (second.status, second.told()[0]) == (2, f"a replay on upstream/master is in progress, at {ONE}")


def test_what_cannot_be_decided_or_kept_is_refused(queue: Queue) -> None:
    def refused(*words: str) -> str:
        outcome = queue.desk.run("stack", "replay", *words)
        assert outcome.status == 2
        return outcome.told()[0]

    assert refused("--resolve", "two") == "two has no conflict on upstream/master"
    assert refused("--resolve", "four") == "the stack has no patch 'four' that is carried or proposed"
    assert refused("--resolve", "one", "--skip") == "--resolve and --skip exclude each other"
    assert refused("--continue", "--onto", "upstream/master") == (
        "--continue goes on where the replay began: --onto is not for it"
    )
    assert refused("--continue") == "there is no replay to continue"
    document = step(queue, "--resolve", "one", status=1)
    assert refused("--continue") == "conflict markers are left"
    place = decide(queue, document, {10: "TEN, ours", 30: "THIRTY"})
    (place / "README.md").write_text("beside it\n")
    assert refused("--continue") == "README.md was changed too, and a resolution holds the conflicted files alone"
    assert resolutions(queue) == []


def test_upstream_in_a_clone_of_its_own(tmp_path: Path) -> None:
    queue = new_queue(tmp_path)
    map_file = queue.desk.path / "upstream-map.toml"
    map_file.write_text(
        map_file.read_text().replace(
            'remote = "upstream"\nref = "upstream/master"', 'path = "../upstream"\nref = "master"'
        )
    )
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream.commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})

    decide(queue, step(queue, "--resolve", "one", status=1), {10: "TEN, ours"})

    assert step(queue, "--continue", status=0)["stack"][0]["status"] == "applies"


def test_the_screen_of_a_conflict(queue: Queue) -> None:
    outcome = queue.desk.run("stack", "replay", "--resolve", "one")

    place = queue.desk.json("status", status=0)["open"][0]["where"]
    assert outcome.out.split("\n")[2:] == [
        "conflict in patch 1 of 3",
        f"  {ONE}",
        "  ours: one",
        f"      {NOTES}:10  both sides changed these lines",
        "",
        f"The marked files are in {place}",
        "Edit them there: `fork` is what your patch makes of these lines, `upstream` what they are now.",
        "",
        "Next",
        "  forkguard stack replay --continue   when they are resolved; goes on to the next conflict",
        "  forkguard stack replay --skip       leaves this patch out of this replay",
        "  forkguard stack replay --quit       stops here; what was decided stays",
        "  forkguard stack replay --abort      back to the start",
        "",
    ]
