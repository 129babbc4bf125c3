"""Which pure additions are joined, in which order, and which are left to a person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.additive import joined
from forkguard.core.merges import Region

SWITCH = ["switch (arch) {\n", "    case ARCH_OLD:\n", "        return 1;\n"]
RUNNING_IN = SWITCH[:2]
TABLE = ["static const std::map<int, const char *> NAMES = {\n", '    { ARCH_OLD, "old" },\n']
ENUM = ["enum arch {\n", "    ARCH_OLD,\n"]
CALL = ["set(\n", "    ARCH_OLD,\n"]
BODY = ["void f() {\n", "    old();\n"]


def join(ours: str, theirs: str, above: list[str], *, base: str = "") -> str | None:
    sides = [tuple(text.splitlines(keepends=True)) for text in (ours, base, theirs)]
    found = joined(Region(len(above) + 1, *sides), above=above)
    return "".join(found.lines) if found else None


A, B = "    case ARCH_A:\n", "    case ARCH_B:\n"
A_ENDS, B_ENDS = f"{A}        return 2;\n", f"{B}        return 3;\n"
A_BLOCK = f"{A}        {{ int x = 2; return x; }}\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "above", "expected"),
    [
        (A, B, SWITCH, B + A),
        (A, B, RUNNING_IN, B + A),
        (A_ENDS, B_ENDS, SWITCH, B_ENDS + A_ENDS),
        (A, B_ENDS, SWITCH, B_ENDS + A),
        (A_ENDS, B, SWITCH, A_ENDS + B),
        (A + B, B, SWITCH, A + B),
        (A_BLOCK, B_ENDS, SWITCH, B_ENDS + A_BLOCK),
        ('    { ARCH_A, "a" },\n', '    { ARCH_B, "b" },\n', TABLE, '    { ARCH_B, "b" },\n    { ARCH_A, "a" },\n'),
        (
            "    { ARCH_A, {\n        1,\n    } },\n",
            "    { ARCH_B, { 2 } },\n",
            TABLE,
            "    { ARCH_B, { 2 } },\n    { ARCH_A, {\n        1,\n    } },\n",
        ),
        ("    ARCH_A,\n", "    ARCH_B, // why\n", ENUM, "    ARCH_B, // why\n    ARCH_A,\n"),
        ("#include <a>\n", '#include "b.h"\n', ["#pragma once\n"], '#include "b.h"\n#include <a>\n'),
    ],
)
def test_joined(ours: str, theirs: str, above: list[str], expected: str) -> None:
    assert join(ours, theirs, above) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "above", "base"),
    [
        (A, B, SWITCH, "    case ARCH_GONE:\n"),
        (A_ENDS, B, RUNNING_IN, ""),
        (A, B_ENDS, RUNNING_IN, ""),
        (A_ENDS, f"{A}        return 9;\n", SWITCH, ""),
        (f"{A}        count();\n", B_ENDS, SWITCH, ""),
        (f"        return 7;\n{A}", B, SWITCH, ""),
        (A, "    default:\n", SWITCH, ""),
        ('    { ARCH_A, "a" },\n', '    { ARCH_A, "b" },\n', TABLE, ""),
        ('    { ARCH_A, "a" },\n', "    ARCH_B,\n", TABLE, ""),
        ('    { ARCH_A, "a" }\n', '    { ARCH_B, "b" }\n', TABLE, ""),
        ("    ARCH_A,\n", "    ARCH_B,\n", CALL, ""),
        ("    ARCH_A = 3,\n", "    ARCH_B = 3,\n", ENUM, ""),
        ("    one();\n", "    two();\n", BODY, ""),
        ("#include <a>\n", "#define A\n", ["#pragma once\n"], ""),
        ("", B, SWITCH, ""),
    ],
)
def test_left_to_a_person(ours: str, theirs: str, above: list[str], base: str) -> None:
    assert join(ours, theirs, above, base=base) is None


NAMES = st.lists(st.sampled_from([f"ARCH_{letter}" for letter in "ABCDEFGH"]), min_size=1, max_size=5, unique=True)


@given(ours=NAMES, theirs=NAMES)
def test_nothing_is_lost_doubled_or_put_out_of_order(ours: list[str], theirs: list[str]) -> None:
    mine, new_ones = ("".join(f"    {name},\n" for name in names) for names in (ours, theirs))
    text = join(mine, new_ones, ENUM)

    assert text is not None
    names = [line.strip(" ,\n") for line in text.splitlines()]
    assert sorted(names) == sorted({*ours, *theirs})
    new = [name for name in theirs if name not in ours]
    assert names == [*new, *ours]


def how(ours: str, theirs: str, above: list[str]) -> str:
    sides = [tuple(text.splitlines(keepends=True)) for text in (ours, "", theirs)]
    found = joined(Region(len(above) + 1, *sides), above=above)
    return found.how if found else ""


def test_the_order_is_told_with_what_was_there_already() -> None:
    theirs_first = "upstream's first, the fork's own behind them"
    assert how(A_ENDS, B_ENDS, SWITCH) == f"both sides add to the same switch: {theirs_first}"
    assert how(A_ENDS, B, SWITCH) == (
        "both sides add to the same switch: the fork's own, which end, before upstream's, which fall through"
    )
    assert how(A + B, B, SWITCH).endswith(f"{theirs_first}; 1 of upstream's were there already")
    assert how("    ARCH_A,\n", "    ARCH_B,\n", ENUM) == f"both sides add to the same enumeration: {theirs_first}"
    assert how("#include <a>\n", "#include <b>\n", []) == f"both sides add to the same include list: {theirs_first}"
    row = '    { ARCH_A, "a" },\n'
    assert how(row, row.replace("A", "B"), TABLE) == f"both sides add to the same table: {theirs_first}"


C, D = "    case ARCH_C:\n", "    case ARCH_D:\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "above", "expected"),
    [
        ("    ARCH_A,\n", "    ARCH_B,\n", ["enum arch\n", "{\n", "    ARCH_OLD,\n"], "    ARCH_B,\n    ARCH_A,\n"),
        (
            '    { ARCH_A, "a" },\n',
            '    { ARCH_B, "b" },\n',
            ["static const std::map<int, const char *> NAMES =\n", "{\n"],
            '    { ARCH_B, "b" },\n    { ARCH_A, "a" },\n',
        ),
        ("    ARCH_A,\n\n", "\n    ARCH_B,\n", ENUM, "    ARCH_B,\n    ARCH_A,\n"),
        ("#include <a>\n\n", "\n#include <b>\n", [], "#include <b>\n#include <a>\n"),
        (A, B, ["switch (arch) {\n", "    case ARCH_OLD: { if (x) { y(); } return 1; }\n"], B + A),
        (f"{A}        x(); break;\n", B_ENDS, SWITCH, f"{B_ENDS}{A}        x(); break;\n"),
        (f"{A}        {{ x(); }} break;\n", B_ENDS, SWITCH, f"{B_ENDS}{A}        {{ x(); }} break;\n"),
        (A + C + "        return 2;\n", B, SWITCH, A + C + "        return 2;\n" + B),
        (A_ENDS, B_ENDS + D + "        return 5;\n", SWITCH, B_ENDS + D + "        return 5;\n" + A_ENDS),
    ],
)
def test_entries_are_joined_around_blank_lines_blocks_and_braces(
    ours: str, theirs: str, above: list[str], expected: str
) -> None:
    assert join(ours, theirs, above) == expected


def test_bytes_that_are_no_utf_8_are_joined_like_others() -> None:
    odd = "    // \udcff\n"
    ends = f"{A}{odd}        return 2;\n"
    assert join(ends, B_ENDS, [*SWITCH, odd]) == B_ENDS + ends
    row = '    { ARCH_A, "\udcff" },\n'
    assert join(row, '    { ARCH_B, "b" },\n', [*TABLE, odd]) == '    { ARCH_B, "b" },\n' + row


def test_a_base_of_blank_lines_was_empty() -> None:
    assert join(A, B, SWITCH, base="\n") == B + A


@pytest.mark.parametrize(
    ("ours", "theirs", "above"),
    [
        (A_ENDS, B_ENDS, ["switch (arch) {\n", "    default:\n", "\n"]),
        (A_ENDS + C, B, SWITCH),
        (A + A, B, SWITCH),
        (A, B + B, SWITCH),
        (f"{A_ENDS}}}\n", B_ENDS, SWITCH),
        (f"{A}        {{ return 2;\n", B_ENDS, SWITCH),
        (f"{A}        if (x) return 2;\n", B_ENDS, SWITCH),
        (f"{A}        {{ }}\n", B_ENDS, SWITCH),
        (f"{A}        if (x) {{ return 2; }}\n", B_ENDS, SWITCH),
        (A, B, ["switch (arch) {\n", "    case ARCH_OLD: return 1;\n", "}\n"]),
        ('    { 3, "a" },\n', '    { 4, "b" },\n', TABLE),
        ("    { ARCH_A },\n", "    { ARCH_B },\n", TABLE),
        ("    { ARCH_A : 1 },\n", "    { ARCH_B : 2 },\n", TABLE),
        ("    f(ARCH_A, 1),\n", "    f(ARCH_B, 1),\n", TABLE),
        ('    { ARCH_A, "a" },\n    { ARCH_C,\n', '    { ARCH_B, "b" },\n', TABLE),
        ('    { ARCH_A, "a" },\n}\n', '    { ARCH_B, "b" },\n', TABLE),
        ('    { ARCH_A, "a" },\n', '    { ARCH_B, "b" },\n', CALL),
        ("    3,\n", "    4,\n", ENUM),
        ("    ARCH_A;\n", "    ARCH_B;\n", ENUM),
    ],
)
def test_what_is_no_whole_entry_or_stands_twice_is_left_to_a_person(ours: str, theirs: str, above: list[str]) -> None:
    assert join(ours, theirs, above) is None
