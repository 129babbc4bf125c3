"""The trends over nights: charts, and the same numbers as tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from markupsafe import Markup

from forkguard.core.chronicle import verdict_spells
from forkguard.core.history_rows import History, NightRow, ReceiptRow
from forkguard.reports.charts import Line, line_chart, strip
from forkguard.reports.site_words import tone, word

_ROWS = 60
_MOST_LINES = 6
_SEVERITIES = ("crash", "corruption", "slow", "change")
_SERVED = ("applies", "additive", "landed")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its numbers; `numbers` are the columns that hold some."""

    title: str
    told: str
    svg: Markup
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int

    @property
    def numbers(self) -> tuple[int, ...]:
        """The columns of numbers."""
        return tuple(range(1, len(self.head)))


def trends_values(history: History) -> Mapping[str, Any]:
    """What the template of the trends shows."""
    nights = history.nights
    spells = verdict_spells(nights)
    bars = [("unknown" if one.status == "could-not-run" else tone(one.status), one.nights,
             f"{one.first.day} to {one.last.day}: {word(one.status)}") for one in spells]  # fmt: skip
    counts = {verdict: sum(row.verdict == verdict for row in nights) for verdict in ("green", "red", "could-not-run")}
    told = ", ".join(f"{count} {word(verdict)}" for verdict, count in counts.items()) + "."
    title = "Verdicts, oldest night on the left"
    return {
        "strip": strip("verdicts", bars, title=title, told=told),
        "strip_told": f"{told} Oldest night on the left.",
        "charts": [_patches(nights), _behind(nights), _drift(nights), _throughput(history.receipts)],
    }


def _of_nights(
    nights: Sequence[NightRow],
    columns: Mapping[str, Callable[[NightRow], int | None]],
    *,
    key: str,
    title: str,
    told: str,
) -> Chart:
    lines = [
        Line(name, tuple((datetime.fromisoformat(row.started), value(row)) for row in nights))
        for name, value in columns.items()
    ]
    rows = [(row.day, *(_number(value(row)) for value in columns.values())) for row in reversed(nights)]
    svg = line_chart(key, lines, title=title, told=told)
    return Chart(title, told, svg, ("night", *columns), tuple(rows[:_ROWS]), max(0, len(rows) - _ROWS))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _patches(nights: Sequence[NightRow]) -> Chart:
    def served(row: NightRow) -> int | None:
        return row.patches_with(*_SERVED) if row.patches else None

    def failing(row: NightRow) -> int | None:
        return len(row.patches) - row.patches_with(*_SERVED) if row.patches else None

    last = next((row for row in reversed(nights) if row.patches), None)
    told = (
        f"Newest: {served(last)} of {len(last.patches)} apply." if last is not None else "No night replayed a stack."
    )
    columns = {"apply, or have landed": served, "do not apply": failing}
    return _of_nights(nights, columns, key="patches", title="Patches that apply", told=told)


def _behind(nights: Sequence[NightRow]) -> Chart:
    last = next((row.behind for row in reversed(nights) if row.behind is not None), None)
    told = f"Newest: {last} commits." if last is not None else "No night counted them."
    return _of_nights(
        nights, {"behind": lambda row: row.behind}, key="behind", title="Commits behind upstream", told=told
    )


def _drift(nights: Sequence[NightRow]) -> Chart:
    def counted(severity: str) -> Callable[[NightRow], int | None]:
        return lambda row: row.drift.get(severity, 0) if row.drift is not None else None

    last = next((row.drift for row in reversed(nights) if row.drift is not None), None)
    told = "Findings that count. " + (
        "No night looked for drift." if last is None else f"Newest: {sum(last.values())}."
    )
    return _of_nights(
        nights, {name: counted(name) for name in _SEVERITIES}, key="drift", title="Drift by severity", told=told
    )


def _throughput(receipts: Sequence[ReceiptRow]) -> Chart:
    """The median of each arm, at the task and length that most receipts measured."""
    measured = [row for row in receipts if row.speeds]
    keys: dict[tuple[str, int], int] = {}
    for row in measured:
        for one in row.speeds:
            keys[one.task, one.asked] = keys.get((one.task, one.asked), 0) + 1
    title = "Throughput by arm"
    if not keys:
        return Chart(title, "No receipt measured speed.", Markup(""), (), (), 0)
    task, asked = max(keys, key=lambda key: (keys[key], key))
    arms = dict.fromkeys(one.arm for row in measured for one in row.speeds if (one.task, one.asked) == (task, asked))
    names = tuple(islice(arms, _MOST_LINES))
    table = [(row, _medians(row, task, asked)) for row in measured]
    lines = [
        Line(name, tuple((datetime.fromisoformat(row.started), medians.get(name)) for row, medians in table))
        for name in names
    ]
    told = f"Median tokens per second at the task {task}, {asked} tokens asked"
    told += f"; {len(arms) - len(names)} more arms are in history.json." if len(arms) > len(names) else "."
    rows = [(row.started[:10], *(_number(medians.get(name)) for name in names)) for row, medians in reversed(table)]
    svg = line_chart("throughput", lines, title=title, told=told)
    return Chart(title, told, svg, ("gate run", *names), tuple(rows[:_ROWS]), max(0, len(rows) - _ROWS))


def _medians(row: ReceiptRow, task: str, asked: int) -> dict[str, float]:
    return {one.arm: one.median for one in row.speeds if (one.task, one.asked) == (task, asked)}
