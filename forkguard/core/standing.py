"""Where the fork stands by its records: the newest verdict, the facts behind it, and what needs a person."""

from collections.abc import Sequence
from dataclasses import dataclass

from forkguard.core.chronicle import days_green
from forkguard.core.history_rows import NightRow, ReceiptRow, RecordKind, record_order
from forkguard.core.night_view import NightFiles
from forkguard.core.report_values import ReportInput
from forkguard.core.today import Need, needs

COULD_NOT_RUN = "could-not-run"
_GATES = ("fail", "inconclusive", "pass")


@dataclass(frozen=True, slots=True)
class Standing:
    """`verdict` is that of the newest night (empty: there was none); one that cannot be read could not be run.

    `facts` is the newest night that replayed the stack, else the newest of all. `files` is the newest night.
    `receipts` are the newest of each arch, those that did not pass first.
    """

    verdict: str
    reason: str
    row: NightRow | None
    facts: NightRow | None
    files: NightFiles | None
    receipts: tuple[ReceiptRow, ...]
    needs: tuple[Need, ...]
    streak: str
    days: str


def standing(report: ReportInput) -> Standing:
    """Read the newest night and say where the fork stands."""
    history = report.history
    row = history.nights[-1] if history.nights else None
    files = report.night(row.name) if row is not None else None
    facts = next((one for one in reversed(history.nights) if one.patches), row)
    verdict, reason = (row.verdict, row.reason) if row is not None else ("", "")
    unread = [one.name for one in history.skipped if one.kind is RecordKind.NIGHT]
    newer = [name for name in unread if row is None or record_order(name) > record_order(row.name)]
    if newer:
        verdict, reason = COULD_NOT_RUN, f"the record of the newest night, {newer[-1]}, cannot be read"
    elif row is not None and files is None:
        verdict, reason = COULD_NOT_RUN, f"the record of {row.name} cannot be read any more"
    elif report.cut_off:
        verdict, reason = (
            COULD_NOT_RUN,
            f"the night {report.cut_off[-1]} has no record: it still runs, or was cut off",
        )
    receipts = _newest_receipts(history.receipts)
    wanted = needs(files.night if files else None, skipped=history.skipped, cut_off=report.cut_off, receipts=receipts)
    return Standing(verdict, reason, row, facts, files, receipts, wanted, _streak(row), _days(report, row))


def _newest_receipts(receipts: Sequence[ReceiptRow]) -> tuple[ReceiptRow, ...]:
    newest = {one.arch: one for one in receipts}
    return tuple(sorted(newest.values(), key=lambda one: (_GATES.index(one.verdict), one.arch)))


def _streak(row: NightRow | None) -> str:
    if row is None or not row.repeats:
        return ""
    return f"the same story as in the {'night' if row.repeats == 1 else f'{row.repeats} nights'} before"


def _days(report: ReportInput, row: NightRow | None) -> str:
    if row is None:
        return ""
    if row.verdict == "green":
        count = days_green(report.history.nights)
        return f"green for {count} {'day' if count == 1 else 'days'}"
    return f"not green for {row.days_red} {'day' if row.days_red == 1 else 'days'}"
