"""Paths that no checkout may hold, and what a change does besides changing text."""

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.hunks import FileChange, FileKind
from forkguard.core.names import BlobHash, TreePath
from forkguard.core.strangers import MANY_FILES, Doing, doings, parents, why_not

ONE, TWO = BlobHash("1" * 40), BlobHash("2" * 40)
PART = st.one_of(
    st.sampled_from([".git", ".GIT", ".git.", ".git ", "git~1", "GIT~1", ".g\u200cit", ".git:x", "..", ".", "", "a"]),
    st.text(max_size=6),
)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a//b",
        "",
        "./a",
        "a/.",
        ".git/config",
        "sub/.GIT/hooks/post-checkout",
        ".git./x",
        ".git /x",
        "GIT~1/x",
        ".g\u200cit/config",
        ".git::$INDEX_ALLOCATION/config",
        "a\\..\\x",
        "\\\\host\\x",
        "C:/x",
        "C:\\x",
        "a\0b",
    ],
)
def test_paths_that_no_checkout_may_hold(path: str) -> None:
    assert why_not(path)


@pytest.mark.parametrize(
    "path",
    ["src/a.cpp", ".gitignore", ".github/x", "git", "--upload-pack=x", "a b", "ünï", "...", ".gitx/a", "git~12"],
)
def test_paths_that_are_only_odd(path: str) -> None:
    assert why_not(path) is None


@given(st.lists(PART, min_size=1, max_size=5).map("/".join))
def test_what_is_let_through_stays_in_the_tree_and_out_of_git(path: str) -> None:
    if why_not(path) is not None:
        return
    assert posixpath.normpath(path) == path
    assert not posixpath.isabs(path)
    assert not {".", "..", ".git", "git~1"} & {part.casefold().strip(". ") or part for part in path.split("/")}
    assert ".git" not in {part.casefold() for part in path.split("/")}


def change(
    path: str,
    *,
    kind: FileKind = FileKind.MODIFIED,
    modes: tuple[str, str] = ("100644", "100644"),
    same: bool = False,
) -> FileChange:
    return FileChange(kind, TreePath(path), TreePath(path), modes[0], modes[1], ONE, ONE if same else TWO, ())


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (change(".github/workflows/ci.yml", kind=FileKind.ADDED), [Doing.WORKFLOWS]),
        (change(".GitHub/Actions/x/action.yml", kind=FileKind.ADDED), [Doing.WORKFLOWS]),
        (change("a", kind=FileKind.ADDED, modes=("000000", "120000")), [Doing.SYMLINKS]),
        (change("a", kind=FileKind.TYPE, modes=("100644", "120000")), [Doing.SYMLINKS]),
        (change("a", kind=FileKind.ADDED, modes=("000000", "160000")), [Doing.SUBMODULES]),
        (change("deep/.gitmodules", kind=FileKind.ADDED), [Doing.SUBMODULES]),
        (change("a", modes=("100644", "100755"), same=True), [Doing.MODES]),
        (change("a"), [Doing.BINARY]),
        (change("a", kind=FileKind.RENAMED), [Doing.BINARY]),
        (change("a", kind=FileKind.RENAMED, same=True), []),
        (change("src/a.cpp", kind=FileKind.ADDED), []),
    ],
)
def test_doings(file: FileChange, expected: list[Doing]) -> None:
    assert [one.doing for one in doings([file])] == expected


def test_thousands_of_files_are_said_with_a_few_names() -> None:
    files = [change(f"f{number}", kind=FileKind.ADDED) for number in range(MANY_FILES + 1)]

    (found,) = doings(files)

    assert found.doing is Doing.MANY_FILES
    assert found.said.endswith(f"'f4' and {MANY_FILES - 4} more")
    assert doings(files[:-1]) == ()


def test_parents() -> None:
    assert parents([TreePath("a/b/c"), TreePath("a/d"), TreePath("e")]) == ("a", "a/b")


@pytest.mark.parametrize("path", ["", "/a", "\\a", "C:/a", "c:\\a", "a\0b"])
def test_no_path_leads_outside_of_the_tree(path: str) -> None:
    assert why_not(path) == "it is outside of the tree"
