"""A measurement as people and receipts see it."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from forkguard.core.boxes import BoxState
from forkguard.core.gate import Verdict
from forkguard.core.measured import Measured, previous_measurement
from forkguard.core.measurements import Lost
from forkguard.core.performance_checks import performance
from forkguard.core.quality import Graded, quality
from forkguard.reports.performance import to_document, to_text
from tests.support.measuring import measured, recorded

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/gate.json").read_text())
LAB = """\
speed
  arm        task   tokens  runs  tok/s  spread         against no-draft                                                accepted
  no-draft   prose  200     3     93.9   0.6 %
  draft-f16  prose  200     3     110.5  26.6 % (wide)  +17.7 % (+9.8 to +38.4), faster
  draft-f16  prose  1200    1     141.4  0.0 %          +50.6 %, not comparable: 1200 tokens against a baseline of 200
  draft-q8   prose  200     3     74.4   22.4 % (wide)  -20.8 % (-29.8 to -14.5), slower
  draft-q8 must not ship: slower than no draft
  ceiling: none is known
performance: fail [slower-than-no-draft] draft-q8 -20.8 %"""  # noqa: E501


def of(name: str) -> Measured:
    check, analysis = performance(recorded(name), box={})
    return Measured((check,), analysis)


def held(document: dict[str, object]) -> dict[str, object]:
    """The document, once the schema of the receipts has taken it."""
    jsonschema.validate(document, {"$ref": "#/$defs/measurements", "$defs": SCHEMA["$defs"]})
    return document


def test_a_labs_three_arms_as_a_table() -> None:
    assert to_text(of("lab_gfx1151")).startswith(LAB)


def test_what_was_thrown_out_is_shown_with_its_reasons_and_the_ceiling() -> None:
    text = to_text(of("ngram_replay"))
    assert "  thrown out: ngram-mod, prose, round 1, 208.0 tok/s: the same prompt again in one process: " in text
    assert "208.0 tok/s is more than the 15.6 that memory allows" in text
    assert "  thrown out: 2 more runs\n" in text
    assert "  ceiling: 15.6 passes of the target per second (273 GB/s of NVIDIA GB10, by its data sheet" in text


def test_several_tasks_get_a_line_over_all() -> None:
    lines = to_text(of("gb10_tasks")).splitlines()
    assert "  dflash2   all 8 tasks          5                    +112.2 % (+112.0 to +112.5), faster" in lines
    assert [line.split()[-1] for line in lines if " code-gen " in line and "faster  " in line] == ["88%", "75%"]


def test_lost_runs_busy_boxes_and_right_answers_are_shown_and_nothing_reaches_the_terminal_raw() -> None:
    measurement = replace(
        measured([10.0] * 3, [12.0] * 3),
        lost=(Lost("draft-3", "\x1b[31mx", 2, "hang"),),
        boxes=(BoxState("before round 1", 3.0),),
    )
    check, analysis = performance(measurement, box={})
    graded = (Graded("no-draft", "q", True, False, "4"), Graded("draft-3", "q", False, True, "4 or"))  # noqa: FBT003
    right, _ = quality(graded, arms=["draft-3"], baseline="no-draft")
    whole = Measured((check, right), analysis, graded, lost_answers=("other: hang",))
    text = to_text(whole)
    assert "\x1b" not in text
    assert "  lost: draft-3, \N{REPLACEMENT CHARACTER}[31mx, round 2: hang\n" in text
    assert "  busy box: the load was 3.00 per thread before the first run" in text
    assert "quality\n  1 of 1 right (no-draft)\n  0 of 1 right (draft-3, 1 hit the cap, 0 of these right)\n" in text
    assert "  lost: other: hang\n" in text
    document = held(to_document(whole))
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize("name", ["lab_gfx1151", "model_card", "ngram_replay", "gb10_tasks"])
def test_the_receipts_part_fits_its_schema_and_gives_the_record_back(name: str) -> None:
    document = held(to_document(of(name)))
    receipt = json.loads(json.dumps({"box": {"cpu": "x"}, "measurements": document}))
    before = previous_measurement(receipt, name="r1")
    assert before is not None
    assert (before.name, before.measurement, before.box) == ("r1", recorded(name), {"cpu": "x"})


@pytest.mark.parametrize(
    "receipt",
    [
        {},
        {"box": {}},
        {"box": {}, "measurements": None},
        {"box": {}, "measurements": {"performance": None}},
        {"box": {}, "measurements": {"performance": {"recorded": {"arms": 3}}}},
        {"measurements": {"performance": {"recorded": {"arms": [], "samples": []}}}},
    ],
)
def test_a_receipt_without_a_record_is_no_previous_one(receipt: dict[str, object]) -> None:
    assert previous_measurement(receipt, name="r") is None


def test_nothing_measured_gives_an_empty_part() -> None:
    assert held(to_document(Measured(()))) == {"performance": None, "quality": None}
    assert to_text(Measured(())) == ""
    assert of("gb10_tasks").checks[0].verdict is Verdict.PASS
