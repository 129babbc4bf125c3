"""The drift report, as JSON (`forkguard/drift@1`) and as text for a person in a hurry."""

import json
import textwrap
from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.commits import Commit
from forkguard.core.findings import ArchStatus, DriftReport, Finding, Kind, Severity
from forkguard.reports.plain import printable

SCHEMA = "forkguard/drift@1"
_STYLES = {
    Severity.CRASH: "bold red",
    Severity.CORRUPTION: "bold magenta",
    Severity.SLOW: "bold yellow",
    Severity.CHANGE: "cyan",
    Severity.NOTE: "dim",
}
_WIDTH = 110
_MOST_LINES = 14
_MOST_PLACES = 8


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
        "fix": finding.fix,
    }


def _commit(commit: Commit | None) -> dict[str, Any]:
    if commit is None:
        return {"commit": None, "pr": None, "date": None, "subject": None}
    return {"commit": commit.id, "pr": commit.pull, "date": commit.date, "subject": commit.subject}


# -- text ----------------------------------------------------------------------------------------------


def as_text(report: DriftReport, *, strict: bool = False, verbose: bool = False) -> RenderableType:
    """The report for a terminal: the verdict, the findings that count, worst first, then the rest in brief."""
    counted = [finding for finding in report.findings if finding.counts(strict=strict)]
    rest = [finding for finding in report.findings if not finding.counts(strict=strict)]
    parts: list[RenderableType] = [_head(report, counted), ""]
    parts += [_absent(name, remark) for name, remark in _absences(report)]
    main = [finding for finding in counted if finding.severity is not Severity.CHANGE]
    for finding in main:
        parts += [_full(finding, verbose=verbose), ""]
    changes = [finding for finding in counted if finding.severity is Severity.CHANGE]
    if changes:
        told = map(_brief, changes) if verbose else _by_commit(changes)
        parts += [Text("Other statements that differ", style="bold"), *told, ""]
    if rest:
        parts += [Text("Not counted", style="bold"), *map(_brief, rest), ""]
    parts += [Text(f"note: {warning}", style="dim") for warning in report.warnings]
    parts += _next(counted)
    return Group(*map(_shown, parts))


def _shown(part: RenderableType) -> RenderableType:
    """The part without terminal controls: its words come from strangers' sources, subjects and file names."""
    if isinstance(part, Text):
        part.plain = "".join(letter if letter in "\t\n" else printable(letter) for letter in part.plain)
    return part


def _head(report: DriftReport, counted: list[Finding]) -> Text:
    names = ", ".join(arch.name for arch in report.archs)
    base = report.base
    how = {"merge-base": "by ancestry", "content": f"by content, {base.equal} of {base.total} files equal"}
    text = Text()
    if counted:
        tally = Counter(finding.severity for finding in counted)
        said = ", ".join(f"{tally[severity]} {severity.value}" for severity in Severity if tally[severity])
        text.append(f"{names}: drift", style="bold red").append(f": {said}\n")
    elif any(arch.status is ArchStatus.ABSENT for arch in report.archs):
        text.append(f"{names}: absent\n", style="bold red")
    else:
        text.append(f"{names}: clean\n", style="bold green")
    text.append(
        f"fork {report.fork.ref} {report.fork.commit[:10]}, "
        f"upstream {report.upstream.ref} {report.upstream.commit[:10]}, "
        f"base {base.commit[:10]} ({how.get(base.how, base.how)})",
        style="dim",
    )
    return text


def _absences(report: DriftReport) -> list[tuple[str, str]]:
    return [(arch.name, arch.remark) for arch in report.archs if arch.status is ArchStatus.ABSENT]


def _absent(name: str, remark: str) -> Text:
    return Text.assemble((f"absent  {name}", "bold red"), f"  the fork has no such arch; {remark}\n")


def _place(finding: Finding) -> str:
    line = f":{finding.line}" if finding.line else ""
    return f"{finding.path}{line}" + (f"  {finding.symbol}" if finding.symbol else "")


def _came(finding: Finding) -> str:
    commit = finding.upstream.commit if finding.upstream else None
    if commit is None:
        return ""
    number = f"#{commit.pull}" if commit.pull else commit.id[:10]
    return f"{number}, {commit.date[:10]}: {commit.subject}"


