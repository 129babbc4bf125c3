"""The drift report as JSON (`forkguard/drift@1`)."""

import json
from collections import Counter
from typing import Any

from forkguard.core.commits import Commit
from forkguard.core.findings import DriftReport, Finding

SCHEMA = "forkguard/drift@1"


def as_json(report: DriftReport, *, strict: bool = False) -> str:
    """The contract `forkguard/drift@1`; see `docs/schemas/drift.json`."""
    return json.dumps(document(report, strict=strict), indent=2)  # in ASCII: source may hold terminal controls


def document(report: DriftReport, *, strict: bool = False) -> dict[str, Any]:
    """The report as plain values."""
    counted = [finding for finding in report.findings if finding.counts(strict=strict)]
    base: dict[str, Any] = {"commit": report.base.commit, "how": report.base.how}
    if report.base.total is not None:
        base |= {"equal": report.base.equal, "total": report.base.total}
    return {
        "schema": SCHEMA,
        "fork": {"ref": report.fork.ref, "commit": report.fork.commit},
        "upstream": {"ref": report.upstream.ref, "commit": report.upstream.commit},
        "base": base,
        "archs": [
            {"name": arch.name, "status": arch.status.value, "files": list(arch.files), "remark": arch.remark}
            for arch in report.archs
        ],
        "findings": [finding_document(finding) for finding in report.findings],
        "warnings": list(report.warnings),
        "summary": {
            "clean": report.clean(strict=strict),
            "findings": len(report.findings),
            "counted": len(counted),
            "by_severity": dict(Counter(finding.severity.value for finding in report.findings)),
            "by_kind": dict(Counter(finding.kind.value for finding in report.findings)),
        },
    }


def finding_document(finding: Finding) -> dict[str, Any]:
    """One finding as the contract drift@1 spells it."""
    place = finding.upstream
    commit = place.commit if place else None
    return {
        "id": finding.id,
        "arch": finding.arch,
        "rule": finding.rule,
        "kind": finding.kind.value,
        "severity": finding.severity.value,
        "title": finding.title,
        "path": finding.path,
        "line": finding.line,
        "symbol": finding.symbol,
        "text": finding.text,
        "why": finding.why,
        "upstream": None if place is None else {"path": place.path, "line": place.line, **_commit(commit)},
        "also_upstream": finding.also_upstream,
        "ledger": finding.ledger,
        "lost_in": _commit(finding.lost_in) if finding.lost_in else None,
        "follow_ups": [_commit(commit) for commit in finding.follow_ups],
        "builds": list(finding.builds) if finding.builds else None,
        "fix": finding.fix,
    }


def _commit(commit: Commit | None) -> dict[str, Any]:
    if commit is None:
        return {"commit": None, "pr": None, "date": None, "subject": None}
    return {"commit": commit.id, "pr": commit.pull, "date": commit.date, "subject": commit.subject}
