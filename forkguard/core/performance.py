"""From samples to what can be said about speed: what is thrown out, medians, and ratios to the arm without a draft.

Throughput comes first. Acceptance says how a draft works, not how fast it is, and is never compared between
kinds of draft.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from forkguard.core.boxes import busy_marks
from forkguard.core.ceiling import Ceiling
from forkguard.core.measurements import MeasuredArm, Measurement, Sample
from forkguard.core.statistics import Interval, geometric_mean, median, ratio_interval, spread

_CLOCK_SHARE = 0.5
_CLOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PerformanceSettings:
    """How strict the judgement is; all but `runs` are fractions.

    `runs`: fewer kept runs of a task decide nothing. `wide`: a larger spread is marked. `length`: texts whose
    lengths differ by more are not compared. `regression`: a larger loss of speed against the last receipt is one;
    `acceptance`: so is a larger loss of the share of accepted tokens.
    """

    runs: int = 3
    wide: float = 0.10
    length: float = 0.10
    regression: float = 0.05
    acceptance: float = 0.05


DEFAULTS = PerformanceSettings()


class Reason(StrEnum):
    """Why a sample does not count."""

    REPEAT = "repeat"
    REPLAY = "cache-replay"
    CACHED_PROMPT = "cached-prompt"
    ABOVE_CEILING = "above-ceiling"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Excluded:
    """A sample that does not count: the reasons, and the same in words."""

    sample: Sample
    reasons: tuple[Reason, ...]
    detail: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The kept runs of one arm at one task and one length: `rates` in tokens per second, in order of asking.

    `tokens` is the median generated, `asked` what was asked for. `drafted` and `accepted` are sums.
    """

    arm: str
    task: str
    asked: int
    tokens: float
    rounds: tuple[int, ...]
    rates: tuple[float, ...]
    drafted: int
    accepted: int
    wide: bool

    @property
    def median(self) -> float:
        """Tokens per second."""
        return median(self.rates)

    @property
    def spread(self) -> float:
        """By how much the fastest run exceeds the slowest, as a fraction."""
        return spread(self.rates)

    @property
    def acceptance(self) -> float | None:
        """The share of drafted tokens that was accepted; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None


class Pace(StrEnum):
    """How an arm compares with the baseline; `undecided` where the interval holds 1."""

    FASTER = "faster"
    SLOWER = "slower"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not-comparable"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm against the baseline, at one task, or over all comparable tasks (`task` None).

    `ratio` is that of the medians (over tasks: the geometric mean). `why` says what makes it not comparable;
    such a ratio is shown and decides nothing. `runs` is the smallest number of runs behind it. `tasks` are those
    that it rests on, `left_out` what else the arm ran and could not be compared, with its length.
    """

    arm: str
    baseline: str
    task: str | None
    asked: int | None
    ratio: float
    interval: Interval | None
    pace: Pace
    runs: int
    why: str = ""
    tasks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def percent(self) -> float:
        """The difference in percent; negative for a slower arm."""
        return 100.0 * (self.ratio - 1.0)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the samples come to. `overall` has one comparison for each arm that could be compared at all."""

    measurement: Measurement
    cells: tuple[Cell, ...]
    comparisons: tuple[Comparison, ...]
    overall: tuple[Comparison, ...]
    excluded: tuple[Excluded, ...]
    busy: tuple[str, ...]

    def of_arm(self, name: str) -> tuple[Cell, ...]:
        """The cells of one arm."""
        return tuple(cell for cell in self.cells if cell.arm == name)


def analyse(measurement: Measurement, settings: PerformanceSettings = DEFAULTS) -> Analysis:
    """Throw out what does not count, and compare every arm that has a draft with the one that has none."""
    kept, excluded = sift(measurement)
    cells = _cells(measurement, kept, settings)
    baseline = measurement.baseline
    comparisons: list[Comparison] = []
    overall: list[Comparison] = []
    for arm in measurement.arms if baseline is not None else ():
        if arm.draft is None or baseline is None:
            continue
        own = [cell for cell in cells if cell.arm == arm.name]
        pairs = [(cell, _counterpart(cell, cells, baseline.name)) for cell in own]
        compared = [(cell, other, _compare(cell, other, settings)) for cell, other in pairs if other is not None]
        comparisons += [row[2] for row in compared]
        whole = _overall(arm, baseline, compared, [cell for cell, other in pairs if other is None])
        overall += [whole] if whole is not None else []
    return Analysis(
        measurement, cells, tuple(comparisons), tuple(overall), excluded, busy_marks(measurement.boxes)
    )  # fmt: skip


def sift(measurement: Measurement) -> tuple[tuple[Sample, ...], tuple[Excluded, ...]]:
    """The samples that count, and those that do not; a warm-up is neither."""
    kept: list[Sample] = []
    excluded: list[Excluded] = []
    asked: set[tuple[str, str]] = set()
    for sample in measurement.samples:
        again = (sample.process, sample.task) in asked
        asked.add((sample.process, sample.task))
        if sample.warm_up:
            continue
        arm = measurement.arm(sample.arm)
        found = [
            *_cache_reasons(sample, arm, again=again),
            *_ceiling_reasons(sample, arm, measurement.ceiling),
            *_clock_reasons(sample),
        ]
        if found:
            excluded.append(
                Excluded(sample, tuple(reason for reason, _ in found), "; ".join(told for _, told in found))
            )
        else:
            kept.append(sample)
    return tuple(kept), tuple(excluded)


def _cache_reasons(sample: Sample, arm: MeasuredArm, *, again: bool) -> list[tuple[Reason, str]]:
    found = []
    if again and arm.caches:
        found.append((Reason.REPLAY, "the same prompt again in one process: the n-gram cache replays its answer"))
    elif again:
        found.append((Reason.REPEAT, "the same prompt again in one process, whose caches are warm"))
    if sample.prompt_cached:
        found.append((Reason.CACHED_PROMPT, f"{sample.prompt_cached} tokens of the prompt came from a cache"))
    elif sample.prompt_evaluated is not None and sample.prompt_evaluated <= 1:
        tokens = "1 token" if sample.prompt_evaluated else "no token"
        found.append((Reason.CACHED_PROMPT, f"{tokens} of the prompt was evaluated: the rest came from a cache"))
    return found


def _ceiling_reasons(sample: Sample, arm: MeasuredArm, ceiling: Ceiling | None) -> list[tuple[Reason, str]]:
    if ceiling is None:
        return []
    allowed = ceiling.rate * tokens_per_pass(sample, arm)
    if sample.rate <= allowed:
        return []
    return [(Reason.ABOVE_CEILING, f"{sample.rate:.1f} tok/s is more than the {allowed:.1f} that memory allows")]


def _clock_reasons(sample: Sample) -> list[tuple[Reason, str]]:
    ours, theirs = sample.seconds, sample.server_seconds
    if ours is None or theirs is None or theirs >= _CLOCK_SHARE * ours or ours - theirs <= _CLOCK_SECONDS:
        return []
    return [(Reason.CLOCK, f"the server says that it took {theirs:.2f} s, and {ours:.2f} s went by")]


def tokens_per_pass(sample: Sample, arm: MeasuredArm) -> float:
    """How many tokens one pass of the target gave at most: 1 without a draft, else by the server's counts.

    Each pass gives one token of its own beside the accepted ones. Without counts, a draft model may have given
    its full width each time; a cache of earlier text is granted nothing.
    """
    most = float("inf") if arm.width is None else arm.width + 1.0
    if arm.draft is None:
        return 1.0
    if sample.accepted is not None:
        own = max(1, sample.tokens - sample.accepted)
        return min(most, sample.tokens / own)
    return 1.0 if arm.caches or arm.width is None else most


def _cells(measurement: Measurement, kept: Sequence[Sample], settings: PerformanceSettings) -> tuple[Cell, ...]:
    order = {arm.name: place for place, arm in enumerate(measurement.arms)}
    tasks = {sample.task: place for place, sample in reversed(list(enumerate(measurement.samples)))}

    def key(sample: Sample) -> tuple[int, int, int]:
        return order[sample.arm], tasks[sample.task], sample.asked

    return tuple(_cell(tuple(group), settings) for _, group in groupby(sorted(kept, key=key), key=key))


def _cell(samples: Sequence[Sample], settings: PerformanceSettings) -> Cell:
    first = samples[0]
    rates = tuple(sample.rate for sample in samples)
    return Cell(
        first.arm,
        first.task,
        first.asked,
        tokens=median([sample.tokens for sample in samples]),
        rounds=tuple(sample.round for sample in samples),
        rates=rates,
        drafted=sum(sample.drafted or 0 for sample in samples),
        accepted=sum(sample.accepted or 0 for sample in samples),
        wide=spread(rates) > settings.wide,
    )


def _counterpart(cell: Cell, cells: Iterable[Cell], baseline: str) -> Cell | None:
    """The baseline's cell of the same task: of the same length if there is one, else of the nearest."""
    found = [other for other in cells if other.arm == baseline and other.task == cell.task]
    return min(found, key=lambda other: abs(other.asked - cell.asked), default=None)


