"""What git prints, read: blame, subjects, trees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.adapters.git import _read_commits
from forkguard.core.commits import Commit, pulls_in
from forkguard.core.history import parse_blame
from forkguard.core.names import BlobHash, CommitHash
from forkguard.core.trees import TreeEntry, listed

ONE, TWO = "a" * 40, "b" * 40


def test_blame_with_groups_boundaries_and_lines_that_look_like_headers() -> None:
    text = (
        f"{ONE} 3 7 2\nauthor A\nboundary\nfilename x.cpp\n\tint i;\n{ONE} 4 8\n\t{TWO} 1 1 1\n"
        f"{TWO} 1 9 1\nauthor B\nsummary boundary\nfilename x.cpp\n\tboundary\n"
    )
    assert parse_blame(text) == {7: None, 8: None, 9: CommitHash(TWO)}
    assert parse_blame("") == {}


def test_blame_with_long_hashes() -> None:
    long = "c" * 64
    assert parse_blame(f"{long} 1 2 1\nfilename x\n\ta\n") == {2: CommitHash(long)}


@given(st.lists(st.tuples(st.sampled_from([ONE, TWO]), st.booleans()), max_size=12))
def test_every_line_has_one_commit(rows: list[tuple[str, bool]]) -> None:
    text, known = "", set()
    for number, (commit, _) in enumerate(rows, 1):
        text += f"{commit} {number} {number} 1\n" + ("" if commit in known else "author A\nfilename x\n") + "\tx\n"
        known.add(commit)
    assert parse_blame(text) == {number: commit for number, (commit, _) in enumerate(rows, 1)}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-01-01T15:00:00Z", "2026-01-01T15:00:00+00:00"),
        ("2026-01-01T15:00:00+00:00", "2026-01-01T15:00:00+00:00"),
        ("2026-01-01T15:00:00-07:00", "2026-01-01T15:00:00-07:00"),
    ],
)
def test_a_date_is_the_same_whichever_git_wrote_it(written: str, read: str) -> None:
    ((commit, value),) = _read_commits(f"{ONE}\0{written}\0a subject\0more\0".encode())
    assert (commit, value) == (Commit(CommitHash(ONE), read, "a subject"), "more")


def test_pull_requests_in_subjects() -> None:
    assert pulls_in("spec : more drafts (#27342) (#27816)") == (27342, 27816)
    assert pulls_in("a (#1)") == (1,)
    for subject in ("(#1) at the head", "see #12", "issue (#12) again", "", "(#x)", "fix (12)"):
        assert pulls_in(subject) == ()
    commit = Commit(CommitHash(ONE), "2026-01-01T10:00:00+02:00", "more (#205) (#206)")
    assert commit.pull == 206
    assert Commit(CommitHash(ONE), commit.date, "none").pull is None
    later = Commit(CommitHash(TWO), "2026-01-01T09:30:00+00:00", "x")
    assert later.moment > commit.moment, "points in time, not texts"


def test_a_tree_is_read_with_paths_of_any_bytes() -> None:
    listing = b"100755 blob ab\ta\tb \xff.cpp\x00120000 blob cd\tlink\x00160000 commit ef\tsub\x00"
    found = dict(listed(listing))
    assert found == {
        "a\tb \udcff.cpp": TreeEntry("100755", BlobHash("ab")),
        "link": TreeEntry("120000", BlobHash("cd")),
        "sub": TreeEntry("160000", BlobHash("ef")),
    }
    assert [entry.is_file for entry in found.values()] == [True, False, False]
    assert list(listed(b"")) == []
