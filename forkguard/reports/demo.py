"""The demo's story as a few lines per step."""

from collections import Counter

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.demo import (
    Began,
    Built,
    Drifted,
    Ended,
    Event,
    Gated,
    Histories,
    Ported,
    Sources,
    of_pull,
)
from forkguard.core.findings import DriftReport, Finding, Severity
from forkguard.core.porting import PortReport
from forkguard.reports.demo_gate import built_lines, gate_lines, wrapped
from forkguard.reports.plain import counted, printable

_MEGABYTE = 1_000_000
_UNDER_TITLE = " " * 13


def demo_event(event: Event, *, program: str) -> RenderableType:
    """One step of the story. `program` is how forkguard is started from the kept folder."""
    match event:
        case Sources():
            return _sources(event)
        case Histories():
            return _histories(event)
        case Began():
            return Text(f"\n$ {program} {event.words}", style="bold cyan")
        case Drifted():
            return _drifted(event)
        case Built():
            return Group(*built_lines(event))
        case Gated():
            return Group(*gate_lines(event))
        case Ported():
            return _ported(event.report)
        case Ended():
            return _ended(event, program)


def _sources(event: Sources) -> RenderableType:
    lines = [
        f"  b{one.build}  {one.size / _MEGABYTE:.1f} MB  sha256 {one.sha256[:16]}...  "
        + ("downloaded" if one.fetched else "from the cache")
        for one in event.archives
    ]
    return Group(_chapter("Real llama.cpp sources"), *(Text(line) for line in lines))


def _histories(event: Histories) -> RenderableType:
    facts = event.facts
    own = counted(len(facts.own_subjects), "commit")
    return Group(
        _chapter(f"An upstream and a fork, {'made' if facts.made else 'kept from before'} in {facts.folder}"),
        Text(f"  upstream    {' -> '.join(printable(subject) for subject in facts.upstream_log)}"),
        Text(f"  production  {facts.upstream_log[0]} and {own} of its own; it serves LFM2 models"),
    )


def _drifted(event: Drifted) -> RenderableType:
    report, mine = event.report, of_pull(event.report, event.pull)
    if not mine:
        return Group(
            Text(f"  nothing of #{event.pull} is missing any more", style="bold green"),
            *_what_is_left(report),
        )
    lines = [_verdict(mine, event)]
    lines += [line for finding in _one_of_a_kind(mine) for line in _finding(finding)]
    return Group(*lines)


def _verdict(mine: tuple[Finding, ...], event: Drifted) -> Text:
    tally = Counter(finding.severity for finding in mine)
    said = ", ".join(f"{tally[severity]} {severity.value}" for severity in Severity if tally[severity])
    return Text(f"  {event.ref} lacks {counted(len(mine), 'piece')} of #{event.pull}: {said}", style="bold red")


def _one_of_a_kind(findings: tuple[Finding, ...]) -> list[Finding]:
    """The worst of each title, without mere differences in statements."""
    first: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda finding: finding.severity.rank):
        if finding.severity.rank < Severity.CHANGE.rank:
            first.setdefault(finding.title, finding)
    return list(first.values())


def _finding(finding: Finding) -> list[Text]:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    head = [
        Text.assemble(f"  {finding.severity.value:<11}", (printable(finding.title), "bold")),
        Text(f"{_UNDER_TITLE}{printable(place)}", style="dim"),
    ]
    if finding.severity is not Severity.CRASH:
        return head
    lines = finding.text.strip().splitlines()[:2]
    return [
        *head,
        *(Text(f"{_UNDER_TITLE}+ {printable(line.strip())}", style="green") for line in lines),
        *wrapped(_UNDER_TITLE, finding.why, style="dim"),
    ]


def _what_is_left(report: DriftReport) -> list[Text]:
    others = sum(finding.counts(strict=False) for finding in report.findings)
    hazards = [finding for finding in report.findings if finding.also_upstream]
    lines = []
    if others:
        lines.append(Text(f"  {counted(others, 'small difference')} left, brought upstream by other changes"))
    if hazards:
        lines.append(Text(f"  {hazards[0].severity.value} hazard that upstream has too:"))
        lines += wrapped("    ", hazards[0].title)
        lines += wrapped("    mend: ", hazards[0].fix, style="dim")
    return lines


def _ported(report: PortReport) -> RenderableType:
    tally = Counter(hunk.outcome.value for hunk in report.hunks)
    said = ", ".join(f"{number} {outcome}" for outcome, number in tally.items())
    stat = report.stat
    lines = [Text(f"  {report.status.value}: {counted(len(report.hunks), 'hunk')} ({said})", style="bold")]
    if report.branch:
        lines.append(Text(f"  branch {report.branch}: {stat.files} files, +{stat.added} -{stat.removed}"))
        lines.append(Text(f"  patches for git am in patchsets/{report.patchset}/"))
    return Group(*lines)


def _ended(event: Ended, program: str) -> RenderableType:
    if event.surprises:
        told = [Text(f"  {line}", style="bold red") for line in event.surprises]
        return Group(
            _chapter("This did not go as told"), *told, Text(f"\nBegin anew with: rm -r {event.folder}", style="bold")
        )
    after = "green" if event.gated else "clean"
    return Group(
        _chapter(f"Red before, {after} after; production is where it was"),
        Text("\nTry next", style="bold"),
        Text(f"  cd {event.folder}"),
        *_next_commands(event, program),
    )


def _next_commands(event: Ended, program: str) -> list[Text]:
    lines = [
        f"  {program} drift --arch lfm2          every finding, with the lines around it",
        f"  {program} stack show 27383           the patchset that was made",
    ]
    if event.gated:
        lines.append(f"  {program} gate --arch lfm2 --fork-ref {event.branch} \\")
        lines.append("    --probe-size deep --width 15       the crash that upstream has too")
    else:
        lines.append(f"  git -C llama.cpp log -p production..{event.branch}")
    return [Text(line) for line in lines]


def _chapter(title: str) -> Text:
    return Text(f"\n{title}", style="bold")
