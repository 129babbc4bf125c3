"""Edits that a commit made to several statements alike."""

from forkguard.core.names import CommitHash, TreePath
from forkguard.core.pieces import tokens_of
from forkguard.core.siblings import Edit, shape_of, sibling_edits

ONE, TWO = CommitHash("a" * 40), CommitHash("b" * 40)
HEAD = "diff --git a/x.cpp b/x.cpp\nindex 1..2 100644\n--- a/x.cpp\n+++ b/x.cpp\n@@ -1,2 +1,2 @@ void f() {\n"


def test_statements_of_one_shape_that_got_another_are_counted_from_the_first_on() -> None:
    calls = "-    build(wide);\n-    build(wide);\n+    build(slim);\n+    build(slim);\n"
    log = f"commit {ONE}\n\n{HEAD}{calls}commit {TWO}\n\n{HEAD}-    build(wide);\n+    build(slim);\n"
    before, after = (shape_of(tokens_of(text)) for text in (b"build(wide);", b"build(slim);"))
    assert sibling_edits(log) == (Edit(ONE, TreePath("x.cpp"), before, after, 2),)


def test_assignments_are_alike_whatever_they_assign_to() -> None:
    lines = "".join(f"-    l.{name} = make(wide);\n+    l.{name} = make(slim);\n" for name in "abc")
    (edit,) = sibling_edits(f"commit {ONE}\n\n{HEAD}{lines}")
    assert (edit.count, edit.before[:3]) == (3, ("_", "=", "make"))


def test_a_statement_that_only_moved_or_went_is_no_edit() -> None:
    lines = (
        "-    build(wide);\n-    build(wide);\n-    gone(1);\n-    gone(1);\n+    build(wide);\n+    build(wide);\n"
    )
    assert sibling_edits(f"commit {ONE}\n\n{HEAD}{lines}") == ()
