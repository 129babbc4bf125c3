"""What the steps of a night work with: means from outside, and the record in the making."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from forkguard.core.fetches import Fetched
from forkguard.core.findings import Base, DriftReport, Side
from forkguard.core.map_models import NightlyTable
from forkguard.core.names import CommitHash
from forkguard.core.nightly import (
    Candidate,
    Night,
    NightBase,
    NightBuild,
    NightCommit,
    NightDrift,
    NightFinding,
    NightFollowUp,
    NightGate,
    NightPatch,
    NightPin,
    NightSide,
    NightUpstream,
    NightVerdict,
    Outcome,
    Packet,
    Retirement,
    StepResult,
)
from forkguard.core.replay import ReplayReport, StackPatch
from forkguard.ports import CandidateBranches, NightStore, PatchsetStore, Repository, Talk
from forkguard.workflows.recheck import Rechecked

DRIFT_FILE = "drift.json"
REPLAY_FILE = "replay.json"


class NightWorker(Protocol):
    """What the steps of a night ask for; see `forkguard.cli.compose_nightly.NightWork`.

    `fetch` brings upstream into the fork's repository, `choose` picks the commit to look at from what was fetched (at
    a moment). `key` is a hash of all that the results for a target depend on, but for what a forge says
    (`asks_forge`: whether it is asked). `drift`, `replay` and `packets` give their result and the documents that are
    kept. `push` takes the candidate and where the remote branch must stand (None: it must not be there). `intact`
    says what is wrong with a receipt ("": nothing). `on_bug` keeps the details of an error that is our own, beside
    the record of that id, and says where.
    """

    def fetch(self, night: str) -> Fetched: ...
    def choose(self, fetched: Fetched, when: datetime) -> Side: ...
    def key(self, target: Side) -> str: ...
    def recheck(self, target: Side) -> Rechecked: ...
    def asks_forge(self) -> bool: ...
    def drift(self, target: Side, base: Base) -> tuple[DriftReport, str]: ...
    def replay(self, patches: Sequence[StackPatch], base: Base, target: Side) -> tuple[ReplayReport, str]: ...
    def packets(self, report: ReplayReport, base: Base) -> Sequence[tuple[Packet, str]]: ...
    def push(self, commit: CommitHash, expected: CommitHash | None) -> None: ...
    def intact(self, receipt: str) -> str: ...
    def on_bug(self, night: str, error: Exception) -> str: ...


class CandidateWorker(Protocol):
    """What is done with a candidate that stands on a target; see `forkguard.cli.compose_candidate.CandidateWork`.

    `gates` tells which of the archs can be gated, and why each other one cannot. `prune` leaves that many built trees
    and counts those that it removed.
    """

    def build(self, candidate: Side, target: Side) -> NightBuild: ...
    def prune(self, keep: int) -> int: ...
    def gates(self, archs: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]: ...
    def gate(self, arch: str, candidate: Side, target: Side) -> NightGate: ...


@dataclass(frozen=True, slots=True)
class NightMeans:
    """What a night needs from outside. `repo` is the fork's repository as it is, `archs` are those that it watches.

    `candidates` loads what builds and gates, which a night with nothing new does without.
    """

    repo: Repository
    patchsets: PatchsetStore
    nights: NightStore
    branches: CandidateBranches
    talk: Talk
    now: Callable[[], datetime]
    archs: tuple[str, ...]
    work: NightWorker
    candidates: Callable[[], CandidateWorker]


@dataclass
class Draft:
    """The record in the making, and what later steps take from earlier ones.

    `target` is what is looked at: `chosen`, or the fork's own base where that is newer.
    """

    id: str
    started: datetime
    version: str
    settings: NightlyTable
    configured_base: str | None
    last: Night | None = None
    fork: Side | None = None
    steps: list[StepResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    fetched: Fetched | None = None
    chosen: Side | None = None
    target: Side | None = None
    found_base: Base | None = None
    ahead: int | None = None
    upstream: NightUpstream | None = None
    replayed: ReplayReport | None = None
    stack: tuple[NightPatch, ...] = ()
    uncovered: tuple[NightCommit, ...] = ()
    retire: tuple[Retirement, ...] = ()
    follow_ups: tuple[NightFollowUp, ...] = ()
    pins: tuple[NightPin, ...] = ()
    drift: NightDrift | None = None
    drifted: tuple[NightFinding, ...] = ()
    absent: tuple[str, ...] = ()
    build: NightBuild | None = None
    gate: tuple[NightGate, ...] = ()
    candidate: Candidate | None = None
    packets: tuple[Packet, ...] = ()
    key: str = ""
    reused: str | None = None

    def record(
        self,
        *,
        finished: datetime,
        verdict: NightVerdict = NightVerdict.COULD_NOT_RUN,
        reason: str = "it did not end",
        story: str = "",
        repeats: int = 0,
        days_red: int = 0,
        notified: bool | None = None,
    ) -> Night:
        """The record as far as it goes."""
        base = self.found_base
        return Night(
            id=self.id,
            started=moment(self.started),
            finished=moment(max(finished, self.started)),  # the clock may have gone backwards
            verdict=verdict,
            reason=reason,
            story=story,
            repeats=repeats,
            days_red=days_red,
            version=self.version,
            fork=NightSide(self.fork.ref, self.fork.commit) if self.fork else None,
            base=NightBase(base.commit, base.how) if base else None,
            upstream=self.upstream,
            ahead=self.ahead,
            steps=tuple(self.steps),
            stack=self.stack,
            uncovered=self.uncovered,
            retire=self.retire,
            follow_ups=self.follow_ups,
            pins=self.pins,
            drift=self.drift,
            build=self.build,
            gate=self.gate,
            candidate=self.candidate,
            packets=self.packets,
            notes=tuple(self.notes),
            key=self.key,
            reused=self.reused,
            notified=notified,
        )


@dataclass(frozen=True, slots=True)
class StepEnd:
    """What a step says of itself."""

    outcome: Outcome
    detail: str = ""
    where: str = ""
    hint: str = ""


def done(detail: str, *, hint: str = "") -> StepEnd:
    """The step did its work."""
    return StepEnd(Outcome.DONE, detail, hint=hint)


def skipped(why: str) -> StepEnd:
    """The step was not reached, has nothing to do, or was not asked for."""
    return StepEnd(Outcome.SKIPPED, why)


def moment(when: datetime) -> str:
    """A time as records hold it: in UTC, in seconds."""
    return when.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
