"""The answer of `forkguard verify`: three lines for a person, JSON (`forkguard/verify@1`) for a pipeline."""

import json
from collections.abc import Sequence
from pathlib import PurePath

from forkguard.core.verify import Judged, VerifyReport, span
from forkguard.reports.plain import counted, printable

SCHEMA = "forkguard/verify@1"
_SHORT = 12
_SHOWN = 400


def verify_json(report: VerifyReport) -> str:
    """One JSON document, pure ASCII."""
    question, refusal = report.question, report.refusal
    document = {
        "schema": SCHEMA,
        "verdict": "pass" if refusal is None else "refused",
        "refusal": None
        if refusal is None
        else {
            "class": str(refusal.reason),
            "detail": refusal.detail,
            "where": refusal.where,
            "hint": refusal.hint,
        },
        "binary": {"path": question.binary, "sha256": question.sha256},
        "arch": question.arch,
        "models": [{"path": model.path, "sha256": model.sha256} for model in question.models],
        "flags": None if question.flags is None else list(question.flags.words()),
        "environment": dict(question.environment),
        "max_age_seconds": None if question.max_age is None else question.max_age.total_seconds(),
        "receipts_folder": report.folder,
        "receipts": [_receipt(report, judged) for judged in report.judged],
        "not_compared": list(_not_compared(report)),
        "notes": list(report.notes),
        "checked": question.now.isoformat(timespec="seconds"),
    }
    return json.dumps(document, indent=2) + "\n"


def _receipt(report: VerifyReport, judged: Judged) -> dict[str, object]:
    receipt = judged.receipt
    return {
        "path": judged.link.path,
        "sha256": judged.link.sha256,
        "arch": receipt.arch,
        "job": receipt.job,
        "commit": receipt.tree.commit,
        "finished": receipt.finished.isoformat(timespec="seconds"),
        "age_seconds": round((report.question.now - receipt.finished).total_seconds()),
        "libraries": len(receipt.tree.libraries),
        "logs": len(receipt.logs),
        "signer": judged.signer,
    }


def verify_text(report: VerifyReport) -> str:
    """Three lines; safe to show on a terminal."""
    refusal = report.refusal
    if refusal is None:
        lines = _covered(report)
    else:
        where = PurePath(report.folder, refusal.where) if refusal.where else PurePath(report.folder)
        lines = [
            f"verify REFUSED [{refusal.reason}]: {report.question.binary}: {refusal.detail}",
            f"  where: {where}",
            f"  next:  {refusal.hint}",
        ]
    return "".join(f"{_safe(line)}\n" for line in lines)


def _covered(report: VerifyReport) -> list[str]:
    question = report.question
    newest = report.judged[0]
    receipt = newest.receipt
    archs = ", ".join(dict.fromkeys(judged.receipt.arch for judged in report.judged))
    more = f" and {len(report.judged) - 1} more" if len(report.judged) > 1 else ""
    commit = f", commit {receipt.tree.commit[:_SHORT]}" if receipt.tree.commit else ""
    libraries = counted(len(receipt.tree.libraries), "library", "libraries")
    compared = [libraries, "environment", counted(len(receipt.logs), "log", "logs")]
    compared += [counted(len(question.models), "model", "models")] if question.models else []
    compared += ["flags"] if question.flags is not None else []
    compared += [f"signature of {newest.signer}"] if newest.signer is not None else []
    without = f"; not compared: {', '.join(_not_compared(report))}" if _not_compared(report) else ""
    notes = f"; {'; '.join(report.notes)}" if report.notes else ""
    return [
        f"verify PASS: {question.binary} (sha256 {question.sha256[:_SHORT]}…) is covered for {archs}{commit}",
        f"  receipt:  {PurePath(report.folder, newest.link.path)}{more}, {span(question.now - receipt.finished)} old",
        f"  compared: {', '.join(compared)}{without}{notes}",
    ]


def _not_compared(report: VerifyReport) -> Sequence[str]:
    question = report.question
    left = [] if question.models else ["models (--model)"]
    left += [] if question.flags is not None else ["flags (--flags)"]
    if report.judged and report.judged[0].signer is None:
        left.append("signature (--allowed-signers)")
    return left


def _safe(line: str) -> str:
    shown = printable(line)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + " …"
