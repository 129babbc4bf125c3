"""The demo's story: what counts as told, and the lines that tell it."""

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from forkguard.core.built_trees import BuildResult, Origin
from forkguard.core.commits import Commit
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
    of_pull,
    surprises,
)
from forkguard.core.findings import Base, DriftReport, Finding, Kind, Severity, Side, UpstreamPlace
from forkguard.core.gate import (
    Arm,
    ArmPlan,
    Check,
    CheckName,
    Failure,
    GatedTree,
    GateReport,
    GateSettings,
    GateStage,
    ServerEnd,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.hunks import Outcome
from forkguard.core.names import CommitHash, PullNumber, TreePath
from forkguard.core.porting import HunkReport, PortReport, PortStatus, PullState, Source, SourceKind, Stat
from forkguard.core.serverlog import parse
from forkguard.errors import CouldNotWork
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

ABORT = Trouble(Failure.ABORT, GateStage.FIRST_DECODE, "ASSERT(line[il] != nullptr) failed", "x.cpp:1", "SIGABRT")
SUSPECT = Suspect("x", "missing: the line", "crash", ("ASSERT",), PULL, f"{PATH}:9", "fg port 27383", "fg port 27383")
CRASHED = Check(CheckName.CRASH, Verdict.FAIL, "abort", "it aborted", suspects=(SUSPECT,))
ALIVE = Check(CheckName.LIVENESS, Verdict.PASS, None, "accepted draft tokens: draft-3 7 of 9")
IDENTICAL = Check(CheckName.DETERMINISM, Verdict.PASS, "identical", "20 texts with the draft are the same")
NEAR_TIE = replace(IDENTICAL, kind="near-tie")
END = ServerEnd(0, None, asked=True, killed=False, log=parse(b""), log_file="x.log")


def gated(*checks: Check, trouble: Trouble | None = None, width: int | None = 3) -> GateReport:
    arm = Arm(ArmPlan("an-arm", (), width=width), (), (), END, trouble, 1.0)
    settings = GateSettings("x", near_tie=0.05, probe=True)
    return GateReport(settings, GatedTree("server", "0" * 64), (), (), (arm,), checks, (), {}, {}, "", "", "1")


RED = gated(CRASHED, trouble=ABORT)
GREEN = gated(ALIVE, IDENTICAL)
BUILT = BuildResult(
    tree="t", path="/trees/t", commit=HASH, profile="cpu", targets=("llama-server",), binaries=(), log="x",
    origin=Origin.NEW, seconds=12.3, steps=328, cached=305, compiled=2,
)  # fmt: skip


def report(*findings: Finding) -> DriftReport:
    return DriftReport(SIDE, SIDE, Base(HASH, "merge-base"), (), findings)


def test_only_counting_findings_of_the_request_are_its_pieces() -> None:
    assert of_pull(report(CRASH, OTHER, HAZARD), PULL) == (CRASH,)


TOLD = Course(report(CRASH), PORT, report(OTHER, HAZARD), RED, GREEN, untouched=True)


@pytest.mark.parametrize("course", [TOLD, replace(TOLD, red=None, green=None)])
def test_the_story_as_told_has_no_surprise(course: Course) -> None:
    assert surprises(course, pull=PULL) == ()


def test_each_thing_that_differs_from_the_story_is_named() -> None:
    port = replace(PORT, status=PortStatus.CONFLICT)
    assert surprises(Course(report(OTHER), port, report(CRASH), GREEN, RED, untouched=False), pull=PULL) == (
        "drift found no crash of #27383 in the fork before the port",
        "the gate before the port saw no abort at the first decode with the draft: pass",
        "the port ended as conflict",
        "drift still finds 1 of #27383 after the port",
        "the gate after the port did not find identical text: fail, crash: it aborted",
        "the production branch moved",
    )


@pytest.mark.parametrize(
    "red",
    [
        gated(CRASHED, trouble=replace(ABORT, stage=GateStage.LOAD)),
        gated(CRASHED, trouble=replace(ABORT, failure=Failure.HANG)),
        gated(CRASHED, trouble=ABORT, width=None),
        gated(trouble=ABORT),
        gated(replace(CRASHED, suspects=()), trouble=ABORT),
        gated(replace(CRASHED, suspects=(replace(SUSPECT, pull=None),)), trouble=ABORT),
    ],
)
def test_another_red_gate_is_not_the_story(red: GateReport) -> None:
    (found,) = surprises(replace(TOLD, red=red), pull=PULL)
    assert found.startswith("the gate before the port")


@pytest.mark.parametrize(
    "green", [gated(), gated(ALIVE), gated(ALIVE, NEAR_TIE), gated(IDENTICAL, CRASHED, trouble=ABORT)]
)
def test_another_green_gate_is_not_the_story(green: GateReport) -> None:
    (found,) = surprises(replace(TOLD, green=green), pull=PULL)
    assert found.startswith("the gate after the port did not find identical text")


class Scene:
    """A stage on which everything goes as it is given, and which remembers what was asked of it."""

    def __init__(
        self, *, after: DriftReport, moved: bool = False, port: PortReport = PORT, green: GateReport = GREEN
    ) -> None:
        self.after = after
        self.moved = moved
        self.result = port
        self.green = green
        self.asked: list[str] = []

    def require_tools(self, *, builds: bool) -> None:
        self.asked.append("tools to build" if builds else "tools")

    def sources(self) -> tuple[SourceFacts, ...]:
        self.asked.append("sources")
        return (SourceFacts(1, 36_400_000, "ab" * 32, "x", fetched=True),)

    def histories(self) -> HistoryFacts:
        return HistoryFacts("kept", ("b1", "spec", "b2"), HASH, ("ours",), made=True)

    def production(self) -> CommitHash:
        return CommitHash("b" * 40) if self.moved else HASH

    def drift(self, ref: str) -> DriftReport:
        return report(CRASH) if ref == "production" else self.after

    def build(self, ref: str) -> BuildResult:
        self.asked.append(f"build {ref}")
        return BUILT if ref == "production" else replace(BUILT, steps=1, cached=None, compiled=None, seconds=1)

    def gate(self, ref: str) -> tuple[GateReport, str]:
        self.asked.append(f"gate {ref}")
        return (RED if ref == "production" else self.green), f"kept/{ref}.json"

    def port(self, pull: PullNumber) -> PortReport:
        assert pull == PULL
        return self.result


def told(scene: Scene, *, builds: bool = True) -> tuple[bool, list[Event]]:
    events: list[Event] = []
    went = run_demo(scene, arch="lfm2", branch="production", pull=PULL, builds=builds, tell=events.append)
    return went, events


def kinds(events: Sequence[Event]) -> list[type[Event]]:
    """What was told, without the commands that began it."""
    return [type(event) for event in events if not isinstance(event, Began)]


def test_the_steps_come_in_order_and_end_well() -> None:
    scene = Scene(after=report(HAZARD))
    went, events = told(scene)
    assert went
    assert kinds(events) == [Sources, Histories, Drifted, Built, Gated, Ported, Drifted, Built, Gated, Ended]
    assert [event.words for event in events if isinstance(event, Began)] == [
        "drift --arch lfm2", "build", "gate --arch lfm2", "port 27383",
        "drift --arch lfm2 --fork-ref forkguard/27383",
        "build --fork-ref forkguard/27383", "gate --arch lfm2 --fork-ref forkguard/27383",
    ]  # fmt: skip
    assert scene.asked == [
        "tools to build", "sources", "build production", "gate production", "build forkguard/27383",
        "gate forkguard/27383",
    ]  # fmt: skip


def test_without_a_build_nothing_is_compiled_or_run() -> None:
    scene = Scene(after=report(HAZARD))
    went, events = told(scene, builds=False)
    assert went
    assert kinds(events) == [Sources, Histories, Drifted, Ported, Drifted, Ended]
    assert scene.asked == ["tools", "sources"]


def test_a_missing_tool_ends_the_story_before_it_begins() -> None:
    class Bare(Scene):
        def require_tools(self, *, builds: bool) -> None:
            raise CouldNotWork(f"no cmake, wanted: {builds}")

    scene = Bare(after=report())
    with pytest.raises(CouldNotWork, match="no cmake, wanted: True"):
        told(scene)
    assert scene.asked == []


@pytest.mark.parametrize(
    "scene",
    [
        Scene(after=report(CRASH)),
        Scene(after=report(), moved=True),
        Scene(after=report(), green=gated(ALIVE, NEAR_TIE)),
    ],
)
def test_a_story_that_goes_otherwise_is_no_success(scene: Scene) -> None:
    went, events = told(scene)
    assert not went
    assert isinstance(events[-1], Ended)
    assert events[-1].surprises


def test_a_port_without_a_branch_ends_the_story_early() -> None:
    port = replace(PORT, status=PortStatus.BLOCKED, branch=None, commits=())
    went, events = told(Scene(after=report(), port=port))
    assert not went
    assert kinds(events) == [Sources, Histories, Drifted, Built, Gated, Ported, Ended]


def text_of(*events: Event) -> str:
    stream = io.StringIO()
    for event in events:
        Console(file=stream, width=120, no_color=True).print(demo_event(event, program="fg"))
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n"))


def test_the_lines_of_the_story() -> None:
    _, events = told(Scene(after=report(OTHER, HAZARD)))
    assert text_of(*events) == (
        """
Real llama.cpp sources
  b1  36.4 MB  sha256 abababababababab...  downloaded

An upstream and a fork, made in kept
  upstream    b1 -> spec -> b2
  production  b1 and 1 commit of its own; it serves LFM2 models

$ fg drift --arch lfm2
  production lacks 1 piece of #27383: 1 crash
  crash      missing: the line
             src/models/x.cpp:9
             + publish(il);
             It aborts.

$ fg build
  llama-server of production (aaaaaaaaaaaa)
  2 files compiled, 305 from the compiler cache, 12 s

$ fg gate --arch lfm2
  RED    crash: abort at the first decode, and only with the draft
         ASSERT(line[il] != nullptr) failed
         drift finding:  missing: the line, src/models/x.cpp:9
         what mends it:  fg port 27383
  kept/production.json

$ fg port 27383
  applied: 2 hunks (2 clean)
  branch forkguard/27383: 2 files, +20 -11
  patches for git am in patchsets/27383/

$ fg drift --arch lfm2 --fork-ref forkguard/27383
  nothing of #27383 is missing any more
  1 small difference left, brought upstream by other changes
  crash hazard that upstream has too:
    too small a budget
    mend: enlarge it

$ fg build --fork-ref forkguard/27383
  llama-server of forkguard/27383 (aaaaaaaaaaaa)
  it was built before, 1 s

$ fg gate --arch lfm2 --fork-ref forkguard/27383
  GREEN  identical: 20 texts with the draft are the same
         accepted draft tokens: draft-3 7 of 9
  kept/forkguard/27383.json

Red before, green after; production is where it was

Try next
  cd kept
  fg drift --arch lfm2          every finding, with the lines around it
  fg stack show 27383           the patchset that was made
  fg gate --arch lfm2 --fork-ref forkguard/27383 \\
    --probe-size deep --width 15       the crash that upstream has too
"""
    )


def test_without_a_build_the_last_word_claims_no_more_than_clean() -> None:
    assert text_of(Ended((), "kept", "forkguard/27383", gated=False)) == (
        """
Red before, clean after; production is where it was

Try next
  cd kept
  fg drift --arch lfm2          every finding, with the lines around it
  fg stack show 27383           the patchset that was made
  git -C llama.cpp log -p production..forkguard/27383
"""
    )


def test_a_surprise_says_how_to_begin_anew() -> None:
    assert text_of(Ended(("the production branch moved",), "kept", "x", gated=True)) == (
        "\nThis did not go as told\n  the production branch moved\n\nBegin anew with: rm -r kept\n"
    )


@pytest.mark.parametrize(
    ("gate", "first"),
    [
        (gated(replace(NEAR_TIE, verdict=Verdict.FAIL, kind="corruption", detail="3 of 20 texts differ")),
         "  RED    determinism: 3 of 20 texts differ"),
        (gated(replace(ALIVE, verdict=Verdict.INCONCLUSIVE, detail="nothing was drafted")),
         "  INCONCLUSIVE  liveness: nothing was drafted"),
        (gated(), "  INCONCLUSIVE  no check ran"),
        (gated(CRASHED, trouble=replace(ABORT, stage=GateStage.LATER), width=None),
         "  RED    crash: abort in a later request"),
    ],
)  # fmt: skip
def test_each_verdict_has_its_line(gate: GateReport, first: str) -> None:
    assert text_of(Gated(gate, "r.json")).splitlines()[0] == first
    assert text_of(Gated(gate, "r.json")).splitlines()[-1] == "  r.json"


def test_what_a_server_printed_is_shown_without_its_escapes_in_lines_of_80_columns() -> None:
    trouble = replace(ABORT, text="\x1b[2J" + " word" * 40)
    text = text_of(Gated(gated(CRASHED, trouble=trouble), "r.json"))
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize(
    ("result", "work"),
    [
        (replace(BUILT, cached=None, compiled=None), "328 steps, 12 s"),
        (replace(BUILT, compiled=1, seconds=75), "1 file compiled, 305 from the compiler cache, 1 min 15 s"),
    ],
)
def test_how_much_was_compiled(result: BuildResult, work: str) -> None:
    assert text_of(Built("production", result)).splitlines()[1] == f"  {work}"
