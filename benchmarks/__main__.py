"""`python -m benchmarks [--record] [NAME...]`: run the benchmarks that are named, else all that need no long build.

Ends with status 1 where a ratio got slower than the stored baseline; `--record` stores what came out instead.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.build import second_tree_against_ninja
from benchmarks.drift import drift_against_blame
from benchmarks.drift_all import all_archs_against_blame, base_by_content, second_fork_against_first
from benchmarks.gate import warm_gate_with_probe
from benchmarks.nightly import night_with_nothing_new
from benchmarks.report import year_against_reading
from benchmarks.stack import breaking_commit_among_400, replay_against_am, replay_command_against_am
from benchmarks.startup import help_against_python
from benchmarks.timing import Measured, read_baseline, record, show

RESULTS = Path("build") / "benchmarks.json"
BASELINE = Path("benchmarks") / "baseline.json"
PAGE = Path("docs") / "performance.md"
_RECORD = "--record"
BENCHMARKS: dict[str, Callable[[], Measured]] = {
    "startup": help_against_python,
    "drift": drift_against_blame,
    "drift-all": all_archs_against_blame,
    "second-fork": second_fork_against_first,
    "base": base_by_content,
    "build": second_tree_against_ninja,
    "gate": warm_gate_with_probe,
    "replay": replay_against_am,
    "replay-command": replay_command_against_am,
    "breaking": breaking_commit_among_400,
    "nightly": night_with_nothing_new,
    "year": year_against_reading,
}
OPT_IN = ("build", "gate")
"""They build a llama-server from nothing where the cache has none, so they run only when they are named."""


def main(words: list[str]) -> int:
    """Run them in order, and show what came out; the status to end with."""
    names = [word for word in words if word != _RECORD]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise SystemExit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    if not names:
        print(f"left out, since it builds llama.cpp for a quarter of an hour the first time: {', '.join(OPT_IN)}")
    results = {name: BENCHMARKS[name]() for name in names or _quick()}
    slower = show(results, before=read_baseline(BASELINE), into=RESULTS)
    if _RECORD in words:
        record(results, baseline=BASELINE, page=PAGE)
        return 0
    if slower:
        print(f"slower than the baseline: {', '.join(slower)}; run it again on a machine that does little else")
    return 1 if slower else 0


def _quick() -> list[str]:
    return [name for name in BENCHMARKS if name not in OPT_IN]


sys.exit(main(sys.argv[1:]))
