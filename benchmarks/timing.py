"""Times whole processes, and says what came out as a table and as JSON."""

import json
import os
import re
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RUNS = 5
TIMEOUT = 300
NOISE = 1.4
"""How far apart two runs of one benchmark lie on a machine that does little else."""

_BEGIN, _END = "<!-- make bench: begin -->", "<!-- make bench: end -->"


@dataclass(frozen=True, slots=True)
class Measured:
    """One comparison: median seconds of ours and of the reference, and the ratio that is aimed at."""

    name: str
    seconds: float
    reference: str
    reference_seconds: float
    aim: str
    met: bool

    @property
    def ratio(self) -> float:
        """Ours in units of the reference."""
        return self.seconds / self.reference_seconds


def median_seconds(
    commands: Sequence[Sequence[str]],
    *,
    cwd: Path,
    allowed: Sequence[int] = (0,),
    env: Mapping[str, str] | None = None,
) -> float:
    """The median over `RUNS` of the time that all commands together take, after one run that is not counted."""
    times = []
    for run in range(RUNS + 1):
        start = time.perf_counter()
        for command in commands:
            status = subprocess.run(
                command, cwd=cwd, env=dict(os.environ) | dict(env or {}), timeout=TIMEOUT, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            ).returncode  # fmt: skip
            if status not in allowed:
                raise SystemExit(f"{' '.join(command)} ended with status {status}, in {cwd}")
        if run:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def show(results: Mapping[str, Measured], *, before: Mapping[str, float], into: Path) -> tuple[str, ...]:
    """Print the table beside the ratios of `before`, and write the same as JSON; which ones got slower."""
    slower = tuple(key for key, one in results.items() if got_slower(one.ratio, before.get(key)))
    table = Table("what", "seconds", "reference", "seconds", "ratio", "baseline", "aim", "met")
    for key, one in results.items():
        was = f"{before[key]:.2f}" if key in before else "none"
        table.add_row(
            one.name, f"{one.seconds:.3f}", one.reference, f"{one.reference_seconds:.3f}", f"{one.ratio:.2f}",
            f"{was} SLOWER" if key in slower else was, one.aim, "yes" if one.met else "NO",
        )  # fmt: skip
    Console().print(table)
    into.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"key": key, **asdict(one), "ratio": one.ratio} for key, one in results.items()]
    into.write_text(json.dumps(rows, indent=2) + "\n")
    Console().print(f"written to {into}")
    return slower


def got_slower(ratio: float, before: float | None) -> bool:
    """Whether a ratio is further above its baseline than two runs on one machine lie apart.

    >>> got_slower(1.2, 1.0), got_slower(1.6, 1.0), got_slower(1.6, None)
    (False, True, False)
    """
    return before is not None and ratio > before * NOISE


def read_baseline(path: Path) -> dict[str, float]:
    """The stored ratios by benchmark; none where there is no file."""
    return {str(key): float(value) for key, value in json.loads(path.read_text()).items()} if path.is_file() else {}


def record(results: Mapping[str, Measured], *, baseline: Path, page: Path) -> None:
    """Store these ratios as the baseline, and put the rows into the page's table; rows of other benchmarks stay."""
    ratios = read_baseline(baseline) | {key: round(one.ratio, 3) for key, one in results.items()}
    baseline.write_text(json.dumps(ratios, indent=2) + "\n")
    rows = [
        f"| {one.name} | {one.seconds:.2f} | {one.reference} | {one.reference_seconds:.2f} | {one.ratio:.2f} "
        f"| {one.aim}: {'met' if one.met else '**not met**'} |"
        for one in results.values()
    ]
    text = page.read_text()
    start, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    there = text[start:end].strip().splitlines()[2:]
    table = {_what(row): row for row in (*there, *rows)}
    head = ["| what | seconds | against | seconds | ratio | aim |", "|---|---|---|---|---|---|"]
    page.write_text("\n".join([text[:start], "", *head, *table.values(), "", text[end:]]))


def _what(row: str) -> str:
    """The first cell of a row, without the figures in it, which differ from run to run."""
    return re.sub(r"\d[\d.,]*", "#", row.partition(" | ")[0])
