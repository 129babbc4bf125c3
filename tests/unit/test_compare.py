"""Three sides of one unit: what is missing, what is stale, and what is only written otherwise."""

from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.compare import Comparison, compare, infer_renames
from tests.support.cxx import NAMES, distinct_statements, function, pieces_of, statements


def sides(*, upstream: list[str], fork: list[str], base: list[str]) -> Comparison:
    def of(lines: list[str]) -> tuple:  # type: ignore[type-arg]
        return pieces_of(function(lines))

    return compare(upstream=of(upstream), fork=of(fork), base=of(base))


def missing(result: Comparison) -> list[str]:
    return [one.piece.text for one in result.missing]


def words(statement: str) -> str:
    return pieces_of(function([statement]))[-1].text


@given(statements)
def test_the_same_three_times_differs_in_nothing(lines: list[str]) -> None:
    result = sides(upstream=lines, fork=lines, base=lines)
    assert (result.missing, result.stale) == ((), ())
    assert result.matched == {i: i for i in range(len(pieces_of(function(lines))))}


@given(statements, st.data())
def test_one_statement_deleted_is_exactly_that_one_missing(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    fork = lines[:at] + lines[at + 1 :]
    result = sides(upstream=lines, fork=fork, base=lines)
    assert missing(result) == [words(lines[at])]
    assert result.missing[0].in_base
    assert result.stale == ()


@given(statements, st.data())
def test_one_statement_that_upstream_added_is_not_in_the_base(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines)))
    new = data.draw(st.sampled_from([*lines, "fresh_of(cur);"]))
    result = sides(upstream=[*lines[:at], new, *lines[at:]], fork=lines, base=lines)
    assert missing(result) == [words(new)]
    assert not result.missing[0].in_base
    assert result.stale == ()


@given(statements, st.data())
def test_one_statement_that_upstream_dropped_is_stale(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    result = sides(upstream=lines[:at] + lines[at + 1 :], fork=lines, base=lines)
    assert missing(result) == []
    assert [pieces_of(function(lines))[one.index].text for one in result.stale] == [words(lines[at])]


@given(statements, st.randoms(use_true_random=False))
def test_order_makes_no_difference(lines: list[str], random: object) -> None:
    fork = list(lines)
    random.shuffle(fork)  # type: ignore[attr-defined]
    result = sides(upstream=lines, fork=fork, base=lines)
    assert (result.missing, result.stale) == ((), ())


@given(distinct_statements, st.sampled_from(NAMES))
def test_a_name_of_the_forks_own_makes_no_difference(lines: list[str], name: str) -> None:
    """With two witnesses that fit only one name; without, a change is a change."""
    lines = [*lines, f"witness_of({name});", f"second_of({name}, 1);"]
    fork = [line.replace(name, "inpL") for line in lines]
    result = sides(upstream=lines, fork=fork, base=lines)
    assert result.renames == {name: "inpL"}
    assert (result.missing, result.stale) == ((), ())


@given(distinct_statements, st.data())
def test_with_other_names_the_missing_statement_is_still_the_only_one(lines: list[str], data: st.DataObject) -> None:
    lines = [*lines, "witness_of(cur);", "second_of(cur, 1);"]
    at = data.draw(st.integers(0, len(lines) - 3))
    fork = [line.replace("cur", "inpL") for line in lines[:at] + lines[at + 1 :]]
    assert missing(sides(upstream=lines, fork=fork, base=lines)) == [words(lines[at])]


@given(statements, st.data())
def test_what_was_removed_and_put_back_is_there(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines) - 1))
    back = [*lines[:at], *lines[at + 1 :], lines[at]]
    assert missing(sides(upstream=lines, fork=back, base=lines)) == []


def test_a_single_witness_is_no_renaming() -> None:
    result = sides(upstream=["a = b;", "c(d);"], fork=["a = z;", "c(d);"], base=["a = b;", "c(d);"])
    assert result.renames == {}
    assert missing(result) == ["a = b ;"]
    assert result.missing[0].in_base
    assert result.missing[0].replaced


def test_two_names_exchanged_are_a_change() -> None:
    lines = ["f(cur, prev);", "g(cur, prev);", "h(cur, prev);"]
    fork = ["f(prev, cur);", "g(prev, cur);", "h(prev, cur);"]
    assert len(missing(sides(upstream=lines, fork=fork, base=lines))) == 3


def test_members_calls_and_types_are_no_local_names() -> None:
    ours = pieces_of(function(["x->keys = old_of(a);", "x->keys = old_of(b);"]))
    theirs = pieces_of(function(["x->vals = new_of(a);", "x->vals = new_of(b);"]))
    assert infer_renames(ours=ours, theirs=theirs) == {}


def test_a_missing_piece_knows_behind_which_piece_it_belongs() -> None:
    result = sides(upstream=["a();", "b();", "c();"], fork=["a();", "c();"], base=["a();", "c();"])
    one = result.missing[0]
    assert one.after is not None
    assert (one.after.text, one.replaced, one.in_base) == ("a ( ) ;", False, False)


def test_a_duplicate_is_counted() -> None:
    result = sides(upstream=["a();", "a();", "a();"], fork=["b();"], base=["a();"])
    assert [one.in_base for one in result.missing] == [True, False, False]


