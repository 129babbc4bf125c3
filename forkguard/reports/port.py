"""The port report, as JSON (`forkguard/port@1`) and as text that is read in ten seconds."""

import shlex
from collections import Counter
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.commits import Commit
from forkguard.core.compile_check import CompileReport
from forkguard.core.findings import Finding
from forkguard.core.hunks import Outcome
from forkguard.core.merges import Conflict, Twice
from forkguard.core.patchset import FollowUp
from forkguard.core.porting import AbortReport, HunkReport, MissingName, PortReport, PortStatus
from forkguard.reports.drift import finding_document
from forkguard.reports.plain import counted, json_text, printable

SCHEMA = "forkguard/port@1"
ABORT_SCHEMA = "forkguard/port-abort@1"
_STYLES = {
    Outcome.CLEAN: "green",
    Outcome.ALREADY_PRESENT: "dim",
    Outcome.CONFLICT: "bold red",
}
_MOST_HUNKS = 24
_MOST_LINES = 8


def port_json(report: PortReport) -> str:
    """The contract `forkguard/port@1`; see `docs/schemas/port.json`."""
    return json_text(port_document(report))


def port_document(report: PortReport) -> dict[str, Any]:
    """The report as plain values."""
    source = report.source
    return {
        "schema": SCHEMA,
        "pr": source.pull,
        "title": source.title,
        "state": source.state.value,
        "source": {
            "kind": source.kind.value,
            "where": source.where,
            "commits": [pick.commit for pick in source.picks],
        },
        "status": report.status.value,
        "fork": {"ref": report.fork_ref, "commit": report.onto.id},
        "branch": None if report.dry_run else report.branch,
        "commits": [] if report.dry_run else list(report.commits),
        "patchset": report.patchset,
        "hunks": [_hunk(hunk) for hunk in report.hunks],
        "stat": {"files": report.stat.files, "added": report.stat.added, "removed": report.stat.removed},
        "prerequisites": [_prerequisite(name) for name in report.missing],
        "follow_ups": [{"pr": item.pull, "commit": item.commit, "why": item.why} for item in report.follow_ups],
        "hazards": [finding_document(finding) for finding in report.hazards],
        "archs": list(report.archs),
        "conflicts": [_conflict(conflict) for conflict in report.conflicts],
        "worktree": report.worktree,
        "blocked_by": list(report.blocked_by),
        "dry_run": report.dry_run,
        "compiled": _compiled(report.compiled),
        "before": [port_document(one) for one in report.before],
        "notes": list(report.notes),
    }


def _hunk(hunk: HunkReport) -> dict[str, Any]:
    return {
        "path": hunk.path,
        "header": hunk.header,
        "outcome": hunk.outcome.value,
        "detail": hunk.detail,
        "commit": hunk.commit,
    }


def _prerequisite(name: MissingName) -> dict[str, Any]:
    return {
        "symbol": name.symbol,
        "path": name.path,
        "commit": name.commit.id if name.commit else None,
        "pr": name.commit.pull if name.commit else None,
    }


def _compiled(found: CompileReport) -> dict[str, Any]:
    return {
        "checked": list(found.checked),
        "failed": [{"path": path, "text": text} for path, text in found.failed],
        "note": found.note,
    }


def _conflict(conflict: Conflict) -> dict[str, Any]:
    return {
        "path": conflict.path,
        "line": conflict.line,
        "header": conflict.header,
        "ours": conflict.ours,
        "base": conflict.base,
        "theirs": conflict.theirs,
        "reason": conflict.reason,
        "twice": _twice(conflict.twice) if conflict.twice else None,
        "upstream_log": [_commit(commit) for commit in conflict.upstream_log],
        "fork_log": [_commit(commit) for commit in conflict.fork_log],
    }


def _twice(found: Twice) -> dict[str, Any]:
    return {
        "what": found.what,
        "name": found.name,
        "line": found.twin,
        "fork_line": found.own,
        "text": found.text,
    }


def _commit(commit: Commit) -> dict[str, Any]:
    return {"commit": commit.id, "pr": commit.pull, "date": commit.date, "subject": commit.subject}


def abort_json(report: AbortReport) -> str:
    """What `--abort` took back, as JSON."""
    return json_text({"schema": ABORT_SCHEMA, "pr": report.pull, "branch": report.branch})


