"""Two sides, more slots, a second look: who else does it, and is it numerics? Scripted servers, real processes."""

from dataclasses import replace
from pathlib import Path

import pytest

from forkguard.core.determinism import Difference
from forkguard.core.gate import CheckName, Failure, GateReport, Policy, Verdict
from forkguard.reports.gate import to_text
from tests.support.gating import QUICK, SETTINGS, check, gate, processes_left
from tests.support.scripted_server import Behaviour

SHORT = replace(QUICK, ready=1.5, request=1.0, stop=0.5, death=0.5, grace=0.3)
DIFFERENTIAL = replace(SETTINGS, policy=Policy.DIFFERENTIAL)
STRICT = replace(SETTINGS, policy=Policy.STRICT)
SHAPE = Behaviour(diverge_at=4, gap=0.4, diverge_with="batches")


def names(report: GateReport) -> list[str]:
    return [arm.plan.name for arm in report.arms]


def test_both_sides_at_all_slots_are_green_when_they_agree(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(), slots=(1, 2), upstream=Behaviour(), settings=DIFFERENTIAL)
    assert report.verdict is Verdict.PASS, to_text(report, receipt=None)
    fork = ["no-draft-1", "no-draft-2", "draft-3", "no-draft-slots-2", "draft-3-slots-2"]
    assert names(report) == [*fork, "draft-3-verbose", *(f"upstream-{name}" for name in fork)]
    assert "as upstream's" in check(report, CheckName.DETERMINISM).detail
    words = report.arms[4].command
    assert words[words.index("-np") + 1] == "2"
    assert [one.prompt for one in report.arms[4].asked] == ["one", "two", "three"]


def test_a_hang_of_upstreams_is_bounded_and_leaves_the_fork_green(tmp_path: Path) -> None:
    hang = Behaviour(answers=("hang",), only_drafting=True)
    report = gate(tmp_path, Behaviour(), upstream=hang, settings=DIFFERENTIAL, bounds=SHORT, widths=(3, 7))
    crash = check(report, CheckName.CRASH)
    assert (report.verdict, crash.verdict) == (Verdict.PASS, Verdict.PASS), to_text(report, receipt=None)
    assert "upstream does not (upstream-draft-3: hang at the first decode)" in crash.detail
    assert [(one["arm"], one["class"], one["culprit"]) for one in crash.evidence] == [
        ("upstream-draft-3", "hang", "upstream")
    ]
    assert [one.name for one in report.not_run] == ["upstream-draft-7", "performance", "quality"]
    assert processes_left(tmp_path) == []


def test_a_hang_of_both_is_red_and_the_culprit_is_told(tmp_path: Path) -> None:
    hang = Behaviour(answers=("hang",), only_drafting=True)
    report = gate(tmp_path, hang, upstream=hang, settings=DIFFERENTIAL, bounds=SHORT)
    crash = check(report, CheckName.CRASH)
    assert (crash.verdict, crash.kind, crash.culprit) == (Verdict.FAIL, Failure.HANG, "upstream too")
    assert processes_left(tmp_path) == []


@pytest.mark.parametrize(
    ("upstream", "culprit"),
    [
        (Behaviour(), "fork"),
        (Behaviour(answers=("abort",), only_drafting=True), "upstream too"),
        (Behaviour(answers=("segv",), only_drafting=True), "fork; upstream fails in another way (signal)"),
        (None, None),
    ],
)
def test_a_crash_is_red_whoever_else_has_it(tmp_path: Path, upstream: Behaviour | None, culprit: str | None) -> None:
    behaviour = Behaviour(answers=("ok", "abort"), only_drafting=True)
    settings = SETTINGS if upstream is None else DIFFERENTIAL
    crash = check(gate(tmp_path, behaviour, upstream=upstream, settings=settings), CheckName.CRASH)
    assert (crash.verdict, crash.kind, crash.culprit) == (Verdict.FAIL, Failure.ABORT, culprit)
    assert crash.trigger == "only with the draft"


