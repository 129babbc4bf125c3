"""The demo's story as values: what it stands on, what each step found, and whether it went as told."""

from dataclasses import dataclass

from forkguard.core.built_trees import BuildResult
from forkguard.core.determinism import Difference
from forkguard.core.findings import DriftReport, Finding, Severity
from forkguard.core.gate import Arm, Check, CheckName, Failure, GateReport, GateStage, Trouble, Verdict
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
class Began:
    """A command of forkguard's begins; `words` are what a person would type behind `forkguard`."""

    words: str


@dataclass(frozen=True, slots=True)
class Drifted:
    """Drift ran on `ref`."""

    ref: str
    report: DriftReport
    pull: PullNumber


@dataclass(frozen=True, slots=True)
class Built:
    """The server of `ref` is built."""

    ref: str
    result: BuildResult


@dataclass(frozen=True, slots=True)
class Gated:
    """The gate ran; `receipt` is the path of what it wrote, as it is shown."""

    report: GateReport
    receipt: str


@dataclass(frozen=True, slots=True)
class Ported:
    """The port ran."""

    report: PortReport


@dataclass(frozen=True, slots=True)
class Ended:
    """The last word: what did not go as told (empty: all went as told), and the fork's branch afterwards.

    `gated` says whether servers were built and run, too.
    """

    surprises: tuple[str, ...]
    folder: str
    branch: str
    gated: bool


Event = Sources | Histories | Began | Drifted | Built | Gated | Ported | Ended


@dataclass(frozen=True, slots=True)
class Course:
    """What came out: drift and the gate before the port (`red`), and both after it (`green`).

    None for what did not run: the gates without a build, what comes after a port that made no branch.
    """

    before: DriftReport
    port: PortReport
    after: DriftReport | None
    red: GateReport | None
    green: GateReport | None
    untouched: bool
    """Whether the production branch is where it was."""


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


def first_trouble(report: GateReport) -> tuple[Arm, Trouble] | None:
    """The first server that misbehaved, and how; None when all did what they must."""
    return next(((arm, arm.trouble) for arm in report.arms if arm.trouble is not None), None)


def check_of(report: GateReport, name: CheckName) -> Check | None:
    """The check of that name, if it was asked for."""
    return next((check for check in report.checks if check.name is name), None)


def surprises(course: Course, *, pull: PullNumber) -> tuple[str, ...]:
    """What differs from the story: red before, ported, clean of the request and green after, production untouched."""
    found = []
    if not any(finding.severity is Severity.CRASH for finding in of_pull(course.before, pull)):
        found.append(f"drift found no crash of #{pull} in the fork before the port")
    if course.red is not None:
        found += _not_red(course.red, pull)
    if course.port.status is not PortStatus.APPLIED:
        found.append(f"the port ended as {course.port.status.value}")
    if course.after is not None and (left := of_pull(course.after, pull)):
        found.append(f"drift still finds {len(left)} of #{pull} after the port")
    if course.green is not None:
        found += _not_green(course.green)
    if not course.untouched:
        found.append("the production branch moved")
    return tuple(found)


def _not_red(report: GateReport, pull: PullNumber) -> list[str]:
    crash, first = check_of(report, CheckName.CRASH), first_trouble(report)
    if crash is None or first is None or not _aborts_in_decode(*first):
        return [f"the gate before the port saw no abort at the first decode with the draft: {_outcome(report)}"]
    if not any(suspect.pull == pull for suspect in crash.suspects):
        return [f"the gate before the port did not name #{pull} for the abort"]
    return []


def _aborts_in_decode(arm: Arm, trouble: Trouble) -> bool:
    return arm.plan.drafts and (trouble.failure, trouble.stage) == (Failure.ABORT, GateStage.FIRST_DECODE)


def _not_green(report: GateReport) -> list[str]:
    same = check_of(report, CheckName.DETERMINISM)
    if report.verdict is Verdict.PASS and same is not None and same.kind == Difference.IDENTICAL:
        return []
    return [f"the gate after the port did not find identical text: {_outcome(report)}"]


def _outcome(report: GateReport) -> str:
    reason = report.reason
    return f"{report.verdict}, {reason.name}: {reason.detail}" if reason is not None else str(report.verdict)
