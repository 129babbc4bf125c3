"""What the history keeps of nights and receipts: one row each, made from the record that lies on disk."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from forkguard.core.nightly import Night
from forkguard.core.receipt_view import ReceiptView


class RecordKind(StrEnum):
    """The two kinds of records."""

    NIGHT = "night"
    RECEIPT = "receipt"


@dataclass(frozen=True, slots=True)
class Source:
    """A record as it lies on disk: its folder's name, and the file's size and time, which tell whether it changed."""

    kind: RecordKind
    name: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that could not be read, and why; it counts as no result at all."""

    kind: RecordKind
    name: str
    why: str


@dataclass(frozen=True, slots=True)
class PatchRow:
    """One patch of the stack in one night."""

    patchset: str
    patch: str
    status: str
    breaking_commit: str | None
    landed_in: str | None


@dataclass(frozen=True, slots=True)
class NightRow:
    """One night; `drift` counts by severity the findings that count, `archs` holds each arch's status."""

    name: str
    started: str
    finished: str
    verdict: str
    reason: str
    story: str
    repeats: int
    days_red: int
    fork: str | None
    base: str | None
    upstream: str | None
    commits: int | None
    behind: int | None
    ahead: int | None
    uncovered: int
    candidate: str | None
    drift: Mapping[str, int] | None
    archs: Mapping[str, str]
    patches: tuple[PatchRow, ...]

    @property
    def day(self) -> str:
        """The date of its start."""
        return self.started[:10]

    def patches_with(self, *statuses: str) -> int:
        """How many patches have one of these statuses."""
        return sum(one.status in statuses for one in self.patches)


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check of a receipt."""

    name: str
    verdict: str
    kind: str | None


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """The counted runs of one arm at one task, in tokens per second; `spread` is fastest over slowest, less 1."""

    arm: str
    task: str
    asked: int
    runs: tuple[float, ...]
    median: float
    spread: float
    wide: bool
    acceptance: float | None


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """One gate run."""

    name: str
    started: str
    finished: str
    verdict: str
    arch: str
    probe: bool
    commit: str | None
    binary_sha256: str
    job: str | None
    reason: str
    checks: tuple[CheckRow, ...]
    speeds: tuple[SpeedRow, ...]


@dataclass(frozen=True, slots=True)
class History:
    """Everything that is known, oldest first; `skipped` are the records that could not be read."""

    nights: tuple[NightRow, ...]
    receipts: tuple[ReceiptRow, ...]
    skipped: tuple[Skipped, ...]


def columns(row: PatchRow | NightRow | CheckRow | SpeedRow | ReceiptRow) -> dict[str, Any]:
    """A row's own fields by name, in their order; what lies in them is not copied (`asdict` would, at length)."""
    return {name: getattr(row, name) for name in row.__slots__}


def night_row(night: Night) -> NightRow:
    """What the history keeps of a night."""
    drift, upstream = night.drift, night.upstream
    return NightRow(
        name=night.id, started=night.started, finished=night.finished, verdict=night.verdict.value,
        reason=night.reason, story=night.story, repeats=night.repeats, days_red=night.days_red,
        fork=night.fork.commit if night.fork else None, base=night.base.commit if night.base else None,
        upstream=upstream.to if upstream else None, commits=upstream.commits if upstream else None,
        behind=upstream.behind if upstream else None, ahead=night.ahead, uncovered=len(night.uncovered),
        candidate=night.candidate.branch if night.candidate else None,
        drift=Counter(one.severity for one in drift.findings if one.counts) if drift is not None else None,
        archs=dict(drift.archs) if drift is not None else {},
        patches=tuple(
            PatchRow(one.patchset, one.patch, one.status.value, one.breaking_commit, one.landed_in)
            for one in night.stack
        ),
    )  # fmt: skip


def receipt_row(name: str, receipt: ReceiptView) -> ReceiptRow:
    """What the history keeps of a receipt; `name` is its folder's."""
    reason = receipt.reason
    cells = receipt.speed.cells if receipt.speed is not None else ()
    return ReceiptRow(
        name=name, started=receipt.started.isoformat(), finished=receipt.finished.isoformat(),
        verdict=receipt.verdict, arch=receipt.arch, probe=receipt.settings.probe, commit=receipt.tree.commit,
        binary_sha256=receipt.tree.binary_sha256, job=receipt.job,
        reason=f"{reason.name}: {reason.detail}" if reason is not None else "",
        checks=tuple(CheckRow(one.name, one.verdict, one.class_) for one in receipt.checks),
        speeds=tuple(
            SpeedRow(
                cell.arm, cell.task, cell.asked, cell.tokens_per_second, cell.median, cell.spread, cell.wide,
                cell.acceptance,
            )
            for cell in cells
        ),
    )  # fmt: skip


def record_order(name: str) -> tuple[str, int]:
    """Folders by time: `<utc>`, then `<utc>-2`, then `<utc>-10`.

    >>> sorted(["20260901T030000Z-10", "20260901T030000Z-2", "20260901T030000Z"], key=record_order)[1:]
    ['20260901T030000Z-2', '20260901T030000Z-10']
    """
    stem, _, number = name.rpartition("-")
    return (stem, int(number)) if stem and number.isdecimal() and len(number) < 9 else (name, 1)
