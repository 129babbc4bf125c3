"""Upstream's later fixes of code that a fork carries."""

from collections import Counter

from forkguard.core.commits import Commit
from forkguard.core.fixes import FileChange, Rank, changes_by_commit, missing_fixes
from forkguard.core.history import line_key
from forkguard.core.names import CommitHash, TreePath

ONE, TWO, THREE, FOUR = (CommitHash(letter * 40) for letter in "abcd")
LOG = f"""\
commit {ONE}

diff --git a/src/run.cpp b/src/run.cpp
index 1..2 100644
--- a/src/run.cpp
+++ b/src/run.cpp
@@ -3 +3 @@ int run() {{
-    size = count * width;
+    size = (size_t) count * width;
commit {TWO}

diff --git a/src/new.cpp b/src/new.cpp
new file mode 100644
--- /dev/null
+++ b/src/new.cpp
@@ -0,0 +1 @@
+int fresh = 1 + 2;
diff --git a/tests/check.cpp b/tests/check.cpp
--- a/tests/check.cpp
+++ b/tests/check.cpp
@@ -9 +9,0 @@ void check() {{
-    expect(size == 4);
"""
OLD = "size = count * width ;"


def judged(
    subject: str, text: str, *, path: str = "src/run.cpp", removed: str = OLD, added: str = ""
) -> list[object]:
    change = FileChange(TreePath(path), (removed,), (added,) if added else ())
    found = missing_fixes(
        [(ONE, (change,))],
        commits=lambda id_: Commit(id_, "2026-08-01T00:00:00+00:00", subject),
        fork=lambda p: Counter(map(line_key, text.split("\n"))) if p == path else None,
    )
    return [(fix.rank, fix.kept, fix.touched, fix.files) for fix in found]


def test_a_log_gives_what_each_commit_did_to_each_file() -> None:
    assert list(changes_by_commit(LOG)) == [
        (ONE, (FileChange(TreePath("src/run.cpp"), (OLD,), ("size = ( size_t ) count * width ;",)),)),
        (TWO, (FileChange(TreePath("tests/check.cpp"), ("expect ( size == 4 ) ;",), ()),)),
    ]


def test_a_fork_that_keeps_the_old_line_lacks_the_fix() -> None:
    assert judged("run : fix overflow (#7)", "int x;\n  size = count*width; // old") == [
        (Rank.GRAVE, 1, 1, ((TreePath("src/run.cpp"), 1),))
    ]


def test_a_fork_that_has_other_code_there_is_left_alone() -> None:
    assert judged("run : fix overflow (#7)", "size = mine(count);") == []


def test_a_fork_that_ported_the_fix_is_left_alone_even_with_a_twin_of_the_old_line_elsewhere() -> None:
    assert judged("fix it", "size = (size_t) count * width;", added="size = ( size_t ) count * width ;") == []


def test_short_lines_prove_nothing() -> None:
    assert judged("fix it", "break;", removed="break ;") == []
    assert judged("fix it", "go(x)", removed="go ( x )") == [(Rank.FIX, 1, 1, ((TreePath("src/run.cpp"), 1),))]


def test_ranks_follow_subject_and_place() -> None:
    text = "size = count * width;"
    assert [judged(subject, text)[0][0] for subject in ("fix a crash", "fix size", "use wide size", "fix typo")] == [  # type: ignore[index]
        Rank.GRAVE,
        Rank.FIX,
        Rank.CHANGE,
        Rank.COSMETIC,
    ]
    assert judged("fix a crash", text, path="tests/run.cpp")[0][0] is Rank.COSMETIC  # type: ignore[index]


def test_the_gravest_come_first_then_those_that_the_fork_keeps_most_of() -> None:
    subjects = {ONE: "use wide size", TWO: "fix size", THREE: "fix crash", FOUR: "fix count"}
    changes = [
        (id_, (FileChange(TreePath("src/run.cpp"), (OLD, "other = one + two ;") if id_ == TWO else (OLD,), ()),))
        for id_ in subjects
    ]
    found = missing_fixes(
        changes, commits=lambda id_: Commit(id_, "2026-08-01", subjects[id_]), fork=lambda _: Counter([OLD])
    )
    assert [fix.commit.id for fix in found] == [THREE, FOUR, TWO, ONE]
