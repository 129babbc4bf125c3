"""Which names a change uses that must be there before it, and which commit brought them."""

from forkguard.core.hunks import Change, FileChange, FileKind, Hunk
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.core.prerequisites import brought_by, used_names

BLOB = BlobHash("0" * 40)


def adds(path: str, *lines: str) -> FileChange:
    run = Change(0, (), tuple(f"{line}\n" for line in lines))
    hunk = Hunk("@@ -0,0 +1 @@", 0, (), run.added, (run,))
    return FileChange(
        FileKind.MODIFIED, TreePath(path), TreePath(path), "100644", "100644", BLOB, BLOB, (hunk,)
    )  # fmt: skip


def test_names_of_three_letters_and_more_in_added_lines_with_their_files() -> None:
    found = used_names([adds("a.cpp", "    far(abc, xy);"), adds("b.h", "    abc->other(1);"), adds("c.py", "abc()")])
    assert found == {"abc": ("a.cpp", "b.h"), "far": ("a.cpp",), "other": ("b.h",)}


def test_what_the_change_declares_itself_is_not_needed_before() -> None:
    assert set(used_names([adds("a.cpp", "    int one = other(1);", "    use(one);")])) == {"int", "other", "use"}


def test_a_name_that_only_moved_within_a_commit_was_not_brought_by_it() -> None:
    log = "commit ab\n@@ -1 +1 @@\n-f(one);\n+g(f(one));\ncommit cd\n--- a/f\n+++ b/f\n+f();\n"
    assert brought_by(log, ["f", "g", "absent"]) == {"g": CommitHash("ab"), "f": CommitHash("cd")}
