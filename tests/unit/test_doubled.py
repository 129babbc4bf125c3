"""What a clean merge holds twice, and what only looks like it."""

import pytest

from forkguard.core.common_words import may_share
from forkguard.core.doubled import Double, Sides, doubled
from forkguard.core.doubled_hunks import told_by_hunk, with_left
from forkguard.core.doubled_marks import Marking, marked, staying, without_regions
from forkguard.core.hunks import Change, Fit, Hunk, Outcome
from forkguard.core.merges import Merged, Twice, conflicts_of
from forkguard.core.names import TreeHash, TreePath
from forkguard.core.occurrences import What

BASE = """\
#include "models.h"

static int old(int a) {
    return a;
}

m::graph::graph(int p) {
    for (int il = 0; il < n; ++il) {
        int prev = il;
        cur = norm(cur);
        cb(cur, "norm", il);
        cur = ffn(cur);
        inpL = cur;
    }
    for (int il = 0; il < n; ++il) {
        late(il);
        later(il);
    }
    if (last) {
        cur = rows(cur);
    }
    done(cur);
}

bool is(int arch) {
    switch (arch) {
        case A:
        case B:
        case C:
            return true;
        default:
            return false;
    }
}

const char * name(int arch) {
    switch (arch) {
        case A: return "a";
        case B: return "b";
        default: return "";
    }
}

static const std::map<int, const char *> NAMES = {
    { A, "a" },
    { B, "b" },
    { C, "c" },
};

static const std::vector<shape> SHAPES = {
    { TALL, 1 },
    { TALL, 2 },
    { WIDE, 1 },
};

enum kinds {
    ONE,
    TWO,
    THREE,
};

struct params {
    int n_one;
    int n_two;
    int n_three;
};

#ifdef FAST
static int speed(int a) {
    return 1;
}
#else
#endif

int the_end(void);
"""
PYTHON = """\
class Names:
    ONE = 1
    TWO = 2


TABLE = {
    Names.ONE: "one",
    Names.TWO: "two",
    Names.ONE + 1: "more",
}


def last():
    return 1
"""
Insertion = tuple[str, str]
"""Behind which line (a piece of it, the first that has it), and what."""


def inserted(text: str, insertions: list[Insertion]) -> tuple[list[Change], str]:
    """The changes that put in these lines, and the file with them."""
    lines = text.splitlines(keepends=True)
    changes = []
    for place, new in insertions:
        at = next(number for number, line in enumerate(lines, 1) if place in line)
        changes.append(Change(at, (), tuple(new.splitlines(keepends=True))))
    changes.sort(key=lambda change: change.start)
    for change in reversed(changes):
        lines[change.start : change.start] = change.added
    return changes, "".join(lines)


def look(fork: list[Insertion], upstream: list[Insertion], *, base: str = BASE) -> tuple[Double, ...]:
    """What is doubled where both put their lines into the base, as git's merge does."""
    brought, after = inserted(base, upstream)
    own, ours = inserted(base, fork)
    _, result = inserted(base, [*upstream, *fork])
    grown = {change.start: sum(len(one.added) for one in own if one.start <= change.start) for change in brought}
    placed = [Change(change.start + grown[change.start], (), change.added) for change in brought]
    sides = Sides(base.encode(), after.encode(), ours.encode(), result.encode())
    return doubled(sides, brought=brought, placed=placed, python=base is PYTHON)


INPUT = "        res->t_layer_inp[il] = cur;\n"
HELPER = "// helps\nstatic int helper(int x) {\n    return x + 1;\n}\n\n"
SPACE = "#include"


def line_of(text: str, piece: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if piece in line)


def test_the_same_statement_elsewhere_in_the_loop() -> None:
    (found,) = look([("cur = norm(cur);", INPUT)], [("for (int il", INPUT)])

    first = line_of(BASE, "for (int il") + 1
    own = line_of(BASE, "cur = norm(cur);") + 1
    assert found == Double(
        What.STATEMENT, "res->t_layer_inp[il] = cur;", first, first, own + 1, own, origin=(first, first)
    )


