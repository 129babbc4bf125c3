"""`forkguard stack replay`: every patch tried, each with its class, and who broke it."""

import json
import math
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.mini_llama import arch_source
from tests.support.porting import ARCH
from tests.support.snapshot import fork_as_it_is
from tests.support.stacks import LINES, NOTES, Queue, new_queue, notes, text

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/replay.json").read_text())


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return new_queue(tmp_path)


def replayed(queue: Queue, *words: str, status: int) -> dict[str, Any]:
    """The JSON of a replay, held against its schema; the fork must be as it was."""
    before = fork_as_it_is(queue.fork.path)
    document = queue.desk.json("stack", "replay", *words, status=status)
    jsonschema.validate(document, SCHEMA)
    assert fork_as_it_is(queue.fork.path) == before
    return document


def test_an_empty_stack_applies(queue: Queue) -> None:
    document = replayed(queue, status=0)

    assert document["stack"] == []
    assert document["tip"] == queue.base


def test_the_stack_applies_as_git_am_applies_it(queue: Queue, tmp_path: Path) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {NOTES: notes({10: "ten, ours", 34: "34, ours"}), "tools/new.sh": "#!/bin/sh\n"})
    queue.patch("three", {}, removed=("tools/new.sh",), subject="ours: no tool (#7)")
    tip = queue.upstream_commit("notes : a title (#110)", {NOTES: "a title\n\n" + notes({31: "31: upstream's"})})

    document = replayed(queue, status=0)

    assert queue.statuses(document) == [("one", "applies"), ("two", "applies"), ("three", "applies")]
    assert [each["how"] for each in document["stack"]] == ["offset", "three-way", "exact"]
    assert document["onto"]["commit"] == tip
    queue.author.git("fetch", "-q", "upstream")
    queue.author.git("checkout", "-q", "--detach", tip)
    for mail in ("one/0001-ours-one.patch", "two/0001-ours-two.patch", "three/0001-ours-no-tool-7.patch"):
        queue.author.git("am", "-q", "--3way", str(queue.desk.path / "patchsets" / mail))
    assert queue.fork.git("rev-parse", f"{document['tip']}^{{tree}}") == queue.author.git("rev-parse", "HEAD^{tree}")
    log = queue.fork.git("log", "--format=%an %ad %s", "--date=raw", f"{tip}..{document['tip']}")
    assert log == queue.author.git("log", "--format=%an %ad %s", "--date=raw", f"{tip}..HEAD")
    assert (
        queue.fork.git("log", "-1", "--format=%(trailers:key=Forkguard-Patchset,valueonly)", document["tip"])
        == "three"
    )


