"""`forkguard port` of a commit, a patch file, an address, and of requests that only the forge knows."""

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.support import mini_llama
from tests.support.fake_forge import PATCH, FakeForge, Reply, fake_forge, pull_path
from tests.support.porting import ARCH, HERON, Desk, make_desk
from tests.support.repos import GitFolder, MiniHistory

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/port.json").read_text())


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


@pytest.fixture
def forge(desk: Desk) -> Iterator[FakeForge]:
    """A forge that the desk's map names."""
    with fake_forge() as running:
        map_file = desk.path / "upstream-map.toml"
        forge = f'\n[forge]\napi = "{running.url}"\nrepository = "owner/name"\n'
        map_file.write_text(map_file.read_text() + forge)
        yield running


def topic(history: MiniHistory, *names: str) -> list[str]:
    """Commits on a branch beside upstream's master, each of which adds a file."""
    upstream = history.upstream
    upstream.git("checkout", "-q", "-B", "topic", history.base)
    commits = [upstream.commit(f"topic: {name}", {f"{name}.txt": f"{name}\n"}) for name in names]
    upstream.git("checkout", "-q", "master")
    return commits


def mails(upstream: GitFolder, first: str, last: str) -> str:
    return upstream.git("format-patch", "--stdout", f"{first}~1..{last}") + "\n"


# -- commits and patches -----------------------------------------------------------------------------------


def test_a_commit_of_upstream_is_its_request(desk: Desk, history: MiniHistory) -> None:
    document = desk.json("port", history.port[:10], status=0)

    jsonschema.validate(document, SCHEMA)
    assert (document["pr"], document["state"], document["branch"]) == (201, "merged", "forkguard/201")
    assert document["source"] == {"kind": "commit", "where": history.port, "commits": [history.port]}


def test_a_commit_of_no_request_has_a_name_of_its_own(desk: Desk, history: MiniHistory) -> None:
    (one,) = topic(history, "one")
    history.fork.git("fetch", "-q", "upstream", "topic:refs/remotes/upstream/topic")

    document = desk.json("port", one, status=0)

    jsonschema.validate(document, SCHEMA)
    assert (document["pr"], document["state"], document["patchset"]) == (None, "open", f"c-{one[:10]}")
    assert "pull" not in (desk.path / f"patchsets/c-{one[:10]}/patchset.toml").read_text()
    assert desk.json("stack", "show", f"c-{one[:10]}", status=0)["state"] == "carried"


def test_a_merge_commit_is_taken_against_its_first_parent(desk: Desk, history: MiniHistory) -> None:
    upstream = history.upstream
    topic(history, "one", "two")
    upstream.git("merge", "-q", "--no-ff", "-m", "Merge topic (#300)", "topic")
    history.fork.git("fetch", "-q", "upstream")

    document = desk.json("port", "300", status=0)

    assert sorted(hunk["path"] for hunk in document["hunks"]) == ["one.txt", "two.txt"]
    assert history.fork.git("log", "--format=%s", "production..forkguard/300") == "Merge topic (#300)"


def test_a_commit_that_is_not_here(desk: Desk, history: MiniHistory) -> None:
    outcome = desk.run("port", "0123456789abcdef")

    assert outcome.status == 3
    assert outcome.told()[0] == "the commit 0123456789abcdef is not here"


def test_a_mailbox_is_ported_with_its_authors(desk: Desk, history: MiniHistory) -> None:
    one, two = topic(history, "one", "two")
    box = desk.path / "topic.mbox"
    box.write_text(mails(history.upstream, one, two))

    document = desk.json("port", str(box), status=0)
    again = desk.json("port", str(box), status=0)

    jsonschema.validate(document, SCHEMA)
    assert document["source"]["kind"] == "patch"
    name = document["branch"]
    assert history.fork.git("log", "--format=%an %s", f"production..{name}").splitlines() == [
        "Ada Otter topic: two",
        "Ada Otter topic: one",
    ]
    assert again["commits"] == document["commits"]


def test_a_plain_diff_is_ported(desk: Desk, history: MiniHistory) -> None:
    diff = desk.path / "change.diff"
    diff.write_text(history.upstream.git("diff", history.base, history.port) + "\n")

    document = desk.json("port", str(diff), status=0)

    assert document["stat"] == {"files": 2, "added": 6, "removed": 1}
    for name, text in mini_llama.draft_support().items():
        assert history.fork.text(name, ref=document["branch"]) + "\n" == text


def test_a_patch_that_applies_nowhere_says_what_git_says(desk: Desk, history: MiniHistory) -> None:
    diff = desk.path / "change.diff"
    text = history.upstream.git("diff", history.base, history.port) + "\n"
    diff.write_text(text.replace("ggml_cpy(ctx0, tail, state_slot(il, 0))", "no_such_line()"))

    outcome = desk.run("port", str(diff))

    assert outcome.status == 3
    assert "applies neither" in outcome.told()[0]
    assert HERON in outcome.told()[0]


def test_a_file_without_a_patch(desk: Desk, history: MiniHistory) -> None:
    (desk.path / "x.diff").write_text("hello\n")

    assert desk.run("port", "x.diff").status in (2, 3)


def test_several_commits_can_be_made_one(desk: Desk, history: MiniHistory) -> None:
    upstream, fork = history.upstream, history.fork
    _, two = topic(history, "one", "two")
    upstream.git("update-ref", "refs/pull/400/head", two)
    fork.git("fetch", "-q", "upstream", "refs/pull/400/head:refs/pull/400/head")

    document = desk.json("port", "400", "--squash", status=0)

    assert len(document["commits"]) == 1
    assert document["stat"]["files"] == 2
    assert "its 2 commits are joined into one" in document["notes"][0]