def _compare(cell: Cell, other: Cell, settings: PerformanceSettings) -> Comparison:
    runs = min(len(cell.rates), len(other.rates))
    longer, shorter = max(cell.tokens, other.tokens), min(cell.tokens, other.tokens)
    ratio = cell.median / other.median
    if longer > shorter * (1.0 + settings.length):
        why = f"{cell.tokens:g} tokens against a baseline of {other.tokens:g}"
        return Comparison(
            cell.arm, other.arm, cell.task, cell.asked, ratio, None, Pace.NOT_COMPARABLE, runs, why, (cell.task,)
        )
    interval = ratio_interval([_aligned(cell, other)], paired=_side_by_side(cell, other))
    return Comparison(
        cell.arm, other.arm, cell.task, cell.asked, ratio, interval, _pace(interval), runs, tasks=(cell.task,)
    )


def _overall(
    arm: MeasuredArm,
    baseline: MeasuredArm,
    compared: Sequence[tuple[Cell, Cell, Comparison]],
    alone: Sequence[Cell],
) -> Comparison | None:
    left_out = tuple(_labelled(cell) for cell in alone)
    if not compared:
        return None
    good = [row for row in compared if row[2].pace is not Pace.NOT_COMPARABLE]
    ratio = geometric_mean([row[2].ratio for row in good or compared])
    runs = min(row[2].runs for row in good or compared)
    if not good:
        whole = tuple(row[0].task for row in compared)
        why = compared[0][2].why
        return Comparison(arm.name, baseline.name, None, None, ratio, None, Pace.NOT_COMPARABLE, runs, why, whole)
    paired = all(_side_by_side(cell, other) for cell, other, _ in good)
    interval = ratio_interval([_aligned(cell, other) for cell, other, _ in good], paired=paired)
    left_out += tuple(_labelled(row[0]) for row in compared if row[2].pace is Pace.NOT_COMPARABLE)
    tasks = tuple(row[0].task for row in good)
    return Comparison(
        arm.name, baseline.name, None, None, ratio, interval, _pace(interval), runs, "", tasks, left_out
    )


def _labelled(cell: Cell) -> str:
    return f"{cell.task} at {cell.asked} tokens"


def _side_by_side(cell: Cell, other: Cell) -> bool:
    """Whether both have exactly one run of each round, so that the box did the same to both."""
    return len(set(cell.rounds)) == len(cell.rounds) and sorted(cell.rounds) == sorted(other.rounds)


def _aligned(cell: Cell, other: Cell) -> tuple[list[float], list[float]]:
    ours, theirs = (sorted(zip(one.rounds, one.rates, strict=True)) for one in (cell, other))
    return [rate for _, rate in ours], [rate for _, rate in theirs]


def _pace(interval: Interval) -> Pace:
    if interval.holds(1.0):
        return Pace.UNDECIDED
    return Pace.FASTER if interval.low > 1.0 else Pace.SLOWER
