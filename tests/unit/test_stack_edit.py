"""Edits of a series and of a manifest: what is moved, and that nothing else changes."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.names import CommitHash
from forkguard.core.patchset import NAME, State, parse_manifest
from forkguard.core.stack_edit import (
    End,
    Place,
    imported_manifest,
    moved,
    name_from,
    names_of,
    number_of,
    with_state,
    without,
)
from forkguard.errors import UsageProblem

NAMES = st.lists(st.sampled_from([f"p{number}" for number in range(12)]), unique=True, min_size=2)
NOISE = st.sampled_from(["", "\n", "# a remark\n", "\n# why\n"])


@st.composite
def series(draw: st.DrawFn) -> tuple[str, list[str]]:
    names = draw(NAMES)
    lines = [draw(NOISE) + name + draw(st.sampled_from(["", " -p1", "  # kept"])) + "\n" for name in names]
    text = "".join(lines) + draw(NOISE)
    return (text.rstrip("\n") if draw(st.booleans()) else text), names


@given(series(), st.data())
def test_moving_changes_the_order_and_nothing_else(made: tuple[str, list[str]], data: st.DataObject) -> None:
    text, names = made
    name = data.draw(st.sampled_from(names))
    rest = [each for each in names if each != name]
    anchor = data.draw(st.sampled_from(rest))
    places = {
        Place(before=anchor): rest.index(anchor),
        Place(after=anchor): rest.index(anchor) + 1,
        Place(end=End.FIRST): 0,
        Place(end=End.LAST): len(rest),
    }
    place = data.draw(st.sampled_from(sorted(places, key=repr)))

    result = moved(text, name, place, file="series")

    assert list(names_of(result, file="series")) == [*rest[: places[place]], name, *rest[places[place] :]]
    assert sorted(result.splitlines()) == sorted(text.splitlines())
    assert moved(result, name, place, file="series") == result


@given(series(), st.data())
def test_taking_out_takes_one_line(made: tuple[str, list[str]], data: st.DataObject) -> None:
    text, names = made
    name = data.draw(st.sampled_from(names))

    result = without(text, name, file="series")

    assert list(names_of(result, file="series")) == [each for each in names if each != name]
    assert len(result.splitlines()) == len(text.splitlines()) - 1


@pytest.mark.parametrize("place", [Place(before="zz"), Place(after="a"), Place(before="a")])
def test_a_place_that_is_none(place: Place) -> None:
    with pytest.raises(UsageProblem):
        moved("a\nb\n", "a", place, file="series")


def test_a_patchset_that_is_not_listed() -> None:
    with pytest.raises(UsageProblem, match="c is not in the stack"):
        moved("a\nb\n", "c", Place(end=End.FIRST), file="series")


MANIFEST = """\
# keep me
title = "one"  # and me
state = "carried"
why = "because"

[[follow-ups]]
pull = 9
"""


def test_a_state_with_its_reason() -> None:
    disabled = with_state(MANIFEST, State.DISABLED, reason='it "crashes"')

    manifest = parse_manifest(disabled, name="x")
    assert (manifest.state, manifest.reason) == (State.DISABLED, 'it "crashes"')
    assert disabled.startswith('# keep me\ntitle = "one"  # and me\nstate = "disabled"\n')
    assert manifest.follow_ups[0].pull == 9
    again = with_state(disabled, State.DISABLED, reason="other")
    assert parse_manifest(again, name="x").reason == "other"
    assert with_state(again, State.CARRIED, reason=None) == MANIFEST


def test_an_imported_manifest_is_a_manifest() -> None:
    text = imported_manifest("a", title='a "title"\\', base=CommitHash("b" * 40), upstream=[CommitHash("c" * 40)])

    manifest = parse_manifest(text, name="x")
    assert (manifest.title, manifest.state, manifest.base) == ('a "title"\\', State.CARRIED, "b" * 40)
    assert tomllib.loads(text)["upstream"] == ["c" * 40]


@given(st.text())
def test_any_text_gives_a_name(text: str) -> None:
    assert NAME.fullmatch(name_from(text))


@pytest.mark.parametrize("ending", [".patch", ".diff", ".eml", ""])
def test_a_name_loses_the_ending_of_a_patch(ending: str) -> None:
    assert name_from(f"0003-moe: add (x)..y{ending}") == "0003-moe-add-x-.y"


def test_a_name_that_git_keeps_for_itself_loses_that_ending() -> None:
    assert (name_from("a.lock"), name_from("???"), name_from("a" * 70)) == ("a", "patch", "a" * 64)


def test_numbers() -> None:
    assert [number_of(name) for name in ("0001-a.patch", "12_b", "27383", "a-1")] == [1, 12, None, None]
