"""What the check of texts says of a baseline that does not repeat itself, and of upstream's own text."""

from dataclasses import replace

import pytest

from forkguard.core.completion import Answer, Candidate
from forkguard.core.determinism import Difference
from forkguard.core.gate import Arm, ArmPlan, Asked, Check, GateSettings, NotRun, Policy, ServerEnd, Side, Verdict
from forkguard.core.gatetexts import determinism, differing
from forkguard.core.prompts import Prompt
from forkguard.core.serverlog import parse

PROMPTS = (Prompt("one", "Say one.", 3),)
END = ServerEnd(0, None, asked=True, killed=False, log=parse(b""), log_file="x.log")
SETTINGS = GateSettings("heron", near_tie=0.05, probe=True)
REPEATED = b"0.00.005.000 I slot: prompt eval time = 1.00 ms / 1 tokens\n"


def arm(
    name: str, *tokens: int, width: int | None = None, timings: dict[str, float] | None = None, log: bytes = b"",
    command: tuple[str, ...] = ("server", "-np", "1"), side: Side = Side.FORK, verbose: bool = False,
    target: str = "",
) -> Arm:  # fmt: skip
    rows = tuple((Candidate(token, -0.1), Candidate(token + 1, -2.0)) for token in tokens)
    answer = Answer(tokens, repr(tokens), rows, 9 if width else 0, 4 if width else 0, timings or {})
    plan = ArmPlan(name, PROMPTS, width=width, side=side, verbose=verbose, target=target)
    return Arm(plan, command, (Asked("one", answer, 1.0),), replace(END, log=parse(log)), None, 1.0)


def check(*arms: Arm, missing: tuple[NotRun, ...] = ()) -> Check:
    return determinism(arms, missing, (), SETTINGS)


@pytest.mark.parametrize(
    ("second", "cause"),
    [
        (arm("no-draft-2", 1, 2, 9, timings={"cache_n": 4}), "likely the prompt cache"),
        (arm("no-draft-2", 1, 2, 9, log=REPEATED), "likely the prompt cache"),
        (arm("no-draft-2", 1, 2, 9, command=("server", "-np", "1", "--parallel", "4")), "likely the slots"),
        (arm("no-draft-2", 1, 2, 9), "likely the backend"),
    ],
)
def test_a_baseline_that_does_not_repeat_itself_is_told_with_its_likely_cause(second: Arm, cause: str) -> None:
    arms = (arm("no-draft-1", 1, 2, 3), second, arm("draft-3", 1, 2, 9, width=3))
    found = check(*arms)
    assert (found.verdict, found.kind) == (Verdict.INCONCLUSIVE, Difference.BASELINE_UNSTABLE)
    assert cause in found.detail
    assert differing(arms, SETTINGS) == (), "what has no reference is not looked at again"


def test_the_forks_own_text_is_held_against_upstreams() -> None:
    fork = (arm("no-draft-1", 1, 2, 3), arm("no-draft-2", 1, 2, 3), arm("draft-3", 1, 2, 3, width=3))
    same = arm("upstream-no-draft-1", 1, 2, 3, side=Side.UPSTREAM)
    other = arm("upstream-no-draft-1", 1, 5, 3, side=Side.UPSTREAM)
    assert check(*fork).detail == "1 texts, 3 tokens, are the same as without the draft on one slot"
    assert check(*fork, same).detail.endswith("; and as upstream's")
    assert check(*fork, other).detail.endswith("; without a draft 1 of 1 texts are not upstream's")
    assert check(*fork, other).verdict is Verdict.PASS


def test_an_arm_of_the_forks_that_is_missing_decides_nothing_and_one_of_upstreams_changes_nothing() -> None:
    fork = (arm("no-draft-1", 1, 2, 3), arm("no-draft-2", 1, 2, 3), arm("draft-3", 1, 2, 3, width=3))
    assert check(*fork, missing=(NotRun("draft-7", "not started"),)).verdict is Verdict.INCONCLUSIVE
    assert check(*fork, missing=(NotRun("upstream-draft-7", "hang", Side.UPSTREAM),)).verdict is Verdict.PASS


