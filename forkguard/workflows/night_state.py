"""What the steps of a night work with: means from outside, and the record in the making."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from forkguard.core.fetches import Fetched
from forkguard.core.findings import Base, DriftReport, Side
from forkguard.core.map_models import NightlyTable
from forkguard.core.names import CommitHash
from forkguard.core.nightly import (
    Night,
    NightBuild,
    NightFinding,
    NightGate,
    NightSide,
    NightVerdict,
    Outcome,
    Packet,
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
    """The record in the making, `night`, and what later steps take from earlier ones beside it.

    `target` is what is looked at: `chosen`, or the fork's own base where that is newer. `drifted` and `absent` are
    the drift that makes the night red.
    """

    night: Night
    started: datetime
    settings: NightlyTable
    configured_base: str | None
    last: Night | None = None
    fork: Side | None = None
    fetched: Fetched | None = None
    chosen: Side | None = None
    target: Side | None = None
    found_base: Base | None = None
    replayed: ReplayReport | None = None
    drifted: tuple[NightFinding, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The night's."""
        return self.night.id

    def note(self, *said: str) -> None:
        """Put remarks into the record."""
        self.night = replace(self.night, notes=(*self.night.notes, *said))

    def ended(self, step: StepResult) -> None:
        """Put what came of a step into the record."""
        self.night = replace(self.night, steps=(*self.night.steps, step))

    def until(self, finished: datetime) -> Night:
        """The record as far as it goes; the clock may have gone backwards since the night began."""
        return replace(self.night, finished=moment(max(finished, self.started)))


def new_draft(
    id_: str, started: datetime, *, version: str, settings: NightlyTable, configured_base: str | None,
    last: Night | None = None, fork: Side | None = None, notes: Sequence[str] = (),
) -> Draft:  # fmt: skip
    """The draft of a night that begins: until it ends it could not run."""
    night = Night(
        id=id_, started=moment(started), finished=moment(started), verdict=NightVerdict.COULD_NOT_RUN,
        reason="it did not end", story="", repeats=0, days_red=0, version=version, notes=tuple(notes),
        fork=NightSide(fork.ref, fork.commit) if fork is not None else None,
    )  # fmt: skip
    return Draft(night, started, settings, configured_base, last=last, fork=fork)


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
