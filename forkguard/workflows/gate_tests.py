"""`gate --upstream-tests`: upstream's own tests of archs and recurrent states, built from the fork and run."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from forkguard.core.build_profiles import with_tests
from forkguard.core.gate import GateReport, NotRun
from forkguard.core.gatetests import (
    ARCHS_TEST,
    TESTS,
    Outcome,
    PlannedTest,
    UpstreamRun,
    UpstreamTests,
    also_for,
    has_result_of,
    model_folder,
    program_of,
)
from forkguard.core.names import CommitHash
from forkguard.errors import CouldNotWork
from forkguard.ports import UpstreamBench
from forkguard.workflows.build import BuiltTree, Workshop, build_tree

SOURCES = {test: f"tests/{test}.cpp" for test in TESTS}
"""Where each test is, if a tree has it."""


def run_upstream_tests(
    workshop: Workshop,
    bench: UpstreamBench,
    *,
    repository: Path,
    commit: CommitHash,
    files: Collection[str],
    profile: str,
    arch: str,
    logs: Path,
) -> UpstreamTests:
    """Build those of the tests that the tree has (`files` are its paths) and run each as the tree declares it.

    A build that fails is told in the result: what the servers showed is not lost over it.
    """
    present = [test for test in TESTS if SOURCES[test] in files]
    absent = tuple(NotRun(test, f"the fork's tree has no {SOURCES[test]}") for test in TESTS if test not in present)
    if not present:
        return UpstreamTests(commit, profile, (), absent)
    workshop.talk.step(f"building {', '.join(present)}")
    try:
        built = build_tree(
            workshop, repository=repository, commit=commit, profile=profile, targets=present, adapt=with_tests
        )
        planned = bench.listing(built.path)
    except CouldNotWork as error:
        return UpstreamTests(commit, profile, (), absent, problem=f"{', '.join(present)}: {error.what}")
    runs, left_out = _run(workshop, bench, built, planned, arch=arch, logs=logs)
    ran = {program_of(run.command) for run in runs}
    silent = tuple(
        NotRun(test, "the tree builds it and declares no run of it") for test in present if test not in ran
    )
    lost = {one.name for one in left_out}
    return UpstreamTests(
        commit, profile, runs, (*absent, *(one for one in silent if one.name not in lost), *left_out)
    )


def _run(
    workshop: Workshop,
    bench: UpstreamBench,
    built: BuiltTree,
    planned: Sequence[PlannedTest],
    *,
    arch: str,
    logs: Path,
) -> tuple[tuple[UpstreamRun, ...], tuple[NotRun, ...]]:
    runs: list[UpstreamRun] = []
    left_out: list[NotRun] = []
    pending = list(planned)
    folder = model_folder(planned)
    failed = ""
    while pending:
        one = pending.pop(0)
        if failed and folder is not None and any(word.startswith(folder) for word in one.command):
            left_out.append(NotRun(one.name, f"{failed} did not write its model"))
            continue
        workshop.talk.step(f"running {one.name}")
        run = bench.run(one, logs=logs)
        runs.append(run)
        if one.first and run.outcome is not Outcome.PASSED:
            failed = one.name
        elif one.first and folder is not None:
            pending += also_for(arch, bench.models(built.path / folder), (*planned, *pending))
    return tuple(runs), (*left_out, *_untested(bench, runs, arch=arch, logs=logs))


def _untested(bench: UpstreamBench, runs: Sequence[UpstreamRun], *, arch: str, logs: Path) -> list[NotRun]:
    """Runs that ended well and tested nothing, or nothing of the gated arch."""
    told = [NotRun(run.name, run.lines[0]) for run in runs if run.outcome is Outcome.SKIPPED]
    tables = [run for run in runs if run.name == ARCHS_TEST and run.outcome is Outcome.PASSED]
    told += [
        NotRun(f"{run.name} of {arch}", f"the test has no result for {arch}")
        for run in tables
        if not has_result_of(arch, bench.text(logs, run))
    ]
    return told


def attach_tests(report: GateReport, tests: UpstreamTests, *, finished: str) -> GateReport:
    """The report with the tests' check behind its own, and what they rest on for the receipt."""
    return replace(
        report,
        checks=(*report.checks, tests.check),
        not_run=(*report.not_run, *tests.left_out),
        upstream_tests=tests,
        finished=finished,
    )
