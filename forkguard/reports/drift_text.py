"""The drift report as text for a person in a hurry: verdict and counts, the worst in full, the commands last."""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.commits import Commit
from forkguard.core.findings import ArchStatus, DriftReport, Finding, Kind, Severity
from forkguard.reports.plain import counted, printable

STYLES = {
    Severity.CRASH: "bold red",
    Severity.CORRUPTION: "bold magenta",
    Severity.SLOW: "bold yellow",
    Severity.CHANGE: "cyan",
    Severity.NOTE: "dim",
}
_WIDTH = 110
_MOST_LINES = 14
_MOST_LATER = 3
_MOST_PLACES = 8
_MOST_NAMES = 6
_MOST_FINDINGS = 15  # of each severity, unless all are asked for
_MOST_COMMITS = 15
_MOST_UNCOUNTED = 6
_PAD = " " * 13


def as_text(report: DriftReport, *, strict: bool = False, verbose: bool = False) -> RenderableType:
    """The report for a terminal; without `verbose`, long lists are cut and say so."""
    counting = [finding for finding in report.findings if finding.counts(strict=strict)]
    rest = [finding for finding in report.findings if not finding.counts(strict=strict)]
    parts: list[RenderableType] = [_head(report, counting), ""]
    parts += [_absent(name, remark) for name, remark in _absences(report)]
    parts += _worst(counting, verbose=verbose)
    changes = [finding for finding in counting if finding.severity is Severity.CHANGE]
    if changes:
        told = list(map(_brief, changes)) if verbose else _by_commit(changes)
        parts += [Text("Other statements that differ", style="bold"), *told, ""]
    parts += _not_counted(rest, verbose=verbose)
    parts += [Text(f"note: {warning}", style="dim") for warning in report.warnings]
    parts += _next(counting)
    return Group(*map(_shown, parts))


def _shown(part: RenderableType) -> RenderableType:
    """The part without terminal controls: its words come from strangers' sources, subjects and file names."""
    if isinstance(part, Text):
        part.plain = "".join(letter if letter in "\t\n" else printable(letter) for letter in part.plain)
    return part


# -- verdict -------------------------------------------------------------------------------------------


def _head(report: DriftReport, counting: list[Finding]) -> Text:
    base = report.base
    how = {"merge-base": "by ancestry", "content": f"by content, {base.equal} of {base.total} files equal"}
    names = _names(report)
    text = Text()
    if counting:
        verdict = f"{names}: drift" if len(report.archs) <= _MOST_NAMES else names
        text.append(verdict, style="bold red").append(f": {tally(counting)}\n")
    elif any(arch.status is ArchStatus.ABSENT for arch in report.archs):
        text.append(f"{names}: absent\n", style="bold red")
    else:
        text.append(f"{names}: {quiet_verdict(report)}\n", style="bold green")
    text.append(
        f"fork {report.fork.ref} {report.fork.commit[:10]}, "
        f"upstream {report.upstream.ref} {report.upstream.commit[:10]}, "
        f"base {base.commit[:10]} ({how.get(base.how, base.how)})",
        style="dim",
    )
    return text


def quiet_verdict(report: DriftReport) -> str:
    """What a report without anything that counts is called: clean, or no worse than its baseline."""
    based = sum(finding.baselined for finding in report.findings)
    return f"nothing new; {counted(based, 'finding')} in the baseline" if based else "clean"


def tally(findings: Iterable[Finding]) -> str:
    """How many findings of each severity, worst first: `1 crash, 3 slow`."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(f"{counts[severity]} {severity.value}" for severity in Severity if counts[severity])


def _names(report: DriftReport) -> str:
    names = [arch.name for arch in report.archs] or ["lists of speculative types"]
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    drifting = sum(arch.status is ArchStatus.DRIFT for arch in report.archs)
    return f"{len(names)} archs, {drifting} with drift" if drifting else f"{len(names)} archs"


def _absences(report: DriftReport) -> list[tuple[str, str]]:
    return [(arch.name, arch.remark) for arch in report.archs if arch.status is ArchStatus.ABSENT]


def _absent(name: str, remark: str) -> Text:
    return Text.assemble((f"absent  {name}", "bold red"), f"  the fork has no such arch; {remark}\n")


# -- findings in full ----------------------------------------------------------------------------------


def _worst(counting: Sequence[Finding], *, verbose: bool) -> Iterator[RenderableType]:
    """What counts and is more than a change, by severity; a rule's reason is given once."""
    explained: set[str] = set()
    for severity in (one for one in Severity if one is not Severity.CHANGE):
        found = [finding for finding in counting if finding.severity is severity]
        shown = found if verbose else found[:_MOST_FINDINGS]
        for finding in shown:
            yield _full(finding, verbose=verbose, explain=verbose or finding.rule not in explained)
            yield ""
            explained.add(finding.rule)
        if len(found) > len(shown):
            yield _more(len(found) - len(shown), severity.value)
            yield ""


def _more(number: int, what: str) -> Text:
    return Text(f"… {number} more {what}, -v or --format json shows all", style="bold")


def _place(finding: Finding) -> str:
    line = f":{finding.line}" if finding.line else ""
    return f"{finding.path}{line}" + (f"  {finding.symbol}" if finding.symbol else "")


def came_with(finding: Finding) -> str:
    """The commit that brought the finding's matter upstream, or took it away; empty where none is known."""
    commit = finding.upstream.commit if finding.upstream else None
    if commit is None:
        return ""
    if finding.builds:
        return (
            f"between the builds {finding.builds[0]} and {finding.builds[1]}, {commit.date[:10]} ({commit.id[:10]})"
        )
    return commit_name(commit)