def abort_text(report: AbortReport) -> RenderableType:
    """What `--abort` took back."""
    return Text(f"{report.label}: the port is taken back; the fork is as it was")


# -- text ----------------------------------------------------------------------------------------------


def port_text(report: PortReport) -> RenderableType:
    """The report for a terminal: how it ended, what became of each hunk, what is left to do."""
    parts: list[RenderableType] = [part for one in report.before for part in (_head(one), "")]
    parts += [_head(report), "", _table(report.hunks)]
    if report.conflicts:
        parts += ["", Text("Conflicts", style="bold"), *(_conflict_text(conflict) for conflict in report.conflicts)]
    needed = [name for name in report.missing if name.commit is not None]
    local = [name for name in report.missing if name.commit is None]
    if needed:
        parts += ["", Text("Prerequisites (upstream's names that the fork does not have)", style="bold")]
        parts += [_needed(name) for name in needed]
        parts += [Text(f"  forkguard port {shlex.quote(report.source.word)} --with-prerequisites   ports them first")]
    if local:
        said = "Names that the fork's files do not have (look at these lines before you build)"
        parts += ["", Text(said, style="bold")]
        parts += [Text(f"  {printable(name.symbol)}  {printable(name.path)}") for name in local]
    if report.compiled.failed:
        parts += ["", Text("These files do not compile (-fsyntax-only)", style="bold red")]
        parts += [Text(f"  {printable(path)}\n    {printable(text)}") for path, text in report.compiled.failed]
    elif report.compiled.checked:
        parts += [
            "",
            Text(f"{counted(len(report.compiled.checked), 'touched source')} compiled (-fsyntax-only): good"),
        ]
    if report.hazards:
        told = (_hazard(finding, refused=finding.id in report.blocked_by) for finding in report.hazards)
        parts += ["", Text("Hazards", style="bold"), *told]
    if report.follow_ups:
        parts += ["", Text("Follow-ups", style="bold"), *(_follow_up(item) for item in report.follow_ups)]
    notes = [note for note in (*report.notes, report.compiled.note) if note]
    parts += [Text(f"note: {printable(note)}", style="dim") for note in notes]
    parts += ["", Text("Next", style="bold"), *(Text(f"  {line}") for line in _next(report))]
    return Group(*parts)


def _head(report: PortReport) -> Text:
    source, stat = report.source, report.stat
    ended = {
        PortStatus.APPLIED: (f"ported onto {report.fork_ref} as {report.branch}", "bold green"),
        PortStatus.ALREADY_PRESENT: (f"is in {report.fork_ref} already; nothing was written", "bold green"),
        PortStatus.CONFLICT: (f"conflicts with {report.fork_ref}; nothing of yours was changed", "bold red"),
        PortStatus.BLOCKED: (f"was not ported onto {report.fork_ref}", "bold red"),
    }
    if report.dry_run:
        ended[PortStatus.APPLIED] = (f"would apply to {report.fork_ref}; nothing was written", "bold green")
        ended[PortStatus.CONFLICT] = (f"would conflict with {report.fork_ref}; nothing was written", "bold red")
    words, style = ended[report.status]
    text = Text.assemble((f"{source.label} {printable(words)}", style), f"\n  {printable(source.title)}\n")
    ids = ", ".join(pick.commit[:10] for pick in source.picks[:3]) + (" ..." if len(source.picks) > 3 else "")
    text.append(f"  {source.state.value}, from {printable(source.where)} ({ids}); ", style="dim")
    text.append(f"onto {report.onto.id[:10]} {printable(report.onto.subject)}", style="dim")
    if report.status is PortStatus.APPLIED:
        made = "" if report.dry_run else "; made " + ", ".join(commit[:10] for commit in report.commits)
        text.append(f"\n  {counted(stat.files, 'file')}, +{stat.added} -{stat.removed}{made}")
    return text


