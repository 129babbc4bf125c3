"""Upstream's own tests of archs and of recurrent states: which a tree has, what they said, what it comes to."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ValidationError

from forkguard.core.gate import Check, CheckName, NotRun, Verdict, signal_name

ARCHS_TEST = "test-llama-archs"
ROLLBACK_TEST = "test-recurrent-state-rollback"
TESTS = (ARCHS_TEST, ROLLBACK_TEST)
"""The programs, which are cmake's targets too; the first also writes the models that the second reads."""

_SHOWN = 12
_TAIL = 5
_NAME_LENGTH = 120
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TELLING = re.compile(
    r"\bFAIL|\bfailed\b|mismatch|\berror\b|GGML_ASSERT|GGML_ABORT|Assertion|terminate called|what\(\)", re.IGNORECASE
)
_SKIPPED = re.compile(r"^\S+ ?: skipping ")


class Outcome(StrEnum):
    """What one run of a test came to; `skipped` is a clean exit by which it says that it tested nothing."""

    PASSED = "passed"
    FAILED = "failed"
    HUNG = "hung"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """One run: its name, its argv, the folder it runs in, and whether the others need what it leaves."""

    name: str
    command: tuple[str, ...]
    folder: str
    first: bool = False


@dataclass(frozen=True, slots=True)
class UpstreamRun:
    """One run that ended: `exit_code` or `signal`, neither where it hung; `lines` tell of what failed."""

    name: str
    command: tuple[str, ...]
    outcome: Outcome
    exit_code: int | None
    signal: str | None
    seconds: float
    log: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpstreamTests:
    """All runs on one tree. `left_out` are tests that it does not have, or that tested nothing, with the reason.

    `problem` says why there are no runs though there might have been (they did not compile).
    """

    commit: str
    profile: str
    runs: tuple[UpstreamRun, ...]
    left_out: tuple[NotRun, ...] = ()
    problem: str = ""

    @property
    def check(self) -> Check:
        """Red where a test failed or hung; inconclusive where none ran to a result."""
        name = CheckName.UPSTREAM_TESTS
        bad = [run for run in self.runs if run.outcome in (Outcome.FAILED, Outcome.HUNG)]
        if bad:
            evidence = tuple(_evidence(run) for run in bad)
            kind = "test-hung" if bad[0].outcome is Outcome.HUNG else "test-failed"
            detail = f"{len(bad)} of {len(self.runs)} runs failed; {_told(bad[0])}"
            return Check(name, Verdict.FAIL, kind, detail, evidence)
        if self.problem:
            return Check(name, Verdict.INCONCLUSIVE, "not-built", self.problem)
        passed = [run for run in self.runs if run.outcome is Outcome.PASSED]
        if not passed:
            why = "; ".join(dict.fromkeys(one.reason for one in self.left_out)) or "the tree has none of them"
            return Check(name, Verdict.INCONCLUSIVE, "no-tests", f"not one of upstream's tests ran: {why}")
        return Check(name, Verdict.PASS, None, f"passed: {', '.join(run.name for run in passed)}")


def _told(run: UpstreamRun) -> str:
    ended = run.signal or f"status {run.exit_code}"
    how = "did not end in time" if run.outcome is Outcome.HUNG else f"ended with {ended}"
    return f"{run.name} {how}" + (f": {run.lines[0]}" if run.lines else "")


def _evidence(run: UpstreamRun) -> Mapping[str, object]:
    return {"arm": run.name, "class": str(run.outcome), "log": run.log, "lines": list(run.lines)}


class _Property(BaseModel):
    name: str
    value: Any = None


class _Declared(BaseModel):
    name: str
    command: tuple[str, ...] = ()
    properties: tuple[_Property, ...] = ()


class _Listing(BaseModel):
    tests: tuple[_Declared, ...]


