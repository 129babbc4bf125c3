"""Open requests near a ported one, and carried requests looked up again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkguard.cli.compose import open_project, patchset_store
from forkguard.cli.compose_port import recheck_places
from forkguard.workflows.recheck import Rechecked, recheck
from tests.support.fake_forge import FakeForge, Reply, fake_forge, open_path, pull_path, tell_open
from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import NOTES, Queue, new_queue, notes

HEADS = ["a" * 40, "b" * 40, "c" * 40]
LINE = "ten, theirs, and more words to tell it by"
TEN = notes({10: LINE})
CHANGES_IT = f"@@ -10 +10 @@\n-{LINE}\n+ten, once more\n"
ELSEWHERE = "@@ -30 +30 @@\n-note 30: nothing special\n+thirty\n"


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return new_queue(tmp_path)


@pytest.fixture
def forge(queue: Queue) -> Iterator[FakeForge]:
    with fake_forge() as running:
        map_file = queue.desk.path / "upstream-map.toml"
        said = f'\n[forge]\napi = "{running.url}"\nrepository = "owner/name"\nopen_requests = 2\n'
        map_file.write_text(map_file.read_text() + said)
        yield running


def request(queue: Queue, number: int, text: str) -> str:
    """An open request of the remote that changes the notes; fetched by the fork. Returns its head."""
    queue.upstream.git("checkout", "-q", "-B", "topic", queue.base)
    head = queue.upstream.commit(f"request {number}", {NOTES: text})
    queue.upstream.git("update-ref", f"refs/pull/{number}/head", head)
    queue.upstream.git("checkout", "-q", "master")
    queue.upstream.git("branch", "-q", "-D", "topic")
    queue.fork.git("fetch", "-q", "upstream", f"+refs/pull/{number}/head:refs/remotes/upstream/pr/{number}")
    return head


def again(queue: Queue) -> Rechecked:
    """Everything looked up again; the fork stays as it is, and so do the files."""
    before = fork_as_it_is(queue.fork.path), queue.desk.stack_files()
    with open_project(map_file=queue.desk.path / "upstream-map.toml", fork=None, fork_ref=None) as project:
        places = recheck_places(project)
        found = recheck(patchset_store(project), fork=project.fork, upstream=project.upstream, places=places)
    assert (fork_as_it_is(queue.fork.path), queue.desk.stack_files()) == before
    return found


# -- open requests, when a change is ported --------------------------------------------------------------------


def test_open_requests_on_the_same_lines_are_follow_ups_and_are_stored(queue: Queue, forge: FakeForge) -> None:
    queue.upstream_commit("ten (#300)", {NOTES: TEN})
    rows = [(501, "elsewhere", HEADS[0], {NOTES: ELSEWHERE}), (502, "ten again", HEADS[1], {NOTES: CHANGES_IT})]
    tell_open(forge, *rows)

    document = queue.desk.json("port", "300", status=0)

    why = "open: changes 1 of its lines: ten again"
    assert document["follow_ups"] == [{"pr": 502, "commit": None, "why": why}]
    assert f'pull = 502\nwhy = "{why}"' in (queue.desk.path / "patchsets/300/patchset.toml").read_text()


def test_what_the_budget_left_out_is_said_and_read_the_next_time(queue: Queue, forge: FakeForge) -> None:
    queue.upstream_commit("ten (#300)", {NOTES: TEN})
    rows = [(501 + at, f"request {at}", head, {NOTES: ELSEWHERE}) for at, head in enumerate(HEADS[:2])]
    tell_open(forge, *rows, (503, "ten again", HEADS[2], {NOTES: CHANGES_IT}))

    first = queue.desk.json("port", "300", "--dry-run", status=0)
    second = queue.desk.json("port", "300", "--dry-run", status=0)

    said = "1 of 3 open requests were not looked at; the next run reads more of them"
    assert (first["follow_ups"], said in first["notes"]) == ([], True)
    assert [item["pr"] for item in second["follow_ups"]] == [503]
    assert said not in second["notes"]
    files = [path for path, _, _ in forge.asked if "/files?" in path]
    assert len(files) == len(set(files)) == 3  # none is asked for twice


def test_a_title_that_names_the_file_is_read_first(queue: Queue, forge: FakeForge) -> None:
    queue.upstream_commit("ten (#300)", {NOTES: TEN})
    rows = [(501 + at, f"request {at}", head, {NOTES: ELSEWHERE}) for at, head in enumerate(HEADS[:2])]
    tell_open(forge, *rows, (503, "notes : ten again", HEADS[2], {NOTES: CHANGES_IT}))

    assert [item["pr"] for item in queue.desk.json("port", "300", "--dry-run", status=0)["follow_ups"]] == [503]


def test_a_forge_in_trouble_is_said_and_does_not_stop_a_port(queue: Queue, forge: FakeForge) -> None:
    queue.upstream_commit("ten (#300)", {NOTES: TEN})
    forge.tell(open_path(1), Reply(status=403, headers={"x-ratelimit-remaining": "0"}))

    document = queue.desk.json("port", "300", status=0)

    (note,) = [note for note in document["notes"] if "open requests" in note]
    assert note.startswith("open requests were not looked for: the forge's rate limit is used up")


# -- looking up again --------------------------------------------------------------------------------------------


def test_a_head_that_moved_and_a_merge_are_told(queue: Queue) -> None:
    old = request(queue, 401, TEN)
    kept = request(queue, 402, notes({20: "twenty"}))
    merged = request(queue, 403, notes({30: "thirty, by them, with a few words"}))
    for number in (401, 402, 403):
        queue.desk.json("port", str(number), status=0)
    new = request(queue, 401, notes({10: "ten, otherwise"}))
    queue.upstream_commit("twenty-one (#409)\n\nSupersedes #402, continues #4011.", {"docs/heir.txt": "x\n"})
    squash = queue.upstream_commit("thirty (#403)", {NOTES: notes({30: "thirty, by them, with a few words"})})
    fix = queue.upstream_commit("mend #403 (#410)", {"docs/other.txt": "x\n"})

    found = again(queue)

    rows = [(pin.patchset, pin.pinned, pin.head, pin.state.value, pin.merge, pin.moved) for pin in found.pins]
    assert rows == [
        ("401", old, new, "open", None, True),
        ("402", kept, kept, "open", None, False),
        ("403", merged, merged, "merged", squash, False),
    ]
    assert [pin.why for pin in found.pins] == [
        f"its head moved: {new[:10]}",
        "upstream's #409 says that it took its place",
        f"merged since, as {squash[:10]}",
    ]
    assert [(one.patchset, one.follow_up.commit, one.new) for one in found.follow_ups] == [("403", fix, True)]
    assert (
        "upstream's #409 says that it took its place"
        in queue.desk.json("port", "402", "--dry-run", status=0)["notes"][0]
    )
    assert found.problems == ()


def test_what_the_manifest_holds_is_not_new_and_a_known_number_that_was_merged_is_told(queue: Queue) -> None:
    queue.upstream_commit("ten (#300)", {NOTES: TEN})
    fix = queue.upstream_commit("mend #300 (#301)", {"docs/other.txt": "x\n"})
    queue.desk.json("port", "300", status=0)
    manifest = queue.desk.path / "patchsets/300/patchset.toml"
    manifest.write_text(manifest.read_text() + '\n[[follow-ups]]\npull = 305\nwhy = "a person said so"\n')
    late = queue.upstream_commit("something else (#305)", {"docs/late.txt": "x\n"})

    found = again(queue)

    assert [(one.follow_up.commit, one.follow_up.why, one.new) for one in found.follow_ups] == [
        (fix, "names #300: mend #300 (#301)", False),
        (late, "merged: something else (#305)", True),
    ]


def test_the_forge_tells_closed_requests_and_open_ones_nearby(queue: Queue, forge: FakeForge) -> None:
    head = request(queue, 401, TEN)
    forge.tell_pull(401, head={"sha": head})
    tell_open(forge)
    queue.desk.json("port", "401", status=0)
    forge.tell_pull(401, head={"sha": head}, state="closed", body="superseded by #402")
    tell_open(forge, (502, "ten again", HEADS[1], {NOTES: CHANGES_IT}))

    found = again(queue)

    (pin,) = found.pins
    assert (pin.state.value, pin.why) == ("closed", "closed without a merge: it says that #402 took its place")
    assert [(one.follow_up.pull, one.new) for one in found.follow_ups] == [(502, True)]


def test_what_cannot_be_asked_is_a_problem_and_local_history_still_answers(queue: Queue, forge: FakeForge) -> None:
    head = request(queue, 401, TEN)
    forge.tell_pull(401, head={"sha": head})
    tell_open(forge)
    queue.desk.json("port", "401", status=0)
    forge.tell(pull_path(401), Reply(json.dumps({"message": "no"}).encode(), status=401))
    forge.tell(open_path(1), Reply(b"{}", status=401))
    queue.fork.git("remote", "set-url", "upstream", str(queue.upstream.path / "gone"))

    found = again(queue)

    (pin,) = found.pins
    assert (pin.head, pin.why) == (None, "its head was not looked up: neither a remote nor a forge told it")
    assert [problem.partition(":")[0] for problem in found.problems] == [
        "where the heads of open requests are was not looked up",
        "#401 was not asked of the forge",
        "open requests were not looked for",
    ]