def _full(finding: Finding, *, verbose: bool) -> RenderableType:
    text = Text.assemble(
        (f"{finding.severity.value:<10} ", _STYLES[finding.severity]),
        (f"{finding.kind.value}  ", "bold"),
        finding.title,
    )
    text.append("\n  ").append(_place(finding), style="underline").append("\n")
    _append_surroundings(text, finding)
    if came := _came(finding):
        dropped = finding.title.startswith("upstream dropped")
        word = "came with" if finding.kind is Kind.HAZARD else "dropped by" if dropped else "upstream"
        text.append(f"  {word} {came}\n", style="dim")
    if lost := finding.lost_in:
        text.append(f"  the fork took it away in {lost.id[:10]}: {lost.subject}\n", style="yellow")
    for line in textwrap.wrap(finding.why, _WIDTH):
        text.append(f"  {line}\n", style="dim")
    if finding.fix:
        text.append("  mend: ").append(f"{finding.fix}\n", style="bold")
    if verbose:
        text.append(f"  id: {finding.id}\n", style="dim")
    text.rstrip()
    return text


def _append_surroundings(text: Text, finding: Finding) -> None:
    """The fork's lines around the place, with the missing text where it belongs."""
    missing = finding.kind in {Kind.NOT_PORTED, Kind.LOST}
    shown = False
    for number, line in finding.context:
        if missing and not shown and finding.line is not None and number >= finding.line:
            _append_missing(text, finding)
            shown = True
        here = not missing and number == finding.line
        text.append(f"    {number:>5} {'>' if here else ' '} {line}\n", style="" if here else "dim")
    if missing and not shown:
        _append_missing(text, finding)


def _append_missing(text: Text, finding: Finding) -> None:
    lines = finding.text.split("\n")
    indent = " " * finding.margin
    for line in lines[:_MOST_LINES]:
        text.append(f"          + {indent}{line}\n", style="green")
    if len(lines) > _MOST_LINES:
        text.append(f"          + {indent}... and {len(lines) - _MOST_LINES} more lines\n", style="green")


def _by_commit(changes: list[Finding]) -> list[Text]:
    """Statements that differ, one paragraph for each commit that explains some of them, newest first."""
    groups: dict[str, list[Finding]] = {}
    for finding in changes:
        groups.setdefault(_came(finding) or "no commit since the base explains", []).append(finding)
    dated = sorted(groups.items(), key=lambda group: _date(group[1][0]), reverse=True)
    return [_one_commit(came, found) for came, found in dated]


def _date(finding: Finding) -> str:
    commit = finding.upstream.commit if finding.upstream else None
    return commit.date if commit else ""


def _one_commit(came: str, found: list[Finding]) -> Text:
    count = f"{len(found)} place{'s' if len(found) > 1 else ''}"
    text = Text.assemble("  ", (f"{count:<10} ", _STYLES[Severity.CHANGE]), f"{came}\n")
    places: dict[str, list[str]] = {}
    for finding in found:
        places.setdefault(finding.path, []).append(str(finding.line or "?"))
    for path, lines in places.items():
        shown = ", ".join(lines[:_MOST_PLACES]) + (", ..." if len(lines) > _MOST_PLACES else "")
        text.append(f"             {path}:{shown}\n", style="underline")
    if found[0].fix:
        text.append(f"             mend: {found[0].fix}\n")
    text.rstrip()
    return text


def _brief(finding: Finding) -> Text:
    first, *more = finding.text.split("\n")
    text = Text.assemble("  ", (f"{finding.severity.value:<10} ", _STYLES[finding.severity]), f"{finding.title}\n")
    text.append(f"             {_place(finding)}\n", style="underline")
    text.append(f"             {first[:100]}{' ...' if more or len(first) > 100 else ''}\n", style="dim")
    if finding.kind is Kind.ACCEPTED:
        text.append(f"             accepted: {finding.ledger}\n", style="dim")
    elif finding.also_upstream:
        text.append("             upstream has this hazard too: ported faithfully, it comes along\n", style="dim")
    if came := _came(finding):
        text.append(f"             {came}\n", style="dim")
    if finding.fix:
        text.append(f"             mend: {finding.fix}\n")
    text.rstrip()
    return text


def _next(counted: list[Finding]) -> list[RenderableType]:
    commands = Counter(finding.fix for finding in counted if finding.fix.startswith("forkguard "))
    if not commands:
        return []
    lines = [f"  {command}    mends {count} of {len(counted)}" for command, count in commands.most_common(3)]
    return [Text("Next", style="bold"), *map(Text, lines)]
