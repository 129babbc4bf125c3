"""`forkguard demo`: the story of one drifted fork, step by step, told while it happens."""

from collections.abc import Callable
from typing import Protocol

from forkguard.core.demo import (
    Drifted,
    Ended,
    Event,
    Histories,
    HistoryFacts,
    Ported,
    SourceFacts,
    Sources,
    surprises,
)
from forkguard.core.findings import DriftReport
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import PortReport


class Stage(Protocol):
    """The kept folder and what happens in it. Each step can be made twice; the second time reuses the first."""

    def sources(self) -> tuple[SourceFacts, ...]:
        """Have the source archives, from the cache or the package index."""

    def histories(self) -> HistoryFacts:
        """Have the upstream history, the drifted fork and the map."""

    def production(self) -> CommitHash:
        """Where the fork's production branch is."""

    def drift(self, ref: str) -> DriftReport:
        """What a ref of the fork lacks."""

    def port(self, pull: PullNumber) -> PortReport:
        """Port a request onto production."""


def run_demo(stage: Stage, *, branch: str, pull: PullNumber, tell: Callable[[Event], None]) -> bool:
    """Tell the story of `pull` and of the production branch that lacks it; return whether it went as told."""
    tell(Sources(stage.sources()))
    facts = stage.histories()
    tell(Histories(facts))
    before = stage.drift(branch)
    tell(Drifted(branch, before, pull))
    port = stage.port(pull)
    tell(Ported(port))
    after = None
    if port.branch is not None:
        after = stage.drift(port.branch)
        tell(Drifted(port.branch, after, pull))
    untouched = stage.production() == facts.production
    found = surprises(pull=pull, before=before, port=port, after=after, untouched=untouched)
    tell(Ended(found, facts.folder, port.branch or branch))
    return not found
