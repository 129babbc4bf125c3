"""The demo's story as values: what it stands on, what each step found, and whether it went as told."""

from dataclasses import dataclass

from forkguard.core.findings import DriftReport, Finding, Severity
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import PortReport, PortStatus


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """One build's source archive; `size` in bytes, `fetched` when it was downloaded just now."""

    build: int
    size: int
    sha256: str
    path: str
    fetched: bool


@dataclass(frozen=True, slots=True)
class HistoryFacts:
    """The two repositories in the kept folder; `made` when they were made just now, not reused."""

    folder: str
    upstream_log: tuple[str, ...]
    production: CommitHash
    own_subjects: tuple[str, ...]
    made: bool


@dataclass(frozen=True, slots=True)
class Sources:
    """The story begins: the archives are here."""

    archives: tuple[SourceFacts, ...]


@dataclass(frozen=True, slots=True)
class Histories:
    """The upstream history and the drifted fork are here, and the map."""

    facts: HistoryFacts


@dataclass(frozen=True, slots=True)
class Drifted:
    """Drift ran on `ref`."""

    ref: str
    report: DriftReport
    pull: PullNumber


@dataclass(frozen=True, slots=True)
class Ported:
    """The port ran."""

    report: PortReport


@dataclass(frozen=True, slots=True)
class Ended:
    """The last word: what did not go as told (empty: all went as told), and the fork's branch afterwards."""

    surprises: tuple[str, ...]
    folder: str
    branch: str


Event = Sources | Histories | Drifted | Ported | Ended


def of_pull(report: DriftReport, pull: PullNumber) -> tuple[Finding, ...]:
    """The findings that count and that this request brought upstream."""
    return tuple(
        finding
        for finding in report.findings
        if finding.counts(strict=False)
        and finding.upstream is not None
        and finding.upstream.commit is not None
        and finding.upstream.commit.pull == pull
    )


def surprises(
    *, pull: PullNumber, before: DriftReport, port: PortReport, after: DriftReport | None, untouched: bool
) -> tuple[str, ...]:
    """What differs from the story: red before, ported, nothing of the request left after, production untouched."""
    found = []
    missing = of_pull(before, pull)
    if not any(finding.severity is Severity.CRASH for finding in missing):
        found.append(f"drift found no crash of #{pull} in the fork before the port")
    if port.status is not PortStatus.APPLIED:
        found.append(f"the port ended as {port.status.value}")
    if after is not None and (left := of_pull(after, pull)):
        found.append(f"drift still finds {len(left)} of #{pull} after the port")
    if not untouched:
        found.append("the production branch moved")
    return tuple(found)