def test_the_same_replay_twice_gives_the_same_commits(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("title (#110)", {NOTES: "a title\n" + text(LINES)})

    assert replayed(queue, status=0)["tip"] == replayed(queue, status=0)["tip"]


def test_a_conflict_stops_nobody_and_names_who_broke_it(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {NOTES: notes({10: "ten, ours", 11: "eleven\nand a half"})})
    queue.patch("three", {"README.md": "ours\n"})
    for number in range(200, 208):
        queue.upstream_commit(f"elsewhere (#{number})", {f"docs/{number}.txt": f"{number}\n"})
    before = queue.upstream_commit("notes : 40 (#300)", {NOTES: notes({40: "forty, theirs"})})
    breaking = queue.upstream_commit("notes : reword ten (#301)", {NOTES: notes({10: "TEN", 40: "forty, theirs"})})
    queue.upstream_commit("notes : more (#302)", {NOTES: notes({10: "TEN", 40: "forty, theirs", 20: "twenty"})})

    document = replayed(queue, status=1)

    assert queue.statuses(document) == [("one", "conflict"), ("two", "untested"), ("three", "applies")]
    one, two, three = document["stack"]
    assert (one["broken"]["commit"], one["broken"]["parent"], one["broken"]["pr"]) == (breaking, before, 301)
    assert one["broken"]["monotone"] is True
    assert [each["breaking_commit"] for each in document["stack"]] == [breaking, breaking, None]
    assert one["troubles"][0]["path"] == NOTES
    assert two["needs"] == ["one/0001-ours-one.patch"]
    assert (one["commit"], two["commit"]) == (None, None)
    assert document["tip"] == three["commit"]
    assert [(group["root"], group["commit"]["commit"], len(group["patches"])) for group in document["groups"]] == [
        ("one/0001-ours-one.patch", breaking, 2)
    ]
    assert document["summary"] == {
        "applies": 1, "additive": 0, "landed": 0, "conflict": 1, "missing-blob": 0, "untested": 1,
    }  # fmt: skip


def test_the_text_says_it_too(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    breaking = queue.upstream_commit("notes : reword ten (#301)", {NOTES: notes({10: "TEN"})})

    outcome = queue.desk.run("stack", "replay")

    assert outcome.status == 1
    assert "  1  conflict      one  ours: one\n" in outcome.out
    assert outcome.out.endswith(
        "Failures by root\n"
        f"  1 patch broken by {breaking[:10]} notes : reword ten (#301) (2026-01-01), "
        f"not by its parent {queue.base[:10]}\n"
        "    1  conflict      one\n"
        f"      {NOTES}:10  both sides changed these lines\n"
        "\n"
        "1 conflict; 2 replays\n"
        "\n"
        "Next\n"
        f"  git show {breaking[:10]}  shows what broke one/0001-ours-one.patch\n"
        "  forkguard stack replay --onto upstream/master --resolve one  opens its conflict in a worktree\n"
    )


def test_among_400_commits_the_breaking_one_takes_at_most_twice_the_logarithm(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    feed = []
    for number in range(1, 401):
        edits = {40: f"forty, {number}"} | ({10: "TEN"} if number >= 287 else {})
        content = notes(edits)
        feed.append(
            f"commit refs/heads/master\nmark :{number}\n"
            f"committer U <u@example.org> {1767268800 + number * 60} +0000\n"
            f"data <<END\nnotes : {number}\nEND\n"
            + (f"from {queue.base}\n" if number == 1 else "")
            + f"M 100644 inline {NOTES}\ndata {len(content)}\n{content}\n"
        )
    queue.upstream.git("fast-import", "--quiet", "--force", stdin="".join(feed))
    queue.fork.git("fetch", "-q", "upstream")

    document = replayed(queue, status=1)

    (one,) = document["stack"]
    assert document["upstream"]["commits"] == 400
    assert one["broken"]["subject"] == "notes : 287"
    assert one["broken"]["monotone"] is True
    assert document["replays"] - 1 == one["broken"]["replays"] <= 2 * math.log2(400)


def test_a_break_that_came_and_went_and_came_is_said(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    ids = [
        queue.upstream_commit(f"notes : {n}", {NOTES: notes({10: "TEN"} if n in (1, 3) else {})}) for n in range(4)
    ]

    (one,) = replayed(queue, status=1)["stack"]

    assert one["broken"]["commit"] in (ids[1], ids[3])
    assert one["broken"]["monotone"] is False
    assert one["broken"]["others"]


def test_without_bisection_nobody_is_named(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})

    document = replayed(queue, "--no-bisect", status=1)

    assert document["stack"][0]["broken"] is None
    assert document["replays"] == 1


# -- landed --------------------------------------------------------------------------------------------


def test_landed_by_patch_id(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    landed = queue.upstream_commit("another subject altogether", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("and reworded since", {NOTES: notes({10: "ten, theirs"})})

    document = replayed(queue, status=0)

    assert queue.statuses(document) == [("one", "landed")]
    assert document["stack"][0]["landed_in"] == landed
    assert document["tip"] == document["onto"]["commit"]


def test_landed_and_taken_back_is_not_landed(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit('Revert "notes : ten (#301)"', {NOTES: notes({})})
    assert queue.statuses(replayed(queue, status=0)) == [("one", "applies")]

    queue.upstream_commit("notes : ten, otherwise (#303)", {NOTES: notes({10: "TEN"})})
    assert queue.statuses(replayed(queue, status=1)) == [("one", "conflict")]


def test_a_patch_that_landed_and_would_fit_once_more(tmp_path: Path) -> None:
    queue = new_queue(tmp_path)
    block = ["{", "same", "same", "same", "}"] * 6
    queue.upstream_commit("blocks", {"docs/blocks.txt": text(block)})
    queue.author.git("fetch", "-q", "upstream")
    queue.author.git("checkout", "-q", "--detach", "upstream/master")
    queue.fork.git("reset", "-q", "--hard", "upstream/master")
    new = [*block[:12], "only once", *block[12:]]
    queue.patch("one", {"docs/blocks.txt": text(new)})
    landed = queue.upstream_commit("blocks : once (#304)", {"docs/blocks.txt": text(new)})

    document = replayed(queue, status=0)

    assert queue.statuses(document) == [("one", "landed")]
    assert document["stack"][0]["landed_in"] == landed


def test_landed_by_content_though_it_came_in_a_bigger_commit(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {NOTES: notes({10: "ten, ours", 30: "thirty, ours"})})
    queue.upstream_commit("sync (#400)", {NOTES: notes({10: "ten, ours", 5: "five, theirs"}), "docs/x.txt": "x\n"})

    document = replayed(queue, status=0)

    assert queue.statuses(document) == [("one", "landed"), ("two", "applies")]


def test_a_patchset_that_went_in_squashed(queue: Queue) -> None:
    first = queue.author.commit("step one", {NOTES: notes({10: "ten, at first"})})
    second = queue.author.commit("step two", {NOTES: notes({10: "ten, in the end"})})
    queue.carry("both", first, second)
    queue.upstream_commit("squashed, with more (#401)", {NOTES: notes({10: "ten, in the end", 12: "twelve"})})

    document = replayed(queue, status=0)

    assert queue.statuses(document) == [("both", "landed"), ("both", "landed")]


def test_a_subject_alone_never_lands(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})}, subject="notes : ten (#301)")
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "ten, quite otherwise"})})

    assert queue.statuses(replayed(queue, status=1)) == [("one", "conflict")]