def test_another_value_for_the_same_element() -> None:
    (found,) = look([("cur = norm(cur);", INPUT.replace("= cur", "= prev"))], [("for (int il", INPUT)])

    assert (found.what, found.name) == (What.ASSIGNMENT, "res->t_layer_inp[il] = cur;")


def test_a_function_word_for_word_with_the_comment_above_can_be_left_out() -> None:
    (found,) = look([("    done(cur);", "}\n\n" + HELPER + "void spare() {\n")], [(SPACE, "\n" + HELPER)])

    assert (found.what, found.name, found.same, found.origin) == (What.FUNCTION, "helper", True, (3, 6))


SLOW = "static int slow(int a) {\n    return 2;\n}\n"
ENDING = "        case X:\n            return true;\n"
ENTRY = '    { X, "x" },\n'


@pytest.mark.parametrize(
    ("fork", "upstream", "what", "same"),
    [
        (("done(cur);", "}\n\n" + HELPER.replace("x", "y") + "void spare() {\n"), (SPACE, HELPER), "function", False),
        (("done(cur);", "}\n\n" + HELPER.replace("helps", "aids") + "void spare() {\n"), (SPACE, HELPER),
         "function", False),
        (("case C:", "        case X:\n"), ("switch (arch) {", "        case X:\n"), "case", True),
        (("{ C, ", ENTRY), ("NAMES = {", ENTRY), "row", True),
        (("{ C, ", ENTRY), ("NAMES = {", ENTRY.replace('"x"', '"y"')), "row", False),
        (("{ WIDE, 1", "    { TALL, 3 },\n"), ("SHAPES = {", "    { TALL, 3 },\n"), "row", False),
        (("{ WIDE, 1", "    { TALL, 3 },\n"), ("SHAPES = {", "    { TALL, 4 },\n"), "", False),
        (("    THREE,", "    FOUR,\n"), ("    ONE,", "    FOUR,\n"), "enumerator", False),
        (("int n_three;", "    bool on;\n"), ("int n_one;", "    bool on;\n"), "member", False),
        (("the_end", "#define LIMIT 3\n"), (SPACE, "#define LIMIT 3\n"), "define", True),
        (("the_end", "#define LIMIT 4\n"), (SPACE, "#define LIMIT 3\n"), "define", False),
        (("the_end", "struct box {\n    int a;\n};\n"), (SPACE, "struct box {\n    int a;\n};\n"), "type", True),
        (("the_end", "enum more {\n    FIVE,\n};\n"), (SPACE, "enum more {\n    FIVE,\n    SIX,\n};\n"), "type",
         False),
        (("the_end", "static int seen = 1;\n"), (SPACE, "static int seen = 2;\n"), "variable", False),
        (("cur = ffn(cur);", "        if (a) {\n            go(1);\n        }\n"),
         ("for (int il", "        if (a) {\n            go(1);\n        }\n"), "statement", False),
        (("cur = ffn(cur);", "        if (a) {\n            go(1);\n            more(2);\n        }\n"),
         ("for (int il", "        if (a) {\n            go(1);\n        }\n"), "statement", False),
    ],
)  # fmt: skip
def test_kinds(fork: Insertion, upstream: Insertion, what: str, same: bool) -> None:  # noqa: FBT001
    found = look([fork], [upstream])

    assert [(each.what.value, each.same) for each in found] == ([(what, same)] if what else [])


@pytest.mark.parametrize(
    ("fork", "upstream"),
    [
        (("late(il);", INPUT), ("for (int il", INPUT)),
        (("the_end", "int helper(long x) { return 2; }\n"), (SPACE, "int helper(int x) { return 1; }\n")),
        (("the_end", "template <> int f<int>(int a) { return 2; }\n"),
         (SPACE, "template <> int f<bool>(int a) { return 2; }\n")),
        (("#else", SLOW), ("#ifdef FAST", SLOW)),
        (('case B: return "b"', '        case X: return "x";\n'), ("switch (arch) {", "        case X:\n")),
        (("cur = ffn(cur);", "        if (a) {\n            go(1);\n        }\n"),
         ("for (int il", "        if (a) {\n            stop(1);\n        }\n")),
        (("case C:", "            return true;\n        case Y:\n"), ("switch (arch) {", ENDING)),
        (("the_end", "int proto(int);\n"), (SPACE, "int proto(int);\n")),
        (("the_end", f"#ifndef SMALL\n{SLOW}#endif\n"), (SPACE, f"#ifdef SMALL\n{SLOW}#endif\n")),
        (("the_end", f"#if !defined(SMALL)\n{SLOW}#endif\n"), (SPACE, f"#if defined(SMALL)\n{SLOW}#endif\n")),
        (("the_end", "template <int N> int f(int a) { return N; }\n"),
         (SPACE, "template <typename T> int f(int a) { return 1; }\n")),
        (("the_end", "namespace a { int f() { return 1; } }\n"), (SPACE, "namespace b { int f() { return 1; } }\n")),
    ],
)  # fmt: skip
def test_what_is_no_double(fork: Insertion, upstream: Insertion) -> None:
    assert look([fork], [upstream]) == ()


