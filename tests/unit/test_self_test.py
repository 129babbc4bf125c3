"""What a gate's report means for a mutation, and when a self-test passes."""

import pytest

from forkguard.core.findings import Side
from forkguard.core.gate import Verdict
from forkguard.core.mutations import MUTATIONS
from forkguard.core.names import CommitHash
from forkguard.core.self_test import (
    Gated,
    Outcome,
    SelfTestReport,
    Trial,
    chosen_mutations,
    falls_back,
    judged,
    said,
)
from forkguard.errors import UsageProblem
from forkguard.reports.gate_trials import self_test_text
from tests.support.gate_reports import gate_report

BY_NAME = {mutation.name: mutation for mutation in MUTATIONS}
ABORT = {"crash": (Verdict.FAIL, "abort"), "determinism": (Verdict.INCONCLUSIVE, None)}
CORRUPT = {"determinism": (Verdict.FAIL, "corruption")}
BATCH = {"determinism": (Verdict.FAIL, "batch-shape")}
IDLE = {"liveness": (Verdict.INCONCLUSIVE, "none-accepted")}
PASS = Gated(Verdict.PASS, "pass", "a.json")


@pytest.mark.parametrize(
    ("name", "checks", "outcome", "words"),
    [
        ("layer-input-deleted", ABORT, Outcome.CAUGHT, "crash: abort"),
        ("layer-input-deleted", CORRUPT, Outcome.OTHERWISE, "determinism: corruption"),
        ("layer-input-deleted", {}, Outcome.MISSED, "pass (identical)"),
        ("slot-not-written", CORRUPT, Outcome.CAUGHT, "determinism: corruption"),
        ("slot-not-written", BATCH, Outcome.OTHERWISE, "determinism: batch-shape"),
        ("slot-not-written", {"determinism": (Verdict.PASS, "near-tie")}, Outcome.MISSED, "pass (near-tie)"),
        ("draft-never-accepted", IDLE, Outcome.NOT_GREEN, "liveness: none-accepted"),
        ("draft-never-accepted", {"liveness": (Verdict.FAIL, "none-accepted")}, Outcome.CAUGHT,
         "liveness: none-accepted"),
        ("draft-never-accepted", ABORT, Outcome.OTHERWISE, "crash: abort"),
        ("slot-not-written", IDLE, Outcome.OTHERWISE, "liveness: none-accepted"),
        ("rollback-unregistered", {"fallback": (Verdict.FAIL, "checkpoints")}, Outcome.CAUGHT,
         "fallback: checkpoints"),
        ("rollback-unregistered", {"fallback": (Verdict.PASS, "checkpoints")}, Outcome.MISSED,
         "pass (identical, checkpoints)"),
    ],
)  # fmt: skip
def test_only_the_expected_class_counts_as_caught(
    name: str, checks: dict[str, tuple[Verdict, str | None]], outcome: Outcome, words: str
) -> None:
    assert judged(BY_NAME[name], gate_report(**checks)) == (outcome, words)


def report(outcomes: list[Outcome], *, control: Gated = PASS, chosen: bool = False) -> SelfTestReport:
    trials = tuple(
        Trial(mutation, outcome, reason="not there" if outcome is Outcome.NOT_RUN else "")
        for mutation, outcome in zip(MUTATIONS, outcomes, strict=False)
    )
    fork = Side("production", CommitHash("a" * 40))
    return SelfTestReport("lfm2", fork, "cpu", (control,), trials, 6, chosen, 60.0)


CAUGHT, MISSED, OTHERWISE, NOT_RUN = Outcome.CAUGHT, Outcome.MISSED, Outcome.OTHERWISE, Outcome.NOT_RUN
IDLE_DRAFT = Outcome.NOT_GREEN


@pytest.mark.parametrize(
    ("outcomes", "chosen", "verdict", "words"),
    [
        ([CAUGHT] * 6 + [NOT_RUN], False, Verdict.PASS, "PASSED: 6 of 6 mutations caught, 1 not run"),
        ([CAUGHT] * 5 + [NOT_RUN] * 2, False, Verdict.INCONCLUSIVE, "too few ran"),
        ([CAUGHT] * 6 + [IDLE_DRAFT], False, Verdict.PASS, "PASSED: 6 of 7 mutations caught, 1 not green, 0 not run"),
        ([CAUGHT] * 5 + [IDLE_DRAFT] * 2, False, Verdict.INCONCLUSIVE, "5 of 7 mutations caught, 2 not green"),
        ([IDLE_DRAFT], True, Verdict.PASS, "PASSED: 0 of 1 mutation caught, 1 not green, 0 not run"),
        ([CAUGHT] * 12 + [MISSED], False, Verdict.FAIL, "FAILED: 12 of 13 mutations caught"),
        ([CAUGHT] * 12 + [OTHERWISE], False, Verdict.FAIL, "FAILED: 12 of 13 mutations caught"),
        ([MISSED], False, Verdict.FAIL, "FAILED: 0 of 1 mutation caught"),
        ([CAUGHT] * 2, True, Verdict.PASS, "PASSED: 2 of 2 mutations caught, 0 not run; only those that were named"),
        ([CAUGHT, NOT_RUN], True, Verdict.INCONCLUSIVE, "too few ran"),
        ([], True, Verdict.INCONCLUSIVE, "does not pass"),
    ],
)
def test_a_self_test_passes_only_where_the_gate_was_red_often_enough_and_let_nothing_through(
    outcomes: list[Outcome], *, chosen: bool, verdict: Verdict, words: str
) -> None:
    made = report(outcomes, chosen=chosen)
    assert made.verdict is verdict
    assert words in self_test_text(made)


def test_a_tree_that_does_not_pass_shows_nothing() -> None:
    red = report([CAUGHT] * 13, control=Gated(Verdict.FAIL, "crash: abort", "a.json"))
    assert red.verdict is Verdict.INCONCLUSIVE
    assert self_test_text(red).splitlines()[-1] == "next: less a.json"


def test_what_does_not_run_is_told_with_its_reason() -> None:
    lines = self_test_text(report([CAUGHT] * 6 + [NOT_RUN])).splitlines()
    assert f"  {MUTATIONS[6].name}: not there" in lines


def test_mutations_are_chosen_by_name_in_the_order_of_the_list() -> None:
    assert chosen_mutations(()) == MUTATIONS
    assert [one.name for one in chosen_mutations(("slot-not-written", "layer-input-deleted"))] == [
        "layer-input-deleted", "slot-not-written",
    ]  # fmt: skip
    with pytest.raises(UsageProblem, match="no mutation 'rust'"):
        chosen_mutations(("rust",))


def test_a_fallback_of_the_tree_itself_is_read_from_its_report() -> None:
    assert falls_back(gate_report()) == ""
    assert falls_back(gate_report(fallback=(Verdict.PASS, "checkpoints"))) == "checkpoints"
    assert said(gate_report(**IDLE)) == "liveness: none-accepted"
