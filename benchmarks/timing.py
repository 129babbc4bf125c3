"""Times whole processes, and says what came out as a table and as JSON."""

import json
import os
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


def show(results: Sequence[Measured], *, into: Path) -> None:
    """Print the table, and write the same as JSON."""
    table = Table("what", "seconds", "reference", "seconds", "ratio", "aim", "met")
    for one in results:
        table.add_row(
            one.name, f"{one.seconds:.3f}", one.reference, f"{one.reference_seconds:.3f}", f"{one.ratio:.2f}",
            one.aim, "yes" if one.met else "NO",
        )  # fmt: skip
    Console().print(table)
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_text(json.dumps([asdict(one) | {"ratio": one.ratio} for one in results], indent=2) + "\n")
    Console().print(f"written to {into}")