def test_what_upstream_repeats_itself_is_no_double() -> None:
    twice = [("for (int il", INPUT), ("cb(cur", INPUT)]

    assert look([("inpL = cur;", "        own(il);\n")], twice) == ()
    assert [each.what for each in look([("inpL = cur;", INPUT)], twice)] == [What.STATEMENT]


def test_one_more_of_a_statement_that_stood_there_before_says_nothing() -> None:
    again = '        cb(cur, "norm", il);\n'

    assert look([("cur = ffn(cur);", again)], [("for (int il", again)]) == ()


def test_what_stands_in_another_loop_as_well_is_told_apart_by_the_loop() -> None:
    base = BASE.replace("        late(il);\n", "        late(il);\n" + INPUT)

    (found,) = look([("cur = norm(cur);", INPUT)], [("for (int il", INPUT)], base=base)

    assert found.what is What.STATEMENT


def test_a_line_that_upstream_moves_to_where_the_fork_has_it_too() -> None:
    base = BASE.replace("        late(il);\n", "        late(il);\n" + INPUT)
    brought, after = inserted(base, [("for (int il", INPUT)])
    late = after.rindex(INPUT)
    at = base.count("\n", 0, base.index(INPUT))
    brought.append(Change(at, (INPUT,), ()))
    _, ours = inserted(base, [("cur = norm(cur);", INPUT)])
    _, both = inserted(base, [("cur = norm(cur);", INPUT), ("for (int il", INPUT)])
    result = both[: both.rindex(INPUT)] + both[both.rindex(INPUT) + len(INPUT) :]
    sides = Sides(base.encode(), (after[:late] + after[late + len(INPUT) :]).encode(), ours.encode(), result.encode())
    placed = [brought[0], Change(at + 1, (INPUT,), ())]

    (found,) = doubled(sides, brought=brought, placed=placed)

    assert (found.what, found.first) == (What.STATEMENT, line_of(BASE, "for (int il") + 1)


def test_a_branch_of_a_chain_for_the_same_condition() -> None:
    conditions = (("if (a)", "one(1)"), ("} else if (b)", "two(2)"), ("} else if (c)", "tri(3)"))
    chain = "".join(f"    {condition} {{\n        {call};\n" for condition, call in conditions) + "    }\n"
    base = BASE.replace("    done(cur);\n", chain + "    done(cur);\n")
    fork, upstream = "    } else if (x) {\n        own(1);\n", "    } else if (x) {\n        new(1);\n"

    (found,) = look([("tri(3);", fork)], [("one(1);", upstream)], base=base)

    first = line_of(base, "one(1);") + 1
    assert (found.what, found.first, found.last) == (What.BRANCH, first, first + 1)
    assert look([("if (last) {", "    own(1);\n    }\n    if (x) {\n")], [("one(1);", upstream)], base=base) == ()


def test_a_row_that_is_named_by_its_index() -> None:
    base = BASE + 'static const char * const WORDS[] = {\n    [A] = "a",\n    [B] = "b",\n    [C] = "c",\n};\n'

    (found,) = look([("[C] =", '    [X] = "x",\n')], [("WORDS[]", '    [X] = "y",\n')], base=base)

    assert (found.what, found.same) == (What.ROW, False)


def test_what_shares_its_line_with_something_else_is_not_left_out() -> None:
    two = "static int one = 1; static int other = 2;\n"

    found = look([("the_end", two)], [(SPACE, two)])

    assert [(each.what, each.same) for each in found] == [(What.VARIABLE, False)]


