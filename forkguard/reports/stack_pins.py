"""What an import of pinned requests has to say, as JSON (`forkguard/stack-import@1`) and as text."""

from collections import Counter
from typing import Any

from forkguard.core.hunks import Outcome
from forkguard.core.pins import PinnedPort, PinsImport, PinStatus
from forkguard.errors import ExitCode
from forkguard.reports.plain import counted, json_text, printable

_SAID = {
    PinStatus.APPLIED: "applied",
    PinStatus.ALREADY_PRESENT: "there already, no patchset made",
    PinStatus.CONFLICT: "conflict, left out",
    PinStatus.BLOCKED: "brings a hazard, left out",
    PinStatus.MOVED: "moved, left out",
    PinStatus.REFUSED: "not ported",
}
_MOST_HUNKS = 6


def pins_status(found: PinsImport) -> ExitCode:
    """The exit status: what could not be tried outweighs what was tried and did not fit."""
    statuses = {one.status for one in found.ports}
    if PinStatus.REFUSED in statuses:
        return ExitCode.COULD_NOT
    broken = any(one.report and one.report.compiled.failed for one in found.ports)
    clean = statuses <= {PinStatus.APPLIED, PinStatus.ALREADY_PRESENT} and not broken
    return ExitCode.CLEAN if clean else ExitCode.FINDING


def pins_json(found: PinsImport) -> str:
    """The list, as JSON: `patchsets` are those that were made, `requests` tells of every line."""
    document = {
        "schema": "forkguard/stack-import@1",
        "base": found.base,
        "patchsets": [
            {"name": one.report.patchset, "patches": list(one.patches)}
            for one in found.ports
            if one.report and one.patches
        ],
        "as_they_came": [],
        "requests": [_request(one) for one in found.ports],
        "notes": list(found.notes),
        "dry_run": found.dry_run,
    }
    return json_text(document)


def _request(one: PinnedPort) -> dict[str, Any]:
    report = one.report
    return {
        "pr": one.pin.pull,
        "pin": one.pin.commit,
        "head": one.head,
        "status": one.status.value,
        "state": report.source.state.value if report else None,
        "onto": one.onto,
        "branch": report.branch if report and not report.dry_run else None,
        "hunks": dict(Counter(hunk.outcome.value for hunk in report.hunks)) if report else {},
        "conflicts": [{"path": path, "header": header} for path, header in _conflicts(one)],
        "why": one.why,
        "hint": one.hint,
    }


def _conflicts(one: PinnedPort) -> list[tuple[str, str]]:
    hunks = one.report.hunks if one.report else ()
    return [(hunk.path, hunk.header) for hunk in hunks if hunk.outcome is Outcome.CONFLICT]


def pins_text(found: PinsImport) -> str:
    """The list, one request after the other, and what to do next."""
    made = sum(one.status is PinStatus.APPLIED for one in found.ports)
    would = " would be" if found.dry_run else ""
    lines = [f"{made} of {counted(len(found.ports), 'pinned request')}{would} carried, on {found.base[:10]}"]
    for one in found.ports:
        lines += _lines(one)
    lines += [f"  {printable(note)}" for note in found.notes]
    nexts = ["forkguard stack import --pins FILE"] if found.dry_run else ["forkguard stack verify"]
    return "\n".join([*lines, "", "Next", *(f"  {word}" for word in nexts)])


def _lines(one: PinnedPort) -> list[str]:
    hunks = Counter(hunk.outcome.value for hunk in one.report.hunks) if one.report else Counter[str]()
    counts = ", ".join(f"{number} {outcome}" for outcome, number in hunks.items())
    lines = [f"  #{one.pin.pull} at {one.pin.commit[:10]}: {_SAID[one.status]}{f' ({counts})' if counts else ''}"]
    conflicts = _conflicts(one)
    lines += [f"      conflict in {printable(path)}  {printable(header)}" for path, header in conflicts[:_MOST_HUNKS]]
    if len(conflicts) > _MOST_HUNKS:
        lines.append(f"      and {len(conflicts) - _MOST_HUNKS} more hunks")
    if one.report and one.report.compiled.failed:
        lines.append(
            f"      does not compile: {', '.join(printable(path) for path, _ in one.report.compiled.failed)}"
        )
    lines += [f"      {printable(text)}" for text in (one.why, one.hint) if text]
    return lines
