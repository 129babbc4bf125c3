"""The search for the breaking commit, what counts as landed, what builds on what."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkguard.core.commits import Commit
from forkguard.core.fitting import Version, backwards
from forkguard.core.landed_lines import landed_by_lines, might_have_come
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.patch_mail import parse_mail
from forkguard.core.replay import (
    Break,
    PatchResult,
    PatchStatus,
    Search,
    StackPatch,
    Trouble,
    builds_on,
    find_break,
    groups_of,
    spread,
)

A = TreePath("a.txt")


def mail(body: str) -> bytes:
    head = "From: A <a@b>\nSubject: [PATCH] x\n\n---\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n"
    return f"{head}{body}".encode()


def patch(name: str, body: str) -> StackPatch:
    return StackPatch(name, "0001-x.patch", parse_mail(mail(body)))


# -- the search ----------------------------------------------------------------------------------------


@given(st.integers(2, 2000), st.data())
@settings(deadline=None)
def test_the_search_finds_the_first_failing_point_within_its_budget(points: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, points - 1))
    budget = max(2, math.floor(2 * math.log2(points)))
    asked: list[int] = []

    def fails(at: int) -> bool:
        asked.append(at)
        return at >= first

    search = find_break(points, fails, budget=budget)

    assert (search.at, search.monotone, search.others) == (first, True, ())
    assert len(asked) == len(set(asked)) == search.tried <= max(budget, math.ceil(math.log2(points)) + 1)
    assert first - 1 in asked
    assert first in asked or first == points - 1


@given(st.lists(st.booleans(), min_size=2, max_size=60))
def test_the_found_point_fails_and_the_one_before_it_does_not(fails: list[bool]) -> None:
    fails = [False, *fails, True]

    search = find_break(len(fails), lambda at: fails[at], budget=1000)

    assert search.at is not None
    assert fails[search.at]
    assert not fails[search.at - 1]
    assert search.monotone == (fails == sorted(fails))
    assert search.others == tuple(at for at, failing in enumerate(fails) if failing != (at >= search.at))


def test_400_commits_take_at_most_twice_the_logarithm() -> None:
    search = find_break(401, lambda at: at >= 123, budget=math.floor(2 * math.log2(400)))

    assert (search.at, search.tried) == (123, 17)


def test_where_the_first_point_fails_there_is_nothing_to_find() -> None:
    assert find_break(9, lambda _: True, budget=9).at is None


# -- landed --------------------------------------------------------------------------------------------

ADD = "@@ -1,2 +1,3 @@\n one\n+two = 2;\n three\n"


def versions(text: str | None) -> dict[TreePath, Version | None]:
    return {A: None if text is None else Version("100644", text.encode())}


@pytest.mark.parametrize(
    ("ours", "landed"),
    [
        ("zero\none\nthree\nmore\ntwo = 2;\n", True),
        ("  two  =  2;\nother\n", True),
        ("one\nthree\n", False),
        ("one\n// two = 2; is not it\nthree\n", False),
        (None, False),
    ],
)
def test_a_patch_landed_when_its_lines_came(ours: str | None, *, landed: bool) -> None:
    one = patch("p", ADD)

    assert landed is landed_by_lines(
        one.mail.files, before=versions("one\nthree\n"), after=versions("one\ntwo = 2;\nthree\n"), ours=versions(ours)
    )


def test_a_line_that_was_there_already_did_not_come() -> None:
    one = patch("p", ADD)
    before, after = "one\nthree\ntwo = 2;\n", "one\ntwo = 2;\nthree\ntwo = 2;\n"

    assert not landed_by_lines(one.mail.files, before=versions(before), after=versions(after), ours=versions(before))
    twice = versions("two = 2;\ntwo = 2;\n")
    assert landed_by_lines(one.mail.files, before=versions(before), after=versions(after), ours=twice)


def test_a_removed_line_must_be_gone_and_braces_prove_nothing() -> None:
    gone = patch("p", "@@ -1,3 +1,2 @@\n one\n-two = 2;\n three\n")
    before, after = versions("one\ntwo = 2;\nthree\n"), versions("one\nthree\n")
    assert landed_by_lines(gone.mail.files, before=before, after=after, ours=versions("three\n"))
    assert not landed_by_lines(gone.mail.files, before=before, after=after, ours=before)

    brace = patch("p", "@@ -1,1 +1,2 @@\n one\n+}\n")
    sides = versions("one\n"), versions("one\n}\n")
    assert not landed_by_lines(brace.mail.files, before=sides[0], after=sides[1], ours=versions("}\n}\n"))


SWITCH = "bool {}(int x) {{\n    switch (x) {{\n        case ONE:\n{}            return true;\n    }}\n}}\n"
TWO = "        case TWO:\n"


def switches(**functions: str) -> dict[TreePath, Version | None]:
    """A C++ file of functions with a switch each; what stands there between `case ONE:` and its statement."""
    text = "".join(SWITCH.format(name, cases) for name, cases in functions.items())
    return {TreePath("a.cpp"): Version("100644", text.encode())}


@pytest.mark.parametrize(
    ("ours", "landed"),
    [
        (switches(a=TWO, b=TWO), True),
        (switches(b=TWO, a="        case ZERO:\n" + TWO), True),
        (switches(a="", b=TWO, c=TWO), False),  # as often, and in another function
        (switches(a="", b=TWO + TWO), False),
        ({TreePath("a.cpp"): None}, False),
    ],
)
def test_a_line_that_stands_elsewhere_too_must_come_to_its_own_function(
    ours: dict[TreePath, Version | None], *, landed: bool
) -> None:
    before, after = switches(a="", b=TWO), switches(a=TWO, b=TWO)
    one = parse_mail(mail("@@ -3,1 +3,2 @@\n         case ONE:\n+        case TWO:\n").replace(b"a.txt", b"a.cpp"))
    assert landed_by_lines(one.files, before=before, after=after, ours=ours) is landed
    back = [backwards(file) for file in one.files]
    gone = switches(a="", b="", c=TWO)
    assert landed_by_lines(back, before=after, after=before, ours=before)
    assert not landed_by_lines(back, before=after, after=before, ours=switches(a=TWO, b=""))
    assert not landed_by_lines(back, before=after, after=before, ours=switches(a=TWO, b="", c=""))
    assert landed_by_lines(back, before=after, after=before, ours=gone)


def test_a_python_line_must_come_to_its_own_function_too() -> None:
    path = TreePath("a.py")
    one, two = "def one():\n    pass\n", "def two():\n    pass\n"
    before, there, elsewhere = (
        one + two + "    go()\n",
        one + "    go()\n" + two + "    go()\n",
        one + two + "    go()\n" * 2,
    )
    files = parse_mail(mail("@@ -2,1 +2,2 @@\n     pass\n+    go()\n").replace(b"a.txt", b"a.py")).files
    sides = [{path: Version("100644", text.encode())} for text in (before, there, elsewhere)]
    assert landed_by_lines(files, before=sides[0], after=sides[1], ours=sides[1])
    assert not landed_by_lines(files, before=sides[0], after=sides[1], ours=sides[2])


# -- what builds on what ---------------------------------------------------------------------------------


def test_a_patch_builds_on_one_whose_lines_are_its_context() -> None:
    first = patch("first", ADD)
    second = patch("second", "@@ -1,3 +1,4 @@\n one\n two = 2;\n+half\n three\n")
    far = patch("far", "@@ -8,2 +8,3 @@\n eight\n+half\n nine\n")
    trouble = [Trouble(A, 1, "@@", "not there")]

    assert builds_on(second, first, trouble)
    assert not builds_on(far, first, trouble)
    assert not builds_on(second, first, [Trouble(TreePath("b.txt"), 1, "@@", "not there")])


def test_failures_are_grouped_by_their_root() -> None:
    cause = Commit(CommitHash("c" * 40), "2026-01-01T00:00:00+00:00", "upstream moves")
    broken = Break(cause, CommitHash("b" * 40), monotone=True, others=(), tried=3)
    one, two, three, four = (patch(name, ADD) for name in ("one", "two", "three", "four"))
    results = [
        PatchResult(one, PatchStatus.CONFLICT, broken=broken),
        PatchResult(two, PatchStatus.UNTESTED, needs=(one.label,)),
        PatchResult(three, PatchStatus.MISSING_BLOB),
        PatchResult(four, PatchStatus.CONFLICT, broken=broken),
    ]

    groups = groups_of(results)

    assert [(group.root, group.commit, group.members) for group in groups] == [
        (one.label, cause, (one.label, two.label, four.label)),
        (three.label, None, (three.label,)),
    ]


# -- bounds ----------------------------------------------------------------------------------------------


def test_the_widest_gap_is_tried_first() -> None:
    assert list(spread(9, {0, 2, 8})) == [5, 3, 6, 1, 4, 7]
    assert list(spread(2, set())) == []


def test_the_search_says_how_many_replays_it_took_and_keeps_to_its_budget() -> None:
    assert find_break(9, lambda _: True, budget=9) == Search(None, monotone=True, others=(), tried=1)
    alone = find_break(2, lambda at: at == 1, budget=9)
    assert alone == Search(1, monotone=True, others=(), tried=1)
    twice = find_break(5, lambda at: at in {1, 4}, budget=9)
    assert twice == Search(4, monotone=False, others=(1,), tried=4)


@pytest.mark.parametrize(
    ("before", "ours", "might"),
    [
        ("one\nthree\n", "one\ntwo = 2;\nthree\n", True),
        ("one\nthree\n", "one\n  two = 2; // more\nthree\n", True),
        ("one\nthree\n", "one\nthree\n", False),
        ("two = 2;\n", "two = 2;\n", False),
        ("two = 2;\n", "two = 2;\ntwo = 2;\n", True),
        ("one\nthree\n", None, False),
    ],
)
def test_a_patch_might_have_come_where_its_first_telling_line_stands_more_often(
    before: str, ours: str | None, *, might: bool
) -> None:
    one = patch("p", "@@ -1,2 +1,5 @@\n one\n+{\n+    two = 2;\n+never\n three\n")
    assert might_have_come(one.mail.files, before=versions(before), ours=versions(ours)) is might


def test_a_patch_that_adds_nothing_that_tells_might_always_have_come() -> None:
    gone = patch("p", "@@ -1,3 +1,3 @@\n one\n-two = 2;\n+}\n three\n")
    assert might_have_come(gone.mail.files, before=versions("one\n"), ours=versions("one\n"))


def test_content_that_is_not_in_the_clone_shows_no_landing() -> None:
    one = patch("p", ADD)
    before, after = versions("one\nthree\n"), versions("one\ntwo = 2;\nthree\n")
    unknown: dict[TreePath, Version | None] = {A: Version("100644", None)}
    assert not landed_by_lines(one.mail.files, before=before, after=after, ours=unknown)
    assert not landed_by_lines(one.mail.files, before=unknown, after=after, ours=after)
    assert not might_have_come(one.mail.files, before=unknown, ours=unknown)


def test_a_patch_builds_on_one_that_adds_its_file_but_not_on_braces() -> None:
    head = "From: A <a@b>\nSubject: [PATCH] x\n\n---\ndiff --git a/a.txt b/a.txt\n"
    new = f"{head}new file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+one\n".encode()
    adds = StackPatch("adds", "0001-x.patch", parse_mail(new))
    here, there = [Trouble(A, None, "", "gone")], [Trouble(TreePath("b.txt"), None, "", "gone")]
    later = patch("later", "@@ -1,2 +1,3 @@\n eight\n+half\n nine\n")
    assert builds_on(later, adds, here)
    assert not builds_on(later, adds, there)
    braces = patch("braces", "@@ -1,1 +1,2 @@\n one\n+}\n")
    on_braces = patch("on", "@@ -1,2 +1,3 @@\n }\n+half\n nine\n")
    assert not builds_on(on_braces, braces, here)


@pytest.mark.parametrize("status", PatchStatus)
def test_a_patch_that_is_neither_in_the_result_nor_upstream_failed(status: PatchStatus) -> None:
    assert status.failed is (status.value in {"conflict", "missing-blob", "untested"})
