"""Lines that landed in another function than in upstream, and names that the fork writes otherwise."""

import pytest

from forkguard.core.findings import Kind, Severity
from forkguard.core.hunks import Change, Hunk
from forkguard.core.landing import stray_finding, strays
from forkguard.core.names import TreePath
from forkguard.core.own_names import only_unit, own_names, unit_around, with_own_names

ONE = "void one() {\n    a();\n}\n"
TWO = "void two() {\n    a();\n}\n"
LINE = ("    added();\n",)
AFTER = (TWO.replace("    a();\n", "    a();\n    added();\n")).encode()
HUNK = Hunk("@@ -1,3 +1,4 @@", 0, (), (), (Change(2, (), LINE),))


def test_lines_in_the_same_function_are_at_home() -> None:
    merged = (ONE + TWO.replace("    a();\n", "    a();\n    added();\n")).encode()

    assert strays([HUNK], placed=[Change(5, (), LINE)], after=AFTER, merged=merged) == ()


def test_lines_stand_as_much_lower_as_the_changes_before_them_grew_the_file() -> None:
    first, second = Change(1, ("    a();\n",), ("    x();\n",) * 4), Change(5, (), LINE)
    merged = (
        ONE.replace("    a();\n", "    x();\n" * 4) + TWO.replace("    a();\n", "    a();\n    added();\n")
    ).encode()
    hunk = Hunk("@@ -1,6 +1,10 @@", 0, (), (), (first, second))

    assert strays([hunk], placed=[first, second], after=merged, merged=merged) == ()

    (stray,) = strays([hunk], placed=[first, second], after=merged, merged=merged.replace(b"two", b"three"))
    assert (stray.wanted, stray.found, stray.line) == ("two", "three", 9)


def test_lines_in_another_function_are_a_hazard() -> None:
    merged = (ONE.replace("    a();\n", "    a();\n    added();\n") + TWO).encode()

    (stray,) = strays([HUNK], placed=[Change(2, (), LINE)], after=AFTER, merged=merged)

    assert (stray.wanted, stray.found, stray.line, stray.known) == ("two", "one", 3, True)
    finding = stray_finding(stray, TreePath("src/a.cpp"))
    assert (finding.kind, finding.severity, finding.symbol) == (Kind.HAZARD, Severity.CORRUPTION, "one")


def test_runs_of_two_places_that_landed_as_one_are_both_found() -> None:
    more = ("    more();\n",)
    after = (TWO.replace("    a();\n", "    added();\n    a();\n    more();\n")).encode()
    merged = (ONE.replace("    a();\n", "    a();\n    added();\n    more();\n") + TWO).encode()
    hunk = Hunk("@@ -1,3 +1,5 @@", 0, (), (), (Change(1, (), LINE), Change(2, (), more)))

    found = strays([hunk], placed=[Change(2, (), LINE + more)], after=after, merged=merged)

    assert [(stray.text, stray.wanted, stray.found, stray.line) for stray in found] == [
        (LINE[0], "two", "one", 3), (more[0], "two", "one", 4),
    ]  # fmt: skip


def test_a_function_that_the_fork_calls_otherwise_is_only_a_remark() -> None:
    merged = ONE.replace("    a();\n", "    a();\n    added();\n").encode()

    (stray,) = strays([HUNK], placed=[Change(2, (), LINE)], after=AFTER, merged=merged)

    assert not stray.known
    assert stray_finding(stray, TreePath("src/a.cpp")).severity is Severity.CHANGE


def test_lines_outside_of_any_function() -> None:
    merged = (TWO + "    added();\n").encode()

    (stray,) = strays([HUNK], placed=[Change(3, (), LINE)], after=AFTER, merged=merged)

    assert stray.found == ""
    assert "landed in no function" in stray_finding(stray, TreePath("a.cpp")).title


def test_lines_that_end_one_function_and_begin_another_belong_to_neither() -> None:
    bridge = ("}\n", "void two() {\n")
    after = b"void one() {\n    a();\n}\nvoid two() {\n    a();\n}\n"
    merged = after + b"void three() {\n    a();\n}\nvoid two() {\n    a();\n}\n"
    hunk = Hunk("@@ -1,3 +1,5 @@", 0, (), (), (Change(2, (), bridge),))

    assert strays([hunk], placed=[Change(8, (), bridge)], after=after, merged=merged) == ()


BEFORE = b"void f(int cur) {\n    g(cur);\n    h(cur, 1);\n    k(cur, 2);\n}\n"
NEW = BEFORE.replace(b"}", b"    m(cur); // cur\n}")
OURS = BEFORE.replace(b"cur", b"inp")


def test_a_name_is_taken_over_from_enough_witnesses() -> None:
    names = own_names(before=BEFORE, after=NEW, ours=OURS, known={})

    assert names.local == {"f": {"cur": "inp"}}
    assert with_own_names(NEW, names) == OURS.replace(b"}", b"    m(inp); // cur\n}")


def test_a_name_that_the_function_uses_already_is_no_renaming() -> None:
    names = own_names(before=BEFORE, after=NEW.replace(b"m(cur)", b"m(cur, inp)"), ours=OURS, known={})

    assert not names


def test_a_name_that_the_fork_keeps_as_well_is_no_renaming() -> None:
    names = own_names(before=BEFORE, after=NEW, ours=OURS.replace(b"k(inp, 2)", b"k(cur, 2)"), known={})

    assert not names


def test_members_and_calls_are_never_local_names() -> None:
    source = b"void f(int cur) { x.cur = cur; cur(); a::cur; }\n"

    assert with_own_names(source, own_names(before=BEFORE, after=NEW, ours=OURS, known={})) == (
        b"void f(int inp) { x.cur = inp; cur(); a::cur; }\n"
    )


def test_names_that_a_person_gave_count_everywhere_and_without_a_file_of_the_forks() -> None:
    alone = own_names(before=BEFORE, after=NEW, ours=None, known={"g": "g2", "absent": "x"})
    assert (alone.everywhere, alone.local, bool(alone)) == ({"g": "g2"}, {}, True)
    both = own_names(before=BEFORE, after=NEW, ours=OURS, known={"h": "h2", "m": "m2"})
    assert (both.everywhere, both.local) == ({"m": "m2"}, {"f": {"cur": "inp"}})
    said = own_names(before=BEFORE, after=NEW, ours=OURS, known={"cur": "inp"})
    assert (said.everywhere, said.local) == ({"cur": "inp"}, {})


def test_a_function_that_stands_twice_shows_no_names() -> None:
    assert not own_names(before=BEFORE, after=NEW + NEW, ours=OURS, known={})
    assert not own_names(before=BEFORE, after=NEW, ours=OURS + OURS, known={})


TWO_UNITS = b"int a;\n\nvoid f() {\n    g();\n}\nvoid h() {\n    k();\n}\n"


@pytest.mark.parametrize(
    ("first", "last", "symbol"),
    [(2, 5, "f"), (3, 4, "f"), (4, 5, "f"), (5, 8, "h"), (4, 6, None), (2, 2, "f"), (1, 3, None), (8, 9, None)],
)
def test_the_unit_around_lines_holds_them_wholly(first: int, last: int, symbol: str | None) -> None:
    unit = unit_around(TWO_UNITS, first, last)
    assert (unit.symbol if unit else None) == symbol


def test_the_only_unit_of_a_name() -> None:
    unit = only_unit(TWO_UNITS, "h")
    assert unit is not None
    assert unit.text.startswith(b"void h()")
    assert only_unit(TWO_UNITS, "x") is None
    assert only_unit(TWO_UNITS + TWO_UNITS, "h") is None
