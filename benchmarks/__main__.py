"""`python -m benchmarks [NAME...]`: run the benchmarks (all, or the named ones)."""

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.build import second_tree_against_ninja
from benchmarks.drift import drift_against_blame
from benchmarks.gate import warm_gate_with_probe
from benchmarks.startup import help_against_python
from benchmarks.timing import Measured, show

RESULTS = Path("build") / "benchmarks.json"
BENCHMARKS: dict[str, Callable[[], Measured]] = {
    "startup": help_against_python,
    "drift": drift_against_blame,
    "build": second_tree_against_ninja,
    "gate": warm_gate_with_probe,
}


def main(names: list[str]) -> None:
    """Run them in order, and show what came out."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise SystemExit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    show([BENCHMARKS[name]() for name in names or BENCHMARKS], into=RESULTS)


main(sys.argv[1:])
