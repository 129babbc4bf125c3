"""`forkguard stack import --pins`: pinned requests of a real remote and of a forge, in their order."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_forge import PATCH, FakeForge, Reply, fake_forge, pull_path, tell_open
from tests.support.repos import GitFolder, frozen_environment
from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import NOTES, Queue, held, new_queue, notes

TEN = notes({10: "ten, theirs"})
TEN_AND_THIRTY = notes({10: "ten, theirs", 30: "thirty, theirs"})


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return new_queue(tmp_path)


def request(queue: Queue, number: int, *versions: str, onto: str = "") -> str:
    """A request upstream that changes the notes, one commit a version; returns its head."""
    upstream = queue.upstream
    upstream.git("checkout", "-q", "-B", "topic", onto or queue.base)
    head = ""
    for at, version in enumerate(versions, 1):
        head = upstream.commit(f"request {number}: part {at}", {NOTES: version})
    upstream.git("update-ref", f"refs/pull/{number}/head", head)
    upstream.git("checkout", "-q", "master")
    upstream.git("branch", "-q", "-D", "topic")
    return head


def imported(queue: Queue, pins: dict[int, str], *words: str, status: int = 0) -> dict[str, Any]:
    """JSON of an import of these pins that leaves the fork as it was."""
    file = queue.desk.path / "pins.txt"
    file.write_text("# ours\n" + "".join(f"{number} {commit}\n" for number, commit in pins.items()))
    before = fork_as_it_is(queue.fork.path)
    document = held(queue.desk.json("stack", "import", "--pins", "pins.txt", *words, status=status))
    assert fork_as_it_is(queue.fork.path) == before
    return document


def rows(document: dict[str, Any]) -> list[tuple[int, str]]:
    return [(one["pr"], one["status"]) for one in document["requests"]]


def manifest(queue: Queue, name: str) -> str:
    return (queue.desk.path / "patchsets" / name / "patchset.toml").read_text()


def test_requests_of_the_remote_become_a_stack_in_the_order_of_the_list(queue: Queue) -> None:
    two = request(queue, 402, TEN, TEN_AND_THIRTY)
    one = request(queue, 401, notes({20: "twenty, theirs"}))

    document = imported(queue, {402: two, 401: one})

    assert rows(document) == [(402, "applied"), (401, "applied")]
    assert document["patchsets"][0] == {
        "name": "402",
        "patches": ["0001-request-402-part-1.patch", "0002-request-402-part-2.patch"],
    }
    assert [one["onto"] for one in document["requests"]] == [queue.base[:10], "forkguard/402"]
    assert (queue.desk.path / "patchsets/series").read_text().split() == ["402", "401"]
    assert f'head = "{two}"' in manifest(queue, "402")
    assert f'head = "{one}"' in manifest(queue, "401")
    both = notes({10: "ten, theirs", 20: "twenty, theirs", 30: "thirty, theirs"})
    assert queue.fork.text(NOTES, ref="forkguard/401") == both.rstrip("\n")
    assert queue.fork.git("rev-parse", "forkguard/402~2") == queue.base
    rules = {finding["kind"] for finding in held(queue.desk.json("stack", "verify", status=1))["findings"]}
    assert rules == {"lost", "tree"}  # production lacks them; files, exports and order are as they should be


def test_the_same_list_again_changes_nothing(queue: Queue) -> None:
    pins = {401: request(queue, 401, TEN)}
    imported(queue, pins)
    files, tip = queue.desk.stack_files(), queue.fork.git("rev-parse", "forkguard/401")

    document = imported(queue, pins)

    assert rows(document) == [(401, "applied")]
    assert "held this very commit already" in document["requests"][0]["why"]
    assert (queue.desk.stack_files(), queue.fork.git("rev-parse", "forkguard/401")) == (files, tip)


def test_a_head_that_moved_is_said_and_the_pin_is_taken(queue: Queue) -> None:
    old = request(queue, 401, TEN)
    new = request(queue, 401, TEN_AND_THIRTY, onto=old)

    (told,) = imported(queue, {401: old})["requests"]

    assert (told["status"], told["head"]) == ("applied", new)
    assert told["why"] == f"its head moved: it is at {new[:10]} now, and the pinned {old[:10]} was taken"
    assert "thirty, theirs" not in queue.fork.text(NOTES, ref="forkguard/401")


def test_a_pin_that_nobody_hands_out_is_left_out_and_the_next_is_tried(queue: Queue) -> None:
    gone = "1" * 40
    head = request(queue, 401, TEN)
    other = request(queue, 402, notes({20: "twenty, theirs"}))

    document = imported(queue, {401: gone, 402: other}, status=1)

    assert rows(document) == [(401, "moved"), (402, "applied")]
    assert document["requests"][0]["hint"] == f"look at the request; write  401 {head}  to take its new head"
    assert (queue.desk.path / "patchsets/series").read_text() == "402\n"


def test_a_conflict_is_told_hunk_by_hunk_and_leaves_nothing_in_progress(queue: Queue) -> None:
    one = request(queue, 401, TEN)
    clash = request(queue, 402, notes({10: "ten, otherwise"}))
    three = request(queue, 403, notes({30: "thirty, theirs"}))

    document = imported(queue, {401: one, 402: clash, 403: three}, status=1)

    assert rows(document) == [(401, "applied"), (402, "conflict"), (403, "applied")]
    told = document["requests"][1]
    assert (told["hunks"], told["branch"]) == ({"conflict": 1}, None)
    assert [place["path"] for place in told["conflicts"]] == [NOTES]
    assert told["hint"] == "forkguard port 402 --fork-ref forkguard/401  to resolve it, then import again"
    assert document["requests"][2]["onto"] == "forkguard/401"
    assert (queue.desk.journal.exists(), queue.desk.checkouts) == (False, [])


def test_a_resolved_conflict_is_taken_up_and_what_stands_on_it_is_made_anew(queue: Queue) -> None:
    lines = {401: 10, 402: 10, 403: 30}
    pins = {number: request(queue, number, notes({at: f"{at}, of {number}"})) for number, at in lines.items()}
    imported(queue, pins, status=1)
    first = queue.fork.git("rev-parse", "forkguard/403")
    queue.desk.json("port", "402", "--fork-ref", "forkguard/401", status=1)
    (queue.desk.checkouts[0] / NOTES).write_text(notes({10: "10, of both"}))
    queue.desk.json("port", "--continue", status=0)

    document = imported(queue, pins)

    assert rows(document) == [(401, "applied"), (402, "applied"), (403, "applied")]
    assert queue.fork.git("rev-parse", "forkguard/403~1") == queue.fork.git("rev-parse", "forkguard/402") != first
    assert document["notes"] == ["the stack has them in another order (401, 403, 402): forkguard stack reorder"]


def test_a_branch_that_somebody_worked_on_stays(queue: Queue) -> None:
    old = request(queue, 401, TEN)
    imported(queue, {401: old})
    mine = queue.fork.git("commit-tree", "-p", "forkguard/401", "-m", "mine", "forkguard/401^{tree}")
    queue.fork.git("update-ref", "refs/heads/forkguard/401", mine)
    new = request(queue, 401, TEN_AND_THIRTY)

    (told,) = imported(queue, {401: new}, status=3)["requests"]

    assert told["status"] == "refused"
    assert "holds something else" in told["why"]
    assert queue.fork.git("rev-parse", "forkguard/401") == mine


def test_a_new_pin_replaces_the_old_patches(queue: Queue) -> None:
    old = request(queue, 401, TEN, TEN_AND_THIRTY)
    imported(queue, {401: old})
    new = request(queue, 401, notes({20: "twenty, theirs"}))

    document = imported(queue, {401: new})

    assert document["patchsets"] == [{"name": "401", "patches": ["0001-request-401-part-1.patch"]}]
    assert f'head = "{new}"' in manifest(queue, "401")
    assert sorted(name for name in queue.desk.stack_files() if name.endswith(".patch")) == [
        "401/0001-request-401-part-1.patch"
    ]


def test_what_the_base_has_makes_no_patchset(queue: Queue) -> None:
    head = request(queue, 401, TEN)
    landed = queue.upstream_commit("ten (#401)", {NOTES: TEN})

    document = imported(queue, {401: head}, "--base", landed)
    pinned_as_merged = imported(queue, {401: landed}, "--base", queue.base)

    assert rows(document) == [(401, "already-present")]
    assert document["patchsets"] == []
    assert document["requests"][0]["why"] == f"upstream has merged it since, as {landed[:10]}"
    (told,) = pinned_as_merged["requests"]
    assert (told["status"], told["state"], told["why"]) == ("applied", "merged", "")


def test_a_merged_request_by_its_own_commits_names_what_upstream_made_of_it(queue: Queue) -> None:
    head = request(queue, 401, TEN, TEN_AND_THIRTY)
    landed = queue.upstream_commit("ten and thirty (#401)", {NOTES: TEN_AND_THIRTY})

    imported(queue, {401: head})

    patch = (queue.desk.path / "patchsets/401/0002-request-401-part-2.patch").read_text()
    assert f"Origin: upstream, commit:{head}\n" in patch
    assert f"Applied-Upstream: commit:{landed}\n" in patch


def test_a_dry_run_fetches_and_writes_nothing(queue: Queue) -> None:
    head = request(queue, 401, TEN)

    (told,) = imported(queue, {401: head}, "--dry-run", status=3)["requests"]
    untouched = queue.fork.git("for-each-ref", "refs/forkguard")
    queue.fork.git("fetch", "-q", "upstream", "refs/pull/401/head:refs/remotes/upstream/pr/401")
    document = imported(queue, {401: head}, "--dry-run")

    assert told["status"] == "refused"
    assert told["why"].endswith("a dry run fetches nothing")
    assert rows(document) == [(401, "applied")]
    assert document["dry_run"] is True
    assert queue.desk.stack_files() == {}
    assert untouched == queue.fork.git("for-each-ref", "refs/forkguard", "refs/heads/forkguard") == ""


def test_wrong_lists_and_wrong_use(queue: Queue) -> None:
    for text, said in (
        ("401 abc\n", "pins.txt:1"),
        (f"401 {'a' * 40}\n\n401 {'b' * 40}\n", "pins.txt:3"),
        ("# none\n", "no request is listed"),
        (f"--upload-pack=x {'a' * 40}\n", "pins.txt:1"),
    ):
        (queue.desk.path / "pins.txt").write_text(text)
        outcome = queue.desk.run("stack", "import", "--pins", "pins.txt")
        assert outcome.status == 2
        assert said in outcome.err
    for words in (["--pins", "x", "--am", "y"], ["--pins", "x", "--name", "n"], ["--am", "y", "--force"]):
        assert queue.desk.run("stack", "import", *words).status == 2


# -- the forge -------------------------------------------------------------------------------------------------


@pytest.fixture
def forge(queue: Queue) -> Iterator[FakeForge]:
    """A forge that the desk's map names; the remote is gone."""
    with fake_forge() as running:
        map_file = queue.desk.path / "upstream-map.toml"
        said = f'\n[forge]\napi = "{running.url}"\nrepository = "owner/name"\n'
        map_file.write_text(map_file.read_text() + said)
        yield running