def test_a_batch_shape_that_upstream_shows_too_is_told_and_passes(tmp_path: Path) -> None:
    report = gate(tmp_path, SHAPE, upstream=SHAPE, settings=DIFFERENTIAL)
    found = check(report, CheckName.DETERMINISM)
    assert (found.verdict, found.kind, found.culprit) == (Verdict.PASS, Difference.BATCH_SHAPE, "upstream too")
    assert "upstream shows the same" in found.detail
    assert {one["repeats"] for one in found.evidence} == {True}
    assert {"draft-3-again", "draft-3-score", "upstream-draft-3-score"} <= set(names(report))
    score = next(arm for arm in report.arms if arm.plan.name == "draft-3-score")
    assert score.command[score.command.index("-ub") + 1] == "4"
    assert "-md" not in score.command


@pytest.mark.parametrize(
    ("fork", "upstream", "policy", "verdict"),
    [
        (SHAPE, Behaviour(), Policy.DIFFERENTIAL, Verdict.FAIL),
        (SHAPE, replace(SHAPE, diverge_at=5), Policy.DIFFERENTIAL, Verdict.FAIL),
        (SHAPE, replace(SHAPE, answers=("abort",), only_drafting=True), Policy.DIFFERENTIAL, Verdict.INCONCLUSIVE),
        (SHAPE, SHAPE, Policy.STRICT, Verdict.FAIL),
        (SHAPE, None, Policy.NEAR_TIE, Verdict.FAIL),
        (replace(SHAPE, gap=0.02), None, Policy.NEAR_TIE, Verdict.PASS),
        (replace(SHAPE, gap=0.02), None, Policy.STRICT, Verdict.FAIL),
    ],
)
def test_the_policy_decides_over_numerics(
    tmp_path: Path, *, fork: Behaviour, upstream: Behaviour | None, policy: Policy, verdict: Verdict
) -> None:
    found = check(
        gate(tmp_path, fork, upstream=upstream, settings=replace(SETTINGS, policy=policy)), CheckName.DETERMINISM
    )
    kind = Difference.NEAR_TIE if fork.gap < SETTINGS.near_tie else Difference.BATCH_SHAPE
    assert (found.verdict, found.kind) == (verdict, kind), found.detail


CORRUPT = {
    "the same batch without a draft gives the reference": (
        replace(SHAPE, diverge_with="draft"),
        "gives the reference",
    ),
    "the gap is too wide for numerics": (replace(SHAPE, gap=1.5), "no rounding"),
    "what follows is wrong too": (replace(SHAPE, lasting=True), "what follows"),
    "what follows a near tie is wrong": (
        replace(SHAPE, gap=0.02, lasting=True, diverge_with="draft"),
        "what follows",
    ),
    "it does not repeat itself": (Behaviour(wavering=True, gap=0.4), ""),
}


@pytest.mark.parametrize("case", CORRUPT, ids=lambda case: case.replace(" ", "-"))
def test_corruption_stays_red_though_upstream_has_it_too(tmp_path: Path, case: str) -> None:
    behaviour, why = CORRUPT[case]
    found = check(gate(tmp_path, behaviour, upstream=behaviour, settings=DIFFERENTIAL), CheckName.DETERMINISM)
    assert (found.verdict, found.kind, found.culprit) == (Verdict.FAIL, Difference.CORRUPTION, "upstream too")
    assert why in found.detail


def test_nonsense_only_with_slots_and_a_draft_is_told_as_that(tmp_path: Path) -> None:
    behaviour = Behaviour(diverge_at=3, diverge_with="both")
    found = check(gate(tmp_path, behaviour, slots=(1, 2)), CheckName.DETERMINISM)
    assert (found.verdict, found.kind) == (Verdict.FAIL, Difference.CORRUPTION)
    assert found.trigger == "only with the draft, with 2 slots (1 passes)"
    assert {one["slots"] for one in found.evidence} == {2}


def test_nonsense_with_slots_alone_needs_no_draft(tmp_path: Path) -> None:
    found = check(gate(tmp_path, Behaviour(diverge_at=3, diverge_with="slots"), slots=(1, 2)), CheckName.DETERMINISM)
    assert (found.verdict, found.trigger) == (Verdict.FAIL, "2 slots, without a draft")


def test_an_answer_beside_one_that_fails_is_kept(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(answers=("ok", "ok", "ok", "error")), slots=(1, 4), settings=STRICT)
    arm = next(arm for arm in report.arms if arm.plan.slots == 4)
    assert len(arm.answers) == len(arm.asked) == 3
    failing = gate(tmp_path / "again", Behaviour(answers=("ok", "error")), slots=(2,))
    assert [one.answer is None for one in failing.arms[0].asked] == [False, True]