def test_rows_that_stand_in_a_file_by_the_hundred_are_not_compared() -> None:
    row = "    { TALL, 3 },\n"

    assert look([("{ WIDE, 1", row)], [("SHAPES = {", row * 250)]) == ()


def test_both_arms_of_an_if_may_define_it_but_not_one_arm_and_all() -> None:
    (found,) = look([("#ifdef FAST", SLOW)], [("the_end", SLOW)])

    assert (found.what, found.same) == (What.FUNCTION, False)


@pytest.mark.parametrize(
    ("fork", "upstream", "what", "same"),
    [
        (('"more"', '    Names.THREE: "three",\n'), ("TABLE = {", '    Names.THREE: "three",\n'), "row", True),
        (('"more"', '    Names.THREE: "three",\n'), ("TABLE = {", '    Names.THREE: "drei",\n'), "row", False),
        (("TWO = 2", "    THREE = 3\n"), ("class Names", "    THREE = 3\n"), "row", True),
        (("return 1", "\n\ndef more():\n    return 2\n"), ("TWO = 2", "\n\ndef more():\n    return 3\n"), "function",
         False),
    ],
)  # fmt: skip
def test_tables_and_functions_of_python(fork: Insertion, upstream: Insertion, what: str, same: bool) -> None:  # noqa: FBT001
    (found,) = look([fork], [upstream], base=PYTHON)

    assert (found.what.value, found.same) == (what, same)


def test_a_setter_is_no_second_definition() -> None:
    base = "class A:\n    x = 1\n\n    def y(self):\n        return 1\n"
    getter, setter = ("\n    @property\n    def z(self):\n        return 1\n",
                      "\n    @z.setter\n    def z(self, v):\n        pass\n")  # fmt: skip
    brought, after = inserted(base, [("x = 1", setter)])
    _, ours = inserted(base, [("return 1", getter)])
    _, result = inserted(base, [("x = 1", setter), ("return 1", getter)])

    sides = Sides(base.encode(), after.encode(), ours.encode(), result.encode())

    assert doubled(sides, brought=brought, placed=brought, python=True) == ()


def test_a_case_that_others_fall_into_is_not_left_out() -> None:
    two = "        case W:\n        case X:\n            return false;\n"
    one = "        case X:\n            return false;\n"

    (found,) = look([("            return true;", one)], [("switch (arch) {", two)])

    assert (found.what, found.same) == (What.CASE, False)


# -- the quick look --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("added", "ours", "expected"),
    [
        ("a = b;\n", "int b;\n", False),
        ("a = b;\n", "int b;\n  a=b;\n", True),
        ("void other() {\n", "int b;\nvoid other(int y) {\n", True),
        ("int c = b;\n", "int b;\nint d = b;\n", False),
        ("}\n", "int b;\n}\n", False),
    ],
)
def test_what_both_sides_may_have_brought(added: str, ours: str, expected: bool) -> None:  # noqa: FBT001
    assert may_share([added], before=b"int b;\n", ours=ours.encode()) is expected


# -- as lines --------------------------------------------------------------------------------------------

PORT = Marking(("fork", "upstream #7"), "upstream", "the fork")
PATH = TreePath("a.cpp")


def double(first: int, last: int, twin: int, own: int) -> Double:
    return Double(What.STATEMENT, "b", first, last, twin, own, origin=(first, last))


def test_a_run_of_blank_lines_goes_with_what_is_left_out() -> None:
    lines = ["a\n", "f\n", "g\n", "\n", "b\n", "h\n", "c\n"]
    brought = [Change(1, (), ("f\n", "g\n", "\n")), Change(2, (), ("h\n",))]

    assert staying(lines, brought, [(2, 3)]) == [1, 5, 6, 7]
    assert staying(lines, brought, [(2, 2)]) == [1, 3, 4, 5, 6, 7]


