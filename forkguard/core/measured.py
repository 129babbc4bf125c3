"""What a gate was told by a measurement: checks for the verdict, and what they rest on for the receipt."""

from collections.abc import Mapping
from dataclasses import dataclass

from forkguard.core.gate import Check
from forkguard.core.measurements import BadRecord, Measurement, read_measurement, write_measurement
from forkguard.core.performance import Analysis, Cell, Comparison
from forkguard.core.performance_checks import Previous
from forkguard.core.quality import Graded, Score, scores


@dataclass(frozen=True, slots=True)
class Measured:
    """`checks` has `performance`, `quality` or both; without the one `analysis` is None, without the other
    `graded` is empty. `lost_answers` says which arms could not be asked all questions.
    """

    checks: tuple[Check, ...]
    analysis: Analysis | None = None
    graded: tuple[Graded, ...] = ()
    lost_answers: tuple[str, ...] = ()

    @property
    def scores(self) -> tuple[Score, ...]:
        """The score of each arm that was asked questions."""
        return tuple(scores(self.graded).values())


def measurements_document(measured: Measured) -> dict[str, object]:
    """The receipt's `measurements`: what was recorded (readable by `previous_measurement`), and what it comes to."""
    document: dict[str, object] = {"performance": None, "quality": None}
    if measured.analysis is not None:
        document["performance"] = _performance(measured.analysis)
    if measured.graded or measured.lost_answers:
        document["quality"] = _quality(measured)
    return document


def previous_measurement(receipt: Mapping[str, object], *, name: str) -> Previous | None:
    """What an earlier receipt (its JSON) measured; None where it measured no speed or holds no record of it."""
    measurements = receipt.get("measurements")
    speed = measurements.get("performance") if isinstance(measurements, dict) else None
    box = receipt.get("box")
    if not isinstance(speed, dict) or not isinstance(box, dict):
        return None
    try:
        return Previous(name, box, read_measurement(speed.get("recorded")))
    except BadRecord:
        return None


def _performance(analysis: Analysis) -> dict[str, object]:
    measurement: Measurement = analysis.measurement
    ceiling = measurement.ceiling
    return {
        "recorded": write_measurement(measurement),
        "cells": [_cell(cell) for cell in analysis.cells],
        "comparisons": [_comparison(one) for one in (*analysis.overall, *analysis.comparisons)],
        "excluded": [
            {
                "arm": one.sample.arm,
                "task": one.sample.task,
                "round": one.sample.round,
                "tokens_per_second": one.sample.rate,
                "reasons": [str(reason) for reason in one.reasons],
                "detail": one.detail,
            }
            for one in analysis.excluded
        ],
        "ceiling": None
        if ceiling is None
        else {"passes_per_second": round(ceiling.rate, 3), "detail": ceiling.told()},
        "busy": list(analysis.busy),
    }


def _cell(cell: Cell) -> dict[str, object]:
    return {
        "arm": cell.arm,
        "task": cell.task,
        "asked": cell.asked,
        "tokens": cell.tokens,
        "tokens_per_second": list(cell.rates),
        "median": cell.median,
        "spread": round(cell.spread, 4),
        "wide": cell.wide,
        "acceptance": None if cell.acceptance is None else round(cell.acceptance, 4),
    }


def _comparison(one: Comparison) -> dict[str, object]:
    interval = one.interval
    return {
        "arm": one.arm,
        "baseline": one.baseline,
        "task": one.task,
        "asked": one.asked,
        "ratio": round(one.ratio, 4),
        "interval": None if interval is None else [round(interval.low, 4), round(interval.high, 4)],
        "class": str(one.pace),
        "runs": one.runs,
        "why": one.why,
        "tasks": list(one.tasks),
        "left_out": list(one.left_out),
    }


def _quality(measured: Measured) -> dict[str, object]:
    return {
        "scores": [
            {
                "arm": score.arm,
                "right": score.right,
                "of": score.of,
                "truncated": score.truncated,
                "truncated_right": score.truncated_right,
            }
            for score in measured.scores
        ],
        "answers": [
            {
                "arm": one.arm,
                "question": one.question,
                "right": one.right,
                "truncated": one.truncated,
                "text": one.text,
            }
            for one in measured.graded
        ],
        "lost": list(measured.lost_answers),
    }
