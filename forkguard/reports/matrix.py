"""The jobs of a gate (`forkguard/matrix@1`), and their joined verdict (`forkguard/gate-merge@1`) as JSON and text."""

import json
from collections.abc import Sequence

from forkguard.core.gate import Verdict
from forkguard.core.matrix import Job, JobResult, MergeReport
from forkguard.reports.plain import printable

MATRIX_SCHEMA = "forkguard/matrix@1"
MERGE_SCHEMA = "forkguard/gate-merge@1"
_SHORT = 12
_MARKS = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL", Verdict.INCONCLUSIVE: "????"}
_HEADLINES = {Verdict.PASS: "GREEN", Verdict.FAIL: "RED", Verdict.INCONCLUSIVE: "INCONCLUSIVE"}


def matrix_json(jobs: Sequence[Job]) -> str:
    """One line, so that it can be a CI system's output variable."""
    return json.dumps({"schema": MATRIX_SCHEMA, "jobs": [_job(job) for job in jobs]}) + "\n"


def _job(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "arch": job.arch,
        "profile": job.profile,
        "arm": job.arm,
        "width": job.width,
        "slots": job.slots,
        "draft_file": job.draft or None,
        "target_file": job.target or None,
    }


def merge_json(report: MergeReport) -> str:
    """One JSON document, pure ASCII."""
    document = {
        "schema": MERGE_SCHEMA,
        "verdict": str(report.verdict),
        "commit": report.commit,
        "one_commit": not report.mixed,
        "jobs": [{**_job(result.job), **_result(result)} for result in report.results],
        "problems": list(report.problems),
        "ignored": list(report.ignored),
        "adopted": list(report.adopted),
    }
    return json.dumps(document, indent=2) + "\n"


def _result(result: JobResult) -> dict[str, object]:
    receipt = result.receipt
    return {
        "verdict": str(result.verdict),
        "detail": result.detail,
        "receipt": result.path,
        "commit": receipt.tree.commit if receipt is not None else None,
        "binary_sha256": receipt.tree.binary_sha256 if receipt is not None else None,
        "finished": receipt.finished.isoformat(timespec="seconds") if receipt is not None else None,
    }


def merge_text(report: MergeReport) -> str:
    """The verdict, a line per job, and what does not fit; safe to show on a terminal."""
    passed = sum(result.verdict is Verdict.PASS for result in report.results)
    on = f" on commit {report.commit[:_SHORT]}" if report.commit else ""
    lines = [f"gate {_HEADLINES[report.verdict]}: {passed} of {len(report.results)} jobs passed{on}", ""]
    for result in report.results:
        shown = "" if result.verdict is Verdict.PASS else f"  {result.detail}"
        lines.append(f"  {_MARKS[result.verdict]}  {result.job.id}{shown}")
        if result.path is not None and result.verdict is not Verdict.PASS:
            lines.append(f"        {result.path}")
    if report.mixed:
        lines.append("  ????  the receipts are of different commits")
    lines += [f"  ????  {problem}" for problem in report.problems]
    lines += [f"  --    not counted: {each}" for each in report.ignored]
    lines += ["", *(f"receipt: {path}" for path in report.adopted)] if report.adopted else []
    again = next((result.job.id for result in report.results if result.verdict is not Verdict.PASS), None)
    if again is not None:
        lines += ["", f"next: forkguard gate --job {again}"]
    return "".join(f"{printable(line)}\n" for line in lines)