def test_marks_tell_where_the_other_one_is_with_marks_above_counted() -> None:
    lines = ["a\n", "b\n", "c\n", "b\n", "d\r\n", "e"]

    shown, places = marked(PATH, lines, [double(2, 2, 4, 3), double(6, 6, 1, 1)], kept=range(6), marking=PORT)

    assert shown[:8] == ["a\n", "<<<<<<< fork\n", "||||||| base\n", "=======\n", "b\n",
                         ">>>>>>> upstream #7: twice, the fork has it at line 8\n", "c\n", "b\n"]  # fmt: skip
    assert shown[8:] == ["d\r\n", "<<<<<<< fork\n", "||||||| base\n", "=======\n", "e\n",
                         ">>>>>>> upstream #7: twice, the fork has it at line 1\n"]  # fmt: skip
    assert [(each.line, each.twin, each.own, each.text) for each in places] == [(2, 8, 3, "b"), (10, 1, 1, "a")]
    assert places[0].said == (
        "this statement would be there twice: upstream brings it here, the fork has it at line 8 (line 3 of its own "
        "file): b"
    )


def test_marks_tell_of_a_line_that_is_inside_of_another_mark() -> None:
    lines = ["a\n", "b\n", "c\n", "d\n", "b\n"]
    patch = Marking(("fork", "upstream"), "the patch", "upstream", first=True)

    for marking, above in ((PORT, 3), (patch, 1)):
        shown, places = marked(PATH, lines, [double(2, 3, 1, 1), double(5, 5, 2, 2)], kept=range(5), marking=marking)

        assert places[1].twin == 2 + above
        assert shown[places[1].twin - 1] == "b\n"


def test_marks_in_a_file_with_conflicts_count_the_other_regions() -> None:
    lines = ["<<<<<<< fork\n", "mine\n", "||||||| base\n", "=======\n", "theirs\n", ">>>>>>> u\n", "b\n", "b\n"]
    plain, kept = without_regions(lines, label="fork", first=True)
    assert (plain, kept) == (["mine\n", "b\n", "b\n"], [1, 6, 7])
    assert without_regions(lines, label="fork", first=False) == (["theirs\n", "b\n", "b\n"], [4, 6, 7])

    shown, places = marked(PATH, lines, [double(2, 2, 3, 2)], kept=kept, marking=PORT)

    assert shown[6:9] == ["<<<<<<< fork\n", "||||||| base\n", "=======\n"]
    assert [(each.line, each.twin) for each in places] == [(7, 12)]
    assert shown[places[0].twin - 1] == "b\n"


def test_the_conflict_says_why_it_is_one() -> None:
    twice = Twice(PATH, 1, "statement", "b", 6, 3, "b", "upstream", "the fork")
    merged = Merged(TreeHash("t"), (), (), (twice,))
    content = b"<<<<<<< fork\n||||||| base\n=======\nb\n>>>>>>> upstream: twice\nb\n"

    (found,) = conflicts_of(merged, PATH, content, [], label="fork", origin=PATH)

    assert (found.line, found.theirs, found.reason, found.twice) == (1, "b\n", twice.said, twice)


def hunk(start: int, *added: str) -> Hunk:
    return Hunk(f"@@ {start}", start, (), added, (Change(start, (), added),))


def test_hunks_that_bring_nothing_else_are_there_already() -> None:
    fits = [(hunk(1, "f\n", "\n"), Fit(Outcome.CLEAN)), (hunk(4, "g\n", "h\n"), Fit(Outcome.OFFSET, "+1 lines"))]
    left = [Double(What.FUNCTION, "f", 2, 2, 9, 8, (2, 2), same=True), Double(What.FUNCTION, "g", 7, 7, 9, 9, (7, 7))]

    (first, second) = with_left(fits, left, PORT)

    assert first[1] == Fit(Outcome.ALREADY_PRESENT, "function f is there already, at line 8 of the fork's file")
    assert second[1] == Fit(Outcome.OFFSET, "+1 lines; function g is there already, at line 9 of the fork's file")


def test_each_hunk_is_told_of_its_own_doubles() -> None:
    one, other = hunk(1, "b\n"), hunk(4, "c\n")
    twice = Twice(PATH, 9, "statement", "b", 12, 5, "b", "upstream", "the fork")

    told = told_by_hunk([(one, Fit(None)), (other, Fit(None))], [double(2, 2, 9, 5)], [twice])

    assert told == {one: twice.said}
