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


def test_the_parts_of_a_story_name_what_is_wrong() -> None:
    found = judged(
        NOT_BUILT, stack=(CONFLICT,), drifted=(CRASH,), absent=("qwen35",), gates=(RED_GATE,), uncovered=(UNCOVERED,)
    )
    assert found.parts == (
        f"one/0001-x.patch conflict {'c' * 40}",
        "drift lfm2/a/1",
        "absent qwen35",
        "gate lfm2 crash abort",
        f"uncovered {'a' * 40}",
        "build the build failed after # s in /t/#",
    )
    assert judged(candidate=False).parts == ("no candidate",)
    assert judged().parts == ()


def test_a_reason_names_three_patches_and_counts_the_others() -> None:
    patches = [NightPatch("one", f"000{at}-x.patch", PatchStatus.CONFLICT) for at in range(1, 6)]
    named = ", ".join(f"one/000{at}-x.patch (conflict)" for at in (1, 2, 3))
    assert judged(stack=patches[:3]).reason == f"3 patches do not apply: {named}"
    assert judged(stack=patches).reason == f"5 patches do not apply: {named} and 2 more"


def test_a_reason_names_each_sort_of_drift_once() -> None:
    found = judged(drifted=(SLOW, CRASH, CRASH), absent=("a", "b"))
    assert found.reason == "the fork does not have a, b; 3 findings of drift (crash, slow)"


def test_a_green_night_says_what_was_done_and_the_first_that_was_left_out() -> None:
    applied = NightPatch("one", "0001-x.patch", PatchStatus.APPLIES)
    gates = [NightGate(arch, "pass", "r", (NightCheck("crash", "pass"),)) for arch in ("lfm2", "qwen35")]
    assert judged(stack=(applied,), gates=gates).reason == "1 patch on master; gated: lfm2, qwen35"
    no_build = step(NightStep.BUILD, Outcome.SKIPPED, "nothing is built")
    no_gate = step(NightStep.GATE, Outcome.SKIPPED, "nothing is gated")
    assert judged(no_gate, no_build).reason == "0 patches on master; nothing is built"
    assert judged(no_gate).reason == "0 patches on master; nothing is gated"
    assert judged(step(NightStep.FETCH, Outcome.SKIPPED, "as it was")).reason == "0 patches on master"


def test_every_red_check_of_a_gate_is_named() -> None:
    checks = (NightCheck("crash", "fail", "abort"), NightCheck("liveness", "pass"), NightCheck("quality", "fail"))
    found = judged(gates=(NightGate("lfm2", "fail", "r", checks), RED_GATE))
    assert found.reason == "the gate of lfm2 is red (crash, quality); the gate of lfm2 is red (crash)"
    assert found.parts == ("gate lfm2 crash abort", "gate lfm2 quality None", "gate lfm2 crash abort")
