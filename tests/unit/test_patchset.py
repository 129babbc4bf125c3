"""The files of a patchset: manifest, series, DEP-3 fields."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.names import CommitHash
from forkguard.core.patchset import (
    FollowUp,
    Prerequisite,
    SeriesEntry,
    State,
    carried_manifest,
    check_name,
    dep3_fields,
    format_series,
    new_manifest,
    parse_manifest,
    parse_series,
    series_with,
)
from forkguard.core.stack import PatchInfo, read_patch
from forkguard.errors import UsageProblem

WHOLE = """\
# top
title = "a title"
pull = 7
upstream = ["ab"]
base = "cd"
state = "proposed"  # soon
why = "because"
drop-when = "never"
checks = ["crash"]

[[prerequisites]]
pull = 3
symbol = "n_rs_seq"

[[follow-ups]]
pull = 9
why = "later"
"""


def test_a_whole_manifest() -> None:
    manifest = parse_manifest(WHOLE, name="x.toml")

    assert (manifest.title, manifest.pull, manifest.state) == ("a title", 7, State.PROPOSED)
    assert (manifest.drop_when, manifest.checks) == ("never", ("crash",))
    assert manifest.prerequisites[0].symbol == "n_rs_seq"
    assert manifest.follow_ups == (FollowUp(pull=9, why="later"),)


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ('state = "proposed"', 'state = "carryed"', 6, "state"),
        ("pull = 7", 'pull = "seven"', 3, "pull"),
        ('why = "because"', 'whi = "because"', 7, "whi"),
        ('symbol = "n_rs_seq"', "symbol = 5", 13, "prerequisites.0.symbol"),
        ('title = "a title"\n', "", 1, "title"),
    ],
)
def test_a_mistake_names_file_line_and_key(old: str, new: str, line: int, key: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_manifest(WHOLE.replace(old, new), name="x.toml")

    assert caught.value.where == f"x.toml:{line}"
    assert caught.value.what.startswith(f"{key}: ")


def test_text_that_is_no_toml_names_the_file() -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_manifest("title = \n", name="x.toml")

    assert caught.value.where == "x.toml"


def test_a_port_changes_three_values_and_nothing_else() -> None:
    text = carried_manifest(WHOLE, upstream=[CommitHash("12"), CommitHash("34")], base=CommitHash("56"))

    expected = WHOLE.replace('["ab"]', '["12", "34"]').replace('"cd"', '"56"').replace('"proposed"', '"carried"')
    assert text == expected


def test_a_port_adds_what_it_needs_and_what_mends_it_once() -> None:
    needs = [Prerequisite(pull=3, symbol="other"), Prerequisite(pull=4)]
    mends = [FollowUp(pull=9), FollowUp(commit="ef", why="said")]
    text = carried_manifest(
        WHOLE, upstream=[CommitHash("12")], base=CommitHash("56"), prerequisites=needs, follow_ups=mends
    )

    read = tomllib.loads(text)
    assert read["prerequisites"] == [{"pull": 3, "symbol": "n_rs_seq"}, {"pull": 4, "why": ""}]
    assert read["follow-ups"] == [{"pull": 9, "why": "later"}, {"commit": "ef", "why": "said"}]
    again = carried_manifest(
        text, upstream=[CommitHash("12")], base=CommitHash("56"), prerequisites=needs, follow_ups=mends
    )
    assert again == text


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_a_new_manifest_holds_any_title(title: str) -> None:
    manifest = parse_manifest(new_manifest("7", title=title, pull=7), name="x.toml")

    assert (manifest.title, manifest.pull, manifest.state) == (title, 7, State.DECLARED)


def test_a_new_manifest_becomes_carried() -> None:
    text = carried_manifest(new_manifest("7", title="t", pull=7), upstream=[CommitHash("12")], base=CommitHash("56"))

    assert tomllib.loads(text)["state"] == "carried"


@pytest.mark.parametrize("name", ["", "-x", "a/b", "..", "a..b", ".hidden", "x.lock", "x.", "a b", "x" * 65])
def test_names_that_no_patchset_may_have(name: str) -> None:
    with pytest.raises(UsageProblem):
        check_name(name)


@pytest.mark.parametrize("line", ["../x.patch", "/etc/passwd", "-p1", "a.patch -R", "a.patch extra", "--x"])
def test_lines_that_are_no_series(line: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_series(f"ok.patch\n{line}\n", name="series")

    assert caught.value.where == "series:2"


def test_a_series_is_written_as_it_is_read() -> None:
    entries = (SeriesEntry("0001-a.patch"), SeriesEntry("sub/b.patch", 0))

    assert parse_series(format_series(entries), name="series") == entries


def test_a_series_keeps_its_comments_when_it_grows() -> None:
    assert series_with("# mine\n1\n2 # two", "3", name="series") == "# mine\n1\n2 # two\n3\n"
    assert series_with("# mine\n3 # why\n", "3", name="series") == "# mine\n3 # why\n"
    assert series_with("", "3", name="series") == "3\n"


def test_fields_of_a_merged_change_are_read_back() -> None:
    fields = dep3_fields(origin=CommitHash("ab"), merged=True)
    head = "From ab Mon\nSubject: [PATCH] x\n" + "\n".join(fields) + "\n\nbody\n"

    diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"
    found = read_patch("0001-x.patch", f"{head}---\n{diff}-- \n2.40\n".encode())
    assert found.fields == (
        ("Origin", "upstream, commit:ab"), ("Forwarded", "not-needed"), ("Applied-Upstream", "commit:ab"),
    )  # fmt: skip
    assert (found.subject, found.files, found.added, found.removed, found.problem) == ("x", ("a",), 2, 1, "")


def test_a_patch_that_cannot_be_read_has_a_problem_and_no_size() -> None:
    assert read_patch("a.patch", None) == PatchInfo("a.patch", "", (), 0, 0, problem="the file is missing")
    broken = read_patch("a.patch", b"Subject: x\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n")
    assert (broken.subject, broken.files, broken.added, broken.removed) == ("", (), 0, 0)
    assert broken.problem.startswith("this is no patch: ")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_patch_is_shown_with_the_subject_that_git_am_would_take(end: bytes) -> None:
    head = b"Subject: [PATCH 2/6] =?UTF-8?q?gr=C3=B6=C3=9Fer?=\nOrigin: vendor\n\n---\n"
    diff = b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"
    found = read_patch("0002-x.patch", (head + diff).replace(b"\n", end))
    assert (found.subject, found.fields, found.added) == ("größer", (("Origin", "vendor"),), 1)


def test_a_patch_without_a_diff_has_no_figures() -> None:
    assert (
        read_patch("0001-x.patch", b"Subject: x\n\nwords\n").problem
        == "this is no patch: there is no diff in this mail"
    )