# -- blobs that are not there --------------------------------------------------------------------------------


def test_a_patch_on_a_blob_that_this_clone_lacks(queue: Queue) -> None:
    queue.author.commit("not upstream", {NOTES: notes({9: "nine, private", 12: "twelve, private"})})
    queue.patch("one", {NOTES: notes({9: "nine, private", 10: "ten, ours", 12: "twelve, private"})})
    queue.patch("two", {"README.md": "ours\n"})
    touch = queue.upstream_commit("notes : one (#500)", {NOTES: notes({1: "one, theirs"})})
    queue.upstream_commit("elsewhere (#501)", {"docs/x.txt": "x\n"})

    document = replayed(queue, status=1)

    assert queue.statuses(document) == [("one", "missing-blob"), ("two", "applies")]
    one = document["stack"][0]
    assert [commit["commit"] for commit in one["touched"]] == [touch]
    assert "is not in this clone" in one["troubles"][0]["reason"]
    assert one["broken"] is None


def test_upstream_s_own_blob_missing_is_no_conflict(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {"README.md": "ours\n"})
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})
    blob = queue.fork.git("rev-parse", f"upstream/master:{NOTES}")
    _lose(queue, blob)

    document = queue.desk.json("stack", "replay", status=1)

    assert queue.statuses(document) == [("one", "missing-blob"), ("two", "applies")]
    assert "not in this clone" in document["stack"][0]["troubles"][0]["reason"]