def test_a_verbose_arm_is_not_looked_at_twice() -> None:
    plain = (arm("no-draft-1", 1, 2, 3), arm("no-draft-2", 1, 2, 3))
    drafting = (arm("draft-3", 1, 9, 3, width=3), arm("draft-3-verbose", 1, 9, 3, width=3, verbose=True))
    assert [one.arm.plan.name for one in differing((*plain, *drafting), SETTINGS)] == ["draft-3"]


def of_target(target: str, *drafted: int, second: int = 2) -> tuple[Arm, ...]:
    return (
        arm(f"{target}-no-draft-1", 1, second, 3, target=target),
        arm(f"{target}-no-draft-2", 1, 2, 3, target=target),
        arm(f"{target}-draft-3", *drafted, width=3, target=target),
    )


def test_each_target_has_a_reference_of_its_own() -> None:
    other = tuple(
        replace(one, asked=(Asked("one", replace(one.answers["one"], tokens=(7, 8, 9), text="?"), 1.0),))
        for one in of_target("big", 1, 2, 3)
    )
    assert check(*of_target("small", 1, 2, 3), *other).verdict is Verdict.PASS
    found = check(*of_target("small", 1, 2, 3), *of_target("big", 1, 9, 3))
    assert (found.verdict, found.kind) == (Verdict.FAIL, Difference.CORRUPTION)
    assert found.trigger == "only with the draft, on the target big (small passes)"


def test_a_target_that_does_not_repeat_itself_hides_no_red_of_another() -> None:
    unstable = of_target("small", 1, 2, 3, second=5)
    assert check(*unstable, *of_target("big", 1, 2, 3)).kind is Difference.BASELINE_UNSTABLE
    assert check(*unstable, *of_target("big", 1, 9, 3)).verdict is Verdict.FAIL


def close(one: Arm) -> Arm:
    """The arm, with the next token nearly as likely at every place."""
    answer = one.answers["one"]
    rows = tuple((best, replace(second, logprob=best.logprob - 0.01)) for best, second in answer.candidates)
    return replace(one, asked=(Asked("one", replace(answer, candidates=rows), 1.0),))


@pytest.mark.parametrize(
    ("theirs", "culprit"),
    [
        ((1, 3, 3), "upstream too"),
        ((1, 3, 4), "upstream too"),
        ((1, 2, 3), "fork"),
        ((1, 2, 4), "fork"),
        ((1, 9, 3), "fork"),
    ],
)
def test_a_near_tie_is_upstreams_too_where_its_arm_takes_the_same_token_there(
    theirs: tuple[int, ...], culprit: str
) -> None:
    plain = [
        close(arm(f"{name}{number}", 1, 2, 3, side=side))
        for side, name in ((Side.FORK, "no-draft-"), (Side.UPSTREAM, "upstream-no-draft-"))
        for number in (1, 2)
    ]
    ours = arm("draft-3", 1, 3, 3, width=3)
    found = check(*plain, ours, arm("upstream-draft-3", *theirs, width=3, side=Side.UPSTREAM))
    assert (found.verdict, found.kind, found.culprit) == (Verdict.PASS, Difference.NEAR_TIE, culprit)
    assert found.evidence[0]["culprit"] == culprit
    alone = check(*plain, ours)
    assert (alone.culprit, "--upstream" in alone.detail) == (None, False)


def test_a_policy_may_call_a_near_tie_red_even_where_an_arm_is_missing() -> None:
    plain = (close(arm("no-draft-1", 1, 2, 3)), close(arm("no-draft-2", 1, 2, 3)))
    arms = (*plain, arm("draft-3", 1, 3, 3, width=3))
    missing = (NotRun("draft-7", "not started"),)
    strict = determinism(arms, missing, (), replace(SETTINGS, policy=Policy.STRICT))
    assert (strict.verdict, strict.kind) == (Verdict.FAIL, Difference.NEAR_TIE)
    assert check(*arms, missing=missing).verdict is Verdict.INCONCLUSIVE
