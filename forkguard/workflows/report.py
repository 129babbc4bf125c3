"""The input of a report: the history, and the means to read a record with what lies beside it."""

from collections.abc import Mapping
from dataclasses import dataclass

from forkguard.core.history_rows import History, record_order
from forkguard.core.night_view import DriftView, NightFiles, view_drift
from forkguard.core.nightly import BadNight, read_night
from forkguard.core.receipt_view import ReceiptView, view_receipt
from forkguard.core.receipts import BadReceipt
from forkguard.core.report_values import LogText, ReceiptFiles, ReportInput, Sources
from forkguard.errors import CouldNotWork
from forkguard.ports import HistoryStore, RecordShelf, Talk
from forkguard.workflows.history import read_history

_LOG_TAIL = 12 << 10
_MOST_LOGS = 4
_PACKET = 1 << 20


@dataclass(frozen=True, slots=True)
class Shelves:
    """Where the records lie."""

    nights: RecordShelf
    receipts: RecordShelf


def require_records(shelves: Shelves, *, where: str) -> None:
    """Raises `CouldNotWork` where there is nothing to report."""
    if not (shelves.nights.sources() or shelves.receipts.sources()):
        raise CouldNotWork(
            "there is nothing to report yet: no night and no gate has run here", where=where,
            hint="forkguard nightly, or: forkguard gate",
        )  # fmt: skip


def prepare_report(
    book: HistoryStore,
    shelves: Shelves,
    *,
    version: str,
    sources: Sources,
    titles: Mapping[str, str],
    remarks: tuple[str, ...],
    talk: Talk,
) -> ReportInput:
    """Bring the history up to date and say how its records are read."""
    history = read_history(book, (shelves.nights, shelves.receipts), talk=talk)
    return ReportInput(
        history=history,
        night=lambda name: night_files(shelves.nights, name),
        receipt=lambda name: receipt_files(shelves.receipts, name),
        version=version,
        cut_off=_cut_off(shelves.nights, history),
        sources=sources,
        titles=titles,
        remarks=(*sources.remarks, *remarks),
    )


def _cut_off(nights: RecordShelf, history: History) -> tuple[str, ...]:
    """The nights without a record that came after the newest record."""
    newest = [*(row.name for row in history.nights[-1:]), *(one.name for one in history.skipped)]
    last = max(map(record_order, newest), default=record_order(""))
    return tuple(name for name in nights.cut_off() if record_order(name) > last)


def night_files(shelf: RecordShelf, name: str) -> NightFiles | None:
    """A night with its drift document and its packets; None where its record cannot be read."""
    content = shelf.read(name)
    if isinstance(content, str):
        return None
    try:
        night = read_night(content.decode())
    except (UnicodeDecodeError, BadNight):
        return None
    missing = []
    drift: DriftView | None = None
    if night.drift is not None and night.drift.document is not None:
        document = shelf.beside(name, night.drift.document)
        drift = view_drift(document) if document is not None else None
        if drift is None:
            missing.append(night.drift.document)
    packets = {}
    for packet in night.packets:
        text = shelf.beside(name, packet.file, limit=_PACKET)
        if text is None:
            missing.append(packet.file)
        else:
            packets[packet.file] = text.decode("utf-8", "replace")
    return NightFiles(night, drift, packets, tuple(missing))


def receipt_files(shelf: RecordShelf, name: str) -> ReceiptFiles | None:
    """A receipt with the ends of the logs that tell of trouble; None where it cannot be read."""
    content = shelf.read(name)
    if isinstance(content, str):
        return None
    try:
        view = view_receipt(content)
    except BadReceipt:
        return None
    logs = []
    for log in _telling_logs(view):
        text = shelf.tail(name, log, limit=_LOG_TAIL)
        if text is not None:
            cut = len(text) == _LOG_TAIL
            logs.append(LogText(log, text.decode("utf-8", "replace"), cut))
    return ReceiptFiles(view, tuple(logs))


def _telling_logs(view: ReceiptView) -> tuple[str, ...]:
    bad = [arm.end.log for arm in view.arms if arm.trouble is not None or not arm.complete]
    named = [str(one["log"]) for check in view.checks if check.verdict != "pass" for one in check.evidence
             if one.get("log")]  # fmt: skip
    return tuple(dict.fromkeys(name for name in (*bad, *named) if name))[:_MOST_LOGS]
