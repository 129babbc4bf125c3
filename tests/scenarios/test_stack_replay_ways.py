"""`stack replay` of patches that git's merge rejects: applied as `port` would, or as a person decided before."""

from pathlib import Path

import pytest

from tests.support.stacks import NOTES, Queue, new_queue, notes

HERE, THERE = "src/water.cpp", "src/rivers.cpp"


def function(name: str, *lines: str) -> str:
    """A function whose statements are these lines, in a longer neighbourhood."""
    return f"int {name}(int depth) {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n\n"


BETWEEN = function("between", *(f"depth += {number};" for number in range(12)), "return depth;")
FLOOD = ("int level = depth * 2;", "level += 3;", "level -= 1;", "return level;")
EBB = ("int rest = depth;", "rest -= 7;", "rest *= 3;", "return rest;")
OURS = ("int level = depth * 2;", "level += 3;", "level += spring_tide(depth);", "level -= 1;", "return level;")


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    found = new_queue(tmp_path)
    found.base = found.upstream_commit(
        "water (#103)",
        {HERE: function("flood", *FLOOD) + function("ebb", *EBB), THERE: function("river", "return 1;")},
    )
    found.fork.git("reset", "-q", "--hard", found.base)
    found.author.git("fetch", "-q", "upstream")
    found.author.git("checkout", "-q", "--detach", found.base)
    return found


def test_a_function_that_upstream_moved_to_another_file(queue: Queue) -> None:
    queue.patch("tide", {HERE: function("flood", *OURS) + function("ebb", *EBB)})
    queue.upstream_commit(
        "flood lives with the rivers (#110)",
        {HERE: function("ebb", *EBB), THERE: function("river", "return 1;") + function("flood", *FLOOD)},
    )

    document = queue.desk.json("stack", "replay", status=0)

    (tide,) = document["stack"]
    assert tide["status"] == "applies"
    assert tide["how"] == f"as port does it: upstream has flood in {THERE}"
    wanted = function("river", "return 1;") + function("flood", *OURS)
    assert queue.fork.text(THERE, ref=document["tip"]) == wanted.rstrip("\n")
    assert queue.fork.text(HERE, ref=document["tip"]) == function("ebb", *EBB).rstrip("\n")


def test_a_name_that_upstream_changed_on_the_very_lines(queue: Queue) -> None:
    queue.patch("tide", {HERE: function("flood", *OURS) + function("ebb", *EBB)})
    renamed = [line.replace("level", "height") for line in FLOOD]
    queue.upstream_commit("call it height (#111)", {HERE: function("flood", *renamed) + function("ebb", *EBB)})

    document = queue.desk.json("stack", "replay", status=0)

    (tide,) = document["stack"]
    assert (tide["status"], tide["how"]) == ("applies", "as port does it: level is called height here")
    wanted = function("flood", *(line.replace("level", "height") for line in OURS)) + function("ebb", *EBB)
    assert queue.fork.text(HERE, ref=document["tip"]) == wanted.rstrip("\n")


def test_a_hunk_that_upstream_laid_out_otherwise_is_left_out(queue: Queue) -> None:
    mine = ("int rest = depth;", "rest -= basin(depth, 7);", "rest *= 3;", "return rest;")
    queue.author.commit("longer", {HERE: function("flood", *FLOOD) + BETWEEN + function("ebb", *EBB)})
    queue.upstream_commit("longer", {HERE: function("flood", *FLOOD) + BETWEEN + function("ebb", *EBB)})
    queue.fork.git("reset", "-q", "--hard", "upstream/master")
    queue.patch("tide", {HERE: function("flood", *OURS) + BETWEEN + function("ebb", *mine)})
    wrapped = [line.replace("basin(depth, 7)", "basin(depth,\n                7)") for line in mine]
    queue.upstream_commit("basins (#112)", {HERE: function("flood", *FLOOD) + BETWEEN + function("ebb", *wrapped)})

    document = queue.desk.json("stack", "replay", status=0)

    (tide,) = document["stack"]
    assert (tide["status"], tide["how"]) == ("applies", "as port does it: 1 of 2 hunks are there already")
    assert queue.fork.text(HERE, ref=document["tip"]) == (
        function("flood", *OURS) + BETWEEN + function("ebb", *wrapped)
    ).rstrip("\n")


def test_lists_are_still_joined_upstream_first_where_a_name_changed_too(queue: Queue) -> None:
    base = '#include "one.h"\n\n' + function("pick", "return depth;")
    mine = base.replace('one.h"\n', 'one.h"\n#include "three.h"\n')
    theirs = base.replace('one.h"\n', 'one.h"\n#include "two.h"\n')
    queue.upstream_commit("pick (#113)", {"src/pick.cpp": base})
    queue.author.git("fetch", "-q", "upstream")
    queue.base = queue.author.git("rev-parse", "upstream/master")
    queue.author.git("checkout", "-q", "--detach", queue.base)
    queue.fork.git("reset", "-q", "--hard", queue.base)
    queue.patch("three", {"src/pick.cpp": mine, HERE: function("flood", *OURS) + function("ebb", *EBB)})
    renamed = [line.replace("level", "height") for line in FLOOD]
    moved = {"src/pick.cpp": theirs, HERE: function("flood", *renamed) + function("ebb", *EBB)}
    queue.upstream_commit("two, and height (#114)", moved)

    document = queue.desk.json("stack", "replay", status=0)

    assert document["stack"][0]["status"] == "additive"
    joined = base.replace('one.h"\n', 'one.h"\n#include "two.h"\n#include "three.h"\n')
    assert queue.fork.text("src/pick.cpp", ref=document["tip"]) == joined.rstrip("\n")


def test_an_edited_line_is_a_conflict_as_before(queue: Queue) -> None:
    queue.patch("one", {NOTES: notes({10: "ten, ours"})})
    queue.upstream_commit("notes : ten (#301)", {NOTES: notes({10: "TEN"})})

    document = queue.desk.json("stack", "replay", status=1)

    (one,) = document["stack"]
    assert one["status"] == "conflict"
    assert one["troubles"][0] == {
        "path": NOTES, "line": 10, "header": "", "reason": "both sides changed these lines",
    }  # fmt: skip
