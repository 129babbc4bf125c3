"""What a gate says about speed. The policy: an arm that is slower than no draft must not ship."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.boxes import same_box
from forkguard.core.gate import Check, CheckName, Verdict
from forkguard.core.measurements import Measurement
from forkguard.core.performance import (
    DEFAULTS,
    Analysis,
    Cell,
    Comparison,
    Excluded,
    Pace,
    PerformanceSettings,
    Reason,
    analyse,
)
from forkguard.core.statistics import Interval, geometric_mean, ratio_interval, two_proportions

_P_ACCEPTANCE = 0.01


class SpeedClass(StrEnum):
    """What the check came to; the first that holds, in this order."""

    SLOWER = "slower-than-no-draft"
    REGRESSION = "regression"
    NOT_MEASURED = "not-measured"
    ABOVE_CEILING = "above-ceiling"
    CLOCK = "clock"
    TOO_FEW = "too-few-runs"
    NOT_COMPARABLE = "not-comparable"
    BUSY = "busy-box"
    NOT_FASTER = "not-shown-faster"
    FASTER = "faster"
    NO_DIFFERENCE = "no-difference"


@dataclass(frozen=True, slots=True)
class Previous:
    """The last receipt with a measurement: where it is, the machine's facts, and what was recorded."""

    name: str
    box: Mapping[str, object]
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Regression:
    """An arm that lost speed (`ratio` of now to then) or acceptance (`then` and `now` are shares)."""

    arm: str
    what: str
    then: float
    now: float
    interval: Interval | None = None
    p: float | None = None

    def told(self) -> str:
        """In words."""
        if self.what == "throughput":
            return f"{self.arm} fell from {self.then:.1f} to {self.now:.1f} tok/s ({_percent(self.now / self.then)})"
        return f"{self.arm} accepts {self.now:.0%} of the drafted tokens, {self.then:.0%} before"


def performance(
    measurement: Measurement,
    *,
    box: Mapping[str, object],
    last: Previous | None = None,
    settings: PerformanceSettings = DEFAULTS,
) -> tuple[Check, Analysis]:
    """The check and what it rests on. `box` are this machine's facts, compared with those of the last receipt."""
    analysis = analyse(measurement, settings)
    worse, unlike = regressions(analysis, last, box=box, settings=settings)
    kind, verdict, detail = _decide(analysis, worse, settings)
    remarks = [detail, *_remarks(analysis, unlike)]
    evidence = (
        *(_whole_row(one, analysis) for one in analysis.overall),
        *(_row(one, analysis) for one in analysis.comparisons if len(analysis.of_arm(one.arm)) > 1),
        *(_regression_row(one) for one in worse),
    )
    return Check(CheckName.PERFORMANCE, verdict, kind, "; ".join(remarks), evidence), analysis


def _decide(
    analysis: Analysis, worse: Sequence[Regression], settings: PerformanceSettings
) -> tuple[SpeedClass, Verdict, str]:
    slower = [one for one in analysis.overall if one.pace is Pace.SLOWER and one.runs >= settings.runs]
    if slower:
        return SpeedClass.SLOWER, Verdict.FAIL, "; ".join(f"{tell(one)}: must not ship" for one in slower)
    if worse and not analysis.busy:
        return SpeedClass.REGRESSION, Verdict.FAIL, "; ".join(one.told() for one in worse)
    doubt = _doubt(analysis, settings)
    if doubt is not None:
        return doubt[0], Verdict.INCONCLUSIVE, doubt[1]
    if worse:
        why = f"{worse[0].told()}, on a busy box: measure again on a quiet one"
        return SpeedClass.BUSY, Verdict.INCONCLUSIVE, why
    open_ = [one for one in analysis.overall if one.pace is not Pace.FASTER and one.ratio < 1.0]
    if open_:
        return SpeedClass.NOT_FASTER, Verdict.INCONCLUSIVE, "; ".join(f"{tell(one)}: undecided" for one in open_)
    kind = SpeedClass.FASTER if all(one.pace is Pace.FASTER for one in analysis.overall) else SpeedClass.NO_DIFFERENCE
    return kind, Verdict.PASS, "; ".join(tell(one) for one in analysis.overall)


