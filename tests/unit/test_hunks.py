"""Hunks: read from git's own output, and how each fits a fork's file."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.hunks import (
    Change,
    FileKind,
    Fit,
    Hunk,
    Outcome,
    content_of,
    fit,
    lines_of,
    missing_names,
    parse_diff,
    with_hunks,
)

ZERO, ONE, TWO, THREE, FOUR, FIVE = (digit * 40 for digit in (b"0", b"1", b"2", b"3", b"4", b"5"))
RAW = (
    b":100644 100644 %s %s M\0src/a.cpp\0" % (ONE, TWO)
    + b":000000 100644 %s %s A\0b \xff.txt\0" % (ZERO, THREE)
    + b":100644 000000 %s %s D\0c.bin\0" % (FOUR, ZERO)
    + b":100644 100644 %s %s R100\0old\0new\0" % (FIVE, FIVE)
)
PATCH = b"""\0diff --git a/src/a.cpp b/src/a.cpp
index 1111..2222 100644
--- a/src/a.cpp
+++ b/src/a.cpp
@@ -2,3 +2,4 @@ int main() {
 one
-two
+2
+diff --git a/x b/x
 three
@@ -9 +10 @@
-last
\\ No newline at end of file
+last
diff --git "a/b \\377.txt" "b/b \\377.txt"
new file mode 100644
index 0000..3333
--- /dev/null
+++ "b/b \\377.txt"
@@ -0,0 +1 @@
+\xfe
diff --git a/c.bin b/c.bin
deleted file mode 100644
index 4444..0000
Binary files a/c.bin and /dev/null differ
diff --git a/old b/new
similarity index 100%
rename from old
rename to new
"""


def hunk(start: int, before: list[str], after: list[str], *changes: Change) -> Hunk:
    return Hunk("@@", start, tuple(before), tuple(after), changes)


INSERT = hunk(2, ["b\n", "c\n"], ["b\n", "new\n", "c\n"], Change(3, (), ("new\n",)))
OLD = ["x\n", "a\n", "b\n", "c\n", "d\n"]


def test_files_and_hunks_are_read_with_every_byte() -> None:
    changed, added, deleted, renamed = parse_diff(RAW + PATCH)

    assert (changed.kind, changed.path, changed.added, changed.removed) == (FileKind.MODIFIED, "src/a.cpp", 3, 2)
    first, last = changed.hunks
    assert first.header == "@@ -2,3 +2,4 @@ int main() {"
    assert (first.start, first.before) == (1, ("one\n", "two\n", "three\n"))
    assert first.changes == (Change(2, ("two\n",), ("2\n", "diff --git a/x b/x\n")),)
    assert last.changes == (Change(8, ("last",), ("last\n",)),)
    assert (added.kind, added.path, added.whole) == (FileKind.ADDED, "b \udcff.txt", "new file")
    assert content_of(added.hunks[0].after) == b"\xfe\n"
    assert (deleted.kind, deleted.hunks, deleted.whole) == (FileKind.DELETED, (), "deleted file")
    assert (renamed.old_path, renamed.path, renamed.whole) == ("old", "new", "renamed from old")


def test_nothing_changed() -> None:
    assert parse_diff(b"") == ()


def test_untouched_surroundings_are_clean() -> None:
    assert fit(INSERT, ours=OLD, local=[]).outcome is Outcome.CLEAN
    below = Change(4, ("d\n",), ("D\n", "e\n"))
    assert fit(INSERT, ours=[*OLD[:4], "D\n", "e\n"], local=[below]).outcome is Outcome.CLEAN


def test_moved_surroundings_are_an_offset_that_names_the_line() -> None:
    above = Change(0, ("x\n",), ())

    found = fit(INSERT, ours=OLD[1:], local=[above])

    assert (found.outcome, found.detail) == (Outcome.OFFSET, "-1 lines, at line 2 of the fork's file")


def test_the_same_change_is_there_already() -> None:
    found = fit(INSERT, ours=["x\n", "a\n", "b\n", "new\n", "c\n", "d\n"], local=[Change(3, (), ("new\n",))])

    assert found.outcome is Outcome.ALREADY_PRESENT


def test_the_same_lines_joined_with_an_edit_of_the_forks_are_there_already() -> None:
    joined = Change(3, (), ("new\n", "c\n", "more\n"))

    found = fit(INSERT, ours=["x\n", "a\n", "b\n", "new\n", "c\n", "more\n", "c\n", "d\n"], local=[joined])

    assert (found.outcome, found.detail) == (Outcome.ALREADY_PRESENT, "at line 3 of the fork's file")


def test_a_twin_elsewhere_is_not_taken_for_the_place() -> None:
    twin = ["b\n", "new\n", "c\n"]
    ours = ["x\n", "a\n", "b\n", "c\n", "D\n", *twin]
    local = [Change(4, ("d\n",), ("D\n", *twin))]

    assert fit(INSERT, ours=ours, local=local).outcome is Outcome.CLEAN


def test_of_two_places_that_hold_a_change_the_nearest_is_told() -> None:
    old, ours = ["c\n", "c\n"], ["b\n", "b\n", "c\n", "n\n", "c\n", "n\n"]
    swap = hunk(0, old, ["c\n", "n\n"], Change(1, ("c\n",), ("n\n",)))

    found = fit(swap, ours=ours, local=changes_between(old, ours))

    assert (found.outcome, found.detail) == (Outcome.ALREADY_PRESENT, "at line 3 of the fork's file")


def test_a_place_that_still_waits_nearer_by_is_not_taken_for_a_present_one() -> None:
    old, ours = ["b\n", "b\n"], ["c\n", "b\n", "b\n", "b\n", "n\n"]
    append = hunk(0, old, [*old, "n\n"], Change(2, (), ("n\n",)))

    assert fit(append, ours=ours, local=changes_between(old, ours)).outcome is None


def test_a_change_at_its_place_is_present_though_another_place_further_off_waits() -> None:
    head = ["x\n", "y\n"]
    old, ours = [*head, "c\n", "c\n"], [*head, "c\n", "n\n", "c\n", "c\n"]
    swap = hunk(2, ["c\n", "c\n"], ["c\n", "n\n"], Change(3, ("c\n",), ("n\n",)))

    found = fit(swap, ours=ours, local=changes_between(old, ours))

    assert (found.outcome, found.detail) == (Outcome.ALREADY_PRESENT, "at line 3 of the fork's file")


def test_edited_surroundings_are_left_to_the_merge() -> None:
    edited = Change(2, ("b\n",), ("B\n",))

    assert fit(INSERT, ours=["x\n", "a\n", "B\n", "c\n", "d\n"], local=[edited]).outcome is None


def test_a_change_at_the_end_of_the_file_touches_what_the_fork_appended() -> None:
    append = hunk(3, ["c\n", "d\n"], ["c\n", "d\n", "new\n"], Change(5, (), ("new\n",)))

    assert fit(append, ours=[*OLD, "own\n"], local=[Change(5, (), ("own\n",))]).outcome is None


def test_lines_that_the_fork_put_at_the_end_with_more_behind_are_there_already() -> None:
    append = hunk(3, ["c\n", "d\n"], ["c\n", "d\n", "new\n"], Change(5, (), ("new\n",)))

    found = fit(append, ours=[*OLD, "new\n", "own\n"], local=[Change(5, (), ("new\n", "own\n"))])

    assert found.outcome is Outcome.ALREADY_PRESENT


def test_a_twin_far_away_does_not_make_an_edited_place_a_present_one() -> None:
    ours = ["x\n", "a\n", "B\n", "c\n", "d\n", "b\n", "new\n", "c\n"]
    local = [Change(2, ("b\n",), ("B\n",)), Change(5, (), ("b\n", "new\n", "c\n"))]

    assert fit(INSERT, ours=ours, local=local).outcome is None


def test_a_removal_is_there_only_where_the_fork_removed_the_same() -> None:
    removal = hunk(1, ["a\n", "b\n", "c\n"], ["a\n", "c\n"], Change(2, ("b\n",), ()))

    assert (
        fit(removal, ours=["x\n", "a\n", "c\n"], local=[Change(2, ("b\n",), ())]).outcome is Outcome.ALREADY_PRESENT
    )
    wider = Change(1, ("a\n", "b\n"), ())
    assert fit(removal, ours=["x\n", "c\n", "d\n"], local=[wider]).outcome is None


def test_part_of_a_hunk_that_is_there_is_said() -> None:
    two = hunk(
        1, OLD[1:5], ["A\n", "b\n", "c\n", "D\n"], Change(1, ("a\n",), ("A\n",)), Change(4, ("d\n",), ("D\n",))
    )

    found = fit(two, ours=["x\n", "A\n", "b\n", "c\n", "d\n"], local=[Change(1, ("a\n",), ("A\n",))])

    assert (found.outcome, found.detail) == (
        None,
        "the fork changed lines here as well; 1 of its 2 changes were there already",
    )


def test_chosen_hunks_are_applied_to_the_old_file() -> None:
    first = hunk(0, ["x\n", "a\n"], ["a\n"], Change(0, ("x\n",), ()))

    assert with_hunks(OLD, [first, INSERT]) == ["a\n", "b\n", "new\n", "c\n", "d\n"]
    assert with_hunks(OLD, [INSERT]) == ["x\n", "a\n", "b\n", "new\n", "c\n", "d\n"]


@given(st.binary())
def test_lines_give_back_every_byte(content: bytes) -> None:
    lines = lines_of(content)

    assert content_of(lines) == content
    assert all("\n" not in line[:-1] for line in lines)


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "}\n"]), max_size=12)


def changes_between(old: list[str], new: list[str]) -> list[Change]:
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Change(i, tuple(old[i:j]), tuple(new[k:m])) for tag, i, j, k, m in opcodes if tag != "equal"]


@given(old=LINES, ours=LINES, theirs=LINES)
def test_a_fit_is_what_the_files_hold(old: list[str], ours: list[str], theirs: list[str]) -> None:
    local = changes_between(old, ours)
    for change in changes_between(old, theirs):
        start, end = max(0, change.start - 3), min(len(old), change.end + 3)
        after = [*old[start : change.start], *change.added, *old[change.end : end]]
        one = hunk(start, old[start:end], after, change)
        found = fit(one, ours=ours, local=local)
        if found.outcome in (Outcome.CLEAN, Outcome.OFFSET):
            shift = int(found.detail.split()[0]) if found.detail else 0
            assert tuple(ours[start + shift : end + shift]) == one.before
        elif found.outcome is Outcome.ALREADY_PRESENT:
            size = len(after)
            assert change in local or any(ours[at : at + size] == after for at in range(len(ours)))


def test_a_name_in_a_comment_or_a_string_is_not_missing() -> None:
    new = Hunk("@@", 0, ("f();\n",), (), (Change(1, (), ('g("cur", taken); // as cur is\n',)),))
    assert missing_names(new, old=["int cur, taken;\n"], ours=["int inp; // taken\n"]) == ("taken",)


def test_lines_that_the_fork_laid_out_otherwise_are_there_only_where_that_is_asked_for() -> None:
    before = ["    a(1);\n", "    b(2);\n", "    c(3);\n"]
    new = Change(3, (), ("    res->t_layer_inp[il] = build(inpL, cur, il);\n",))
    mine = hunk(1, before, [*before[:2], *new.added, before[2]], new)
    own = ("    res->t_layer_inp[il] =\n", "        build(inpL, cur, il);\n")
    ours, local = ["x();\n", *before[:2], *own, before[2]], [Change(3, (), own)]
    assert fit(mine, ours=ours, local=local, loose=True) == Fit(
        Outcome.ALREADY_PRESENT, "at line 4 of the fork's file, laid out otherwise"
    )
    assert fit(mine, ours=ours, local=local).outcome is None
    other = [*ours[:4], "        build(inpL, cur, 0);\n", before[2]]
    assert fit(mine, ours=other, local=[Change(3, (), tuple(other[3:5]))], loose=True).outcome is None
