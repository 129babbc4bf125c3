"""The demo's story as a few lines per step."""

import textwrap
from collections import Counter

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.demo import Drifted, Ended, Event, Histories, Ported, Sources, of_pull
from forkguard.core.findings import DriftReport, Finding, Severity
from forkguard.core.porting import PortReport
from forkguard.reports.plain import counted, printable

_MEGABYTE = 1_000_000


def demo_event(event: Event, *, program: str) -> RenderableType:
    """One step of the story. `program` is how forkguard is started from the kept folder."""
    match event:
        case Sources():
            return _sources(event)
        case Histories():
            return _histories(event)
        case Drifted():
            return _drifted(event, program)
        case Ported():
            return _ported(event.report, program)
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


def _drifted(event: Drifted, program: str) -> RenderableType:
    report, mine = event.report, of_pull(event.report, event.pull)
    ref = f" --fork-ref {event.ref}" if event.ref.startswith("forkguard/") else ""
    command = _command(f"{program} drift --arch lfm2{ref}")
    if not mine:
        return Group(
            command,
            Text(f"  nothing of #{event.pull} is missing any more", style="bold green"),
            *_what_is_left(report),
        )
    lines: list[RenderableType] = [command, _verdict(mine, event)]
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
    head = Text.assemble(f"  {finding.severity.value:<11}", (f"{printable(finding.title)}  ", "bold"), (place, "dim"))
    if finding.severity is not Severity.CRASH:
        return [head]
    lines = finding.text.strip().splitlines()[:2]
    why = textwrap.wrap(finding.why, 100, initial_indent=" " * 13, subsequent_indent=" " * 13)
    return [
        head,
        *(Text(f"             + {printable(line.strip())}", style="green") for line in lines),
        *(Text(line, style="dim") for line in why),
    ]


def _what_is_left(report: DriftReport) -> list[Text]:
    others = sum(finding.counts(strict=False) for finding in report.findings)
    hazards = [finding for finding in report.findings if finding.also_upstream]
    lines = []
    if others:
        lines.append(Text(f"  {counted(others, 'small difference')} left, brought upstream by other changes"))
    if hazards:
        lines.append(
            Text(f"  {hazards[0].severity.value} hazard that upstream has too: {printable(hazards[0].title)}")
        )
        lines.append(Text(f"    mend: {printable(hazards[0].fix)}", style="dim"))
    return lines


def _ported(report: PortReport, program: str) -> RenderableType:
    tally = Counter(hunk.outcome.value for hunk in report.hunks)
    said = ", ".join(f"{number} {outcome}" for outcome, number in tally.items())
    stat = report.stat
    lines = [Text(f"  {report.status.value}: {counted(len(report.hunks), 'hunk')} ({said})", style="bold")]
    if report.branch:
        lines.append(Text(f"  branch {report.branch}: {stat.files} files, +{stat.added} -{stat.removed}"))
        lines.append(Text(f"  patches for git am in patchsets/{report.patchset}/"))
    return Group(_command(f"{program} port {report.source.pull}"), *lines)


def _ended(event: Ended, program: str) -> RenderableType:
    if event.surprises:
        told = [Text(f"  {line}", style="bold red") for line in event.surprises]
        return Group(
            _chapter("This did not go as told"), *told, Text(f"\nBegin anew with: rm -r {event.folder}", style="bold")
        )
    return Group(
        _chapter("Red before, clean after; production is where it was"),
        Text("\nTry next", style="bold"),
        Text(f"  cd {event.folder}"),
        Text(f"  {program} drift --arch lfm2          every finding, with the lines around it"),
        Text(f"  {program} stack show 27383           the patchset that was made"),
        Text(f"  git -C llama.cpp log -p production..{event.branch}"),
    )


def _chapter(title: str) -> Text:
    return Text(f"\n{title}", style="bold")


def _command(words: str) -> Text:
    return Text(f"\n$ {words}", style="bold cyan")