def test_a_file_that_is_missing_beside_those_of_a_patch_stops_nothing(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("notes : ten, and a model (#301)", {NOTES: notes({10: "TEN"}), "docs/big.bin": "big\n"})
    _lose(queue, queue.fork.git("rev-parse", "upstream/master:docs/big.bin"))

    assert queue.statuses(queue.desk.json("stack", "replay", status=1)) == [("one", "conflict")]


def _lose(queue: Queue, blob: str) -> None:
    """Take one object out of the fork's store, which must hold it loose."""
    (queue.fork.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


# -- other kinds of change ---------------------------------------------------------------------------------


def test_a_file_that_upstream_renamed(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("notes : move (#600)", {"docs/memo.txt": notes({40: "forty, theirs"})}, removed=(NOTES,))

    document = replayed(queue, status=0)

    assert queue.statuses(document) == [("one", "applies")]
    moved = queue.fork.text("docs/memo.txt", ref=document["tip"])
    assert moved == notes({10: "ten, ours", 40: "forty, theirs"}).rstrip("\n")


def test_cases_that_both_sides_add_are_joined_upstream_first(queue: Queue) -> None:
    queue.patch("robin", {ARCH: arch_source(rollback=("otter", "robin"))})
    queue.upstream_commit("heron : rollback (#201)", {ARCH: arch_source(rollback=("otter", "heron"))})

    document = replayed(queue, status=0)

    assert queue.statuses(document) == [("robin", "additive")]
    assert document["stack"][0]["how"] == f"both sides only add, joined in {ARCH}"
    expected = arch_source(rollback=("otter", "heron", "robin"))
    assert queue.fork.text(ARCH, ref=document["tip"]) == expected.rstrip("\n")


def test_an_edited_line_beside_the_additions_is_a_conflict(queue: Queue) -> None:
    queue.patch("robin", {ARCH: arch_source(rollback=("otter", "robin"))})
    queue.upstream_commit("heron for otter (#201)", {ARCH: arch_source(rollback=("heron",))})

    assert queue.statuses(replayed(queue, status=1)) == [("robin", "conflict")]


def test_binary_files_symlinks_and_modes(queue: Queue, tmp_path: Path) -> None:
    binary = zlib.compress(b"x" * 999) + b"\0\1"
    queue.patch("binary", {"media/a.bin": binary})
    queue.patch("again", {"media/a.bin": binary + b"\0more"})
    (queue.author.path / "tool").symlink_to("README.md")
    (queue.author.path / "README.md").chmod(0o755)
    queue.patch("modes", {})
    queue.upstream_commit("elsewhere", {"docs/x.txt": "x\n"})

    document = replayed(queue, status=0)

    assert [each["status"] for each in document["stack"]] == ["applies"] * 3
    tree = queue.fork.git("ls-tree", "-r", document["tip"])
    assert "120000" in tree
    assert "100755 blob" in tree
    assert queue.fork.git("rev-parse", f"{document['tip']}:media/a.bin") == queue.author.git(
        "rev-parse", "HEAD:media/a.bin"
    )


def test_a_patch_that_goes_through_a_symbolic_link_or_takes_a_folder_s_place(queue: Queue) -> None:
    queue.patch("through", {"link/inside.txt": "x\n"})
    queue.patch("folder", {"extra": "a file\n"})
    (queue.upstream.path / "link").symlink_to("docs")
    queue.upstream_commit("a link and a folder", {"extra/file.txt": "x\n"})

    document = replayed(queue, status=1)

    assert [each["status"] for each in document["stack"]] == ["conflict", "conflict"]
    assert document["tip"] == document["onto"]["commit"]


def test_taking_away_what_a_failed_patch_brings_is_untested_not_landed(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"}), "tools/new.sh": "#!/bin/sh\n"})
    queue.patch("two", {}, removed=("tools/new.sh",))
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})

    assert queue.statuses(replayed(queue, status=1)) == [("one", "conflict"), ("two", "untested")]


def test_disabled_and_retired_patchsets_are_not_part_of_the_stack(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.patch("two", {"README.md": "ours\n"})
    manifest = queue.desk.path / "patchsets" / "one" / "patchset.toml"
    manifest.write_text(manifest.read_text().replace('"carried"', '"disabled"'))

    assert queue.statuses(replayed(queue, status=0)) == [("two", "applies")]


def test_a_file_that_is_no_patch_is_a_usage_error(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    (queue.desk.path / "patchsets/one/0001-ours-one.patch").write_text("Subject: x\n\nnothing\n")

    outcome = queue.desk.run("stack", "replay")

    assert outcome.status == 2
    assert outcome.told()[0] == "there is no diff in this mail"
    assert outcome.told()[2].startswith("forkguard stack verify")
