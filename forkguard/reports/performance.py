"""A measurement as text for a terminal, and as the `measurements` of a receipt."""

from collections.abc import Sequence

from forkguard.core.measured import Measured
from forkguard.core.measurements import Measurement, write_measurement
from forkguard.core.performance import Analysis, Cell, Comparison, Excluded, Pace
from forkguard.core.statistics import Interval
from forkguard.reports.plain import printable

_SHOWN = 10
_WIDE = " (wide)"


def to_text(measured: Measured) -> str:
    """The tables of `to_lines`, and the checks."""
    lines = to_lines(measured)
    lines += [f"{check.name}: {check.verdict} [{check.kind}] {check.detail}" for check in measured.checks]
    return "".join(f"{printable(line)}\n" for line in lines)


def to_lines(measured: Measured) -> list[str]:
    """Throughput first, acceptance second; what was thrown out, the ceiling, the machine; then right answers.

    Names in them come from users' files: make each line `printable` before it is shown.
    """
    lines: list[str] = []
    if measured.analysis is not None:
        lines += _speed_lines(measured.analysis)
    if measured.scores or measured.lost_answers:
        lines += ["quality", *(f"  {score.told()}" for score in measured.scores)]
        lines += [f"  lost: {why}" for why in measured.lost_answers]
    return lines


def _speed_lines(analysis: Analysis) -> list[str]:
    measurement = analysis.measurement
    base = measurement.baseline
    against = f"against {base.name if base else 'nothing'}"
    rows: list[tuple[str, ...]] = [("arm", "task", "tokens", "runs", "tok/s", "spread", against, "accepted")]
    rows += [_cell_row(cell, _of_cell(cell, analysis.comparisons)) for cell in analysis.cells]
    rows += [
        (one.arm, f"all {len(one.tasks)} tasks", "", str(one.runs), "", "", _against(one), "")
        for one in analysis.overall
        if len(one.tasks) > 1
    ]
    lines = ["speed", *(f"  {line}" for line in _table(rows))]
    lines += [
        f"  {one.arm} must not ship: slower than no draft" for one in analysis.overall if one.pace is Pace.SLOWER
    ]
    lines += [_excluded_line(one) for one in analysis.excluded[:_SHOWN]]
    if len(analysis.excluded) > _SHOWN:
        lines.append(f"  thrown out: {len(analysis.excluded) - _SHOWN} more runs")
    lines += [f"  lost: {one.arm}, {one.task}, round {one.round}: {one.reason}" for one in measurement.lost[:_SHOWN]]
    lines.append(f"  ceiling: {measurement.ceiling.told() if measurement.ceiling else 'none is known'}")
    lines += [f"  busy box: {mark}" for mark in analysis.busy]
    return lines


def _cell_row(cell: Cell, comparison: Comparison | None) -> tuple[str, ...]:
    return (
        cell.arm,
        cell.task,
        f"{cell.tokens:g}",
        str(len(cell.rates)),
        f"{cell.median:.4g}",
        f"{100.0 * cell.spread:.1f} %{_WIDE if cell.wide else ''}",
        _against(comparison) if comparison is not None else "",
        f"{cell.acceptance:.0%}" if cell.acceptance is not None else "",
    )


def _of_cell(cell: Cell, comparisons: Sequence[Comparison]) -> Comparison | None:
    key = (cell.arm, cell.task, cell.asked)
    return next((one for one in comparisons if (one.arm, one.task, one.asked) == key), None)


def _against(one: Comparison) -> str:
    told = f"{one.percent:+.1f} %"
    if one.interval is not None:
        told += f" ({_percent(one.interval.low)} to {_percent(one.interval.high)})"
    if one.pace is Pace.NOT_COMPARABLE:
        return f"{told}, not comparable: {one.why}"
    return f"{told}, {one.pace}"


def _percent(ratio: float) -> str:
    return f"{100.0 * (ratio - 1.0):+.1f}"


def _excluded_line(one: Excluded) -> str:
    sample = one.sample
    return f"  thrown out: {sample.arm}, {sample.task}, round {sample.round}, {sample.rate:.1f} tok/s: {one.detail}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def to_document(measured: Measured) -> dict[str, object]:
    """The receipt's `measurements`: what was recorded, and what it comes to.

    `core.measured.previous_measurement` reads the record back.
    """
    document: dict[str, object] = {"performance": None, "quality": None}
    if measured.analysis is not None:
        document["performance"] = _performance(measured.analysis)
    if measured.graded or measured.lost_answers:
        document["quality"] = _quality(measured)
    return document


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
    return {
        "arm": one.arm,
        "baseline": one.baseline,
        "task": one.task,
        "asked": one.asked,
        "ratio": round(one.ratio, 4),
        "interval": _ends(one.interval),
        "class": str(one.pace),
        "runs": one.runs,
        "why": one.why,
        "tasks": list(one.tasks),
        "left_out": list(one.left_out),
    }


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(interval.low, 4), round(interval.high, 4)]


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
