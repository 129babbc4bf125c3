"""A self-test of the gate and a bisection of the stack, as JSON and as text."""

import json
import shlex
from collections.abc import Sequence

from forkguard.core.findings import Side
from forkguard.core.gate import Verdict
from forkguard.core.gate_bisect import BisectReport, BisectResult, Judged
from forkguard.core.self_test import Gated, Outcome, SelfTestReport, Trial
from forkguard.reports.plain import counted, printable

SELF_TEST = "forkguard/self-test@1"
BISECT = "forkguard/bisect@1"
_SHORT = 10


def self_test_json(report: SelfTestReport) -> str:
    """The whole self-test."""
    return json.dumps(
        {
            "schema": SELF_TEST,
            "verdict": str(report.verdict),
            "arch": report.arch,
            "fork": _side(report.fork),
            "profile": report.profile,
            "controls": [_gated(gated) for gated in report.controls],
            "mutations": [_trial(trial) for trial in report.trials],
            "ran": len(report.ran),
            "red": len(report.red),
            "needed": len(report.trials) if report.chosen else report.fewest,
            "chosen": report.chosen,
            "seconds": round(report.seconds, 1),
        },
        indent=2,
    )


def _side(side: Side) -> dict[str, object]:
    return {"ref": side.ref, "commit": side.commit}


def _gated(gated: Gated) -> dict[str, object]:
    return {"verdict": str(gated.verdict), "said": gated.said, "receipt": gated.receipt}


def _trial(trial: Trial) -> dict[str, object]:
    mutation = trial.mutation
    return {
        "name": mutation.name,
        "title": mutation.title,
        "expected": {
            "check": str(mutation.expected.check),
            "classes": sorted(mutation.expected.kinds),
            "verdicts": sorted(mutation.expected.verdicts),
        },
        "outcome": str(trial.outcome),
        "commit": trial.commit,
        "gate": _gated(trial.gated) if trial.gated is not None else None,
        "reason": trial.reason,
        "seconds": round(trial.seconds, 1),
    }


def self_test_text(report: SelfTestReport) -> str:
    """A table of mutations, then the verdict."""
    where = f"{report.arch} of {report.fork.ref} ({report.fork.commit[:_SHORT]})"
    lines = [f"self-test of the gate: {where}, profile {report.profile}"]
    lines += [f"the tree itself: {gated.said}" for gated in report.controls[:1]]
    if report.trials:
        rows = [("mutation", "must say", "the gate said", "", "seconds"), *map(_row, report.trials)]
        lines += ["", *_table(rows), ""]
        lines += [f"  {trial.mutation.name}: {trial.reason}" for trial in report.trials if trial.reason]
    lines += [_verdict(report)]
    failed = [trial.gated for trial in report.trials if trial.outcome.failed and trial.gated is not None]
    unsure = [gated for gated in report.controls if gated.verdict is not Verdict.PASS]
    lines += [f"next: {_reading(gated)}" for gated in (*failed, *unsure)[:1]]
    return _lines(lines)


def _reading(gated: Gated) -> str:
    return f"less {shlex.quote(gated.receipt)}"


def _row(trial: Trial) -> tuple[str, ...]:
    said = trial.gated.said if trial.gated is not None else "-"
    return (
        trial.mutation.name, str(trial.mutation.expected), said, str(trial.outcome), f"{trial.seconds:.0f}",
    )  # fmt: skip


def _verdict(report: SelfTestReport) -> str:
    ran, idle = len(report.ran), sum(trial.outcome is Outcome.NOT_GREEN for trial in report.trials)
    of = f"{len(report.red)} of {counted(ran, 'mutation')} caught, " + (f"{idle} not green, " if idle else "")
    of += f"{len(report.trials) - ran} not run"
    if report.chosen:
        of += "; only those that were named"
    took = f"{report.seconds:.0f} s"
    if report.verdict is Verdict.PASS:
        return f"self-test PASSED: {of}; {took}"
    if report.verdict is Verdict.FAIL:
        return f"self-test FAILED: {of}: the gate lets through what it must not; {took}"
    if not report.trials:
        return f"self-test INCONCLUSIVE: the tree itself does not pass, so a red mutant would show nothing; {took}"
    return f"self-test INCONCLUSIVE: {of}: too few ran to a red gate to show that it works; {took}"