def _table(hunks: tuple[HunkReport, ...]) -> Text:
    """One line per hunk, those that need a look first where not all can be shown."""
    tally = Counter(hunk.outcome for hunk in hunks)
    said = ", ".join(f"{tally[outcome]} {outcome.value}" for outcome in Outcome if tally[outcome])
    text = Text.assemble((f"{counted(len(hunks), 'hunk')}: {said}", "bold"))
    dull = {Outcome.CLEAN, Outcome.ALREADY_PRESENT}
    shown = hunks if len(hunks) <= _MOST_HUNKS else sorted(hunks, key=lambda hunk: hunk.outcome in dull)[:_MOST_HUNKS]
    for hunk in shown:
        text.append(f"\n  {hunk.outcome.value:<16}", style=_STYLES.get(hunk.outcome, "yellow"))
        text.append(f"{printable(hunk.path)}  ").append(printable(hunk.header)[:70], style="dim")
        if hunk.detail:
            text.append(f"\n{'':<18}{printable(hunk.detail)}", style="dim")
    if len(shown) < len(hunks):
        text.append(f"\n  ... and {len(hunks) - len(shown)} more; --format json has all")
    return text


def _conflict_text(conflict: Conflict) -> Text:
    line = f":{conflict.line}" if conflict.line else ""
    text = Text(f"  {printable(conflict.path)}{line}", style="bold")
    text.append(f"  {printable(conflict.header)}", style="dim")
    if conflict.reason:
        text.append(f"\n    {printable(conflict.reason)}", style="")
    sides = [
        ("fork", conflict.twice.text if conflict.twice else conflict.ours, "yellow"),
        ("base", conflict.base, "dim"),
        ("upstream", conflict.theirs, "green"),
    ]
    for name, side, style in sides if conflict.line else ():
        if conflict.twice and not side:
            continue
        lines = side.splitlines() or ["(nothing)"]
        for number, row in enumerate(lines[:_MOST_LINES]):
            text.append(f"\n    {name if not number else '':<9}| {printable(row.expandtabs(4))}", style=style)
        if len(lines) > _MOST_LINES:
            text.append(f"\n    {'':<9}| ... {len(lines) - _MOST_LINES} more lines", style=style)
    for name, commits in (("fork", conflict.fork_log), ("upstream", conflict.upstream_log)):
        for commit in commits:
            text.append(f"\n    {name:<9}by {commit.id[:10]} {printable(commit.subject)}", style="dim")
    return text


def _hazard(finding: Finding, *, refused: bool) -> Text:
    line = f":{finding.line}" if finding.line else ""
    arch = f"{printable(finding.arch)}: " if finding.arch else ""
    text = Text(f"  {finding.severity.value:<11}{arch}{printable(finding.title)}")
    text.append(f"  {printable(finding.path)}{line}", style="dim")
    if refused:
        text.append("\n             this port would bring it; upstream has it not", style="red")
    return text.append("\n             upstream has it too", style="dim") if finding.also_upstream else text


def _needed(name: MissingName) -> Text:
    assert name.commit is not None  # noqa: S101  (the caller chose those with one)
    came = f"#{name.commit.pull}" if name.commit.pull else name.commit.id[:10]
    text = Text(f"  {printable(name.symbol)}  {printable(name.path)}")
    return text.append(f"\n{'':<4}came with {came} {printable(name.commit.subject)}", style="dim")


def _follow_up(item: FollowUp) -> Text:
    name = f"#{item.pull}" if item.pull else (item.commit or "")[:10]
    return Text(f"  {name}  {printable(item.why)}")


def _next(report: PortReport) -> list[str]:
    where = shlex.quote(report.fork_path)
    if report.status is PortStatus.BLOCKED:
        more = f"git -C {where} log -p {' '.join(pick.commit[:10] for pick in report.source.picks[:3])} -1"
        again = "--continue --force" if report.worktree else f"{shlex.quote(report.source.word)} --force"
        return [f"{more}   what it changes", f"forkguard port {again}      all the same"]
    if report.dry_run:
        return [f"forkguard port {shlex.quote(report.source.word)}"]
    if report.status is PortStatus.CONFLICT:
        return [
            f"resolve the marked files in {report.worktree}, then",
            "forkguard port --continue",
            *(["forkguard port --skip         leaves this commit out"] if len(report.source.picks) > 1 else []),
            "forkguard port --abort        takes it all back",
        ]
    if report.status is PortStatus.ALREADY_PRESENT:
        return ["forkguard stack list          what the fork carries"]
    archs = "".join(f" --arch {shlex.quote(arch)}" for arch in report.archs)
    branch = report.branch or ""
    lines = [f"git -C {where} log -p {shlex.quote(report.fork_ref)}..{branch}"]
    if archs:
        lines.insert(0, f"forkguard drift{archs} --fork-ref {branch}")
    return [*lines, f"forkguard stack show {report.patchset}"]
