"""The pages of the archs: drift with its upstream commits, the wiring, the gate runs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from forkguard.core.history_rows import NightRow, ReceiptRow
from forkguard.core.night_view import ArchView, FindingView, NightFiles
from forkguard.core.report_values import ReportInput
from forkguard.reports.site_words import page_of, tally

_SEVERITIES = ("crash", "corruption", "slow", "change", "note")
_RECEIPTS = 12


class _Templates(Protocol):
    def page(self, path: str, template: str, **values: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class _Seen:
    """The newest night that looked for drift, and its files."""

    row: NightRow | None
    files: NightFiles | None


@dataclass(frozen=True, slots=True)
class ArchRow:
    """One arch in the list."""

    name: str
    status: str
    tally: str
    receipt: ReceiptRow | None


def arch_pages(templates: _Templates, report: ReportInput) -> Iterator[Any]:
    """The list of archs, and a page for each that drift, a gate or the wiring names."""
    seen = next((row for row in reversed(report.history.nights) if row.drift is not None), None)
    night = _Seen(seen, report.night(seen.name) if seen is not None else None)
    rows = [_row(name, night, report) for name in _names(report, seen)]
    yield templates.page("archs.html", "listing.html", kind="archs", heading="Archs", rows=rows)
    for row in rows:
        yield _page(templates, row, night, report)


def _names(report: ReportInput, seen: NightRow | None) -> Sequence[str]:
    wired = [row.name for row in report.sources.wiring.rows] if report.sources.wiring is not None else []
    gated = [one.arch for one in report.history.receipts]
    return tuple(dict.fromkeys([*(seen.archs if seen is not None else ()), *wired, *gated]))


def _row(name: str, night: _Seen, report: ReportInput) -> ArchRow:
    seen, files = night.row, night.files
    status = seen.archs.get(name, "not looked at") if seen is not None else "not looked at"
    drift = files.night.drift if files is not None else None
    counts = Counter(one.severity for one in drift.findings if one.arch == name and one.counts) if drift else None
    receipt = next((one for one in reversed(report.history.receipts) if one.arch == name), None)
    return ArchRow(name, status, tally(counts), receipt)


def _page(templates: _Templates, row: ArchRow, night: _Seen, report: ReportInput) -> Any:
    seen, files = night.row, night.files
    document = files.drift if files is not None else None
    findings = document.of(row.name) if document is not None else _from_record(row.name, files)
    groups = [
        (severity, [one for one in findings if one.severity == severity])
        for severity in dict.fromkeys((*_SEVERITIES, *(one.severity for one in findings)))
    ]
    arch: ArchView | None = next((one for one in document.archs if one.name == row.name), None) if document else None
    wiring = report.sources.wiring
    wired = next((one for one in wiring.rows if one.name == row.name), None) if wiring is not None else None
    cells = [(rule, wired.cells[rule.id]) for rule in wiring.features] if wiring is not None and wired else []
    gated = [one for one in reversed(report.history.receipts) if one.arch == row.name]
    return templates.page(
        page_of(("arch", row.name)), "arch.html", name=row.name, status=row.status, arch=arch,
        seen=seen if seen is not None and row.name in seen.archs else None, complete=document is not None,
        groups=[(severity, some) for severity, some in groups if some], wiring=wiring if cells else None,
        cells=cells, receipts=gated[:_RECEIPTS],
    )  # fmt: skip


def _from_record(name: str, files: NightFiles | None) -> tuple[FindingView, ...]:
    """The lines of the record, where the document beside it is gone."""
    drift = files.night.drift if files is not None else None
    return tuple(
        FindingView(id=one.id, arch=one.arch, rule="", kind=one.kind, severity=one.severity, title=one.title, path="")
        for one in (drift.findings if drift is not None else ())
        if one.arch == name
    )
