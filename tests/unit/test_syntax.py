"""C++ as units and pieces: names, places, guards, loops, outcomes; whatever the bytes are."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forkguard.core.pieces import Piece, PieceKind, tokens_of
from forkguard.core.syntax import parse, plain_name, verbatim
from tests.support.cxx import pieces_of

WORDS = ("res", "->", "t_inp", "[", "il", "]", "=", "cur", ";", "1.5e-3f", '"a // b"', "'\\''", "::", "<<=", "0x1F")
GAPS = (" ", "\n", "\t", "\r\n", " // why\n", "/* a\n * b */", "/**/ ", '  /* " */\n')


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=20))
def test_tokens_are_blind_to_white_space_and_comments(parts: list[tuple[str, str]]) -> None:
    source = "".join(word + gap for word, gap in parts)
    assert tokens_of(source.encode()) == tuple(word for word, _ in parts)


def test_a_raw_string_is_one_token() -> None:
    assert tokens_of(b'R"x(a " // b)x" ;') == ('R"x(a " // b)x"', ";")


@given(st.binary(max_size=400))
@example(b"void f() { if (x) { switch (y) { case ")
@example(b"\xff\xfe#if\n}}}} template<<<< struct {{")
def test_parsing_never_raises_and_places_are_inside(source: bytes) -> None:
    parsed = parse(source)
    count = source.count(b"\n") + 1
    for unit in parsed.units:
        for piece in unit.pieces:
            assert 0 <= piece.start <= piece.end <= len(source)
            assert 1 <= piece.line <= piece.last <= count


code = st.lists(
    st.sampled_from([
        "void f(", "int n", ")", "{", "}", "for (;;)", "if (a)", "else", "switch (x)", "case LLM_ARCH_A:", "default:",
        "return true;", "x = y;", "struct s", ": public t", ";", "enum e", "= {", "{ A, 1 },", "#if X\n", "#endif\n",
        "x == LLM_ARCH_B ||", "[&](int q)", "template <typename T>", "namespace n", "do", "while (b);", "\n",
    ]),
    max_size=40,
).map(" ".join)  # fmt: skip


@given(code)
def test_halves_of_code_never_raise(source: str) -> None:
    for piece in pieces_of(source):
        assert piece.text == " ".join(piece.tokens)


@pytest.mark.parametrize(
    "source",
    [
        b"void f(){ x = " + b"(" * 4000 + b"1" + b")" * 4000 + b"; }",
        b"void f(){" + b"if(a)" * 4000 + b";}",
        b"void f(){" + b"{" * 4000 + b"}" * 4000 + b"}",
        b"int a = " + b"1+" * 6000 + b"1;",
        b"namespace a{" * 6000,
        b"void f(){ if (" + b" || ".join(b"x == LLM_ARCH_A%d" % i for i in range(4000)) + b") return; }",
    ],
    ids=["parentheses", "branches", "blocks", "sum", "namespaces", "chain"],
)
def test_nesting_deeper_than_the_stack_is_read_in_larger_pieces(source: bytes) -> None:
    parsed = parse(source)
    assert sum(len(unit.pieces) for unit in parsed.units) >= 1
    assert parsed.broken in {True, False}


# -- units ---------------------------------------------------------------------------------------------


def test_units_have_qualified_names_without_template_arguments() -> None:
    source = """
