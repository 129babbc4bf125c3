"""The report as a folder of HTML pages: one style sheet, no script, nothing from elsewhere."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import jinja2

from forkguard.core.chronicle import NOT_LOOKED_AT, PatchsetStory, patchset_stories, replayed_before, turns
from forkguard.core.history_rows import NightRow
from forkguard.core.nightly import Night, NightFollowUp, NightPatch, NightPin, Packet
from forkguard.core.receipt_view import ReceiptView, TokenContext, TroubleView, difference_at
from forkguard.core.replay import PatchStatus
from forkguard.core.report_values import ReceiptFiles, ReportInput
from forkguard.core.standing import Standing, standing
from forkguard.core.today import needs
from forkguard.reports.charts import Dots, dot_chart, strip
from forkguard.reports.history import history_json
from forkguard.reports.plain import counted
from forkguard.reports.site_archs import arch_pages
from forkguard.reports.site_trends import trends_values
from forkguard.reports.site_words import FILTERS, page_of, shown, tone, word

MARKER = "forkguard-report"
"""A file in each report's folder, by which the next report knows that it may replace it."""

_MENU = (
    ("index.html", "Overview"), ("nights.html", "Nights"), ("patchsets.html", "Patchsets"), ("archs.html", "Archs"),
    ("receipts.html", "Receipts"), ("trends.html", "Trends"),
)  # fmt: skip
_RECENT, _TABLE, _SPELLS, _LISTED = 42, 14, 40, 400


@dataclass(frozen=True, slots=True)
class Page:
    """A file of the report; `path` is below its folder."""

    path: str
    text: str


class Templates:
    """The templates with what all pages share."""

    def __init__(self, report: ReportInput) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.PackageLoader("forkguard.reports"), autoescape=True, undefined=jinja2.StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, finalize=shown,
        )  # fmt: skip
        self._environment.filters.update(FILTERS)
        history = report.history
        totals = {
            "nights": len(history.nights),
            "receipts": len(history.receipts),
            "skipped": len(history.skipped),
        }
        self._environment.globals.update(
            menu=_MENU, version=report.version, totals=totals, titles=report.titles, skipped=(), left_out=0
        )

    def page(self, path: str, template: str, **values: Any) -> Page:
        """One page of a template."""
        root = "../" * path.count("/")
        text = self._environment.get_template(template).render(root=root, here=path, **values)
        return Page(path, text)

    def style(self) -> str:
        """The style sheet."""
        return self._environment.get_template("report.css").render()


def site(report: ReportInput) -> Iterator[Page]:
    """Every file of the report, one at a time; the same input gives the same files."""
    templates = Templates(report)
    now = standing(report)
    stories = patchset_stories(report.history.nights)
    yield Page("report.css", templates.style())
    yield Page(MARKER, "A report of forkguard: the next one replaces this folder.\n")
    yield Page("history.json", history_json(report.history))
    yield _overview(templates, report, now)
    yield from _listings(templates, report, stories)
    yield from arch_pages(templates, report)
    yield templates.page("trends.html", "trends.html", **trends_values(report.history))
    for number, row in enumerate(report.history.nights):
        yield _night(templates, report, number, row)
    for story in stories:
        yield _patchset(templates, report, now, story)
    for receipt in report.history.receipts:
        files = report.receipt(receipt.name)
        if files is not None:
            yield _receipt(templates, receipt.name, files)


def stack_told(row: NightRow | None) -> str:
    """The patches of a night by status.

    >>> stack_told(None)
    'not looked at'
    """
    if row is None or not row.patches:
        return "not looked at"
    counts = Counter(one.status for one in row.patches)
    told = ", ".join(f"{counts[status]} {_many(status)}" for status in PatchStatus if counts[status])
    return f"{counted(len(row.patches), 'patch', 'patches')}: {told}"


def _many(status: PatchStatus) -> str:
    return {PatchStatus.APPLIES: "apply", PatchStatus.ADDITIVE: "joined"}.get(status, word(status))


def _overview(templates: Templates, report: ReportInput, now: Standing) -> Page:
    history = report.history
    night = now.files.night if now.files is not None else None
    base = night.base if night is not None and night.base is not None else None
    if base is None and now.facts is not None:
        files = report.night(now.facts.name)
        base = files.night.base if files is not None else None
    return templates.page(
        "index.html", "overview.html", verdict=now.verdict, reason=now.reason, row=now.row, facts=now.facts,
        needs=now.needs, streak=now.streak, days=now.days, base=base, gates=now.receipts,
        stack=stack_told(now.facts), remarks=report.remarks, recent=history.nights[-_RECENT:],
        table=history.nights[: -_TABLE - 1 : -1], receipts=history.receipts[:-9:-1],
    )  # fmt: skip


def _listings(templates: Templates, report: ReportInput, stories: tuple[PatchsetStory, ...]) -> Iterator[Page]:
    history = report.history
    for kind, heading, rows in (
        ("nights", "Nights", history.nights[::-1]),
        ("receipts", "Receipts", history.receipts[::-1]),
        ("patchsets", "Patchsets", stories),
    ):
        unread = [one for one in history.skipped if f"{one.kind}s" == kind]
        yield templates.page(
            f"{kind}.html", "listing.html", kind=kind, heading=heading, rows=rows[:_LISTED], skipped=unread,
            left_out=max(0, len(rows) - _LISTED),
        )  # fmt: skip


