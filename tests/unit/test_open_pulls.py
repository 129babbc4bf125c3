"""Which open requests work on the lines of a change, from what a forge says of their files."""

import json
from dataclasses import replace

import pytest

from forkguard.core.hunks import Change, FileChange, FileKind, Hunk
from forkguard.core.names import BlobHash, CommitHash, PullNumber, TreePath
from forkguard.core.open_pulls import OpenPull, OpenPulls, change_lines, near, parse_open_pulls, parse_pull_files
from forkguard.errors import CouldNotWork

OLD, NEW, MORE = "res->t_embd = cur;\n", "res->t_layer_inp[il] = inpL;\n", "ggml_set_output(res->t_layer_inp[il]);\n"


def change() -> tuple[FileChange, ...]:
    run = Change(1, (OLD,), (NEW, MORE))
    hunk = Hunk("@@ -1 +1,2 @@", 0, ("{\n", OLD), ("{\n", NEW, MORE), (run,))
    blob = BlobHash("0" * 40)
    path = TreePath("src/a.cpp")
    return (FileChange(FileKind.MODIFIED, path, path, "100644", "100644", blob, blob, (hunk,)),)


def test_bytes_that_are_no_utf_8_are_as_a_forge_tells_them() -> None:
    (file,) = change()
    odd = Change(1, ("x = '\udcff\udcfe' + one;\n",), ("y = one + two;\n",))
    hunk = Hunk("@@ -1 +1 @@", 0, odd.removed, odd.added, (odd,))
    (lines,) = change_lines([replace(file, hunks=(hunk,))]).values()
    assert (set(lines.removed), set(lines.added)) == ({"x = '\ufffd\ufffd' + one ;"}, {"y = one + two ;"})


def whys(patch: str, *, path: str = "src/a.cpp", number: int = 9) -> list[str]:
    files = parse_pull_files(json.dumps([{"filename": path, "patch": patch}]).encode(), where="x")
    one = OpenPull(PullNumber(number), "a fix", CommitHash("a" * 40))
    return [item.why for item in near(change_lines(change()), OpenPulls(((one, files),)), own=PullNumber(7))]


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (f"@@ -1 +1 @@\n-{NEW}+  x(1, 2);\n", ["open: changes 1 of its lines: a fix"]),
        (f"@@ -1 +1 @@\n-    {NEW.strip()} // laid out otherwise\n", ["open: changes 1 of its lines: a fix"]),
        (f"@@ -1 +1 @@\n-{OLD}+  x(1, 2);\n", ["open: changes 1 of the lines that it changes: a fix"]),
        (f"@@ -1,2 +1,3 @@\n {NEW} {MORE}+  x(1, 2);\n", ["open: works next to 2 of its lines: a fix"]),
        (f"@@ -1 +1,2 @@\n {NEW}+  x(1, 2);\n", []),  # one line around is no place
        (f"@@ -1 +1 @@\n+{NEW}", []),
        ("", []),
        ("@@ -1 +1 @@\n-}\n", []),
    ],
)
def test_what_a_request_does_to_the_lines(patch: str, said: list[str]) -> None:
    assert whys(patch) == said


def test_another_file_and_the_change_itself_are_no_follow_ups() -> None:
    patch = f"@@ -1 +1 @@\n-{NEW}"
    assert whys(patch, path="src/b.cpp") == []
    assert whys(patch, number=7) == []


def test_a_forges_list_of_requests_without_those_that_name_no_commit() -> None:
    rows = [
        {"number": 9, "title": "a fix", "head": {"sha": "a" * 40}, "state": "open"},
        {"number": 8, "title": "gone", "head": {"sha": "-x"}},
    ]
    assert parse_open_pulls(json.dumps(rows).encode(), where="x") == (
        OpenPull(PullNumber(9), "a fix", CommitHash("a" * 40)),
    )


@pytest.mark.parametrize("content", [b"", b"{}x", b'[{"number": 1}]', b"3", b'[{"filename": 1}, 4]'])
def test_answers_that_are_none(content: bytes) -> None:
    with pytest.raises(CouldNotWork):
        parse_open_pulls(content, where="x")
    if content != b'[{"number": 1}]':
        with pytest.raises(CouldNotWork):
            parse_pull_files(content, where="x")