def bisect_json(report: BisectReport) -> str:
    """The whole bisection."""
    answer = report.answer
    return json.dumps(
        {
            "schema": BISECT,
            "result": str(answer.result),
            "patchset": report.suspects[0] if answer.result is BisectResult.FOUND else None,
            "suspects": list(report.suspects),
            "arch": report.arch,
            "profile": report.profile,
            "fork": _side(report.fork),
            "base": {"ref": report.upstream, "commit": report.points[0].commit},
            "stack": [{"patchset": point.patchset, "commit": point.commit} for point in report.points[1:]],
            "last_green": answer.last_green,
            "first_red": answer.first_red,
            "skipped": list(answer.skipped),
            "monotone": answer.monotone,
            "others": list(answer.others),
            "runs": [_run(run) for run in report.judged],
            "notes": list(report.notes),
            "seconds": round(report.seconds, 1),
        },
        indent=2,
    )


def _run(run: Judged) -> dict[str, object]:
    return {
        "at": run.at,
        "patchset": run.point.patchset,
        "commit": run.point.commit,
        "gate": _gated(run.gated) if run.gated is not None else None,
        "reason": run.reason,
        "seconds": round(run.seconds, 1),
    }


def bisect_text(report: BisectReport) -> str:
    """A table of the states that were gated, in the order of the stack, then the answer."""
    many = counted(len(report.points) - 1, "patchset")
    lines = [f"bisection of {many} on {report.upstream} ({report.points[0].commit[:_SHORT]}): {report.arch}", ""]
    rows: list[tuple[str, ...]] = [("", "with", "commit", "verdict", "the gate said", "seconds")]
    rows += [_run_row(run) for run in sorted(report.judged, key=lambda run: run.at)]
    lines += [*_table(rows), "", *_answer(report), *report.notes]
    return _lines(lines)


def _run_row(run: Judged) -> tuple[str, ...]:
    verdict = str(run.gated.verdict) if run.gated is not None else "none"
    said = run.gated.said if run.gated is not None else run.reason
    return (
        str(run.at), run.point.patchset or "the base", run.point.commit[:_SHORT], verdict, said, f"{run.seconds:.0f}",
    )  # fmt: skip


def _answer(report: BisectReport) -> list[str]:
    answer = report.answer
    if answer.result is BisectResult.TIP_GREEN:
        return ["the whole stack passes: no patchset makes the gate red"]
    if answer.result is BisectResult.BASE_RED:
        return ["the base is red by itself: it is upstream's, and no patchset brought it", *_look(report, 0)]
    if answer.result is BisectResult.INCONCLUSIVE:
        what = "the base" if answer.skipped == (0,) else "the whole stack"
        return [f"no answer: the gate of {what} has no verdict", *_look(report, answer.skipped[0])]
    red = report.run(answer.first_red)
    said = red.gated.said if red is not None and red.gated is not None else ""
    low = answer.last_green or 0
    before = report.points[low].patchset or "the base"
    if answer.result is BisectResult.FOUND:
        lines = [f"first red: {report.suspects[0]} ({said}); {before}, just before it, passes"]
    else:
        lines = [f"first red: one of {', '.join(report.suspects)} ({said}); the states between have no verdict"]
    lines += [f"not the whole story: {_strange(report, at)}" for at in answer.others]
    names = report.suspects if answer.result is BisectResult.FOUND else ()
    receipt = [f"receipt: {red.gated.receipt}"] if red is not None and red.gated is not None else []
    return [*lines, *receipt, *(f"next: forkguard stack show {name}" for name in names)]


def _look(report: BisectReport, at: int) -> list[str]:
    """The receipt of a state, as what to read next."""
    run = report.run(at)
    return [f"next: {_reading(run.gated)}"] if run is not None and run.gated is not None else []


def _strange(report: BisectReport, at: int) -> str:
    name = report.points[at].patchset or "the base"
    early = at < (report.answer.first_red or 0)
    return f"the gate is red before it too, with {name}" if early else f"the gate passes again with {name}"


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(printable(row[at])) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{printable(line)}\n" for line in lines)
