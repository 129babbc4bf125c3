"""What the fork's owner answers for: accepted findings, and the baseline. Neither hides anything."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from forkguard.core.baseline import Baseline
from forkguard.core.findings import Finding, Kind
from forkguard.errors import UsageProblem

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Acceptance:
    """One accepted finding: who answers for it, why, and the last day on which that holds (None: for good)."""

    id: str
    reason: str
    by: str = ""
    until: date | None = None

    def holds(self, today: date) -> bool:
        """Whether it still holds on that day."""
        return self.until is None or self.until >= today


@dataclass(frozen=True, slots=True)
class Ledger:
    """Accepted findings and, if one is asked for, the baseline, as they are to be read on a day."""

    today: date
    entries: tuple[Acceptance, ...] = ()
    baseline: Baseline | None = None


def settle(
    findings: Sequence[Finding], ledger: Ledger, *, examined: Collection[str] | None
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Mark what is accepted or in the baseline; the second value is what is to be said of the ledger itself.

    `examined` are the archs that this run looked at (None: all there are); only their entries can be said to match
    nothing any more.
    """
    holding = {entry.id: entry for entry in ledger.entries if entry.holds(ledger.today)}
    ids = {finding.id for finding in findings}
    remarks = [
        remark
        for entry in ledger.entries
        if (remark := _remark(entry, ids, examined, today=ledger.today)) is not None
    ]
    known = ledger.baseline.entries if ledger.baseline is not None else {}
    name = ledger.baseline.name if ledger.baseline is not None else ""
    settled = []
    for finding in findings:
        if (entry := holding.get(finding.id)) is not None:
            settled.append(replace(finding, kind=Kind.ACCEPTED, ledger=entry.reason))
        elif finding.id in known:
            settled.append(replace(finding, kind=Kind.ACCEPTED, ledger=f"baseline {name}", baselined=True))
        else:
            settled.append(finding)
    if ledger.baseline is not None:
        remarks += _unmatched(ledger.baseline, ids, examined)
    return tuple(settled), tuple(remarks)


def _looked_at(finding: str, examined: Collection[str] | None) -> bool:
    return examined is None or finding.split("/", 1)[0] in examined


def _remark(entry: Acceptance, ids: Collection[str], examined: Collection[str] | None, *, today: date) -> str | None:
    if entry.id in ids:
        if entry.holds(today):
            return None
        return (
            f"the acceptance of {entry.id} expired on {entry.until}, so it counts again; "
            f"forkguard drift --accept {entry.id} --reason TEXT --until DATE renews it"
        )
    if not _looked_at(entry.id, examined):
        return None
    return f"accepted {entry.id} matches nothing any more: its [[accept]] can go from the map"


def _unmatched(baseline: Baseline, ids: Collection[str], examined: Collection[str] | None) -> Iterable[str]:
    gone = sorted(key for key in baseline.entries if key not in ids and _looked_at(key, examined))
    if gone:
        named = ", ".join(gone[:_MOST_NAMED]) + (f" and {len(gone) - _MOST_NAMED} more" if gone[_MOST_NAMED:] else "")
        yield (
            f"baseline {baseline.name}: {len(gone)} of its {len(baseline.entries)} findings match nothing any more "
            f"({named}); forkguard drift --all --write-baseline writes it anew"
        )


def known_finding(wanted: str, findings: Sequence[Finding]) -> Finding:
    """The finding of this id. Raises `UsageProblem` that proposes ids close to it."""
    for finding in findings:
        if finding.id == wanted:
            return finding
    ids = [finding.id for finding in findings]
    same_rule = [key for key in ids if key.rsplit("/", 1)[0] == wanted.rsplit("/", 1)[0]]
    close = list(dict.fromkeys((*same_rule, *difflib.get_close_matches(wanted, ids, n=3, cutoff=0.5))))[:3]
    raise UsageProblem(
        f"this run finds nothing with the id {wanted}",
        where="--accept",
        hint=f"close to it: {', '.join(close)}" if close else "forkguard drift -v  prints each finding's id",
    )
