"""The report as one Markdown document for a pull request: what needs a person, where the fork stands, what failed.

Text from strangers stands in code, where a forge neither renders it nor sees mentions or numbers of requests in it.
"""

from collections.abc import Iterator

from forkguard.core.nightly import Night
from forkguard.core.report_values import ReportInput
from forkguard.core.standing import Standing, standing
from forkguard.core.today import Need
from forkguard.reports.drift_markdown import code, fenced
from forkguard.reports.plain import counted
from forkguard.reports.site import stack_told
from forkguard.reports.site_words import moment, tally, word

_MOST_ROWS = 25
_LONGEST = 60_000
"""Characters; GitHub refuses comments above 65,536."""
_PACKET = 6_000


def report_markdown(report: ReportInput) -> str:
    """The document; at most some 60,000 characters, and what was left out is said."""
    now = standing(report)
    lines = [*_head(now), *_needs(now.needs), *_facts(report, now)]
    if now.files is not None:
        lines += [*_failing(now.files.night), *_drift(now.files.night), *_gates(now.files.night)]
    room = _LONGEST - sum(len(line) + 1 for line in lines)
    return "\n".join([*lines, *_packets(now, room=room)]).rstrip("\n") + "\n"


def _head(now: Standing) -> Iterator[str]:
    verdict = word(now.verdict) if now.verdict else "no night yet"
    yield f"### forkguard: last night {verdict}" if now.verdict else f"### forkguard: {verdict}"
    yield ""
    if now.row is not None:
        yield f"{moment(now.row.started)} UTC: {code(now.reason)}"
        yield ""


def _needs(needs: tuple[Need, ...]) -> Iterator[str]:
    yield "**What needs you**"
    yield ""
    if not needs:
        yield "Nothing."
    for one in needs[:_MOST_ROWS]:
        command = f": {code(one.command)}" if one.command else ""
        yield f"- {'**now** ' if one.urgent else ''}{code(one.what)}{command}"
    if len(needs) > _MOST_ROWS:
        yield f"- … {len(needs) - _MOST_ROWS} more"
    yield ""


def _facts(report: ReportInput, now: Standing) -> Iterator[str]:
    facts = now.facts
    if facts is not None:
        yield "| base | behind | ahead | stack | drift | days |"
        yield "|---|---|---|---|---|---|"
        base = code(facts.base[:10]) if facts.base else "none"
        numbers = ("" if value is None else str(value) for value in (facts.behind, facts.ahead))
        yield f"| {base} | {' | '.join(numbers)} | {stack_told(facts)} | {tally(facts.drift)} | {now.days} |"
        yield ""
    if now.receipts:
        told = (f"{code(one.arch)} {word(one.verdict)} ({moment(one.started)} UTC)" for one in now.receipts[:8])
        yield f"Last gates: {', '.join(told)}."
        yield ""
    for remark in report.remarks:
        yield f"- note: {code(remark)}"
    if report.remarks:
        yield ""


def _failing(night: Night) -> Iterator[str]:
    bad = [one for one in night.stack if one.status.failed]
    if not bad:
        return
    yield "| patch | status | broken by upstream | note |"
    yield "|---|---|---|---|"
    for one in bad[:_MOST_ROWS]:
        breaking = code(one.breaking_commit[:10]) if one.breaking_commit else ""
        yield _row(code(one.label), f"**{word(one.status)}**", breaking, code(one.note))
    if len(bad) > _MOST_ROWS:
        yield f"\n… {counted(len(bad) - _MOST_ROWS, 'more patch', 'more patches')}"
    yield ""


def _drift(night: Night) -> Iterator[str]:
    counting = [one for one in night.drift.findings if one.counts] if night.drift is not None else []
    if not counting:
        return
    yield "| drift | arch | what |"
    yield "|---|---|---|"
    for one in counting[:_MOST_ROWS]:
        yield _row(one.severity, code(one.arch), code(one.title))
    if len(counting) > _MOST_ROWS:
        yield f"\n… {counted(len(counting) - _MOST_ROWS, 'more finding')}"
    yield ""


def _gates(night: Night) -> Iterator[str]:
    rows = [(gate.arch, check) for gate in night.gate for check in gate.checks if check.verdict != "pass"]
    if not rows:
        return
    yield "| gate | check | verdict | detail |"
    yield "|---|---|---|---|"
    for arch, check in rows[:_MOST_ROWS]:
        yield _row(code(arch), check.name, f"**{check.verdict}**", code(check.detail))
    yield ""


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _packets(now: Standing, *, room: int) -> Iterator[str]:
    files = now.files
    if files is None:
        return
    for packet in files.night.packets:
        text = files.packets.get(packet.file)
        if text is None:
            continue
        title = code(f"{packet.patchset}/{packet.patch}")
        block = [f"Conflict packet of {title}; resume with {code(packet.resume)}", "", *fenced(text[:_PACKET])]
        if len(text) > _PACKET:
            block.append(f"… {len(text) - _PACKET} characters more in {code(packet.file)}")
        room -= sum(len(line) + 1 for line in block)
        if room < 0:
            yield "… further conflict packets are left out."
            return
        yield from (*block, "")