# -- the forge ---------------------------------------------------------------------------------------------


def test_what_is_in_local_history_asks_nobody(desk: Desk, history: MiniHistory, forge: FakeForge) -> None:
    map_file = desk.path / "upstream-map.toml"
    map_file.write_text(map_file.read_text() + "open_requests = 0\n")
    desk.json("port", "201", status=0)
    assert forge.asked == []


def test_an_open_request_comes_from_the_forge_and_is_pinned(
    desk: Desk, history: MiniHistory, forge: FakeForge
) -> None:
    one, two = topic(history, "one", "two")
    forge.tell_pull(400, head={"sha": two}, title="a topic")
    forge.tell(pull_path(400), Reply(mails(history.upstream, one, two).encode()), accept=PATCH)

    document = desk.json("port", "400", status=0)

    jsonschema.validate(document, SCHEMA)
    assert (document["pr"], document["state"], document["title"]) == (400, "open", "a topic")
    assert document["source"]["kind"] == "forge"
    manifest = (desk.path / "patchsets/400/patchset.toml").read_text()
    assert f'head = "{two}"\n' in manifest
    assert len(document["commits"]) == 2


def test_a_head_that_moved_is_not_followed_unasked(desk: Desk, history: MiniHistory, forge: FakeForge) -> None:
    one, two = topic(history, "one", "two")
    forge.tell_pull(400, head={"sha": one})
    forge.tell(pull_path(400), Reply(mails(history.upstream, one, one).encode()), accept=PATCH)
    desk.json("port", "400", status=0)
    history.fork.git("branch", "-D", "forkguard/400")
    forge.tell_pull(400, head={"sha": two})
    forge.tell(pull_path(400), Reply(mails(history.upstream, one, two).encode()), accept=PATCH)

    outcome = desk.run("port", "400")

    assert outcome.status == 2
    assert outcome.told()[0] == f"the head of #400 moved: {one[:10]} was pinned, now it is {two[:10]}"
    assert outcome.told()[2].startswith("forkguard port 400 --follow")
    followed = desk.json("port", "400", "--follow", status=0)
    assert len(followed["commits"]) == 2
    assert f'head = "{two}"\n' in (desk.path / "patchsets/400/patchset.toml").read_text()


def test_a_closed_request_names_its_heir(desk: Desk, history: MiniHistory, forge: FakeForge) -> None:
    (one,) = topic(history, "one")
    forge.tell_pull(400, head={"sha": one}, state="closed", body="superseded by #401")
    forge.tell(pull_path(400), Reply(mails(history.upstream, one, one).encode()), accept=PATCH)

    document = desk.json("port", "400", status=0)

    assert document["state"] == "closed"
    assert document["notes"][0] == "it was closed without a merge: it says that #401 took its place"


def test_a_merge_without_the_number_is_found_by_its_commit(
    desk: Desk, history: MiniHistory, forge: FakeForge
) -> None:
    merged = history.upstream.commit("no number", {"n.txt": "n\n"})
    history.fork.git("fetch", "-q", "upstream")
    forge.tell_pull(400, head={"sha": "a" * 40}, state="closed", merged_at="2026-01-01", merge_commit_sha=merged)

    document = desk.json("port", "400", status=0)

    assert (document["state"], document["source"]["commits"]) == ("merged", [merged])


def test_a_merge_that_is_not_fetched_says_so(desk: Desk, history: MiniHistory, forge: FakeForge) -> None:
    forge.tell_pull(400, head={"sha": "a" * 40}, state="closed", merged_at="2026-01-01", merge_commit_sha="b" * 40)

    outcome = desk.run("port", "400")

    assert outcome.status == 3
    assert outcome.told()[0] == "#400 was merged as bbbbbbbbbb, which is not fetched here"
    assert outcome.told()[2] == f"git -C {history.fork.path} fetch"


def test_a_local_ref_that_is_behind_is_said(desk: Desk, history: MiniHistory, forge: FakeForge) -> None:
    one, two = topic(history, "one", "two")
    history.upstream.git("update-ref", "refs/pull/400/head", one)
    history.fork.git("fetch", "-q", "upstream", "refs/pull/400/head:refs/pull/400/head")
    forge.tell_pull(400, head={"sha": two})

    document = desk.json("port", "400", status=0)

    assert document["source"]["commits"] == [one]
    assert document["notes"][0] == f"its head is at {two[:10]} now; what is here, {one[:10]}, was taken"


@pytest.mark.parametrize("tail", ["", "/files"])
def test_an_address_of_a_request(desk: Desk, history: MiniHistory, tail: str) -> None:
    document = desk.json("port", f"https://github.com/owner/name/pull/201{tail}", status=0)

    assert document["source"]["commits"] == [history.port]


def test_an_address_of_a_patch(desk: Desk, history: MiniHistory, forge: FakeForge) -> None:
    (one,) = topic(history, "one")
    forge.tell("/some/where.patch", Reply(mails(history.upstream, one, one).encode()), accept="*/*")

    document = desk.json("port", f"{forge.url}/some/where.patch", status=0)

    assert document["source"]["where"] == f"{forge.url}/some/where.patch"
    assert document["stat"]["files"] == 1


def test_a_request_that_nobody_knows(desk: Desk, history: MiniHistory, forge: FakeForge) -> None:
    outcome = desk.run("port", "999")

    assert outcome.status == 3
    assert outcome.told()[0] == "there is no #999 in owner/name at 127.0.0.1"
    assert ARCH not in outcome.err
