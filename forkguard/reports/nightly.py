"""A night as text and as Markdown, for people; its JSON is the record itself."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.nightly import Night, NightVerdict, Outcome
from forkguard.core.today import needs
from forkguard.reports.drift_markdown import code
from forkguard.reports.plain import counted, printable

_STYLES = {
    NightVerdict.GREEN: "bold green",
    NightVerdict.RED: "bold red",
    NightVerdict.COULD_NOT_RUN: "bold yellow",
}
_MARKS = {
    Outcome.DONE: ("done", "green"),
    Outcome.FOUND: ("found", "red"),
    Outcome.COULD_NOT: ("could not", "yellow"),
    Outcome.SKIPPED: ("skipped", "dim"),
}
_WORDS = {
    NightVerdict.GREEN: "green",
    NightVerdict.RED: "red",
    NightVerdict.COULD_NOT_RUN: "could not run",
}
_MOST = 5


def story_line(night: Night) -> str:
    """How long it has been so: days that were not green, nights of the same story."""
    if night.verdict is NightVerdict.GREEN:
        return ""
    again = f"the same for {counted(night.repeats + 1, 'night')}" if night.repeats else "new"
    return f"not green for {counted(night.days_red, 'day')}; {again}"


# -- text ------------------------------------------------------------------------------------------------


def nightly_text(night: Night, *, record: str) -> RenderableType:
    """The whole night for a terminal, ending in what to type next."""
    head = Text.assemble(
        (f"night {night.id}: ", "bold"),
        (_WORDS[night.verdict], _STYLES[night.verdict]),
        f"  {printable(night.reason)}",
    )
    parts: list[RenderableType] = [head]
    if line := story_line(night):
        parts.append(Text(f"  {line}"))
    parts += [Text(f"  {line}") for line in _sides(night)]
    parts.append(Text(""))
    for step in night.steps:
        word, style = _MARKS[step.outcome]
        text = Text(f"  {step.name.value:<10}").append(f"{word:<10}", style=style).append(printable(step.detail))
        parts.append(text)
    if len(night.steps) > 0:
        parts.append(Text(""))
    parts += [Text(line) for line in _details(night)]
    parts += [Text(f"note: {printable(note)}", style="dim") for note in night.notes]
    parts.append(Text(f"record: {record}"))
    if steps := next_steps(night):
        parts += [Text(""), Text("Next", style="bold"), *(Text(f"  {printable(step)}") for step in steps)]
    return Group(*parts)


def _sides(night: Night) -> Iterator[str]:
    if night.fork is not None:
        ahead = f", {night.ahead} ahead" if night.ahead is not None else ""
        yield f"fork      {printable(night.fork.ref)} at {night.fork.commit[:12]}{ahead}"
    if night.upstream is not None:
        up = night.upstream
        new = f"{counted(up.commits, 'commit')} since {up.since[:12]}"
        yield f"upstream  {printable(up.ref)} at {up.to[:12]}, {new}; the fork is {up.behind} behind"
    if night.candidate is not None:
        pushed = f", pushed to {printable(night.candidate.pushed)}" if night.candidate.pushed else ""
        yield f"candidate {night.candidate.branch} at {night.candidate.commit[:12]}{pushed}"


def _details(night: Night) -> Iterator[str]:
    yield from _patches(night)
    counting = [one for one in night.drift.findings if one.counts] if night.drift is not None else []
    for finding in counting[:_MOST]:
        yield f"drift {finding.severity}: {printable(finding.arch)}: {printable(finding.title)}"
    if len(counting) > _MOST and night.drift is not None:
        yield f"and {counted(len(counting) - _MOST, 'finding')} more: {night.drift.document}, beside the record"
    for gate in night.gate:
        for check in gate.checks:
            if check.verdict != "pass":
                yield f"gate {printable(gate.arch)}: {check.name} {check.verdict}: {printable(check.detail)}"
    yield from _requests(night)
    yield from (f"packet: {packet.file}, beside the record" for packet in night.packets)


def _patches(night: Night) -> Iterator[str]:
    failed = [patch for patch in night.stack if patch.status.failed]
    for patch in failed[:_MOST]:
        broken = f", broken by {patch.breaking_commit[:10]}" if patch.breaking_commit else ""
        yield f"{patch.status.value}: {printable(patch.label)}{broken}"
    if len(failed) > _MOST:
        yield f"and {counted(len(failed) - _MOST, 'patch', 'patches')} more"
    for commit in night.uncovered[:_MOST]:
        yield f"in no patchset: {commit.commit[:10]} {printable(commit.subject)}"
    if len(night.uncovered) > _MOST:
        yield f"and {counted(len(night.uncovered) - _MOST, 'commit')} more"


def _requests(night: Night) -> Iterator[str]:
    for one in night.retire:
        yield f"landed: {printable(one.patchset)}"
    for item in night.follow_ups:
        if item.new:
            yield f"came after {printable(item.patchset)}: {printable(item.why)}"
    for pin in night.pins:
        if pin.why:
            yield f"pinned #{pin.pr} of {printable(pin.patchset)}: {printable(pin.why)}"


def next_steps(night: Night) -> tuple[str, ...]:
    """The commands to type, those that the night was not green for first."""
    return tuple(dict.fromkeys(need.command for need in needs(night) if need.command))


# -- markdown --------------------------------------------------------------------------------------------


def nightly_markdown(night: Night) -> str:
    """The night for a pull request or a step summary. Text of strangers stands in code."""
    lines = [f"## Night {night.id}: {_WORDS[night.verdict]}", "", code(night.reason) or ""]
    if line := story_line(night):
        lines += ["", f"{line[0].upper()}{line[1:]}."]
    lines += ["", *(f"- {code(line)}" for line in _sides(night))]
    lines += ["", "| step | outcome | |", "|---|---|---|"]
    lines += [
        f"| {step.name.value} | {_MARKS[step.outcome][0]} | {code(step.detail).replace('|', '&#124;')} |"
        for step in night.steps
    ]
    details = [f"- {code(line)}" for line in _details(night)]
    if details:
        lines += ["", *details]
    if night.notes:
        lines += ["", *(f"- note: {code(note)}" for note in night.notes)]
    if steps := next_steps(night):
        lines += ["", "Next:", "", *(f"- {code(step)}" for step in steps)]
    return "\n".join(lines) + "\n"


# -- github ----------------------------------------------------------------------------------------------


def github_annotations(night: Night) -> tuple[str, ...]:
    """Workflow commands: one line for the verdict, one for each step that found something or could not work."""
    kind = {NightVerdict.GREEN: "notice", NightVerdict.RED: "error", NightVerdict.COULD_NOT_RUN: "warning"}
    lines = [_annotation(kind[night.verdict], f"nightly: {_WORDS[night.verdict]}", night.reason)]
    for step in night.steps:
        if step.outcome in (Outcome.FOUND, Outcome.COULD_NOT):
            hint = f" (next: {step.hint})" if step.hint else ""
            severity = "error" if step.outcome is Outcome.FOUND else "warning"
            lines.append(_annotation(severity, f"nightly: {step.name.value}", f"{step.detail}{hint}"))
    return tuple(lines)


def _annotation(kind: str, title: str, text: str) -> str:
    r"""A workflow command, in which no text can begin another.

    >>> _annotation("error", "a: b", "50%\n::warning::x")
    '::error title=a%3A b::50%25%0A::warning::x'
    """
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    name = title.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{printable(escaped)}"
