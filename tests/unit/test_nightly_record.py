"""The record of a night: written and read back, its schema, its story and how long it has not been green."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.nightly import (
    BadNight,
    Candidate,
    Night,
    NightGate,
    NightPatch,
    NightUpstream,
    NightVerdict,
    night_schema,
    read_night,
    story_of,
    streak,
    write_night,
)
from forkguard.core.nightly import NightCheck as Check
from forkguard.core.replay import PatchStatus

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "nightly.json"


def night(
    number: int = 1, verdict: NightVerdict = NightVerdict.RED, story: str = "s", *, hour: int = 3, **more: object
) -> Night:
    moment = f"2026-09-{number:02}T{hour:02}:00:00Z"
    return Night(
        id=f"202609{number:02}T{hour:02}0000Z", started=moment, finished=moment, verdict=verdict, reason="a reason",
        story=story, repeats=0, days_red=0, version="0.1.0", **more,  # type: ignore[arg-type]
    )  # fmt: skip


FULL = night(
    upstream=NightUpstream("upstream/master", "a" * 40, "b" * 40, 3, 7),
    stack=(NightPatch("27383", "0001-x.patch", PatchStatus.CONFLICT, breaking_commit="c" * 40),),
    gate=(NightGate("lfm2", "fail", "x/receipt.json", (Check("crash", "fail", "abort", "the first decode"),)),),
    candidate=Candidate("forkguard/candidate/2026-09-01", "d" * 40),
)


def test_a_record_is_read_back_as_it_was_written() -> None:
    text = write_night(FULL)
    document = json.loads(text)
    assert (document["schema"], document["upstream"]["from"]) == ("forkguard/nightly@1", "a" * 40)
    assert document["gate"][0]["checks"][0]["class"] == "abort"
    assert read_night(text) == FULL


def test_bytes_that_are_no_utf_8_become_readable() -> None:
    odd = replace(FULL, reason="a \udcff byte")
    assert read_night(write_night(odd).encode().decode()).reason == "a \ufffd byte"


def test_the_schema_in_the_docs_is_the_one_of_the_code_and_holds() -> None:
    assert json.loads(SCHEMA.read_text()) == night_schema()
    jsonschema.validate(json.loads(write_night(FULL)), night_schema())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"commits": 3', '"commits": -3', "upstream.commits"),
        ('"commits": 3', '"commits": 3, "more": 1', "upstream.more"),
        ('"verdict": "red"', '"verdict": "pink"', "verdict"),
        ("nightly@1", "nightly@2", "this is no forkguard/nightly@1"),
        ('"id": "2026', '"id": "../26', "id"),
        ("{", "[", "this is no JSON"),
    ],
)
def test_a_damaged_record_is_told(old: str, new: str, said: str) -> None:
    with pytest.raises(BadNight, match=said):
        read_night(write_night(FULL).replace(old, new, 1))


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(BadNight):
        read_night(text)


def test_the_same_failure_is_one_story_and_green_is_none() -> None:
    one = story_of(NightVerdict.RED, ["replay", "27383/0001-x.patch conflict"])
    assert one == story_of(NightVerdict.RED, ["27383/0001-x.patch conflict", "replay"])
    assert one != story_of(NightVerdict.COULD_NOT_RUN, ["replay", "27383/0001-x.patch conflict"])
    assert story_of(NightVerdict.GREEN, ["replay"]) == ""


def test_days_are_counted_since_green_and_repeats_while_the_story_is_the_same() -> None:
    nights = [
        night(1, NightVerdict.GREEN, ""),
        night(2, story="other"),
        night(3),
        night(3, hour=5),
        night(4, NightVerdict.COULD_NOT_RUN),
    ]
    now = streak(nights, started="2026-09-05T03:00:00Z", verdict=NightVerdict.RED, story="s")
    assert (now.days_red, now.repeats) == (4, 3)
    assert streak(nights, started="2026-09-05T03:00:00Z", verdict=NightVerdict.GREEN, story="") == type(now)(0, 0)
    first = streak(nights[:1], started="2026-09-05T03:00:00Z", verdict=NightVerdict.RED, story="s")
    assert (first.days_red, first.repeats) == (1, 0)


def test_a_clock_that_went_backwards_hides_no_night() -> None:
    nights = [night(9, NightVerdict.GREEN, ""), night(5)]
    now = streak(nights, started="2026-09-04T03:00:00Z", verdict=NightVerdict.RED, story="s")
    assert (now.days_red, now.repeats) == (2, 1)


def test_a_day_is_one_of_utc_and_another_story_ends_the_repeats() -> None:
    late = replace(night(2), started="2026-09-02T23:30:00-02:00")
    now = streak([late], started="2026-09-03T01:00:00Z", verdict=NightVerdict.RED, story="s")
    assert (now.days_red, now.repeats) == (1, 1)
    mixed = [night(1), night(2, story="other"), night(3)]
    now = streak(mixed, started="2026-09-04T03:00:00Z", verdict=NightVerdict.RED, story="s")
    assert (now.days_red, now.repeats) == (4, 1)


def test_a_record_is_one_readable_document_and_a_story_sixteen_digits() -> None:
    text = write_night(replace(FULL, reason="größer"))
    assert text.startswith('{\n  "schema": "forkguard/nightly@1",\n')
    assert text.endswith("}\n")
    assert '"größer"' in text
    assert len(story_of(NightVerdict.RED, ["x"])) == 16
    assert night_schema()["$id"] == "forkguard/nightly@1"
    with pytest.raises(BadNight, match="this is no forkguard/nightly@1"):
        read_night("[]")