def read_listing(text: str) -> tuple[PlannedTest, ...]:
    """The runs that a tree declares for `TESTS`, by `ctest --show-only=json-v1`; those that others need come first.

    Raises `ValueError` for what is no such listing.
    """
    try:
        listing = _Listing.model_validate_json(text)
    except ValidationError as error:
        raise ValueError("it is no listing of tests") from error
    planned = []
    for test in listing.tests:
        if not test.command or program_of(test.command) not in TESTS:
            continue
        properties = {one.name: one.value for one in test.properties}
        folder = properties.get("WORKING_DIRECTORY")
        planned.append(
            PlannedTest(
                test.name,
                test.command,
                folder if isinstance(folder, str) else "",
                first="FIXTURES_SETUP" in properties,
            )
        )
    return tuple(sorted(planned, key=lambda one: not one.first))


def program_of(command: Sequence[str]) -> str:
    """The name of the program that a command runs.

    >>> program_of(["/tree/build/bin/test-llama-archs", "-o", "models"])
    'test-llama-archs'
    """
    return posixpath.basename(command[0]).removesuffix(".exe")


def model_folder(planned: Sequence[PlannedTest]) -> str | None:
    """The folder into which the first test writes its models (`-o DIR`); None where none does."""
    for one in planned:
        words = one.command
        if program_of(words) == ARCHS_TEST and "-o" in words[:-1]:
            return words[words.index("-o") + 1]
    return None


def also_for(arch: str, models: Sequence[str], planned: Sequence[PlannedTest]) -> tuple[PlannedTest, ...]:
    """The rollback test on the gated arch's models too (paths named `<arch>-dense.gguf`, `<arch>-moe.gguf`).

    Upstream declares it for two archs of its own choice.
    """
    known = next((one for one in planned if program_of(one.command) == ROLLBACK_TEST), None)
    if known is None:
        return ()
    used = {posixpath.normpath(word) for one in planned for word in one.command}
    wanted = {f"{arch}-dense.gguf", f"{arch}-moe.gguf"}
    return tuple(
        PlannedTest(
            f"{ROLLBACK_TEST}-{posixpath.basename(path).removesuffix('.gguf')}",
            (known.command[0], "-m", path),
            known.folder,
        )
        for path in models
        if posixpath.basename(path) in wanted and posixpath.normpath(path) not in used
    )


def log_name(test: str) -> str:
    """The name of a run's log beside the receipt.

    >>> log_name("test a/b")
    'upstream-test_a_b.log'
    """
    return f"upstream-{re.sub(r'[^A-Za-z0-9._-]+', '_', test)[:_NAME_LENGTH]}.log"


def read_run(planned: PlannedTest, output: str, *, status: int | None, seconds: float, log: str) -> UpstreamRun:
    """What a run said. `status` is negative for a signal's number, None where it was ended for its time."""
    lines = [_ANSI.sub("", line).strip() for line in output.splitlines()]
    skipped = next((line for line in lines if _SKIPPED.match(line)), None)
    if status is None:
        outcome = Outcome.HUNG
    elif status:
        outcome = Outcome.FAILED
    else:
        outcome = Outcome.SKIPPED if skipped is not None else Outcome.PASSED
    told: tuple[str, ...] = ()
    if outcome is Outcome.SKIPPED and skipped is not None:
        told = (skipped,)
    elif outcome is not Outcome.PASSED:
        told = failing_lines(lines)
    return UpstreamRun(
        planned.name,
        planned.command,
        outcome,
        exit_code=status if status is not None and status >= 0 else None,
        signal=signal_name(-status) if status is not None and status < 0 else None,
        seconds=seconds,
        log=log,
        lines=told,
    )


def failing_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines that tell of a failure, else the last ones.

    >>> failing_lines(["ok", "|lfm2|CPU|Dense|FAIL|", "done"])
    ('|lfm2|CPU|Dense|FAIL|',)
    """
    telling = [line for line in lines if _TELLING.search(line)]
    return tuple(telling[:_SHOWN]) or tuple([line for line in lines if line][-_TAIL:])


def has_result_of(arch: str, output: str) -> bool:
    """Whether the table of `test-llama-archs` has a result of that arch, not only SKIP.

    >>> has_result_of("lfm2", "|  lfm2|   CPU| Dense|  OK (1e-9)|  OK|")
    True
    """
    for line in output.splitlines():
        cells = [cell.strip() for cell in _ANSI.sub("", line).split("|")]
        if arch in cells[:2] and any(cell.startswith(("OK", "FAIL")) for cell in cells):
            return True
    return False