def _night(templates: Templates, report: ReportInput, number: int, row: NightRow) -> Page:
    nights = report.history.nights
    path = page_of(("night", row.name))
    files = report.night(row.name)
    if files is None:
        gone = f"The record of {row.name} cannot be read any more"
        return templates.page(path, "listing.html", kind="nights", heading=gone, rows=())
    night = files.night
    earlier = replayed_before(report.history, row.name)
    findings = night.drift.findings if night.drift is not None else ()
    counting = [one for one in findings if one.counts]
    plain = [one for one in night.stack if _plain(one)]
    return templates.page(
        path, "night.html", night=night, needs=needs(night), missing=files.missing, packets=files.packets,
        before=nights[number - 1].name if number else "",
        after=nights[number + 1].name if number + 1 < len(nights) else "", earlier=earlier,
        turns=turns(earlier, row) if row.patches else (), stack=stack_told(row), applying=plain,
        telling=[one for one in night.stack if not _plain(one)], counting=counting,
        resting=len(findings) - len(counting),
    )  # fmt: skip


def _plain(patch: NightPatch) -> bool:
    return patch.status is PatchStatus.APPLIES and not patch.note


def _patchset(templates: Templates, report: ReportInput, now: Standing, story: PatchsetStory) -> Page:
    path = page_of(("patchset", story.name))
    nights = report.history.nights
    bars = [("unknown" if one.status == NOT_LOOKED_AT else tone(one.status), one.nights,
             f"{one.first.day} to {one.last.day}: {word(one.status)}") for one in story.bars]  # fmt: skip
    counts: Counter[str] = Counter()
    for one in story.bars:
        counts[one.status] += one.nights
    told = ", ".join(f"{word(status)} in {count} nights" for status, count in sorted(counts.items()))
    night = now.files.night if now.files is not None else None
    diff = report.sources.range_diff
    subjects = {one.subject for one in night.stack if one.patchset == story.name} if night is not None else set()
    changed = diff.of(subjects) if diff is not None else ()
    came: tuple[NightFollowUp | NightPin, ...] = (*night.follow_ups, *night.pins) if night is not None else ()
    return templates.page(
        path, "patchset.html", story=story, title=report.titles.get(story.name, ""),
        needs=[replace(one, page=None) for one in now.needs if one.page == ("patchset", story.name)],
        strip=strip("nights", bars, title=f"{story.name}, night after night", told=told),
        first=nights[0].day, last=nights[-1].day, spells=story.spells[: -_SPELLS - 1 : -1],
        left_out=max(0, len(story.spells) - _SPELLS), later=[one for one in came if one.patchset == story.name],
        diff=diff, newest=nights[-1].name,
        packets=_packets(night, story.name), changed=changed,
    )  # fmt: skip


def _packets(night: Night | None, patchset: str) -> list[tuple[int, Packet]]:
    """The conflict packets of a patchset, each with its place on the page of the night."""
    every = enumerate(night.packets, start=1) if night is not None else ()
    return [(at, one) for at, one in every if one.patchset == patchset]


def _receipt(templates: Templates, run: str, files: ReceiptFiles) -> Page:
    receipt = files.view
    contexts: list[tuple[TokenContext, Any]] = [
        (context, evidence)
        for check in receipt.checks
        if check.name == "determinism"
        for evidence in check.evidence[:3]
        if (context := difference_at(receipt, evidence)) is not None
    ]
    speed = receipt.speed
    return templates.page(
        page_of(("receipt", run)), "receipt.html", receipt=receipt, run=run, contexts=contexts, speed=speed,
        troubles=_troubles(receipt),
        quality=receipt.measurements.quality if receipt.measurements is not None else None,
        chart=_speed_chart(files) if speed is not None else "",
        logs=[(one.name, one.text, one.cut) for one in files.logs],
    )  # fmt: skip


def _troubles(receipt: ReceiptView) -> list[tuple[str, TroubleView]]:
    """What went wrong, each with the arms that show the same."""
    found: dict[tuple[object, ...], tuple[list[str], TroubleView]] = {}
    for arm in receipt.arms:
        bad = arm.trouble
        if bad is not None:
            key = (arm.side, bad.class_, bad.stage, bad.text, bad.place, bad.signal, bad.exit_code, bad.frames)
            found.setdefault(key, ([], bad))[0].append(arm.name)
    return [(", ".join(names), bad) for names, bad in found.values()]


def _speed_chart(files: ReceiptFiles) -> str:
    speed = files.view.speed
    if speed is None:
        return ""
    tasks = {cell.task for cell in speed.cells}
    rows = []
    for cell in speed.cells:
        out = tuple(one.tokens_per_second for one in speed.excluded if (one.arm, one.task) == (cell.arm, cell.task))
        name = cell.arm if len(tasks) == 1 else f"{cell.arm}, {cell.task}"
        several = sum(one.arm == cell.arm and one.task == cell.task for one in speed.cells) > 1
        rows.append(Dots(f"{name} ({cell.asked})" if several else name, cell.tokens_per_second, out))
    told = "; ".join(f"{one.name}: median {cell.median:.1f}" for one, cell in zip(rows, speed.cells, strict=True))
    return dot_chart("speed", rows, title="Throughput by arm, tokens per second", told=told, unit="tok/s")
