"""Which servers a gate starts, and what it takes for a fault to show."""

import pytest

from forkguard.core.completion import Answer, Candidate
from forkguard.core.determinism import Comparison, Difference
from forkguard.core.gate import Arm, ArmPlan, Asked, Failure, GateStage, LoadFault, ServerEnd, Side, Trouble
from forkguard.core.gateplan import (
    Differing,
    arm_name,
    at_name,
    groups,
    on_name,
    plan_arms,
    plan_asserts,
    plan_rechecks,
    plan_tensor_listing,
)
from forkguard.core.gatetrigger import counterpart, isolate
from forkguard.core.prompts import Prompt
from forkguard.core.serverlog import parse

PROMPTS = tuple(Prompt(name, f"Say {name}.", 5) for name in ("one", "two", "three"))
END = ServerEnd(0, None, asked=True, killed=False, log=parse(b""), log_file="x.log")
PLAIN = ArmPlan("no-draft-1", PROMPTS)
TWO_SLOTS = ArmPlan("no-draft-slots-2", PROMPTS, slots=2)


def draft(width: int, *, slots: int = 1, file: str = "") -> ArmPlan:
    return ArmPlan(f"draft-{width}-{slots}", PROMPTS, width=width, slots=slots, draft=file)


def arm(plan: ArmPlan, *tokens: int, load: LoadFault | None = None) -> Arm:
    answer = Answer(tokens, "x", tuple((Candidate(token, 0.0),) for token in tokens), 0, 0, {})
    asked = tuple(Asked(prompt.name, answer, 1.0) for prompt in plan.prompts) if tokens else ()
    trouble = Trouble(Failure.LOAD_ERROR, GateStage.LOAD, "no", load=load) if load is not None else None
    return Arm(plan, ("x",), asked, END, trouble, 1.0)


def test_both_sides_run_every_draft_at_every_width_and_number_of_slots() -> None:
    plans = plan_arms((3, 7), PROMPTS, slots=(1, 2), drafts=("f16", "q8 0"), upstream=True)
    fork = [plan for plan in plans if plan.side is Side.FORK]
    assert [plan.name for plan in fork] == [
        "no-draft-1", "no-draft-2", "draft-f16-3", "draft-f16-7", "draft-q8_0-3", "draft-q8_0-7", "no-draft-slots-2",
        "draft-f16-3-slots-2", "draft-f16-7-slots-2", "draft-q8_0-3-slots-2", "draft-q8_0-7-slots-2",
        "draft-f16-3-verbose", "draft-q8_0-3-verbose",
    ]  # fmt: skip
    assert [plan.name for plan in plans if plan.side is Side.UPSTREAM] == [
        f"upstream-{plan.name}" for plan in fork if not plan.verbose
    ]
    assert len({plan.setup for plan in plans}) == len(plans) - 2, "only the two references share a configuration"


def test_the_build_with_asserts_runs_the_forks_arms_with_the_most_slots() -> None:
    plans = plan_arms((3, 7), PROMPTS, slots=(1, 2), drafts=("f16", "q8"), upstream=True)
    found = plan_asserts(plans)
    assert [(plan.name, plan.slots, plan.draft) for plan in found] == [
        ("asserts-no-draft-slots-2", 2, ""),
        ("asserts-draft-f16-3-slots-2", 2, "f16"), ("asserts-draft-f16-7-slots-2", 2, "f16"),
        ("asserts-draft-q8-3-slots-2", 2, "q8"), ("asserts-draft-q8-7-slots-2", 2, "q8"),
    ]  # fmt: skip
    assert {plan.side for plan in found} == {Side.ASSERTS}
    single = plan_asserts(plan_arms((3,), PROMPTS, drafts=("",), upstream=True))
    assert [plan.name for plan in single] == ["asserts-no-draft-1", "asserts-draft-3"]


def test_every_target_has_its_own_references_and_every_draft() -> None:
    plans = plan_arms((3,), PROMPTS, drafts=("f16", "q8"), targets=("big", "s m"), upstream=True)
    fork = [plan.name for plan in plans if plan.side is Side.FORK and plan.target == "s m"]
    assert fork == [
        "target-s_m-no-draft-1", "target-s_m-no-draft-2", "target-s_m-draft-f16-3", "target-s_m-draft-q8-3",
        "target-s_m-draft-f16-3-verbose", "target-s_m-draft-q8-3-verbose",
    ]  # fmt: skip
    assert arm_name(3, 1, draft="q8", target="s m") == fork[3]
    assert len({plan.name for plan in plans}) == len(plans)
    assert len({plan.setup for plan in plans}) == len(plans) - 4, "only the references share a configuration"
    assert all(plan.name.startswith("upstream-target-") for plan in plans if plan.side is Side.UPSTREAM)


