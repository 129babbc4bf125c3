"""A gate run as JSON (`forkguard/gate@1`, also the receipt) and as text for a terminal."""

import json
import shlex
from collections.abc import Mapping
from pathlib import PurePath

from forkguard.core.completion import Answer
from forkguard.core.determinism import Difference
from forkguard.core.gate import (
    Arm,
    Asked,
    Check,
    CheckName,
    Failure,
    GatedTree,
    GateReport,
    ServerEnd,
    Side,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.gatecrash import load_values
from forkguard.core.gatetests import UpstreamTests
from forkguard.reports import performance
from forkguard.reports.plain import printable

SCHEMA = "forkguard/gate@1"

_MARKS = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL", Verdict.INCONCLUSIVE: "????"}
_HEADLINES = {Verdict.PASS: "GREEN", Verdict.FAIL: "RED", Verdict.INCONCLUSIVE: "INCONCLUSIVE"}
_SHOWN_LINES = 4
_SHOWN_FRAMES = 6
_LINE_LENGTH = 200


def to_json(report: GateReport) -> str:
    """One JSON document, pure ASCII, so that nothing in a log can reach a terminal through it."""
    document = _document(report)
    if report.measured is not None:
        document["measurements"] = performance.to_document(report.measured)
    if report.upstream_tests is not None:
        document["upstream_tests"] = _tests(report.upstream_tests)
    return json.dumps(document, indent=2) + "\n"


def _document(report: GateReport) -> dict[str, object]:
    settings = report.settings
    return {
        "schema": SCHEMA,
        "forkguard": report.version,
        "verdict": str(report.verdict),
        "arch": settings.arch,
        "checks": [_check(check) for check in report.checks],
        "not_run": [{"name": one.name, "reason": one.reason} for one in report.not_run],
        "arms": [_arm(arm) for arm in report.arms],
        "tree": {
            "ref": report.tree.ref,
            "commit": report.tree.commit,
            "patchsets": list(report.tree.patchsets),
            "binary": report.tree.binary,
            "binary_sha256": report.tree.binary_sha256,
            "libraries": [{"path": one.path, "sha256": one.sha256} for one in report.libraries],
        },
        "upstream": _other_tree(report.upstream) if report.upstream is not None else None,
        "asserts": {
            "compiled_in": report.asserts.compiled_in,
            "tree": _other_tree(report.asserts.tree) if report.asserts.tree is not None else None,
        },
        "models": [
            {"name": model.name, "path": model.path, "sha256": model.sha256, "arch": model.arch}
            for model in report.models
        ],
        "settings": {
            "probe": settings.probe,
            "near_tie_nats": settings.near_tie,
            "policy": str(settings.policy),
            "fallback": "fail" if settings.fallback_fails else "pass",
            "checks": [str(check) for check in settings.checks],
        },
        "box": dict(report.box),
        "environment": dict(report.environment),
        "started": report.started,
        "finished": report.finished,
        "warnings": list(report.warnings),
    }


def _other_tree(tree: GatedTree) -> dict[str, object]:
    return {"ref": tree.ref, "commit": tree.commit, "binary": tree.binary, "binary_sha256": tree.binary_sha256}


def _tests(tests: UpstreamTests) -> dict[str, object]:
    return {
        "commit": tests.commit,
        "profile": tests.profile,
        "runs": [
            {
                "name": run.name,
                "command": list(run.command),
                "outcome": str(run.outcome),
                "exit_code": run.exit_code,
                "signal": run.signal,
                "seconds": round(run.seconds, 3),
                "log": run.log,
                "lines": list(run.lines),
            }
            for run in tests.runs
        ],
    }


def _check(check: Check) -> dict[str, object]:
    return {
        "name": str(check.name),
        "verdict": str(check.verdict),
        "class": check.kind,
        "detail": check.detail,
        "evidence": [dict(one) for one in check.evidence],
        "suspects": [_suspect(one) for one in check.suspects],
        "culprit": check.culprit,
        "trigger": check.trigger,
    }


def _suspect(suspect: Suspect) -> dict[str, object]:
    return {
        "finding": suspect.finding,
        "title": suspect.title,
        "severity": suspect.severity,
        "place": suspect.place,
        "pr": suspect.pull,
        "mend": suspect.mend,
        "command": suspect.command,
    }


def _arm(arm: Arm) -> dict[str, object]:
    return {
        "name": arm.plan.name,
        "draft": arm.plan.drafts,
        "width": arm.plan.width,
        "verbose": arm.plan.verbose,
        "side": str(arm.plan.side),
        "slots": arm.plan.slots,
        "draft_file": arm.plan.draft or None,
        "target_file": arm.plan.target or None,
        "recheck": arm.plan.recheck,
        "command": list(arm.command),
        "complete": arm.complete,
        "drafted": arm.drafted,
        "accepted": arm.accepted,
        "seconds": round(arm.seconds, 3),
        "requests": [_request(one) for one in arm.asked],
        "trouble": _trouble(arm.trouble) if arm.trouble is not None else None,
        "end": _end(arm.end),
    }


def _request(asked: Asked) -> dict[str, object]:
    return {
        "prompt": asked.prompt,
        "seconds": round(asked.seconds, 3),
        "answer": _answer(asked.answer) if asked.answer is not None else None,
    }


def _answer(answer: Answer) -> dict[str, object]:
    gaps = [
        round(best[0].logprob - best[1].logprob, 6) if len(best) > 1 else None for best in answer.candidates
    ]  # fmt: skip
    return {
        "tokens": list(answer.tokens),
        "text": answer.text,
        "top2_gap_nats": gaps,
        "drafted": answer.drafted,
        "accepted": answer.accepted,
        "timings": dict(answer.timings),
    }


def _trouble(trouble: Trouble) -> dict[str, object]:
    return {
        "class": str(trouble.failure),
        "stage": str(trouble.stage),
        "text": trouble.text,
        "place": trouble.place,
        "signal": trouble.signal,
        "exit_code": trouble.exit_code,
        "before": list(trouble.before),
        "after": list(trouble.after),
        "frames": list(trouble.frames),
        "load": dict(load_values(trouble.load)) if trouble.load is not None else None,
        "child": trouble.child,
    }


def _end(end: ServerEnd) -> dict[str, object]:
    return {
        "exit_code": end.exit_code,
        "signal": end.signal,
        "asked_to_stop": end.asked,
        "killed": end.killed,
        "left_behind": list(end.left_behind),
        "log": end.log_file,
        "log_bytes": end.log.size,
        "log_left_out": end.log_left_out,
        "fallbacks": [{"class": str(one.kind), "text": one.text, "count": one.count} for one in end.log.fallbacks],
        "rollback_slots": list(end.log.rollback_slots),
    }


def to_text(report: GateReport, *, receipt: str | None) -> str:
    """Verdict first, then the one reason, the evidence, and what to type next; safe to show on a terminal."""
    lines = [_headline(report), ""]
    reason = report.reason
    if reason is not None:
        lines += [*_reason_lines(reason), *_evidence(report, reason), ""]
    wide = max(len(check.name) for check in report.checks) if report.checks else 0
    lines += [_check_line(check, wide, told=check is reason) for check in report.checks]
    lines += _not_run_lines(report)
    lines += ["", *_arm_lines(report), ""]
    if report.measured is not None:
        lines += [f"  {line}" for line in performance.to_lines(report.measured)] + [""]
    lines += [f"  warning: {warning}" for warning in report.warnings]
    if receipt is not None:
        lines.append(f"receipt: {receipt}")
    lines += _next(report, receipt)
    return "\n".join(_safe(line) for line in lines) + "\n"


def _headline(report: GateReport) -> str:
    tree = report.tree
    what = f"{tree.ref} ({tree.commit[:12]})" if tree.ref and tree.commit else tree.binary
    models = "the probe" if report.settings.probe else " + ".join(model.name for model in report.models)
    return f"gate {_HEADLINES[report.verdict]}: {report.settings.arch} on {what}, with {models}"


def _reason_lines(check: Check) -> list[str]:
    """The check's words, a part a line, and what it takes for the fault to show."""
    trigger = f" ({check.trigger})" if check.trigger else ""
    first, *rest = check.detail.removesuffix(trigger).split("; ")
    lines = [f"  {check.name}: {first}", *(f"    {part}" for part in rest)]
    return lines + ([f"    when:   {check.trigger}"] if check.trigger else [])


def _not_run_lines(report: GateReport) -> list[str]:
    """What was left out, by the reason."""
    names: dict[str, list[str]] = {}
    for one in report.not_run:
        names.setdefault(one.reason, []).append(one.name)
    return [f"  --    not run: {', '.join(each)}: {reason}" for reason, each in names.items()]


def _check_line(check: Check, wide: int, *, told: bool) -> str:
    kind = f"[{check.kind}] " if check.kind else ""
    return f"  {_MARKS[check.verdict]}  {check.name:{wide}} {kind}{'see above' if told else check.detail}"


def _arm_lines(report: GateReport) -> list[str]:
    """A line per server, and per run of upstream's tests, the names in one column."""
    runs = report.upstream_tests.runs if report.upstream_tests is not None else ()
    wide = max(len(name) for name in (*(arm.plan.name for arm in report.arms), *(run.name for run in runs), ""))
    lines = [f"  arm  {arm.plan.name:{wide}} {_did(arm)}, {arm.seconds:.1f} s" for arm in report.arms]
    return lines + [f"  test {run.name:{wide}} {run.outcome}, {run.seconds:.1f} s" for run in runs]


def _did(arm: Arm) -> str:
    if not arm.plan.prompts:
        return "started for its log alone"
    did = f"{len(arm.answers)} of {len(arm.plan.prompts)} prompts answered"
    return did + (f", {arm.accepted} of {arm.drafted} draft tokens accepted" if arm.plan.drafts else "")


def _evidence(report: GateReport, check: Check) -> list[str]:
    lines: list[str] = []
    arm = next((arm for arm in report.arms if arm.trouble is not None and arm.plan.side is not Side.UPSTREAM), None)
    if check.name is CheckName.UPSTREAM_TESTS and report.upstream_tests is not None:
        red = {one["arm"] for one in check.evidence}
        for run in report.upstream_tests.runs:
            if run.name in red:
                lines += [f"    {run.name}: {line}" for line in run.lines[:_SHOWN_LINES]]
                lines.append(f"    log:    {run.log}")
    if check.name is CheckName.CRASH and arm is not None and arm.trouble is not None:
        lines += _trouble_lines(arm.trouble)
        lines.append(f"    log:    {arm.end.log_file}")
    for suspect in check.suspects:
        lines.append(f"    drift explains it: {suspect.title}  ({suspect.place}, {suspect.finding})")
        lines.append(f"    what mends it:     {suspect.mend}")
    return lines


def _trouble_lines(trouble: Trouble) -> list[str]:
    lines = []
    ended = trouble.signal or (f"status {trouble.exit_code}" if trouble.exit_code is not None else "")
    if ended:
        lines.append(f"    ended:  {ended}")
    if trouble.place:
        lines.append(f"    at:     {trouble.place}")
    lines += [f"    before: {line}" for line in trouble.before[-_SHOWN_LINES:]]
    after = "last:  " if trouble.failure is Failure.HANG else "after: "
    lines += [f"    {after} {line}" for line in trouble.after[:_SHOWN_LINES]]
    return lines + [f"    frame:  {line}" for line in trouble.frames[:_SHOWN_FRAMES]]


def _next(report: GateReport, receipt: str | None) -> list[str]:
    """What mends it, else the log that tells more."""
    reason = report.reason
    if reason is None:
        return []
    commands = dict.fromkeys(suspect.command for suspect in reason.suspects)
    if commands:
        return [f"next: {' && '.join(commands)}"]
    if reason.name in (CheckName.PERFORMANCE, CheckName.QUALITY):
        return [f"next: forkguard drift --arch {shlex.quote(report.settings.arch)}"]
    if reason.kind == Difference.BATCH_SHAPE and reason.verdict is Verdict.FAIL and reason.culprit is None:
        return [f"next: forkguard gate --arch {shlex.quote(report.settings.arch)} --upstream"]
    log = next((log for one in reason.evidence if (log := _log_of(report, one)) is not None), None)
    if log is not None and receipt is not None:
        return [f"next: less {shlex.quote(str(PurePath(receipt).with_name(log)))}"]
    return [f"next: forkguard drift --arch {shlex.quote(report.settings.arch)}"]


def _log_of(report: GateReport, evidence: Mapping[str, object]) -> str | None:
    """The log that a piece of evidence rests on: its own, else its arm's."""
    log = evidence.get("log")
    if isinstance(log, str):
        return log
    return next((arm.end.log_file for arm in report.arms if arm.plan.name == evidence.get("arm")), None)


def _safe(line: str) -> str:
    """No control character reaches the terminal, whatever a log or a model file held."""
    shown = printable(line.rstrip())
    return shown if len(shown) <= 2 * _LINE_LENGTH else shown[: 2 * _LINE_LENGTH] + " …"