def test_of_two_equal_lines_the_one_whose_surroundings_differ_is_missing() -> None:
    both = ["first(cur);", "cur = scale(cur);", "second(cur);", "cur = scale(cur);", "third(cur);"]
    result = sides(upstream=both, fork=["first(cur);", "cur = half(cur);", *both[2:]], base=both)
    assert [(one.piece.line, one.replaced) for one in result.missing] == [(4, True)], "the first of the two"
    assert result.matched == {i: i for i in (0, 1, 2, 4, 5, 6)}


def test_of_two_equal_neighbours_the_later_one_is_missing_as_git_blame_tells_it() -> None:
    after = ["one(cur);", "two(cur);", "three(cur);"]
    result = sides(upstream=["x();", "x();", *after], fork=["x();", *after], base=["x();", *after])
    assert [one.piece.line for one in result.missing] == [4]
    pair = sides(upstream=["x();", "y();", "x();", "y();", *after], fork=["x();", "y();", *after], base=after)
    assert [one.piece.line for one in pair.missing] == [5, 6]


def test_a_line_that_upstream_dropped_and_the_fork_dropped_too_is_nothing() -> None:
    result = sides(upstream=["a();"], fork=["a();"], base=["a();", "b();"])
    assert (result.missing, result.stale) == ((), ())


def test_the_forks_own_lines_are_nothing() -> None:
    result = sides(upstream=["a();"], fork=["ours();", "a();", "more();"], base=["a();"])
    assert (result.missing, result.stale) == ((), ())


def test_a_side_without_the_unit() -> None:
    assert missing(compare(upstream=pieces_of("void f() { a(); }"), fork=(), base=())) == ["void f ( )", "a ( ) ;"]
    assert compare(upstream=(), fork=pieces_of("void f() { a(); }"), base=()).stale == ()


def test_pieces_are_named_by_their_places() -> None:
    result = sides(
        upstream=["z();", "a();", "c();", "d();"],
        fork=["z();", "ours();", "a();", "b();", "d();"],
        base=["a();", "b();"],
    )
    assert [(one.piece.text, one.index) for one in result.missing] == [("c ( ) ;", 4)]
    assert [(one.piece.text, one.index) for one in result.stale] == [("b ( ) ;", 5)]
    assert dict(result.matched) == {0: 0, 1: 1, 2: 2, 3: 4, 5: 6}
    absent = compare(upstream=pieces_of("void f() { a(); }"), fork=(), base=())
    assert [(one.index, one.after, one.in_base, one.replaced) for one in absent.missing] == [
        (0, None, False, False), (1, None, False, False),
    ]  # fmt: skip
    plain = compare(
        upstream=pieces_of("void f() { a(); b(); }"), fork=pieces_of("void f() { b(); }"), base=()
    ).missing  # fmt: skip
    assert [(one.piece.text, one.after and one.after.text) for one in plain] == [("a ( ) ;", "void f ( )")]


def test_only_lines_of_the_forks_in_that_very_place_replace_a_missing_one() -> None:
    base = ["a();", "b();", "c();"]
    for fork, replaced in (
        (["a();", "mine();", "c();"], True),
        (["mine();", "a();", "c();"], False),
        (["a();", "c();", "mine();"], False),
    ):
        (one,) = sides(upstream=base, fork=fork, base=base).missing
        assert (one.piece.text, one.replaced) == ("b ( ) ;", replaced)
    (last,) = sides(upstream=base, fork=["a();", "b();", "mine();"], base=base).missing
    assert last.replaced


def renames(theirs: list[str], ours: list[str]) -> dict[str, str]:
    return infer_renames(ours=pieces_of(function(ours)), theirs=pieces_of(function(theirs)))


def test_a_renaming_needs_two_witnesses_and_no_strong_rival() -> None:
    two, three, four = ([f"{name}(cur);" for name in "abcd"[:count]] for count in (2, 3, 4))
    assert renames(two, ["a(inp);", "b(inp);"]) == {"cur": "inp"}
    assert renames(three, ["a(inp);", "b(inp);", "c(tmp);"]) == {}
    assert renames(four, ["a(inp);", "b(inp);", "c(inp);", "d(tmp);"]) == {"cur": "inp"}
    assert renames([*two, "c(old);", "d(old);"], ["a(x);", "b(x);", "c(x);", "d(x);"]) == {}
    assert renames(two, two) == {}
    assert renames(["a(true);", "b(true);"], ["a(false);", "b(false);"]) == {}
    assert renames(["a(_x);", "b(_x);"], ["a(y);", "b(y);"]) == {"_x": "y"}


def test_a_line_that_both_have_is_no_witness() -> None:
    assert renames(["a(cur);", "a(cur);", "b(cur);"], ["a(cur);", "a(inp);", "b(inp);"]) == {"cur": "inp"}


def test_lines_of_which_the_fork_has_fewer_do_not_outvote_those_that_pair_up() -> None:
    lines = ["cur = norm_of(prev, 1);", "prev = norm_of(cur, 1);", "a(cur);", "b(cur, 1);"]
    fork = ["prev = norm_of(inp, 1);", "a(inp);", "b(inp, 1);"]
    assert renames(lines, fork) == {"cur": "inp"}
    assert missing(sides(upstream=lines, fork=fork, base=lines)) == ["cur = norm_of ( prev , 1 ) ;"]
    fewer = ["a(cur, 1);", "b(cur, 1);", "b(cur, 2);", "a(cur, 1); "]
    assert renames(fewer, ["a(inp, 1);", "b(inp, 1);", "b(inp, 2);"]) == {"cur": "inp"}
