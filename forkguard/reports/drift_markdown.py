"""The drift report as Markdown for a comment on a pull request: a short table, and the details folded away.

Whatever comes from sources, subjects and file names stands in code, where a forge neither renders it nor sees
mentions or numbers of requests in it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from forkguard.core.findings import ArchStatus, DriftReport, Finding, Severity
from forkguard.reports.drift_text import came_with, commit_name, quiet_verdict, tally
from forkguard.reports.plain import counted, printable

_MOST_ROWS = 25
_LONGEST = 60_000
"""Characters; GitHub refuses comments above 65,536."""
_RUNS = re.compile("`+")


def as_markdown(report: DriftReport, *, strict: bool = False) -> str:
    """The comment; at most some 60,000 characters, with what was left out counted."""
    counting = [finding for finding in report.findings if finding.counts(strict=strict)]
    rest = [finding for finding in report.findings if not finding.counts(strict=strict)]
    head = [*_head(report, counting), *_table(counting), *_others(rest), *_remarks(report)]
    used = sum(len(line) + 1 for line in head)
    return "\n".join([*head, *_details(counting, room=_LONGEST - used)]).rstrip("\n") + "\n"


def _head(report: DriftReport, counting: Sequence[Finding]) -> Iterator[str]:
    absent = [arch for arch in report.archs if arch.status is ArchStatus.ABSENT]
    names = [arch.name for arch in report.archs]
    about = ", ".join(map(code, names)) if len(names) <= 6 else f"{len(names)} archs"
    verdict = f"drift: {tally(counting)}" if counting else "absent" if absent else quiet_verdict(report)
    yield f"### forkguard: {verdict}"
    yield ""
    yield (
        f"{about}; fork {code(report.fork.ref)} at {code(report.fork.commit[:10])}, upstream "
        f"{code(report.upstream.ref)} at {code(report.upstream.commit[:10])}, base {code(report.base.commit[:10])}."
    )
    yield ""
    for arch in absent:
        yield f"- {code(arch.name)} is absent: the fork has no such arch; {code(arch.remark)}"
    if absent:
        yield ""


def _table(counting: Sequence[Finding]) -> Iterator[str]:
    if not counting:
        return
    yield "| severity | arch | what | where | upstream | mend |"
    yield "|---|---|---|---|---|---|"
    for finding in counting[:_MOST_ROWS]:
        place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
        cells = (code(finding.arch), code(finding.title), code(place), _came(finding), code(finding.fix))
        yield f"| {_severity(finding)} | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    if len(counting) > _MOST_ROWS:
        yield ""
        yield f"… {len(counting) - _MOST_ROWS} more; `forkguard drift --format json` shows all."
    yield ""


def _severity(finding: Finding) -> str:
    word = finding.severity.value
    return f"**{word}**" if finding.severity in {Severity.CRASH, Severity.CORRUPTION} else word


def _came(finding: Finding) -> str:
    commit = finding.upstream.commit if finding.upstream else None
    return "" if commit is None else code(f"#{commit.pull}" if commit.pull else commit.id[:10])


def _others(rest: Sequence[Finding]) -> Iterator[str]:
    if not rest:
        return
    accepted = sum(finding.ledger is not None for finding in rest)
    shared = sum(finding.also_upstream and finding.ledger is None for finding in rest)
    said = [
        f"{accepted} accepted" if accepted else "",
        f"{counted(shared, 'hazard')} that upstream has too" if shared else "",
        f"{counted(len(rest) - accepted - shared, 'note')}" if len(rest) > accepted + shared else "",
    ]
    yield f"Not counted: {', '.join(part for part in said if part)}."
    yield ""
    worst = [one for one in rest if one.baselined and one.severity in {Severity.CRASH, Severity.CORRUPTION}]
    for finding in worst[:_MOST_ROWS]:
        yield f"- in the baseline: **{finding.severity.value}** {code(finding.arch)} {code(finding.title)}"
    if worst:
        yield ""


def _remarks(report: DriftReport) -> Iterator[str]:
    for warning in report.warnings[:_MOST_ROWS]:
        yield f"- note: {code(warning)}"
    if report.warnings:
        yield ""


def _details(counting: Sequence[Finding], *, room: int) -> Iterator[str]:
    for number, finding in enumerate(counting):
        block = "\n".join(_detail(finding))
        room -= len(block) + 1
        if room < 0:
            yield f"… the details of {counted(len(counting) - number, 'more finding')} are left out."
            return
        yield block


def _detail(finding: Finding) -> Iterator[str]:
    yield f"<details><summary>{finding.severity.value} {_html(finding.arch)}: {_html(finding.title)}</summary>"
    yield ""
    yield from fenced(finding.text)
    yield ""
    if came := came_with(finding):
        yield f"- upstream: {code(came)}"
    for commit in finding.follow_ups:
        yield f"- later: {code(commit_name(commit))}"
    if finding.lost_in is not None:
        yield f"- the fork took it away in {code(f'{finding.lost_in.id[:10]}: {finding.lost_in.subject}')}"
    if finding.why:
        yield f"- why: {code(finding.why)}"
    if finding.fix:
        yield f"- mend: {code(finding.fix)}"
    yield f"- id: {code(finding.id)}"
    yield ""
    yield "</details>"


def _html(text: str) -> str:
    """Text inside a summary; `code` keeps mentions and numbers from becoming links."""
    return f"<code>{escape(printable(text))}</code>"


def code(text: str) -> str:
    """A code span that shows the text on one line, whatever backticks it holds.

    >>> code("a ` b"), code("`x"), code("")
    ('``a ` b``', '`` `x ``', '')
    """
    line = printable(" ".join(text.split()))
    if not line:
        return ""
    mark = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{mark}{pad}{line}{pad}{mark}"


def fenced(text: str, language: str = "cpp") -> Iterable[str]:
    """A fenced block; the fence is longer than any run of backticks inside."""
    fence = "`" * max(3, _longest_run(text) + 1)
    lines = "".join(letter if letter in "\t\n" else printable(letter) for letter in text)
    return [f"{fence}{language}", *lines.split("\n"), fence]


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUNS.findall(text)), default=0)
