"""A replay of the stack, as JSON (`forkguard/replay@1`) and as text."""

import json
from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.commits import Commit
from forkguard.core.replay import PatchResult, PatchStatus, ReplayReport, Trouble
from forkguard.reports.plain import counted, printable

SCHEMA = "forkguard/replay@1"
_STYLES = {
    PatchStatus.APPLIES: "green",
    PatchStatus.ADDITIVE: "green",
    PatchStatus.LANDED: "cyan",
    PatchStatus.CONFLICT: "red",
    PatchStatus.MISSING_BLOB: "red",
    PatchStatus.UNTESTED: "yellow",
}
_SHOWN = 4
"""Places shown of each failure in the text."""


def replay_json(report: ReplayReport) -> str:
    """The whole report."""
    return json.dumps(replay_document(report), indent=2)


def replay_document(report: ReplayReport) -> dict[str, Any]:
    """The report as the values of its JSON."""
    breaking = {label: group.commit.id for group in report.groups if group.commit for label in group.members}
    return {
        "schema": SCHEMA,
        "base": _commit(report.base),
        "onto": {"ref": report.onto.ref, **_commit(report.onto_commit)},
        "upstream": {"from": report.base.id, "to": report.onto.commit, "commits": report.commits},
        "stack": [_result(result, breaking.get(result.patch.label)) for result in report.results],
        "groups": [
            {
                "root": group.root,
                "commit": _commit(group.commit) if group.commit else None,
                "patches": list(group.members),
            }
            for group in report.groups
        ],
        "tip": report.tip,
        "replays": report.replays,
        "summary": {status.value: _count(report, status) for status in PatchStatus},
        "notes": list(report.notes),
    }


def _count(report: ReplayReport, status: PatchStatus) -> int:
    return sum(result.status is status for result in report.results)


def _commit(commit: Commit) -> dict[str, Any]:
    return {"commit": commit.id, "date": commit.date, "subject": commit.subject, "pr": commit.pull}


def _result(result: PatchResult, breaking: str | None) -> dict[str, Any]:
    broken = result.broken
    return {
        "patchset": result.patch.patchset,
        "patch": result.patch.name,
        "subject": result.patch.mail.subject,
        "status": result.status.value,
        "breaking_commit": breaking,
        "how": result.how,
        "commit": result.commit,
        "landed_in": result.landed_in,
        "needs": list(result.needs),
        "troubles": [
            {"path": each.path, "line": each.line, "header": each.header, "reason": each.reason}
            for each in result.troubles
        ],
        "broken": {
            **_commit(broken.commit),
            "parent": broken.parent,
            "monotone": broken.monotone,
            "others": list(broken.others),
            "replays": broken.tried,
        }
        if broken
        else None,
        "touched": [_commit(commit) for commit in result.touched],
        "note": result.note,
    }


# -- text ------------------------------------------------------------------------------------------------


def replay_text(report: ReplayReport) -> RenderableType:
    """A line per patch, what broke the failing ones, and what to type next."""
    title = Text.assemble(
        (f"Replay of {counted(len(report.results), 'patch', 'patches')}", "bold"),
        f" on {printable(report.onto.ref)} ({report.onto.commit[:10]}), "
        f"{counted(report.commits, 'upstream commit')} after the base {report.base.id[:10]}",
    )
    parts: list[RenderableType] = [title, ""]
    parts += [_line(number, result) for number, result in enumerate(report.results, 1)]
    if report.groups:
        parts += [
            "",
            Text("Failures by root", style="bold"),
            *(_group(report, at) for at in range(len(report.groups))),
        ]
    counts = Counter(result.status for result in report.results)
    said = ", ".join(f"{counts[status]} {status.value}" for status in PatchStatus if counts[status])
    parts += ["", Text(f"{said or 'no patches'}; {counted(report.replays, 'replay')}", style="bold")]
    parts += [Text(printable(note), style="dim") for note in report.notes]
    parts += ["", Text("Next", style="bold"), Text(f"  {_next(report)}")]
    return Group(*parts)


def _line(number: int, result: PatchResult) -> Text:
    text = Text(f"{number:>3}. ")
    text.append(f"{result.status.value:<12}", style=_STYLES[result.status])
    text.append(f" {printable(result.patch.mail.subject)}", style="bold")
    text.append(f"\n     {printable(result.patch.label)}", style="dim")
    if result.how and result.how != "exact":
        text.append(f": {printable(result.how)}", style="dim")
    if result.landed_in:
        text.append(f", {result.landed_in[:10]}", style="dim")
    for trouble in result.troubles[:_SHOWN]:
        text.append(f"\n     {_place(trouble)}  {printable(trouble.reason)}")
    if len(result.troubles) > _SHOWN:
        text.append(f"\n     and {len(result.troubles) - _SHOWN} places more")
    if result.needs:
        text.append(f"\n     needs {', '.join(map(printable, result.needs))}")
    if result.broken:
        text.append(f"\n     broken by {_named(result.broken.commit)}; not by its parent {result.broken.parent[:10]}")
        for other in result.broken.others:
            text.append(f"\n     but it {printable(other)}", style="yellow")
    for commit in result.touched:
        text.append(f"\n     touched by {_named(commit)}")
    if result.note:
        text.append(f"\n     {printable(result.note)}")
    return text


def _place(trouble: Trouble) -> str:
    return f"{printable(trouble.path)}:{trouble.line}" if trouble.line else printable(trouble.path)


def _named(commit: Commit) -> str:
    return f"{commit.id[:10]} {printable(commit.subject)} ({commit.date[:10]})"


def _group(report: ReplayReport, at: int) -> Text:
    group = report.groups[at]
    root = _named(group.commit) if group.commit else printable(group.root)
    return Text(f"  {root}: {counted(len(group.members), 'patch', 'patches')}")


def _next(report: ReplayReport) -> str:
    landed = [result.patch.patchset for result in report.results if result.status is PatchStatus.LANDED]
    if report.failed:
        broken = next((result for result in report.results if result.broken), None)
        if broken is not None and broken.broken is not None:
            return f"git show {broken.broken.commit.id[:10]}  shows what broke {printable(broken.patch.label)}"
        failing = next(result for result in report.results if result.status.failed)
        return f"forkguard stack show {failing.patch.patchset}"
    if landed:
        return f"forkguard stack retire {landed[0]}"
    return "forkguard stack export --as branch  makes the branch forkguard/stack"
