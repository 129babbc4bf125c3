"""A conflict packet as Markdown: read in the morning, on a screen or in a pull request."""

from collections.abc import Sequence

from forkguard.core.commits import Commit
from forkguard.core.merges import Conflict
from forkguard.core.night_packets import ConflictPacket
from forkguard.reports.drift_markdown import code, fenced

_MOST_LINES = 120


def packet_markdown(packet: ConflictPacket) -> str:
    """The whole packet. Text of strangers stands in code spans and blocks."""
    result = packet.result
    onto, commit = code(packet.onto.ref), code(packet.onto.commit[:12])
    verdict = f"**{result.status.value}**. Its own base is {code(packet.base[:12])}."
    lines = [
        f"# Conflict: {code(result.patch.label)}",
        "",
        f"{code(result.patch.mail.subject)} does not apply to {onto} ({commit}): {verdict}",
        "",
        *_cause(packet),
        *(line for remark in packet.remarks for line in (code(remark), "")),
        *_places(packet),
    ]
    if packet.broke:
        lines += ["## What the breaking commit did to these files", "", *fenced(_cut(packet.broke), "diff"), ""]
    lines += [
        "## How to mend it by hand",
        "",
        *fenced("\n".join(packet.resume), "sh"),
        "",
        "The resolution is kept in `resolutions/` beside the map, and the next night uses it. With plain git:",
        "",
        *fenced("\n".join(packet.by_git), "sh"),
    ]
    return "\n".join(lines) + "\n"


def _cause(packet: ConflictPacket) -> list[str]:
    result = packet.result
    lines: list[str] = []
    if result.broken is not None:
        broken = result.broken
        lines += [f"Broken by {_commit(broken.commit)}; it applies to the commit before, {code(broken.parent[:12])}."]
        lines += [f"But it {code(other)}." for other in broken.others]
    if result.needs:
        lines.append(f"It needs {', '.join(code(name) for name in result.needs)}, which failed.")
    if packet.touched:
        lines.append("Upstream's commits to its files since the base:")
        lines += ["", *(f"- {_commit(commit)}" for commit in packet.touched)]
    if result.note:
        lines.append(code(result.note))
    return [*lines, ""] if lines else []


def _places(packet: ConflictPacket) -> list[str]:
    lines: list[str] = []
    for conflict in packet.conflicts:
        lines += _conflict(conflict)
    if not packet.conflicts and packet.result.troubles:
        lines += ["## Places", ""]
        for trouble in packet.result.troubles:
            place = f"{trouble.path}:{trouble.line}" if trouble.line else trouble.path
            lines.append(f"- {code(place)}: {code(trouble.reason)}")
        lines.append("")
    return lines


def _conflict(conflict: Conflict) -> list[str]:
    place = f"{conflict.path}:{conflict.line}" if conflict.line else conflict.path
    lines = [f"## {code(place)}", ""]
    if conflict.reason:
        lines += [code(conflict.reason), ""]
    if not conflict.line:
        return lines
    if conflict.header:
        lines += [code(conflict.header), ""]
    sides = (
        ("Upstream has", conflict.twice.text if conflict.twice else conflict.ours),
        ("Both began with", conflict.base),
        ("The patch makes of it", conflict.theirs),
    )
    for title, text in sides if conflict.twice is None else (sides[0], sides[2]):
        lines += [f"{title}:", "", *fenced(_cut(text) if text else "(nothing)", ""), ""]
    lines += _log("Upstream wrote its side in", conflict.fork_log)
    lines += _log("The lines before that came from", conflict.upstream_log)
    return lines


def _log(title: str, commits: Sequence[Commit]) -> list[str]:
    return [f"{title}:", "", *(f"- {_commit(commit)}" for commit in commits), ""] if commits else []


def _commit(commit: Commit) -> str:
    return f"{code(commit.id[:12])} {commit.date[:10]} {code(commit.subject)}"


def _cut(text: str) -> str:
    lines = text.splitlines()
    if len(lines) <= _MOST_LINES:
        return "\n".join(lines)
    return "\n".join([*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} lines more"])