def test_prompts_are_sent_side_by_side_as_there_are_slots() -> None:
    assert [[prompt.name for prompt in group] for group in groups(TWO_SLOTS)] == [["one", "two"], ["three"]]
    assert [len(group) for group in groups(PLAIN)] == [1, 1, 1]


def test_every_arm_of_the_fork_finds_its_counterpart() -> None:
    arms = [arm(plan) for plan in plan_arms((3,), PROMPTS, slots=(1, 2), upstream=True)]
    found = {one.plan.name: counterpart(one, arms) for one in arms if one.plan.side is Side.FORK}
    names = {name: other.plan.name for name, other in found.items() if other is not None}
    assert names["draft-3-slots-2"] == "upstream-draft-3-slots-2"
    assert names["draft-3-verbose"] == "upstream-draft-3"
    assert len(names) == 6
    assert counterpart(arm(draft(3)), [arm(PLAIN)]) is None


@pytest.mark.parametrize(
    ("bad", "good", "trigger"),
    [
        ([PLAIN, draft(3)], [], "the target alone: no draft is needed"),
        ([draft(3), draft(7)], [PLAIN], "only with the draft"),
        ([draft(3)], [], "with the draft"),
        ([draft(15)], [PLAIN, draft(3)], "only with the draft, at width 15 (3 passes)"),
        ([draft(3, slots=2)], [PLAIN, TWO_SLOTS, draft(3)], "only with the draft, with 2 slots (1 passes)"),
        ([TWO_SLOTS, draft(3, slots=2)], [PLAIN, draft(3)], "2 slots, without a draft"),
        ([draft(3, file="q8")], [PLAIN, draft(3, file="f16")], "only with the draft q8"),
        (
            [draft(15, slots=2)],
            [PLAIN, draft(3), draft(15), draft(3, slots=2)],
            "only with the draft, at width 15 (3 passes), with 2 slots (1 passes)",
        ),
        ([], [PLAIN], ""),
    ],
)
def test_the_trigger_is_the_least_that_it_takes(bad: list[ArmPlan], good: list[ArmPlan], trigger: str) -> None:
    assert isolate([(plan, True) for plan in bad] + [(plan, False) for plan in good]) == trigger


def corrupt(plan: ArmPlan, prompt: Prompt, *, gap: float | None = 0.5) -> Differing:
    return Differing(arm(plan, 1, 2, 3, 4, 5), prompt, Comparison(Difference.CORRUPTION, 2, 9, 3, gap))


def test_a_second_look_repeats_the_requests_and_asks_a_server_without_a_draft() -> None:
    again, score = plan_rechecks([corrupt(draft(3, slots=2), PROMPTS[1])])
    assert (again.name, again.width, again.slots, again.recheck) == ("draft-3-2-again", 3, 2, True)
    assert [prompt.name for prompt in again.prompts] == ["one", "two"], "the one beside it runs again too"
    assert (score.name, score.width, score.batch, score.recheck) == ("draft-3-2-score", None, 8, True)
    assert score.prompts == (
        Prompt(at_name("two"), "Say two.", 1, after=(1, 2)),
        Prompt(on_name("two"), "Say two.", 2, after=(1, 2, 3)),
    )


def test_a_near_tie_is_asked_only_how_it_goes_on() -> None:
    tie = Differing(arm(draft(3), 1, 2, 3), PROMPTS[0], Comparison(Difference.NEAR_TIE, 1, 9, 2, 0.01))
    (score,) = plan_rechecks([tie])
    assert [prompt.name for prompt in score.prompts] == [on_name("one")]


@pytest.mark.parametrize("gap", [None, 1.5])
def test_what_no_rounding_explains_needs_no_second_look(gap: float | None) -> None:
    assert plan_rechecks([corrupt(draft(3), PROMPTS[0], gap=gap)]) == ()
    ended = Differing(arm(draft(3), 1), PROMPTS[0], Comparison(Difference.CORRUPTION, 1, 9, None, 0.5))
    assert plan_rechecks([ended]) == ()


def test_claimed_tensors_are_listed_by_a_verbose_server_where_no_log_names_them() -> None:
    count = LoadFault("tensor-count", expected=81, got=58)
    (listing,) = plan_tensor_listing([arm(PLAIN, load=count)])
    assert (listing.name, listing.verbose, listing.recheck, listing.prompts) == ("no-draft-1-listing", True, True, ())
    verbose = ArmPlan("draft-3-verbose", PROMPTS, width=3, verbose=True)
    assert plan_tensor_listing([arm(draft(3), load=count), arm(verbose, load=count)]) == ()
    assert plan_tensor_listing([arm(PLAIN, load=LoadFault("missing-key"))]) == ()
    assert plan_tensor_listing([arm(PLAIN)]) == ()
