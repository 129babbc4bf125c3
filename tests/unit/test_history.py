"""Who took a line away, from the text of `git log -p -U0`."""

from forkguard.core.history import Removal, Sought, line_key, removals
from forkguard.core.names import CommitHash

NEW, OLD = "b" * 40, "a" * 40
LINE = "res->t_inp[il] = cur;"
SOUGHT = Sought(line_key(LINE), "box::graph::build")


def commit(name: str, *hunks: tuple[str, str], path: str = "x.cpp") -> str:
    """A commit with hunks, each the text behind its header's second @@ and the changed lines."""
    body = "".join(f"@@ -1 +1 @@ {header}\n{lines}" for header, lines in hunks)
    return f"commit {name}\n\ndiff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n{body}"


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


def test_the_name_of_a_function_within_a_longer_word_is_another_function() -> None:
    graph = Sought(SOUGHT.key, "box::graph")
    assert found(commit(NEW, ("ggml_cgraph * of(int n) {", f"-{LINE}\n")), sought=graph) == Removal(
        CommitHash(NEW), certain=False
    )


def test_a_line_of_one_file_is_not_taken_away_in_another_with_a_function_of_that_name() -> None:
    mine = Sought(SOUGHT.key, SOUGHT.symbol, frozenset({"mine.cpp"}))
    gone, came = (("void build() {", f"{sign}{LINE}\n") for sign in "-+")
    other = commit(NEW, gone, path="other.cpp") + commit(OLD, came, path="other.cpp")
    assert found(other, sought=mine) == Removal(CommitHash(NEW), certain=False)
    own = commit(OLD, gone, path="mine.cpp") + commit("c" * 40, came, path="mine.cpp")
    assert found(other, own, sought=mine) == Removal(CommitHash(OLD), certain=True, brought=True)


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
