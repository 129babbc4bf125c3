"""The drift report as SARIF 2.1.0, for GitHub code scanning: results at the fork's lines, rules with reasons."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from forkguard.core.findings import ArchReport, ArchStatus, DriftReport, Finding, Kind, Severity
from forkguard.core.rules import Rule
from forkguard.reports.drift_text import came_with, commit_name

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "forkguardFindingId/v1"
_LEVELS = {
    Severity.CRASH: "error",
    Severity.CORRUPTION: "error",
    Severity.SLOW: "warning",
    Severity.CHANGE: "note",
    Severity.NOTE: "note",
}
_STATEMENT = {
    "id": "statement",
    "shortDescription": {"text": "a statement of an arch differs from upstream's"},
    "fullDescription": {
        "text": "Upstream brought, changed or dropped the statement, and no wiring rule speaks of it."
    },
    "help": {"text": "Port the change that brought it, or accept the difference with forkguard drift --accept."},
    "defaultConfiguration": {"level": "note"},
}
_ABSENT = {
    "id": "arch-absent",
    "shortDescription": {"text": "the fork has no such arch"},
    "fullDescription": {
        "text": "The arch was asked for, and the fork makes no model of it, so nothing was compared."
    },
    "help": {"text": "Name the arch as LLM_ARCH_NAMES in src/llama-arch.cpp does."},
    "defaultConfiguration": {"level": "error"},
}
_NAMES_FILE = "src/llama-arch.cpp"


def as_sarif(report: DriftReport, rules: Sequence[Rule], *, version: str, strict: bool = False) -> str:
    """One SARIF log with one run, by forkguard of that version; what does not count is suppressed, or a note."""
    described = [*map(_rule, rules), _STATEMENT, _ABSENT]
    indexes = {rule["id"]: index for index, rule in enumerate(described)}
    results = [_absent(arch) for arch in report.archs if arch.status is ArchStatus.ABSENT]
    results += [_result(finding, strict=strict) for finding in report.findings]
    for result in results:
        result["ruleIndex"] = indexes[result["ruleId"]]
    driver = {
        "name": "forkguard", "semanticVersion": version, "rules": described,
        "notifications": [{"id": "remark", "shortDescription": {"text": "something that the run has to say"}}],
    }  # fmt: skip
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "the root of the fork's tree"}}},
        "automationDetails": {"id": "forkguard/drift/"},
        "invocations": [_invocation(report)],
        "results": results,
        "properties": {
            "forkRef": report.fork.ref,
            "forkCommit": report.fork.commit,
            "upstreamRef": report.upstream.ref,
            "upstreamCommit": report.upstream.commit,
            "baseCommit": report.base.commit,
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _invocation(report: DriftReport) -> dict[str, Any]:
    """Successful only where every rule that was asked for could be checked, and every arch compared."""
    compared = all(arch.status is not ArchStatus.ABSENT for arch in report.archs)
    return {
        "executionSuccessful": compared and not report.disarmed,
        "toolExecutionNotifications": [
            {"descriptor": {"id": "remark"}, "level": "warning", "message": {"text": warning}}
            for warning in report.warnings
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    parts = [
        rule.why,
        f"In the server's log: {' or: '.join(rule.logs)}" if rule.logs else "",
        f"Mend: {rule.mend}" if rule.mend else "",
    ]
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": "\n\n".join(part for part in parts if part)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.form, rule.severity.value, *rule.drafts]},
    }


def _result(finding: Finding, *, strict: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity] if finding.counts(strict=strict) else "note",
        "message": {"text": _message(finding)},
        "locations": [_location(finding)],
        "partialFingerprints": {FINGERPRINT: finding.id},
        "properties": {
            "id": finding.id,
            "arch": finding.arch,
            "kind": finding.kind.value,
            "severity": finding.severity.value,
            "alsoUpstream": finding.also_upstream,
        },
    }
    if finding.kind is Kind.ACCEPTED:
        suppression = {"kind": "external", "status": "accepted", "justification": finding.ledger or ""}
        result["suppressions"] = [suppression]
    return result


def _message(finding: Finding) -> str:
    lines = [f"{finding.arch}: {finding.title}."]
    if came := came_with(finding):
        lines.append(f"Upstream {came}")
    lines += [f"Later: {commit_name(commit)}" for commit in finding.follow_ups]
    lines += [text for text in (finding.why, f"Mend: {finding.fix}" if finding.fix else "") if text]
    return "\n".join(lines)


def _location(finding: Finding) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(finding.path)}
    if finding.line is not None:
        physical["region"] = {"startLine": finding.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.symbol:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.symbol}]
    return location


def _artifact(path: str) -> dict[str, str]:
    """A path of the tree as a relative URI; a name that is no text is given by its bytes."""
    return {"uri": quote(path.encode("utf-8", "surrogateescape")), "uriBaseId": "SRCROOT"}


def _absent(arch: ArchReport) -> dict[str, Any]:
    return {
        "ruleId": "arch-absent",
        "level": "error",
        "message": {"text": f"{arch.name}: the fork has no such arch; {arch.remark}"},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(_NAMES_FILE)}}],
        "partialFingerprints": {FINGERPRINT: f"{arch.name}/arch-absent"},
    }
