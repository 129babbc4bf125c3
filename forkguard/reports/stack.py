"""The patch stack, as JSON (`forkguard/stack@1`, `forkguard/patchset@1`) and as text."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.patchset import FollowUp, State
from forkguard.core.stack import PatchInfo, PatchsetInfo
from forkguard.reports.plain import counted, printable

States = Mapping[tuple[str, str], str]
"""A patch's class on another upstream commit, by patchset and patch."""

LIST_SCHEMA = "forkguard/stack@1"
SHOW_SCHEMA = "forkguard/patchset@1"
_STYLES = {State.CARRIED: "green", State.PROPOSED: "yellow", State.DISABLED: "red"}


def stack_json(stack: Sequence[PatchsetInfo], *, onto: str | None = None, states: States | None = None) -> str:
    """The whole stack; with `onto`, each patch's class there (null where the patch is not part of the stack)."""
    documents = [_document(each) for each in stack]
    if onto is None:
        return json.dumps({"schema": LIST_SCHEMA, "stack": documents}, indent=2)
    for document in documents:
        for patch in document["patches"]:
            patch["status"] = (states or {}).get((document["name"], patch["name"]))
    return json.dumps({"schema": LIST_SCHEMA, "onto": onto, "stack": documents}, indent=2)


def patchset_json(patchset: PatchsetInfo) -> str:
    """One patchset."""
    return json.dumps({"schema": SHOW_SCHEMA, **_document(patchset)}, indent=2)


def _document(patchset: PatchsetInfo) -> dict[str, Any]:
    manifest = patchset.manifest
    return {
        "name": patchset.name,
        "position": patchset.position,
        "state": manifest.state.value,
        "title": manifest.title,
        "pr": manifest.pull,
        "upstream": list(manifest.upstream),
        "base": manifest.base or None,
        "reason": manifest.reason.strip(),
        "removes": list(manifest.removes),
        "why": manifest.why.strip(),
        "drop_when": manifest.drop_when.strip(),
        "checks": list(manifest.checks),
        "patches": [
            {
                "name": patch.name,
                "subject": patch.subject,
                "files": list(patch.files),
                "added": patch.added,
                "removed": patch.removed,
                "fields": dict(patch.fields),
                "problem": patch.problem or None,
            }
            for patch in patchset.patches
        ],
        "prerequisites": [
            {"pr": item.pull, "commit": item.commit, "symbol": item.symbol, "why": item.why}
            for item in manifest.prerequisites
        ],
        "follow_ups": [{"pr": item.pull, "commit": item.commit, "why": item.why} for item in manifest.follow_ups],
    }


# -- text ----------------------------------------------------------------------------------------------


def stack_text(
    stack: Sequence[PatchsetInfo], *, folder: str, onto: str | None = None, states: States | None = None
) -> RenderableType:
    """One line per patchset, in the order in which they apply."""
    if not stack:
        return Text.assemble(
            ("The patch stack is empty.", "bold"),
            f"\n  {folder} holds no patchset yet.\n\n",
            ("Next", "bold"),
            "\n  forkguard port 27383           brings an upstream request over, as a patchset",
        )
    names = max(len(each.name) for each in stack)
    lines = [_line(each, width=names) for each in stack]
    if onto is not None:
        lines = [_with_states(line, each, onto, states or {}) for line, each in zip(lines, stack, strict=True)]
    declared = [each.name for each in stack if each.manifest.state is State.DECLARED and each.manifest.pull]
    following = f"forkguard port {declared[0]}" if declared else f"forkguard stack show {stack[0].name}"
    return Group(*lines, "", Text("Next", style="bold"), Text(f"  {following}"))


def _line(patchset: PatchsetInfo, *, width: int) -> Text:
    manifest = patchset.manifest
    place = f"{patchset.position}." if patchset.position else "-"
    text = Text(f"{place:>3} {patchset.name:<{width}}  ")
    text.append(f"{manifest.state.value:<9}", style=_STYLES.get(manifest.state, "dim"))
    text.append(f" {printable(manifest.title)}", style="bold")
    number = f"#{manifest.pull}, " if manifest.pull else ""
    text.append(f"\n{'':<{width + 6}}{number}{_size(patchset.patches)}", style="dim")
    if manifest.follow_ups:
        text.append(f"; follow-ups: {', '.join(map(_name, manifest.follow_ups))}", style="dim")
    for patch in patchset.patches:
        if patch.problem:
            text.append(f"\n{'':<{width + 6}}{printable(patch.name)}: {printable(patch.problem)}", style="red")
    return text


def _with_states(line: Text, patchset: PatchsetInfo, onto: str, states: States) -> Text:
    found = [states[key] for patch in patchset.patches if (key := (patchset.name, patch.name)) in states]
    if found:
        said = ", ".join(f"{count} {status}" for status, count in Counter(found).items())
        line.append(f"\n      on {printable(onto)}: {said}", style="bold")
    return line


def _size(patches: Sequence[PatchInfo]) -> str:
    if not patches:
        return "no patches yet"
    added, removed = sum(patch.added for patch in patches), sum(patch.removed for patch in patches)
    return f"{counted(len(patches), 'patch', 'patches')}, +{added} -{removed}"


def patchset_text(patchset: PatchsetInfo) -> RenderableType:
    """Everything about one patchset."""
    manifest = patchset.manifest
    place = f"number {patchset.position} of the stack" if patchset.position else "not in patchsets/series"
    parts: list[RenderableType] = [
        Text.assemble(
            (f"{patchset.name}  {printable(manifest.title)}", "bold"), f"\n  {manifest.state.value}, {place}"
        )
    ]
    rows = [
        ("request", f"#{manifest.pull}" if manifest.pull else ""),
        ("upstream", ", ".join(commit[:10] for commit in manifest.upstream)),
        ("base", manifest.base[:10]),
        ("checks", ", ".join(manifest.checks)),
        ("reason", manifest.reason.strip()),
        ("why", manifest.why.strip()),
        ("drop when", manifest.drop_when.strip()),
    ]
    parts += [_row(name, value) for name, value in rows if value]
    parts += ["", Text(f"Patches: {_size(patchset.patches)}", style="bold"), *map(_patch, patchset.patches)]
    if manifest.follow_ups:
        parts += ["", Text("Follow-ups", style="bold")]
        parts += [Text(f"  {_name(item)}  {printable(item.why)}") for item in manifest.follow_ups]
    if not patchset.patches and manifest.pull:
        parts += ["", Text("Next", style="bold"), Text(f"  forkguard port {manifest.pull}")]
    return Group(*parts)


def _name(item: FollowUp) -> str:
    return f"#{item.pull}" if item.pull else printable(item.commit or "")[:10]


def _row(name: str, value: str) -> Text:
    lines = [printable(line) for line in value.split("\n")]
    return Text.assemble((f"  {name:<11}", "dim"), ("\n" + " " * 13).join(lines))


def _patch(patch: PatchInfo) -> Text:
    text = Text(f"  {printable(patch.name)}  +{patch.added} -{patch.removed}")
    if patch.problem:
        return text.append(f"\n    {printable(patch.problem)}", style="red")
    for file in patch.files:
        text.append(f"\n    {printable(file)}", style="dim")
    for key, value in patch.fields:
        text.append(f"\n    {key}: {printable(value)}", style="dim")
    return text
