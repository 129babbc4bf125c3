"""`python -m tools.mutate [--minutes N] [--seed N] [--each N] [MODULE...]`: do tests notice faults in `core/`?

Small faults (`tools/faults.py`) are put into a copy of the sources, one at a time, chosen by the seed. First the
doctests of `core/`, the unit tests and the tests of `WIDER` run once without a fault, to see which test calls which
function; what did not change since is not run again. For each fault the tests that call its function run, the nearest
first, until one fails: the fault was noticed. It is a sample.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import hypothesis

from tools.faults import Fault, faults_of
from tools.trials import Collected, Reached, collect

TREE = Path("build/mutants")
KEPT = Path("build/mutants.json")
CORE = Path("forkguard/core")
LONGEST = 20.0
"""Seconds of processors that the tests for one fault may take without it; the nearest are taken."""

WIDER = """
integration/test_drift.py integration/test_drift_siblings.py integration/test_fetching.py
integration/test_fitting.py integration/test_gate_trials.py integration/test_history.py integration/test_measure.py
integration/test_probe_files.py integration/test_pushing.py integration/test_receipt_chain.py
integration/test_receipts.py integration/test_notify.py integration/test_workbench.py scenarios/test_drift_ledger.py
scenarios/test_gate_jobs.py scenarios/test_nightly.py scenarios/test_port_closure.py
scenarios/test_port_compiling.py scenarios/test_report.py scenarios/test_stack_edits.py
scenarios/test_stack_replay.py scenarios/test_stack_verify.py scenarios/test_status.py scenarios/test_verify.py
"""
"""Tests beside the unit tests that reach much of `core/` from outside, in a minute each at most."""


def main() -> int:
    """Try faults until time is up."""
    options = _options()
    _copy_sources()
    kept = Path.cwd() / KEPT
    os.chdir(TREE)
    faults = _chosen(_sources(options.modules), seed=options.seed, each=options.each)
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]  # which input is the smallest is of no matter
    hypothesis.settings.register_profile("few", max_examples=25, deadline=None, database=None, phases=phases)
    hypothesis.settings.load_profile("few")
    words = [str(CORE), "tests/unit", *(f"tests/{name}" for name in WIDER.split())]

    def work(tests: Collected) -> None:
        reached = _reached(tests, kept)
        _try_all(faults, tests, reached, until=time.monotonic() + options.minutes * 60)

    return collect(words, watched=CORE, work=work)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate")
    parser.add_argument("modules", nargs="*", help="such as hunks, probes.build or probes; without any, all")
    parser.add_argument("--minutes", type=float, default=30, help="how long faults are tried")
    parser.add_argument("--seed", type=int, default=27383, help="the same seed tries the same faults of a module")
    parser.add_argument("--each", type=int, help="try this many faults of a module at most")
    return parser.parse_args()


def _copy_sources() -> None:
    shutil.rmtree(TREE, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in listed.decode().split("\0")[:-1]:
        if Path(name).is_file():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, TREE / name)
    version = Path("forkguard/_version.py")
    if version.exists():
        shutil.copy(version, TREE / version)


# -- faults ----------------------------------------------------------------------------------------------


def _module(source: Path | str) -> str:
    """Its name below `core/`.

    >>> _module("forkguard/core/probes/build.py")
    'probes.build'
    """
    return ".".join(Path(source).relative_to(CORE).with_suffix("").parts)


def _sources(modules: list[str]) -> list[Path]:
    """The named modules, and those of named packages; all without a name."""
    sources = sorted(path for path in CORE.rglob("*.py") if path.stem != "__init__")
    for module in modules:
        if not any(f"{_module(source)}.".startswith(f"{module}.") for source in sources):
            sys.exit(f"{CORE} has no module {module}")
    return [
        source for source in sources
        if not modules or any(f"{_module(source)}.".startswith(f"{module}.") for module in modules)
    ]  # fmt: skip


def _chosen(sources: list[Path], *, seed: int, each: int | None) -> list[Fault]:
    """In the order in which they are tried: the first of each module, the second of each, and so on."""
    rounds: defaultdict[int, list[Fault]] = defaultdict(list)
    for source in sources:
        faults = faults_of(source)
        random.Random(f"{seed} {_module(source)}").shuffle(faults)  # noqa: S311  (no secret)
        for number, fault in enumerate(faults[:each]):
            rounds[number].append(fault)
    return [fault for number in sorted(rounds) for fault in rounds[number]]


# -- tests -----------------------------------------------------------------------------------------------


def _reached(tests: Collected, kept: Path) -> dict[str, Reached]:
    """What each test does without a fault; those that fail are left out."""
    shared = _digest([path for top in ("forkguard", "tests/support", "tests/fuzz") for path in Path(top).rglob("*")])
    files: defaultdict[str, list[str]] = defaultdict(list)
    for name in tests.names:
        files[_file(name)].append(name)
    digests = {file: f"{shared} {_digest([Path(file)])}" for file in files}
    known = json.loads(kept.read_text()) if kept.exists() else {}
    known = {file: told for file, told in known.items() if told["of"] == digests.get(file)}
    new = [name for file, names in files.items() if file not in known for name in names]
    print(f"{len(new)} of {len(tests.names)} tests run without a fault", flush=True)
    for name, told in tests.reached(new).items():
        file = _file(name)
        known.setdefault(file, {"of": digests[file], "tests": {}})["tests"][name] = told
    kept.write_text(json.dumps(known))
    found = {name: Reached(*told) for one in known.values() for name, told in one["tests"].items()}
    for name in tests.names:
        if not found[name].passed:
            print(f"not used, as it fails without a fault: {name}")
    return {name: found[name] for name in tests.names if found[name].passed}


def _is_wide(file: str) -> bool:
    return file.removeprefix("tests/") in WIDER.split()


def _file(name: str) -> str:
    return name.split("::", maxsplit=1)[0]


def _digest(paths: list[Path]) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file():
            found.update(f"{path}\0".encode() + path.read_bytes())
    return found.hexdigest()


def _nearest(fault: Fault, reached: dict[str, Reached], *, early: bool) -> list[str]:
    """The tests for a fault, best first: those that call its function, then what else is in their files.

    Unit tests come before `WIDER`; a file is nearer the more of what it calls is of the fault's module. Of a function
    that was called `early`, when modules were imported, any test may be the one: those are taken that call most of
    its module and package.
    """
    calls: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    package: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for name, told in reached.items():
        for function in told.functions:
            calls[_file(name)][function.startswith(f"{fault.source}:")] += 1
            package[_file(name)][function.startswith(f"{fault.source.parent}/")] += 1
    files = {_file(name) for name, told in reached.items() if early or fault.function in told.functions}
    near = {
        file: (not _is_wide(file), calls[file][True] / (calls[file].total() or 1), package[file][True])
        for file in files
    }
    names = [name for name in reached if _file(name) in files]
    names.sort(key=lambda name: (near[_file(name)], fault.function in reached[name].functions), reverse=True)
    if not early:
        names.sort(key=lambda name: fault.function not in reached[name].functions)
    ends = itertools.accumulate(reached[name].seconds for name in names)
    return [name for name, end in zip(names, ends, strict=True) if end <= LONGEST] or names[:1]


def _try_all(faults: list[Fault], tests: Collected, reached: dict[str, Reached], *, until: float) -> None:
    noticed, missed = Counter[str](), Counter[str]()
    for fault in faults:
        if time.monotonic() > until:
            break
        near = _nearest(fault, reached, early=fault.function in tests.early)
        within = 10 * sum(reached[name].seconds for name in near) + 60  # a busy machine takes longer
        module = _module(fault.source)
        if near and tests.notice(fault, near, within=within):
            noticed[module] += 1
        else:
            missed[module] += 1
            why = "" if near else " (no test calls this function)"
            print(f"missed: {module}:{fault.line}: {fault.old}  ->  {fault.new}{why}", flush=True)
    for module in sorted({*noticed, *missed}):
        print(f"{module:<26} noticed {noticed[module]:>4}   missed {missed[module]:>4}")
    total = noticed.total() + missed.total()
    share = f"{100 * noticed.total() / total:.1f} %" if total else "none"
    print(f"{total} of {len(faults)} faults in {len({*noticed, *missed})} modules tried, {share} noticed")


if __name__ == "__main__":
    sys.exit(main())
