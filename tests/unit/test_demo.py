"""The demo's story: what counts as told, and the lines that tell it."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from forkguard.core.commits import Commit
from forkguard.core.demo import (
    Drifted,
    Ended,
    Event,
    Histories,
    HistoryFacts,
    Ported,
    SourceFacts,
    Sources,
    of_pull,
    surprises,
)
from forkguard.core.findings import Base, DriftReport, Finding, Kind, Severity, Side, UpstreamPlace
from forkguard.core.hunks import Outcome
from forkguard.core.names import CommitHash, PullNumber, TreePath
from forkguard.core.porting import HunkReport, PortReport, PortStatus, PullState, Source, SourceKind, Stat
from forkguard.reports.demo import demo_event
from forkguard.workflows.demo import run_demo

PULL = PullNumber(27383)
PATH = TreePath("src/models/x.cpp")
HASH = CommitHash("a" * 40)
BROUGHT = Commit(HASH, "2026-08-21", "spec : drafts (#27383)")
SIDE = Side("production", HASH)
CRASH = Finding(
    id="x", arch="x", rule="r", kind=Kind.NOT_PORTED, severity=Severity.CRASH, path=PATH, line=9, symbol="graph",
    text="    publish(il);\n", title="missing: the line", why="It aborts.", upstream=UpstreamPlace(PATH, 9, BROUGHT),
)  # fmt: skip
OTHER = replace(CRASH, id="o", severity=Severity.CHANGE, upstream=UpstreamPlace(PATH, 1, None))
HAZARD = replace(CRASH, id="h", kind=Kind.HAZARD, also_upstream=True, title="too small a budget", fix="enlarge it")
SOURCE = Source(PULL, PullState.MERGED, SourceKind.HISTORY, "spec : drafts", (), "history")
HUNK = HunkReport(PATH, "@@ -1 +1 @@", Outcome.CLEAN, "", HASH)
PORT = PortReport(
    SOURCE, PortStatus.APPLIED, "fork", "production", BROUGHT, "forkguard/27383", (HASH,), "27383", (HUNK, HUNK),
    Stat(2, 20, 11),
)  # fmt: skip


def report(*findings: Finding) -> DriftReport:
    return DriftReport(SIDE, SIDE, Base(HASH, "merge-base"), (), findings)


def test_only_counting_findings_of_the_request_are_its_pieces() -> None:
    assert of_pull(report(CRASH, OTHER, HAZARD), PULL) == (CRASH,)


def test_the_story_as_told_has_no_surprise() -> None:
    after = report(OTHER, HAZARD)
    assert surprises(pull=PULL, before=report(CRASH), port=PORT, after=after, untouched=True) == ()


def test_each_thing_that_differs_from_the_story_is_named() -> None:
    port = replace(PORT, status=PortStatus.CONFLICT)
    assert surprises(pull=PULL, before=report(OTHER), port=port, after=report(CRASH), untouched=False) == (
        "drift found no crash of #27383 in the fork before the port",
        "the port ended as conflict",
        "drift still finds 1 of #27383 after the port",
        "the production branch moved",
    )


class Scene:
    """A stage on which everything goes as it is given."""

    def __init__(self, *, after: DriftReport, moved: bool = False, port: PortReport = PORT) -> None:
        self.after = after
        self.moved = moved
        self.result = port

    def sources(self) -> tuple[SourceFacts, ...]:
        return (SourceFacts(1, 36_400_000, "ab" * 32, "x", fetched=True),)

    def histories(self) -> HistoryFacts:
        return HistoryFacts("kept", ("b1", "spec", "b2"), HASH, ("ours",), made=True)

    def production(self) -> CommitHash:
        return CommitHash("b" * 40) if self.moved else HASH

    def drift(self, ref: str) -> DriftReport:
        return report(CRASH) if ref == "production" else self.after

    def port(self, pull: PullNumber) -> PortReport:
        assert pull == PULL
        return self.result


def told(scene: Scene) -> tuple[bool, list[Event]]:
    events: list[Event] = []
    return run_demo(scene, branch="production", pull=PULL, tell=events.append), events


def test_the_steps_come_in_order_and_end_well() -> None:
    went, events = told(Scene(after=report(HAZARD)))
    assert went
    assert [type(event) for event in events] == [Sources, Histories, Drifted, Ported, Drifted, Ended]


@pytest.mark.parametrize("scene", [Scene(after=report(CRASH)), Scene(after=report(), moved=True)])
def test_a_story_that_goes_otherwise_is_no_success(scene: Scene) -> None:
    went, events = told(scene)
    assert not went
    assert isinstance(events[-1], Ended)
    assert events[-1].surprises


def test_a_port_without_a_branch_ends_the_story_early() -> None:
    port = replace(PORT, status=PortStatus.BLOCKED, branch=None, commits=())
    went, events = told(Scene(after=report(), port=port))
    assert not went
    assert [type(event) for event in events] == [Sources, Histories, Drifted, Ported, Ended]


def text_of(event: Event) -> str:
    stream = io.StringIO()
    Console(file=stream, width=120, no_color=True).print(demo_event(event, program="fg"))
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n"))


def test_the_lines_of_the_story() -> None:
    _, events = told(Scene(after=report(OTHER, HAZARD)))
    assert "".join(text_of(event) for event in events) == (
        """
Real llama.cpp sources
  b1  36.4 MB  sha256 abababababababab...  downloaded

An upstream and a fork, made in kept
  upstream    b1 -> spec -> b2
  production  b1 and 1 commit of its own; it serves LFM2 models

$ fg drift --arch lfm2
  production lacks 1 piece of #27383: 1 crash
  crash      missing: the line  src/models/x.cpp:9
             + publish(il);
             It aborts.

$ fg port 27383
  applied: 2 hunks (2 clean)
  branch forkguard/27383: 2 files, +20 -11
  patches for git am in patchsets/27383/

$ fg drift --arch lfm2 --fork-ref forkguard/27383
  nothing of #27383 is missing any more
  1 small difference left, brought upstream by other changes
  crash hazard that upstream has too: too small a budget
    mend: enlarge it

Red before, clean after; production is where it was

Try next
  cd kept
  fg drift --arch lfm2          every finding, with the lines around it
  fg stack show 27383           the patchset that was made
  git -C llama.cpp log -p production..forkguard/27383
"""
    )


def test_a_surprise_says_how_to_begin_anew() -> None:
    assert text_of(Ended(("the production branch moved",), "kept", "x")) == (
        "\nThis did not go as told\n  the production branch moved\n\nBegin anew with: rm -r kept\n"
    )