#include "x.h"
namespace inner {
static int helper(int a) { return a; }
}
template <bool iswa> box::graph<iswa>::graph(int n) : base(n) { run(n); }
struct box : public shelf {
    struct graph : public base { graph(int n); };
    bool has(int n) const { return n > 0; }
};
enum kind { KIND_A, KIND_B };
static const std::map<kind, int> TABLE = { { KIND_A, 1 }, { KIND_B, 2 }, { KIND_C, 3 } };
"""
    assert [unit.symbol for unit in parse(source.encode()).units if unit.symbol] == [
        "helper", "box::graph::graph", "box", "box::graph", "box::graph::graph", "box::has", "kind", "TABLE",
    ]  # fmt: skip


def test_plain_names() -> None:
    assert plain_name(b"a<b<c>, d>::e <f>") == "a::e"


# -- pieces --------------------------------------------------------------------------------------------


def row(piece: Piece) -> tuple[str, str, str]:
    return piece.kind.value, piece.text, piece.outcome


def test_a_loop_and_a_branch_are_headers_around_statements() -> None:
    source = "void f(int n) {\n    for (int i = 0; i < n; ++i) {\n        if (i > 1) {\n            a(i);\n        } else {\n            b(i);\n        }\n    }\n    c();\n}\n"  # noqa: E501
    head, loop, branch, a, b, c = pieces_of(source)
    assert [piece.kind for piece in (head, loop, branch)] == [PieceKind.HEADER] * 3
    assert (a.text, a.line, a.loops, a.guards) == (
        "a ( i ) ;", 4, ("for ( int i = 0 ; i < n ; ++ i )",), ("if ( i > 1 )",),
    )  # fmt: skip
    assert (b.text, b.guards) == ("b ( i ) ;", ("else of if ( i > 1 )",))
    assert (c.text, c.line, c.loops, c.guards) == ("c ( ) ;", 9, (), ())


def test_a_lambda_body_is_cut_into_statements() -> None:
    source = "void f() {\n    const auto g = [&](int il) {\n        one(il);\n        two(il);\n    };\n}\n"
    assert [piece.text for piece in pieces_of(source)[-2:]] == ["one ( il ) ;", "two ( il ) ;"]


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        ("do { one(); } while (two);", ["do", "one ( ) ;", "while ( two ) ;"]),
        ("go([&](int a) { one(a); }).then(two);", ["go ( [ & ] ( int a )", "one ( a ) ;", ") . then ( two ) ;"]),
        (
            "x = c ? [] { one(); } : [] { two(); };",
            ["x = c ? [ ]", "one ( ) ;", "two ( ) ;"],
        ),
        (
            "return std::count_if(v, [](int a) { return a; }) != n;",
            ["return std :: count_if ( v , [ ] ( int a )", "return a ;", ") != n ;"],
        ),
        (
            "struct less { int k; bool operator()(int a) const { return a < k; } } by = {1};",
            ["struct less", "int k ;", "bool operator ( ) ( int a ) const", "return a < k ;", "by = { 1 } ;"],
        ),
        ("run([] { one(); });", ["run ( [ ]", "one ( ) ;"]),
    ],
)
def test_what_stands_behind_a_body_is_a_piece_too(source: str, pieces: list[str]) -> None:
    assert [piece.text for piece in pieces_of(f"void f() {{\n    {source}\n}}\n")[1:]] == pieces


def test_a_constructor_keeps_its_body_behind_a_lambda_among_its_initializers() -> None:
    source = "memory::memory(int n) : a([](int) { return true; }), b(n, n_rs_seq) {\n    go();\n}\n"
    assert [piece.text for piece in pieces_of(source)] == [
        "memory :: memory ( int n ) : a ( [ ] ( int )", "return true ;", ") , b ( n , n_rs_seq )", "go ( ) ;",
    ]  # fmt: skip


def test_cases_carry_the_statement_that_they_lead_to() -> None:
    source = """bool f(kind k) {
    switch (k) {
        case LLM_ARCH_A: // first
        case LLM_ARCH_B:
            return true;
        case LLM_ARCH_C: {
            go();
            return false;
        }
        default:
            return false;
    }
}
"""
    cases = [(p.text, p.outcome, p.line) for p in pieces_of(source) if p.kind is PieceKind.CASE]
    assert cases == [
        ("case LLM_ARCH_A :", "return true ;", 3),
        ("case LLM_ARCH_B :", "return true ;", 4),
        ("case LLM_ARCH_C :", "go ( ) ;", 6),
        ("default :", "return false ;", 10),
    ]


def test_each_link_of_a_comparison_chain_is_a_piece_and_the_rest_has_a_mark() -> None:
    source = "int f(int a) {\n    if (a == LLM_ARCH_A ||\n        a == LLM_ARCH_B || slow(a)) {\n        return 40;\n    }\n    return 8;\n}\n"  # noqa: E501
    found = pieces_of(source)
    assert [row(piece) for piece in found if piece.kind is PieceKind.COMPARISON] == [
        ("comparison", "a == LLM_ARCH_A", "return 40 ;"),
        ("comparison", "a == LLM_ARCH_B", "return 40 ;"),
    ]
    assert "if ( <enumerated> || slow ( a ) )" in [piece.text for piece in found]


def test_a_returned_chain_of_speculative_types_is_cut_too() -> None:
    source = "bool f(int t) { return t == COMMON_SPECULATIVE_TYPE_X || t == COMMON_SPECULATIVE_TYPE_Y; }"
    assert [piece.enumerators for piece in pieces_of(source) if piece.kind is PieceKind.COMPARISON] == [
        ("COMMON_SPECULATIVE_TYPE_X",), ("COMMON_SPECULATIVE_TYPE_Y",),
    ]  # fmt: skip


def test_entries_of_tables_and_enumerations() -> None:
    source = 'static const map<int, const char *> T = {\n    { LLM_ARCH_A, "a" }, // one\n    { LLM_ARCH_B, "b" },\n    { LLM_ARCH_C, "c" },\n};\nenum e {\n    LLM_ARCH_A,\n    LLM_ARCH_B,\n};\n'  # noqa: E501
    entries = [(p.symbol, p.text, p.line) for p in pieces_of(source) if p.kind is PieceKind.ENTRY]
    assert entries == [
        ("T", '{ LLM_ARCH_A , "a" }', 2), ("T", '{ LLM_ARCH_B , "b" }', 3), ("T", '{ LLM_ARCH_C , "c" }', 4),
        ("e", "LLM_ARCH_A", 7), ("e", "LLM_ARCH_B", 8),
    ]  # fmt: skip


def test_includes_are_pieces() -> None:
    assert row(pieces_of('#include "a.h"\n')[0]) == ("include", '# include "a.h"', "")


def test_only_an_error_makes_a_file_broken() -> None:
    assert parse(b"void f( {{{ int = ; @@\n").broken
    assert not parse(b"int f() { return 1; }\n").broken
    assert [piece.text for piece in pieces_of("int ok() { a(); }\n@@ <<< merge\nint fine() { b(); }\n")].count(
        "b ( ) ;"
    ) == 1


def test_lines_lose_their_ends_and_line_numbers_agree() -> None:
    source = b"int a;\r\nvoid f() {\r\n    b();\r\n}\r\n"
    parsed = parse(source)
    piece = parsed.units[-1].pieces[-1]
    assert (piece.text, piece.line, parsed.lines[piece.line - 1]) == ("b ( ) ;", 3, "    b();")


def test_verbatim_text_loses_the_indent_of_its_first_line() -> None:
    source = b"x\n    for (;;) {\n        a();\n    }\n"
    start = source.index(b"for")
    assert verbatim(source, start, len(source) - 1) == "for (;;) {\n    a();\n}"


def test_the_root_of_a_member_is_its_class() -> None:
    member, free = parse(b"void box::lid::open() {\n    a();\n}\nvoid f() {\n    b();\n}\n").units
    assert (member.symbol, member.root) == ("box::lid::open", "box")
    assert free.root == "f"
