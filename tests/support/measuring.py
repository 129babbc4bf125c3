"""Recorded measurements for tests: the published ones of `tests/data`, and small ones made on the spot."""

import json
from collections.abc import Sequence
from pathlib import Path

from forkguard.core.measurements import MeasuredArm, Measurement, Sample, read_measurement

DATA = Path(__file__).parents[1] / "data"
BASE = MeasuredArm("no-draft")
DRAFT = MeasuredArm("draft-3", draft="draft-dspark", width=3)
NGRAM = MeasuredArm("ngram-mod", draft="ngram-mod")


def recorded(name: str) -> Measurement:
    """The record `tests/data/<name>.json`."""
    return read_measurement(json.loads((DATA / f"{name}.json").read_text()))


def runs(
    arm: MeasuredArm,
    rates: Sequence[float],
    *,
    task: str = "prose",
    tokens: int = 100,
    drafted: int | None = None,
    accepted: int | None = None,
) -> tuple[Sample, ...]:
    """One sample for each rate, each in a round and a process of its own."""
    return tuple(
        Sample(
            arm.name, task, number, f"{arm.name}-{task}-{number}", tokens, tokens, rate,
            drafted=drafted, accepted=accepted,
        )
        for number, rate in enumerate(rates, 1)
    )  # fmt: skip


def measured(base: Sequence[float], draft: Sequence[float]) -> Measurement:
    """A measurement of two arms at one task."""
    return Measurement((BASE, DRAFT), (*runs(BASE, base), *runs(DRAFT, draft)))
