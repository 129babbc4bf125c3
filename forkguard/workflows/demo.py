"""`forkguard demo`: the story of one drifted fork, step by step, told while it happens."""

from collections.abc import Callable
from typing import Protocol

from forkguard.core.built_trees import BuildResult
from forkguard.core.demo import (
    Began,
    Built,
    Course,
    Drifted,
    Ended,
    Event,
    Gated,
    Histories,
    HistoryFacts,
    Ported,
    SourceFacts,
    Sources,
    surprises,
)
from forkguard.core.findings import DriftReport
from forkguard.core.gate import GateReport
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import PortReport

Tell = Callable[[Event], None]


class Stage(Protocol):
    """The kept folder and what happens in it. Each step can be made twice; the second time reuses the first."""

    def require_tools(self, *, builds: bool) -> None:
        """Look for what the story needs, also where it builds. Raises `CouldNotWork` naming all that is missing."""

    def sources(self) -> tuple[SourceFacts, ...]:
        """Have the source archives, from the cache or the package index."""

    def histories(self) -> HistoryFacts:
        """Have the upstream history, the drifted fork and the map."""

    def production(self) -> CommitHash:
        """Where the fork's production branch is."""

    def drift(self, ref: str) -> DriftReport:
        """What a ref of the fork lacks."""

    def build(self, ref: str) -> BuildResult:
        """Build the server of a ref in its isolated tree."""

    def gate(self, ref: str) -> tuple[GateReport, str]:
        """Gate the server that `build` made of the ref; the report, and where its receipt is."""

    def port(self, pull: PullNumber) -> PortReport:
        """Port a request onto production."""


def run_demo(stage: Stage, *, arch: str, branch: str, pull: PullNumber, builds: bool, tell: Tell) -> bool:
    """Tell the story of `pull` and of the production branch that lacks it; return whether it went as told.

    Nothing is compiled or run unless it `builds`. Raises what the steps raise, before the first of them for a
    missing tool.
    """
    stage.require_tools(builds=builds)
    tell(Sources(stage.sources()))
    facts = stage.histories()
    tell(Histories(facts))
    story = _Story(stage, arch, pull, tell)
    before = story.drift(branch, option="")
    red = story.build_and_gate(branch, option="") if builds else None
    port = story.port()
    after = green = None
    if port.branch is not None:
        option = f" --fork-ref {port.branch}"
        after = story.drift(port.branch, option=option)
        green = story.build_and_gate(port.branch, option=option) if builds else None
    untouched = stage.production() == facts.production
    found = surprises(Course(before, port, after, red, green, untouched), pull=pull)
    tell(Ended(found, facts.folder, port.branch or branch, gated=builds))
    return not found


class _Story:
    """Tells each step when it begins, and what came out of it."""

    def __init__(self, stage: Stage, arch: str, pull: PullNumber, tell: Tell) -> None:
        self._stage = stage
        self._arch = arch
        self._pull = pull
        self._tell = tell

    def drift(self, ref: str, *, option: str) -> DriftReport:
        self._tell(Began(f"drift --arch {self._arch}{option}"))
        report = self._stage.drift(ref)
        self._tell(Drifted(ref, report, self._pull))
        return report

    def port(self) -> PortReport:
        self._tell(Began(f"port {self._pull}"))
        report = self._stage.port(self._pull)
        self._tell(Ported(report))
        return report

    def build_and_gate(self, ref: str, *, option: str) -> GateReport:
        self._tell(Began(f"build{option}"))
        self._tell(Built(ref, self._stage.build(ref)))
        self._tell(Began(f"gate --arch {self._arch}{option}"))
        report, receipt = self._stage.gate(ref)
        self._tell(Gated(report, receipt))
        return report
