"""Why a patch does not fit, what it writes where it does, and whether it moved."""

from dataclasses import replace

import pytest

from forkguard.core.fitting import Version, backwards, fit_hunks, try_patch
from forkguard.core.hunks import Change, FileChange, FileKind, Hunk
from forkguard.core.names import BlobHash, TreePath

A, B = TreePath("a.txt"), TreePath("b.txt")
NONE = BlobHash("0" * 40)
HUNK = Hunk("@@ -2,3 +2,3 @@", 1, ("b\n", "c\n", "d\n"), ("b\n", "C\n", "d\n"), (Change(2, ("c\n",), ("C\n",)),))
OLD = Version("100644", b"a\nb\nc\nd\ne\n")
NEW = Version("100644", b"a\nb\nC\nd\ne\n")
EDIT = FileChange(FileKind.MODIFIED, A, A, "100644", "100644", NONE, NONE, (HUNK,))
ADD = FileChange(
    FileKind.ADDED,
    B,
    B,
    "000000",
    "100644",
    NONE,
    NONE,
    (Hunk("@@ -0,0 +1 @@", 0, (), ("x\n",), (Change(0, (), ("x\n",)),)),),
)
DELETE = backwards(ADD)
INSERT = replace(EDIT, hunks=(Hunk("@@ -3,0 +4 @@", 3, (), ("x\n",), (Change(3, (), ("x\n",)),)),))
RENAME = replace(EDIT, kind=FileKind.RENAMED, path=B)


@pytest.mark.parametrize(
    ("change", "files", "reason"),
    [
        (ADD, {B: OLD}, "the file is there already"),
        (EDIT, {A: None}, "there is no file of this name"),
        (DELETE, {B: None}, "there is no file of this name"),
        (RENAME, {A: OLD, B: NEW}, "the file is there already"),
        (EDIT, {A: Version("100644", None)}, "the content of the file is not in this clone"),
        (EDIT, {A: Version("120000", OLD.content)}, "it is another kind of file"),
        (EDIT, {A: Version("100644", b"a\nb\nx\nd\ne\n")}, "its lines are not there"),
        (DELETE, {B: Version("100644", b"x\ny\n")}, "its lines are not there"),
        (INSERT, {A: OLD}, "a hunk without context may belong anywhere"),
    ],
)
def test_what_does_not_fit_writes_nothing_and_says_why(
    change: FileChange, files: dict[TreePath, Version | None], reason: str
) -> None:
    found = try_patch([change], files)
    (misfit,) = found.misfits
    assert (misfit.path, misfit.reason, dict(found.files)) == (change.path, reason, {})
    assert (misfit.hunk is not None) is (reason.startswith(("its lines", "a hunk")))


@pytest.mark.parametrize(
    ("change", "files", "written", "shifted"),
    [
        (EDIT, {A: OLD}, {A: NEW}, False),
        (EDIT, {A: Version("100755", OLD.content)}, {A: Version("100755", NEW.content)}, False),
        (replace(EDIT, mode="100755"), {A: OLD}, {A: Version("100755", NEW.content)}, False),
        (EDIT, {A: Version("100644", b"0\n" + (OLD.content or b""))},
         {A: Version("100644", b"0\n" + (NEW.content or b""))}, True),
        (ADD, {B: None}, {B: Version("100644", b"x\n")}, False),
        (DELETE, {B: Version("100644", b"x\n")}, {B: None}, False),
        (RENAME, {A: OLD, B: None}, {A: None, B: NEW}, False),
        (replace(ADD, kind=FileKind.MODIFIED, old_mode="100644"), {B: Version("100644", b"")},
         {B: Version("100644", b"x\n")}, False),
    ],
)  # fmt: skip
def test_what_fits_is_written_with_its_mode(
    change: FileChange,
    files: dict[TreePath, Version | None],
    written: dict[TreePath, Version | None],
    *,
    shifted: bool,
) -> None:
    found = try_patch([change], files)
    assert (dict(found.files), found.misfits, found.shifted) == (written, (), shifted)


def test_changes_of_one_patch_build_on_each_other_and_one_misfit_takes_all_back() -> None:
    further = replace(EDIT, path=B, old_path=B, hunks=(backwards(EDIT).hunks[0],))
    both = try_patch([RENAME, further], {A: OLD, B: None})
    assert dict(both.files) == {A: None, B: OLD}
    broken = try_patch([RENAME, EDIT], {A: OLD, B: None})
    assert ([one.reason for one in broken.misfits], dict(broken.files)) == (["there is no file of this name"], {})


def test_a_change_backwards_takes_back_what_it_did() -> None:
    back = backwards(replace(EDIT, old_mode="100755"))
    assert (back.old_mode, back.mode) == ("100644", "100755")
    assert dict(try_patch([backwards(EDIT)], {A: NEW}).files) == {A: OLD}
    assert (DELETE.kind, backwards(DELETE)) == (FileKind.DELETED, ADD)
    assert backwards(RENAME).old_path == B


LINES = [f"{at}\n" for at in range(9)]


def at_end(*lines: str) -> Hunk:
    """A hunk that ends without context: it puts `x` behind the lines."""
    return Hunk("@@ -8,2 +8,3 @@", 7, lines, (*lines, "x\n"), (Change(7 + len(lines), (), ("x\n",)),))


def test_a_hunk_without_context_at_a_side_belongs_to_that_end_of_the_file() -> None:
    assert fit_hunks(LINES, [at_end("7\n", "8\n")]) == ([*LINES, "x\n"], False)
    assert fit_hunks([*LINES, "9\n"], [at_end("7\n", "8\n")]) == at_end("7\n", "8\n")
    longer = fit_hunks(["0\n", *LINES], [at_end("7\n", "8\n")])
    assert longer == (["0\n", *LINES, "x\n"], True)
    first = Hunk("@@ -1,2 +1,3 @@", 0, ("0\n", "1\n"), ("x\n", "0\n", "1\n"), (Change(0, (), ("x\n",)),))
    assert fit_hunks(LINES, [first]) == (["x\n", *LINES], False)
    assert fit_hunks(["y\n", *LINES], [first]) == first


@pytest.mark.parametrize(
    ("context", "there", "fits"),
    [("d", "d", True), ("d", "d\n", True), ("d", "dd\n", False), ("d ", "d\n", False), ("d\n", "d", False)],
)
def test_context_without_a_line_end_fits_a_line_that_has_one_and_no_other(
    context: str, there: str, *, fits: bool
) -> None:
    hunk = replace(HUNK, before=("b\n", "c\n", context), after=("b\n", "C\n", context))
    expected = (["a\n", "b\n", "C\n", context], False) if fits else hunk  # git apply writes the context, too
    assert fit_hunks(["a\n", "b\n", "c\n", there], [hunk]) == expected


def test_a_hunk_is_looked_for_where_the_ones_before_it_moved_it_to() -> None:
    """The second one says so itself: its new line counts what the first adds."""
    one = Hunk("@@ -2,2 +2,3 @@", 1, ("1\n", "2\n"), ("1\n", "x\n", "2\n"), (Change(2, (), ("x\n",)),))
    two = Hunk("@@ -6,2 +7,3 @@", 5, ("5\n", "6\n"), ("5\n", "y\n", "6\n"), (Change(6, (), ("y\n",)),))
    assert fit_hunks(LINES, [one, two]) == (
        ["0\n", "1\n", "x\n", "2\n", "3\n", "4\n", "5\n", "y\n", "6\n", "7\n", "8\n"], False,
    )  # fmt: skip
    assert fit_hunks(["1\n"], [one]) == one
