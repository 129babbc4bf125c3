"""A replay of the stack, as JSON (`forkguard/replay@1`) and as text."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.commits import Commit
from forkguard.core.replay import Group as Failures
from forkguard.core.replay import OpenConflict, PatchResult, PatchStatus, ReplayEnd, ReplayReport, Trouble
from forkguard.reports.plain import counted, json_text, printable

SCHEMA = "forkguard/replay@1"
END_SCHEMA = "forkguard/replay-end@1"
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
_WIDEST_NAME = 32
"""Names of patches are padded up to this; longer ones are not cut."""


def replay_json(report: ReplayReport) -> str:
    """The whole report."""
    return json_text(replay_document(report))


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
        "open": _open(report.open) if report.open else None,
    }


def _open(found: OpenConflict) -> dict[str, Any]:
    return {
        "patch": found.patch,
        "onto": found.onto,
        "worktree": found.worktree,
        "paths": list(found.paths),
        "decided": list(found.decided),
        "skipped": list(found.skipped),
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
    """A line per patch, the failures by what broke them, and what to type next."""
    shorts = _shorts(report)
    wide = min(max((len(short) for short in shorts), default=0), _WIDEST_NAME)
    parts: list[RenderableType] = [_title(report), ""]
    parts += [
        _line(number, result, short.ljust(wide))
        for number, (result, short) in enumerate(zip(report.results, shorts, strict=True), 1)
    ]
    if report.groups:
        parts += ["", Text("Failures by root", style="bold")]
        parts += [part for group in report.groups for part in _group(report, group, shorts)]
    parts += ["", _sum(report)]
    parts += [Text(printable(note), style="dim") for note in report.notes]
    parts += ["", Text("Next", style="bold"), *(Text(f"  {line}") for line in _next(report, shorts))]
    return Group(*parts)


def conflict_text(report: ReplayReport) -> RenderableType:
    """The conflict that was opened for a person: which, where, and the ways on."""
    found = report.open
    if found is None:
        return replay_text(report)
    result = next(each for each in report.results if each.patch.label == found.patch)
    number = report.results.index(result) + 1
    parts: list[RenderableType] = [
        _title(report),
        "",
        Text.assemble(("conflict", _STYLES[PatchStatus.CONFLICT]), f" in patch {number} of {len(report.results)}"),
        Text(f"  {printable(found.patch)}"),
        Text(f"  {printable(result.patch.mail.subject)}", style="bold"),
        *_places(result),
        "",
        Text(f"The marked files are in {printable(found.worktree)}"),
        Text("Edit them there: `fork` is what your patch makes of these lines, `upstream` what they are now."),
    ]
    done = [f"{len(found.decided)} decided"] * bool(found.decided) + [f"{len(found.skipped)} left out"] * bool(
        found.skipped
    )
    parts += [Text(f"In this replay so far: {', '.join(done)}")] if done else []
    parts += ["", Text("Next", style="bold"), *(Text(f"  {line}") for line in _WAYS)]
    return Group(*parts)


_WAYS = (
    "forkguard stack replay --continue   when they are resolved; goes on to the next conflict",
    "forkguard stack replay --skip       leaves this patch out of this replay",
    "forkguard stack replay --quit       stops here; what was decided stays",
    "forkguard stack replay --abort      back to the start",
)


def replay_end_json(end: ReplayEnd) -> str:
    """What `--abort` or `--quit` ended, as JSON."""
    document = {"schema": END_SCHEMA, "patch": end.patch, "taken_back": end.taken_back, "kept": end.kept}
    return json_text(document) + "\n"


def replay_end_text(end: ReplayEnd) -> str:
    """What `--abort` or `--quit` ended."""
    if end.kept:
        said = f"{counted(end.kept, 'resolution')} of it stay in resolutions/"
    elif end.taken_back:
        said = f"{counted(end.taken_back, 'resolution')} of it taken back"
    else:
        said = "nothing was decided in it"
    return f"The replay ended at {printable(end.patch)}; {said}. The fork is as it was.\n"


def _title(report: ReplayReport) -> Text:
    return Text.assemble(
        (f"Replay of {counted(len(report.results), 'patch', 'patches')}", "bold"),
        f" on {printable(report.onto.ref)} ({report.onto.commit[:10]}), "
        f"{counted(report.commits, 'upstream commit')} after the base {report.base.id[:10]}",
    )


def _sum(report: ReplayReport) -> Text:
    counts = Counter(result.status for result in report.results)
    said = ", ".join(f"{counts[status]} {status.value}" for status in PatchStatus if counts[status])
    return Text(f"{said or 'no patches'}; {counted(report.replays, 'replay')}", style="bold")


def _shorts(report: ReplayReport) -> list[str]:
    """How the screen calls each patch, as `--resolve` takes it: its patchset, numbered where that has several."""
    patches = [result.patch for result in report.results]
    sizes = Counter(patch.patchset for patch in patches)
    numbers = Counter((patch.patchset, patch.name.partition("-")[0]) for patch in patches)
    found = []
    for patch in patches:
        number = patch.name.partition("-")[0]
        name = number if number.isdigit() and numbers[patch.patchset, number] == 1 else patch.name
        found.append(printable(patch.patchset if sizes[patch.patchset] == 1 else f"{patch.patchset}/{name}"))
    return found


def _line(number: int, result: PatchResult, short: str) -> Text:
    text = Text(f"{number:>3}  ")
    text.append(f"{result.status.value:<12}", style=_STYLES[result.status])
    text.append(f"  {short}  ", style="dim")
    text.append(printable(result.patch.mail.subject))
    how = result.how if result.how != "exact" else ""
    if result.landed_in:
        how += f", {result.landed_in[:10]}"
    if how:
        text.append(f"  ({printable(how)})", style="dim")
    return text


def _places(result: PatchResult) -> list[Text]:
    found = [Text(f"      {_place(trouble)}  {printable(trouble.reason)}") for trouble in result.troubles[:_SHOWN]]
    if len(result.troubles) > _SHOWN:
        found.append(Text(f"      and {counted(len(result.troubles) - _SHOWN, 'place')} more"))
    return found


def _place(trouble: Trouble) -> str:
    return f"{printable(trouble.path)}:{trouble.line}" if trouble.line else printable(trouble.path)


def _named(commit: Commit) -> str:
    return f"{commit.id[:10]} {printable(commit.subject)} ({commit.date[:10]})"


def _group(report: ReplayReport, group: Failures, shorts: Sequence[str]) -> list[Text]:
    """One root: the commit, and every patch that it broke or that waits for one of these."""
    rows = {result.patch.label: (number, result) for number, result in enumerate(report.results, 1)}
    members = [rows[label] for label in group.members]
    breaks = [result.broken for _, result in members if result.broken]
    head = f"  {counted(len(members), 'patch', 'patches')}"
    if group.commit and breaks:
        head += f" broken by {_named(group.commit)}, not by its parent {breaks[0].parent[:10]}"
    found = [Text(head)]
    for number, result in members:
        row = f"  {number:>3}  {result.status.value:<12}  {shorts[number - 1]}"
        needed = [str(rows[label][0]) for label in result.needs if label in rows]
        found.append(Text(f"{row}, needs {', '.join(needed)}" if needed else row))
        found += [] if needed else _details(result)
    return found


def _details(result: PatchResult) -> list[Text]:
    found = _places(result)
    for other in result.broken.others if result.broken else ():
        found.append(Text(f"      but it {printable(other)}", style="yellow"))
    found += [Text(f"      touched by {_named(commit)}") for commit in result.touched]
    return found + ([Text(f"      {printable(result.note)}")] if result.note else [])


def _next(report: ReplayReport, shorts: Sequence[str]) -> list[str]:
    if report.open is not None:
        return [f"cd {shlex.quote(report.open.worktree)}", _WAYS[0]]
    landed = [result.patch.patchset for result in report.results if result.status is PatchStatus.LANDED]
    if not report.failed:
        if landed:
            return [f"forkguard stack retire {landed[0]}"]
        return ["forkguard stack export --as branch  makes the branch forkguard/stack"]
    lines = []
    broken = next((result for result in report.results if result.broken), None)
    if broken is not None and broken.broken is not None:
        lines.append(f"git show {broken.broken.commit.id[:10]}  shows what broke {printable(broken.patch.label)}")
    open_ones = [at for at, each in enumerate(report.results) if _decidable(each)]
    if open_ones:
        onto, short = shlex.quote(report.onto.ref), shlex.quote(shorts[open_ones[0]])
        lines.append(f"forkguard stack replay --onto {onto} --resolve {short}  opens its conflict in a worktree")
    if not lines:
        failing = next(result for result in report.results if result.status.failed)
        lines.append(f"forkguard stack show {failing.patch.patchset}")
    return lines


def _decidable(result: PatchResult) -> bool:
    return result.status is PatchStatus.CONFLICT and result.merged is not None and bool(result.merged.conflicted)