def _doubt(analysis: Analysis, settings: PerformanceSettings) -> tuple[SpeedClass, str] | None:
    """Why the measurement decides nothing, if so; what did not run is never a pass."""
    measurement = analysis.measurement
    drafting = [arm for arm in measurement.arms if arm.draft is not None]
    if measurement.lost:
        lost = measurement.lost[0]
        return SpeedClass.NOT_MEASURED, f"{len(measurement.lost)} runs are lost; first {lost.arm}: {lost.reason}"
    odd = [one for one in analysis.excluded if set(one.reasons) <= {Reason.ABOVE_CEILING, Reason.CLOCK}]
    if odd:
        kind = SpeedClass.ABOVE_CEILING if Reason.ABOVE_CEILING in odd[0].reasons else SpeedClass.CLOCK
        return kind, f"{odd[0].sample.arm}: {odd[0].detail}; so a clock or the map is wrong"
    if measurement.baseline is None or not drafting:
        return SpeedClass.NOT_MEASURED, "an arm without a draft and one with it are needed"
    idle = next((arm for arm in drafting if _drafted_nothing(arm.name, measurement)), None)
    if idle is not None:
        return SpeedClass.NOT_MEASURED, f"{idle.name} drafted not one token, so it was no arm with a draft"
    few = _few(analysis, settings)
    if few:
        return SpeedClass.TOO_FEW, few
    other = next((one for one in analysis.overall if one.pace is Pace.NOT_COMPARABLE), None)
    if other is not None:
        return SpeedClass.NOT_COMPARABLE, tell(other)
    known = {one.arm for one in analysis.overall}
    alone = next((arm.name for arm in drafting if arm.name not in known), None)
    if alone is not None:
        return SpeedClass.NOT_COMPARABLE, f"{alone} shares no task with the baseline"
    return None


def _drafted_nothing(arm: str, measurement: Measurement) -> bool:
    counts = [sample.drafted for sample in measurement.samples if sample.arm == arm and sample.drafted is not None]
    return bool(counts) and not any(counts)


def _few(analysis: Analysis, settings: PerformanceSettings) -> str:
    """The first arm with too few runs of a task that counts, in words; those that are not comparable do not."""
    aside = {(one.arm, one.task, one.asked) for one in analysis.comparisons if one.pace is Pace.NOT_COMPARABLE}
    for cell in analysis.cells:
        if (cell.arm, cell.task, cell.asked) not in aside and len(cell.rates) < settings.runs:
            return f"{cell.arm}, {cell.task}: {len(cell.rates)} runs count, and {settings.runs} are needed"
    planned = {(sample.arm, sample.task) for sample in analysis.measurement.samples if not sample.warm_up}
    missing = sorted(planned - {(cell.arm, cell.task) for cell in analysis.cells})
    return f"{missing[0][0]}, {missing[0][1]}: not one run counts" if missing else ""


def regressions(
    analysis: Analysis,
    last: Previous | None,
    *,
    box: Mapping[str, object],
    settings: PerformanceSettings = DEFAULTS,
) -> tuple[tuple[Regression, ...], str]:
    """What was lost since the last receipt; and, where nothing can be compared, why ("" where it can)."""
    if last is None:
        return (), "no earlier receipt of this machine to compare with"
    if not same_box(box, last.box):
        return (), f"{last.name} is of another machine, and is not compared"
    if dict(analysis.measurement.subject) != dict(last.measurement.subject):
        return (), f"{last.name} measured other models or prompts, and is not compared"
    before = analyse(last.measurement, settings)
    found: list[Regression] = []
    for arm in analysis.measurement.arms:
        if arm not in last.measurement.arms:
            continue
        pairs = _common(analysis.of_arm(arm.name), before.of_arm(arm.name), settings)
        found += [*_slower_than_before(pairs, settings), *_accepts_less(pairs, settings)]
    return tuple(found), ""


def _common(now: Iterable[Cell], then: Iterable[Cell], settings: PerformanceSettings) -> list[tuple[Cell, Cell]]:
    known = {(cell.task, cell.asked): cell for cell in then}
    pairs = [(cell, known[cell.task, cell.asked]) for cell in now if (cell.task, cell.asked) in known]
    return [
        (cell, other)
        for cell, other in pairs
        if abs(cell.tokens - other.tokens) <= settings.length * min(cell.tokens, other.tokens)
    ]


def _slower_than_before(pairs: Sequence[tuple[Cell, Cell]], settings: PerformanceSettings) -> list[Regression]:
    pairs = [pair for pair in pairs if min(len(pair[0].rates), len(pair[1].rates)) >= settings.runs]
    if not pairs:
        return []
    interval = ratio_interval([(cell.rates, other.rates) for cell, other in pairs], paired=False)
    now, then = (geometric_mean([pair[side].median for pair in pairs]) for side in (0, 1))
    lost = now / then < 1.0 - settings.regression and interval.high < 1.0
    return [Regression(pairs[0][0].arm, "throughput", then, now, interval)] if lost else []