def commit_name(commit: Commit) -> str:
    """A commit in a line: its request or its id, its day, its subject."""
    number = f"#{commit.pull}" if commit.pull else commit.id[:10]
    return f"{number}, {commit.date[:10]}: {commit.subject}"


def _sequel(finding: Finding, indent: str) -> str:
    """What came later upstream about the same request, a line each."""
    lines = [f"{indent}later: {commit_name(commit)}\n" for commit in finding.follow_ups[:_MOST_LATER]]
    rest = len(finding.follow_ups) - _MOST_LATER
    return "".join(lines) + (f"{indent}later: {rest} more\n" if rest > 0 else "")


def _full(finding: Finding, *, verbose: bool, explain: bool) -> RenderableType:
    text = Text.assemble(
        (f"{finding.severity.value:<10} ", STYLES[finding.severity]),
        (f"{finding.kind.value}  ", "bold"),
        finding.title,
    )
    text.append("\n  ").append(_place(finding), style="underline").append("\n")
    _append_surroundings(text, finding)
    if came := came_with(finding):
        dropped = finding.title.startswith("upstream dropped")
        word = "came with" if finding.kind is Kind.HAZARD else "dropped by" if dropped else "upstream"
        text.append(f"  {word} {came}\n", style="dim")
    text.append(_sequel(finding, "  "), style="dim")
    if lost := finding.lost_in:
        text.append(f"  the fork took it away in {lost.id[:10]}: {lost.subject}\n", style="yellow")
    for line in textwrap.wrap(finding.why, _WIDTH) if explain else ():
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


# -- changes by commit ---------------------------------------------------------------------------------


def _by_commit(changes: list[Finding]) -> Iterator[Text]:
    """Statements that differ, one paragraph for each commit that explains some of them, newest first."""
    groups: dict[str, list[Finding]] = {}
    for finding in changes:
        groups.setdefault(came_with(finding) or "no commit since the base explains", []).append(finding)
    dated = sorted(groups.items(), key=lambda group: _date(group[1][0]), reverse=True)
    for came, found in dated[:_MOST_COMMITS]:
        yield _one_commit(came, found)
    if rest := dated[_MOST_COMMITS:]:
        places = sum(len(found) for _, found in rest)
        yield _more(len(rest), f"commits with {counted(places, 'place')}")


def _date(finding: Finding) -> str:
    commit = finding.upstream.commit if finding.upstream else None
    return commit.date if commit else ""


def _one_commit(came: str, found: list[Finding]) -> Text:
    text = Text.assemble("  ", (f"{counted(len(found), 'place'):<10} ", STYLES[Severity.CHANGE]), f"{came}\n")
    places: dict[str, dict[str, None]] = {}
    for finding in found:
        lines = places.setdefault(finding.path, {})
        if finding.line is not None:
            lines[str(finding.line)] = None
    for path, lines in list(places.items())[:_MOST_PLACES]:
        shown = [*list(lines)[:_MOST_PLACES], *(["..."] if len(lines) > _MOST_PLACES else [])]
        text.append(f"{_PAD}{path}{':' if shown else ''}{', '.join(shown)}\n", style="underline")
    if len(places) > _MOST_PLACES:
        text.append(f"{_PAD}... and {counted(len(places) - _MOST_PLACES, 'more file', 'more files')}\n")
    text.append(_sequel(found[0], _PAD))
    if found[0].fix:
        text.append(f"{_PAD}mend: {found[0].fix}\n")
    text.rstrip()
    return text


# -- what does not count -------------------------------------------------------------------------------


def _not_counted(rest: Sequence[Finding], *, verbose: bool) -> Iterator[RenderableType]:
    """In brief; of the baseline only the count, and by name what crashes or corrupts."""
    based = [finding for finding in rest if finding.baselined]
    others = [finding for finding in rest if not finding.baselined]
    if others:
        shown = others if verbose else others[:_MOST_UNCOUNTED]
        yield Text("Not counted", style="bold")
        yield from map(_brief, shown)
        if len(others) > len(shown):
            yield _more(len(others) - len(shown), "not counted")
        yield ""
    if based:
        yield Text(f"In the {based[0].ledger}, not counted: {tally(based)}", style="bold")
        named = [one for one in based if verbose or one.severity in {Severity.CRASH, Severity.CORRUPTION}]
        for finding in named:
            yield Text.assemble(
                "  ", (f"{finding.severity.value:<10} ", STYLES[finding.severity]), f"{finding.arch}: {finding.title}"
            )
        yield ""


def _brief(finding: Finding) -> Text:
    first, *more = finding.text.split("\n")
    text = Text.assemble("  ", (f"{finding.severity.value:<10} ", STYLES[finding.severity]), f"{finding.title}\n")
    text.append(f"{_PAD}{_place(finding)}\n", style="underline")
    text.append(f"{_PAD}{first[:100]}{' ...' if more or len(first) > 100 else ''}\n", style="dim")
    if finding.kind is Kind.ACCEPTED:
        text.append(f"{_PAD}accepted: {finding.ledger}\n", style="dim")
    elif finding.also_upstream:
        text.append(f"{_PAD}upstream has this hazard too: ported faithfully, it comes along\n", style="dim")
    if came := came_with(finding):
        text.append(f"{_PAD}{came}\n", style="dim")
    if finding.fix:
        text.append(f"{_PAD}mend: {finding.fix}\n")
    text.rstrip()
    return text


def _next(counting: list[Finding]) -> Iterator[RenderableType]:
    """The commands that mend most; those that only show something stay with their findings."""
    commands = Counter(finding.fix for finding in counting if finding.fix.startswith("forkguard "))
    if commands:
        yield Text("Next", style="bold")
        for command, count in commands.most_common(3):
            yield Text(f"  {command}    mends {count} of {len(counting)}")
