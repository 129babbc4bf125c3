"""git's merge results, marked regions and markers that are left."""

import pytest

from forkguard.core.hunks import Change, Hunk
from forkguard.core.merges import Region, Stage, header_of, markers_left, parse_merge, regions

TREE = b"a" * 40
MARKED = """\
before
<<<<<<< fork
ours
=======x
||||||| base
old
=======
theirs
>>>>>>> upstream #7
between
<<<<<<< fork
||||||| base
=======
new
>>>>>>> upstream #7
""".splitlines(keepends=True)


def test_a_clean_merge_is_a_tree() -> None:
    merged = parse_merge(TREE + b"\0")

    assert (merged.tree, merged.stages, merged.messages, merged.conflicted) == ("a" * 40, (), (), ())


def test_a_conflict_has_sides_and_messages() -> None:
    output = TREE + b"\0" + b"100644 %s 1\tx y\0" % (b"1" * 40) + b"100644 %s 3\tx y\0" % (b"3" * 40) + b"\0"
    output += b"1\0x y\0Auto-merging\0Auto-merging x y\n\0"
    output += b"2\0x y\0z\0CONFLICT (modify/delete)\0CONFLICT (modify/delete): x y deleted\n\0"

    merged = parse_merge(output)

    assert merged.conflicted == ("x y",)
    assert merged.side(merged.conflicted[0], 3) == Stage(merged.conflicted[0], 3, "100644", merged.stages[1].blob)
    assert merged.side(merged.conflicted[0], 2) is None
    assert merged.messages == ("CONFLICT (modify/delete): x y deleted",)


def test_regions_have_three_sides_and_a_line() -> None:
    first, second = regions(MARKED, label="fork")

    assert first == Region(2, ("ours\n", "=======x\n"), ("old\n",), ("theirs\n",))
    assert second == Region(11, (), (), ("new\n",))


def test_a_file_that_only_speaks_of_markers_has_no_region() -> None:
    assert regions(["<<<<<<< HEAD\n", "||||||| x\n", "=======\n", ">>>>>>> y\n"], label="fork") == ()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a\n<<<<<<< fork\r\n", 2),
        (b"||||||| base\n", 1),
        (b">>>>>>>\n", 1),
        (b"a\n=======\nb\n", None),
        (b" <<<<<<< fork\n<<<<<<<<< not\n", None),
        (b"", None),
    ],
)
def test_markers_left(content: bytes, line: int | None) -> None:
    assert markers_left(content) == line


def test_a_region_is_given_to_the_hunk_that_shares_its_lines() -> None:
    one = Hunk("@@ one", 0, (), (), (Change(0, ("a\n",), ("b\n",)),))
    two = Hunk("@@ two", 9, (), (), (Change(9, ("old\n",), ("theirs\n",)),))

    assert header_of(regions(MARKED, label="fork")[0], [one, two]) == "@@ two"
    assert header_of(regions(MARKED, label="fork")[0], []) == ""


def test_a_region_is_given_to_the_hunk_whose_run_it_holds_whole() -> None:
    region = Region(5, ("case D:\n",), ("case B:\n",), ("case B:\n", "case C:\n"))
    makes = Hunk("@@ makes", 0, (), (), (Change(0, (), ("case C:\n", "return make(C);\n")),))
    rope = Hunk("@@ rope", 9, (), (), (Change(9, (), ("case C:\n",)),))

    assert header_of(region, [makes, rope]) == "@@ rope"


def test_lines_around_tell_equal_hunks_apart() -> None:
    region = Region(5, ("case D:\n",), ("case B:\n",), ("case B:\n", "case C:\n"))
    first, second = (
        Hunk(name, 0, (before,), (before, "case C:\n"), (Change(1, (), ("case C:\n",)),))
        for name, before in (("@@ first", "case A:\n"), ("@@ second", "case B:\n"))
    )

    assert header_of(region, [first, second]) == "@@ second"


def test_many_like_lines_do_not_outweigh_a_whole_run() -> None:
    region = Region(5, (), ("\n", "int n;\n", "\n"), ("\n", "int n;\n", "int m;\n", "\n", "\n"))
    other = Hunk("@@ other", 0, (), (), (Change(0, (), ("\n", "call();\n")),))
    grows = Hunk("@@ grows", 9, (), (), (Change(9, (), ("int m;\n",)),))

    assert header_of(region, [other, grows]) == "@@ grows"