def mails(folder: GitFolder, first: str, last: str) -> bytes:
    words = ["git", "-C", str(folder.path), "format-patch", "--stdout", f"{first}..{last}"]
    return subprocess.run(words, env=frozen_environment(), capture_output=True, check=True).stdout


def test_a_pin_that_only_the_forge_has_is_taken_from_there(queue: Queue, forge: FakeForge) -> None:
    head = request(queue, 401, TEN)
    patch = mails(queue.upstream, queue.base, head)
    queue.upstream.git("update-ref", "-d", "refs/pull/401/head")
    queue.upstream.git("reflog", "expire", "--expire=now", "--all")
    queue.upstream.git("gc", "-q", "--prune=now")
    forge.tell_pull(401, head={"sha": head})
    forge.tell(pull_path(401), Reply(patch), accept=PATCH)

    document = imported(queue, {401: head})

    assert rows(document) == [(401, "applied")]
    assert f'head = "{head}"' in manifest(queue, "401")


def test_a_closed_request_and_its_heir_are_said(queue: Queue, forge: FakeForge) -> None:
    head = request(queue, 401, TEN)
    forge.tell_pull(401, head={"sha": head}, state="closed", body="superseded by #450")
    tell_open(forge)
    tell_open(forge)

    (told,) = imported(queue, {401: head})["requests"]

    assert (told["status"], told["state"]) == ("applied", "closed")
    assert told["why"] == "it was closed without a merge: it says that #450 took its place"


def test_without_remote_and_forge_what_is_here_is_taken_and_that_is_said(queue: Queue, forge: FakeForge) -> None:
    head = request(queue, 401, TEN)
    queue.fork.git("fetch", "-q", "upstream", "refs/pull/401/head:refs/remotes/upstream/pr/401")
    queue.fork.git("remote", "set-url", "upstream", "https://user:secret@127.0.0.1:1/none")

    document = imported(queue, {401: head})

    assert rows(document) == [(401, "applied")]
    (note,) = document["notes"]
    assert note.startswith("the remote was not asked where the heads are now: ")
    assert "secret" not in str(document)