def _accepts_less(pairs: Sequence[tuple[Cell, Cell]], settings: PerformanceSettings) -> list[Regression]:
    """Accepted shares of one arm, so of one kind of draft. Tokens are no independent draws: p alone is not enough."""
    accepted, drafted = sum(cell.accepted for cell, _ in pairs), sum(cell.drafted for cell, _ in pairs)
    accepted_then, drafted_then = sum(cell.accepted for _, cell in pairs), sum(cell.drafted for _, cell in pairs)
    if not drafted or not drafted_then:
        return []
    now, then = accepted / drafted, accepted_then / drafted_then
    p = two_proportions(accepted, drafted, accepted_then, drafted_then).p
    lost = then - now > settings.acceptance and p < _P_ACCEPTANCE
    return [Regression(pairs[0][0].arm, "acceptance", then, now, p=p)] if lost else []


def tell(comparison: Comparison) -> str:
    """One comparison in words, throughput first."""
    told = f"{comparison.arm} {_percent(comparison.ratio)}"
    if comparison.interval is not None:
        told += f" ({_percent(comparison.interval.low)} to {_percent(comparison.interval.high)})"
    if comparison.pace is Pace.NOT_COMPARABLE:
        told += f", not comparable: {comparison.why}"
    return told


def _percent(ratio: float) -> str:
    return f"{100.0 * (ratio - 1.0):+.1f} %"


def _remarks(analysis: Analysis, unlike: str) -> list[str]:
    remarks = []
    wide = [f"{cell.arm} at {cell.task} {cell.spread:.0%}" for cell in analysis.cells if cell.wide]
    if wide:
        remarks.append(f"wide spread: {', '.join(wide)}")
    slower = [f"{one.arm} at {one.task}" for one in analysis.comparisons if one.pace is Pace.SLOWER]
    if slower and len({one.task for one in analysis.comparisons}) > 1:
        remarks.append(f"slower than no draft: {', '.join(slower)}")
    remarks += [tell(one) for one in analysis.comparisons if one.pace is Pace.NOT_COMPARABLE]
    if analysis.excluded:
        remarks.append(f"{len(analysis.excluded)} runs thrown out ({_first_reasons(analysis.excluded)})")
    if analysis.measurement.ceiling is None:
        remarks.append("no ceiling is known for this machine and model")
    if analysis.measurement.shared_process:
        remarks.append("the tasks of a round shared one process, in this order")
    remarks += [f"busy box: {mark}" for mark in analysis.busy]
    return remarks + ([unlike] if unlike else [])


def _first_reasons(excluded: Sequence[Excluded]) -> str:
    return ", ".join(dict.fromkeys(str(reason) for one in excluded for reason in one.reasons))


def _whole_row(one: Comparison, analysis: Analysis) -> Mapping[str, object]:
    counted = one.pace is not Pace.NOT_COMPARABLE
    keys = {
        (row.task, row.asked)
        for row in analysis.comparisons
        if row.arm == one.arm and (row.pace is not Pace.NOT_COMPARABLE) is counted
    }
    cells = [cell for cell in analysis.of_arm(one.arm) if (cell.task, cell.asked) in keys]
    only = cells[0].task if len({cell.task for cell in cells}) == 1 else None
    return _facts(one, analysis, task=only, cells=cells)


def _row(one: Comparison, analysis: Analysis) -> Mapping[str, object]:
    cells = [cell for cell in analysis.of_arm(one.arm) if (cell.task, cell.asked) == (one.task, one.asked)]
    return _facts(one, analysis, task=one.task, cells=cells)


def _facts(
    one: Comparison, analysis: Analysis, *, task: str | None, cells: Sequence[Cell]
) -> Mapping[str, object]:  # fmt: skip
    interval = one.interval
    drafted, accepted = sum(cell.drafted for cell in cells), sum(cell.accepted for cell in cells)
    return {
        "arm": one.arm,
        "task": task,
        "class": str(one.pace),
        "tokens_per_second": round(geometric_mean([cell.median for cell in cells]), 3),
        "ratio": round(one.ratio, 4),
        "interval": None if interval is None else [round(interval.low, 4), round(interval.high, 4)],
        "runs": one.runs,
        "baseline": one.baseline,
        "acceptance": round(accepted / drafted, 4) if drafted else None,
        "draft": analysis.measurement.arm(one.arm).draft,
        "why": one.why,
    }


def _regression_row(one: Regression) -> Mapping[str, object]:
    return {"arm": one.arm, "class": "regression", "what": one.what, "then": one.then, "now": one.now, "p": one.p}
