"""What a night comes to, by what its steps found."""

import pytest

from forkguard.core.night_verdict import Judgement, judge, red_findings, retirements
from forkguard.core.nightly import (
    NightCheck,
    NightCommit,
    NightFinding,
    NightGate,
    NightPatch,
    NightStep,
    NightVerdict,
    Outcome,
    StepResult,
    story_of,
)
from forkguard.core.replay import PatchStatus

MOMENT = "2026-09-01T03:00:00Z"
CONFLICT = NightPatch("one", "0001-x.patch", PatchStatus.CONFLICT, breaking_commit="c" * 40)
CRASH = NightFinding("lfm2/a/1", "lfm2", "lost", "crash", "a line is missing", counts=True)
SLOW = NightFinding("lfm2/b/1", "lfm2", "lost", "slow", "a line is missing", counts=True)
ACCEPTED = NightFinding("lfm2/c/1", "lfm2", "accepted", "crash", "a line is missing", counts=False)
RED_GATE = NightGate(
    "lfm2", "fail", "r/receipt.json", (NightCheck("crash", "fail", "abort"), NightCheck("liveness", "pass"))
)
UNCOVERED = NightCommit("a" * 40, MOMENT, "ours", None)


def step(name: NightStep, outcome: Outcome, detail: str = "") -> StepResult:
    return StepResult(name, outcome, MOMENT, MOMENT, detail)


FETCHED = step(NightStep.FETCH, Outcome.DONE)
NOT_BUILT = step(NightStep.BUILD, Outcome.COULD_NOT, "the build failed after 12 s in /t/1a2b3c4d5e")
NOT_COVERED = step(NightStep.COVERAGE, Outcome.COULD_NOT, "1 commit is in no patchset")


def judged(*steps: StepResult, **found: object) -> Judgement:
    parts: dict[str, object] = {"stack": (), "uncovered": (), "drifted": (), "gates": (), "candidate": True, **found}
    return judge((FETCHED, *steps), target="master", **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "found", "verdict", "reason"),
    [
        ((), {}, "green", "0 patches on master"),
        ((), {"stack": (CONFLICT,)}, "red", "1 patch does not apply: one/0001-x.patch (conflict)"),
        ((), {"drifted": (CRASH,)}, "red", "1 finding of drift (crash)"),
        ((), {"gates": (RED_GATE,)}, "red", "the gate of lfm2 is red (crash)"),
        ((), {"absent": ("qwen35",)}, "red", "the fork does not have qwen35"),
        ((NOT_BUILT,), {}, "could-not-run", "build: the build failed after 12 s in /t/1a2b3c4d5e"),
        ((NOT_BUILT,), {"drifted": (CRASH,)}, "red",
         "1 finding of drift (crash); build: the build failed after 12 s in /t/1a2b3c4d5e"),
        ((NOT_COVERED,), {"uncovered": (UNCOVERED,), "stack": (CONFLICT,)}, "could-not-run",
         "coverage: 1 commit is in no patchset; 1 patch does not apply: one/0001-x.patch (conflict)"),
    ],
)  # fmt: skip
def test_the_verdict_is_the_worst_that_is_known(
    steps: tuple[StepResult, ...], found: dict[str, object], verdict: str, reason: str
) -> None:
    result = judged(*steps, **found)
    assert (result.verdict.value, result.reason) == (verdict, reason)


def test_without_a_candidate_nothing_is_green() -> None:
    assert judged(candidate=False).verdict is NightVerdict.COULD_NOT_RUN


def test_a_story_holds_no_numbers_that_vary() -> None:
    one = judged(NOT_BUILT)
    other = judged(step(NightStep.BUILD, Outcome.COULD_NOT, "the build failed after 131 s in /t/99999999"))
    assert story_of(one.verdict, one.parts) == story_of(other.verdict, other.parts)
    elsewhere = judged(step(NightStep.GATE, Outcome.COULD_NOT, "the build failed after 12 s in /t/1a2b3c4d5e"))
    assert story_of(one.verdict, one.parts) != story_of(elsewhere.verdict, elsewhere.parts)


@pytest.mark.parametrize(("policy", "red"), [("grave", (CRASH,)), ("red", (CRASH, SLOW)), ("report", ())])
def test_the_map_says_which_drift_is_red(policy: str, red: tuple[NightFinding, ...]) -> None:
    assert red_findings((CRASH, SLOW, ACCEPTED), policy) == red


def test_a_patchset_is_retired_when_all_of_it_landed() -> None:
    landed = NightPatch("one", "0001-x.patch", PatchStatus.LANDED, landed_in="b" * 40)
    also = NightPatch("one", "0002-y.patch", PatchStatus.LANDED, landed_in="c" * 40)
    half = (
        NightPatch("two", "0001-x.patch", PatchStatus.LANDED),
        NightPatch("two", "0002-y.patch", PatchStatus.APPLIES),
    )
    (only,) = retirements((landed, *half))
    assert (only.patchset, only.landed_in, only.command) == ("one", "b" * 40, "forkguard stack retire one")
    (both,) = retirements((landed, also))
    assert both.landed_in is None
