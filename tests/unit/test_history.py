"""Who took a line away, from the text of `git log -p -U0`."""

from forkguard.core.history import Removal, Sought, line_key, removals
from forkguard.core.names import CommitHash

NEW, OLD = "b" * 40, "a" * 40
LINE = "res->t_inp[il] = cur;"
SOUGHT = Sought(line_key(LINE), "box::graph::build")


def commit(name: str, *hunks: tuple[str, str]) -> str:
    """A commit with hunks, each the text behind its header's second @@ and the changed lines."""
    body = "".join(f"@@ -1 +1 @@ {header}\n{lines}" for header, lines in hunks)
    return f"commit {name}\n\ndiff --git a/x.cpp b/x.cpp\nindex 1..2 100644\n--- a/x.cpp\n+++ b/x.cpp\n{body}"


def found(*commits: str, sought: Sought = SOUGHT) -> Removal | None:
    return removals("".join(commits), [sought]).get(sought)


def test_keys_are_blind_to_white_space_and_comments() -> None:
    assert line_key("  res -> t_inp[ il ]=cur ;  // why\r") == SOUGHT.key == "res -> t_inp [ il ] = cur ;"


def test_the_newest_removal_counts() -> None:
    hunk = ("void box::graph::build(int n) {", f"-    {LINE}\n")
    assert found(commit(NEW, hunk), commit(OLD, hunk)) == Removal(CommitHash(NEW), certain=True)


def test_a_commit_that_brought_the_line_took_nothing() -> None:
    assert found(commit(NEW, ("void build() {", f"+{LINE}\n"))) is None


def test_a_line_that_only_changed_its_indent_stays() -> None:
    assert found(commit(NEW, ("void build() {", f"-{LINE}\n+        {LINE}\n"))) is None


def test_a_line_that_moved_within_its_function_stays() -> None:
    hunks = (("void build() {", f"-{LINE}\n"), ("void build() {", f"+{LINE}\n"))
    assert found(commit(NEW, *hunks)) is None


def test_a_line_that_moved_into_another_function_left_its_own() -> None:
    hunks = (("void build() {", f"-{LINE}\n"), ("void other() {", f"+{LINE}\n"))
    assert found(commit(NEW, *hunks)) == Removal(CommitHash(NEW), certain=True)


def test_the_function_decides_between_two_removals_of_the_same_text() -> None:
    newer = commit(NEW, ("bool another(int a) {", f"-{LINE}\n"))
    older = commit(OLD, ("void box::graph::build(int n) {", f"-{LINE}\n"))
    assert found(newer, older) == Removal(CommitHash(OLD), certain=True)
    assert found(newer) == Removal(CommitHash(NEW), certain=False)


def test_a_removal_without_a_function_is_likely_only() -> None:
    assert found(commit(NEW, ("", f"-{LINE}\n"))) == Removal(CommitHash(NEW), certain=False)
    nameless = Sought(SOUGHT.key, "")
    assert found(commit(NEW, ("void build() {", f"-{LINE}\n")), sought=nameless) == Removal(
        CommitHash(NEW), certain=False
    )


def test_lines_that_look_like_headers_do_not_confuse() -> None:
    tricky = f"-commit {OLD}\n--- a/x.cpp\n-@@ -1 +1 @@\n-{LINE}\n"
    assert found(commit(NEW, ("void build() {", tricky))) == Removal(CommitHash(NEW), certain=True)


def test_several_lines_are_sought_at_once() -> None:
    other = Sought(line_key("other(cur);"), "box::graph::build")
    log = commit(NEW, ("void build() {", f"-{LINE}\n")) + commit(OLD, ("void build() {", "-other(cur);\n"))
    assert {one: removal.commit for one, removal in removals(log, [SOUGHT, other]).items()} == {
        SOUGHT: NEW,
        other: OLD,
    }
    assert removals("", [SOUGHT]) == {}
