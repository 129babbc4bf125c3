"""What is thrown out, what may be compared, and what the check says of it; on small measurements."""

from dataclasses import replace

import pytest

from forkguard.core.boxes import BoxState, Resident
from forkguard.core.ceiling import Bandwidth, Ceiling, Source
from forkguard.core.gate import Verdict
from forkguard.core.measurements import Lost, MeasuredArm, Measurement, Sample
from forkguard.core.performance import Excluded, Pace, Reason, analyse, sift, tokens_per_pass
from forkguard.core.performance_checks import Previous, SpeedClass, performance
from tests.support.measuring import BASE, DRAFT, NGRAM, measured, runs

SAMPLE = Sample("no-draft", "prose", 1, "p", 100, 100, 10.0)
BOX = {"cpu": "x", "memory": 1000, "load": [0.1]}
BUSY = BoxState("before the first run", 0.1, residents=(Resident("cc1plus", 190.0, 1 << 30),))
TEN = Ceiling(10, Bandwidth(100.0, Source.MAP, "x"))


def reasons(*samples: Sample, arm: MeasuredArm = BASE, ceiling: Ceiling | None = None) -> list[Excluded]:
    return list(sift(Measurement((arm,), samples, ceiling=ceiling))[1])


@pytest.mark.parametrize(
    ("sample", "reason", "told"),
    [
        (replace(SAMPLE, prompt_evaluated=1), Reason.CACHED_PROMPT, "1 token of the prompt was evaluated"),
        (replace(SAMPLE, prompt_evaluated=0), Reason.CACHED_PROMPT, "no token of the prompt"),
        (replace(SAMPLE, prompt_evaluated=9, prompt_cached=31), Reason.CACHED_PROMPT, "31 tokens of the prompt came"),
        (replace(SAMPLE, seconds=9.0, server_seconds=4.0), Reason.CLOCK, "it took 4.00 s, and 9.00 s went by"),
        (replace(SAMPLE, rate=10.1), Reason.ABOVE_CEILING, "10.1 tok/s is more than the 10.0"),
    ],
)
def test_what_is_thrown_out(sample: Sample, reason: Reason, told: str) -> None:
    (found,) = reasons(sample, ceiling=TEN)
    assert found.reasons == (reason,)
    assert told in found.detail


def test_an_honest_sample_is_kept_and_a_warm_up_is_neither() -> None:
    warm = replace(SAMPLE, task="warm-up", warm_up=True, prompt_evaluated=1)
    honest = replace(SAMPLE, prompt_evaluated=12, prompt_cached=0, seconds=1.5, server_seconds=0.6)
    assert sift(Measurement((BASE,), (warm, honest), ceiling=TEN)) == ((honest,), ())


def test_a_prompt_asked_again_in_one_process_is_a_repeat_and_with_an_ngram_cache_a_replay() -> None:
    (found,) = reasons(SAMPLE, SAMPLE)
    assert found.reasons == (Reason.REPEAT,)
    ours = replace(SAMPLE, arm="ngram-mod")
    (found,) = reasons(replace(ours, warm_up=True), ours, arm=NGRAM)
    assert found.reasons == (Reason.REPLAY,)
    assert reasons(ours, replace(ours, process="q"), replace(ours, task="code"), arm=NGRAM) == []


@pytest.mark.parametrize(
    ("arm", "drafted", "accepted", "expected"),
    [
        (BASE, None, None, 1.0),
        (BASE, 50, 50, 1.0),
        (DRAFT, 90, 60, 2.5),
        (DRAFT, 99, 99, 4.0),
        (DRAFT, None, None, 4.0),
        (replace(DRAFT, width=None), None, None, 1.0),
        (NGRAM, None, None, 1.0),
        (NGRAM, 90, 75, 4.0),
    ],
)
def test_a_draft_lifts_the_ceiling_by_what_it_was_seen_to_give(
    arm: MeasuredArm, drafted: int | None, accepted: int | None, expected: float
) -> None:
    assert tokens_per_pass(replace(SAMPLE, drafted=drafted, accepted=accepted), arm) == expected


def test_faster_slower_and_undecided() -> None:
    for draft, pace, verdict, kind in (
        ([12.0, 12.1, 12.2], Pace.FASTER, Verdict.PASS, SpeedClass.FASTER),
        ([8.0, 8.1, 8.2], Pace.SLOWER, Verdict.FAIL, SpeedClass.SLOWER),
        ([9.6, 9.8, 10.2], Pace.UNDECIDED, Verdict.INCONCLUSIVE, SpeedClass.NOT_FASTER),
        ([9.8, 10.1, 10.2], Pace.UNDECIDED, Verdict.PASS, SpeedClass.NO_DIFFERENCE),
    ):
        check, analysis = performance(measured([10.0, 10.0, 10.0], draft), box=BOX)
        assert (analysis.overall[0].pace, check.verdict, check.kind) == (pace, verdict, kind)


def test_high_acceptance_does_not_save_a_slow_arm() -> None:
    slow = runs(DRAFT, [8.0, 8.1, 8.2], drafted=60, accepted=54)
    check, analysis = performance(Measurement((BASE, DRAFT), (*runs(BASE, [10.0] * 3), *slow)), box=BOX)
    assert analysis.of_arm("draft-3")[0].acceptance == 0.9
    assert (check.verdict, check.evidence[0]["acceptance"]) == (Verdict.FAIL, 0.9)


def test_tasks_are_told_apart_and_one_slow_task_is_named() -> None:
    samples = (
        *runs(BASE, [10.0] * 3), *runs(BASE, [10.0] * 3, task="code"),
        *runs(DRAFT, [9.0] * 3), *runs(DRAFT, [20.0] * 3, task="code"),
    )  # fmt: skip
    check, analysis = performance(Measurement((BASE, DRAFT), samples), box=BOX)
    assert [(one.task, one.pace) for one in analysis.comparisons] == [("prose", Pace.SLOWER), ("code", Pace.FASTER)]
    assert analysis.overall[0].ratio == pytest.approx(1.8**0.5)
    assert check.verdict is Verdict.PASS
    assert "slower than no draft: draft-3 at prose" in check.detail


def test_lengths_within_a_tenth_are_compared_and_others_are_labelled() -> None:
    for tokens, pace in ((110, Pace.FASTER), (111, Pace.NOT_COMPARABLE), (90, Pace.NOT_COMPARABLE)):
        samples = (*runs(BASE, [10.0] * 3), *runs(DRAFT, [12.0] * 3, tokens=tokens))
        check, analysis = performance(Measurement((BASE, DRAFT), samples), box=BOX)
        assert analysis.overall[0].pace is pace
        assert (check.kind == SpeedClass.NOT_COMPARABLE) is (pace is Pace.NOT_COMPARABLE)


WIDE = MeasuredArm("draft-7", draft="draft-dspark", width=7)
PLAIN = runs(BASE, [9.0] * 3)
GOOD = measured([9.0] * 3, [12.0] * 3)
DOUBTS = {
    "lost": (replace(GOOD, lost=(Lost("draft-3", "x", 2, "hang"),)), "not-measured", "hang"),
    "one run short": (measured([9.0] * 3, [12.0] * 2), "too-few-runs", "2 runs count, and 3 are needed"),
    "a slow one, one run short": (measured([9.0] * 3, [2.0] * 2), "too-few-runs", "2 runs count"),
    "no baseline": (Measurement((DRAFT,), runs(DRAFT, [9.0] * 3)), "not-measured", "without a draft"),
    "no draft": (Measurement((BASE,), PLAIN), "not-measured", "without a draft"),
    "nothing": (Measurement((BASE, DRAFT), ()), "not-comparable", "no task"),
    "other tasks": (replace(GOOD, samples=(*PLAIN, *runs(DRAFT, [9.0] * 3, task="x"))), "not-comparable", "no task"),
    "no drafts": (replace(GOOD, samples=(*PLAIN, *runs(DRAFT, [12.0] * 3, drafted=0))), "not-measured", "not one"),
    "a false clock": (
        replace(GOOD, samples=(*PLAIN, *(replace(one, seconds=9.0, server_seconds=1.0) for one in GOOD.samples[3:]))),
        "clock", "9.00 s went by",
    ),
    "one of two arms": (
        replace(GOOD, arms=(*GOOD.arms, WIDE), samples=(*GOOD.samples, *runs(WIDE, [9.5] * 3, tokens=50))),
        "not-comparable", "draft-7",
    ),
    "too fast": (replace(measured([9.0] * 3, [41.0] * 3), ceiling=TEN), "above-ceiling", "more than the 40.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", DOUBTS)
def test_what_decides_nothing_is_inconclusive(case: str) -> None:
    measurement, kind, told = DOUBTS[case]
    check, _ = performance(measurement, box=BOX)
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, kind)
    assert told in check.detail


def test_a_cell_that_lost_all_its_runs_is_missed() -> None:
    again = tuple(replace(one, process="p", prompt_evaluated=1) for one in runs(DRAFT, [50.0] * 3, task="code"))
    samples = (*measured([9.0] * 3, [12.0] * 3).samples, *again)
    check, _ = performance(Measurement((BASE, DRAFT), samples), box=BOX)
    assert (check.kind, check.verdict) == (SpeedClass.TOO_FEW, Verdict.INCONCLUSIVE)
    assert "draft-3, code: not one run counts" in check.detail


def test_a_busy_box_is_marked() -> None:
    check, _ = performance(replace(measured([9.0] * 3, [12.0] * 3), boxes=(BUSY,)), box=BOX)
    assert check.verdict is Verdict.PASS
    assert "busy box: others computed: cc1plus (up to 190 % of a core)" in check.detail


def with_drafts(rates: list[float], *, drafted: int = 300, accepted: int = 200) -> Measurement:
    draft = runs(DRAFT, rates, drafted=drafted, accepted=accepted)
    return Measurement((BASE, DRAFT), (*runs(BASE, [10.0] * 3), *draft))


def test_a_loss_of_speed_against_the_last_receipt_of_the_same_box_is_red() -> None:
    last = Previous("the receipt of Monday", BOX, with_drafts([14.0, 14.1, 14.2]))
    now = with_drafts([12.0, 12.1, 12.2])
    check, _ = performance(now, box={**BOX, "load": [3.0]}, last=last)
    assert (check.verdict, check.kind) == (Verdict.FAIL, SpeedClass.REGRESSION)
    assert check.detail.startswith("draft-3 fell from 14.1 to 12.1 tok/s (-14.2 %)")
    check, _ = performance(replace(now, boxes=(BUSY,)), box=BOX, last=last)
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, SpeedClass.BUSY)
    for within_noise in ([13.8, 14.0, 14.2], [12.9, 13.0, 15.0]):
        check, _ = performance(with_drafts(within_noise), box=BOX, last=last)
        assert check.verdict is Verdict.PASS


def test_a_loss_of_acceptance_is_a_regression_too_but_not_between_kinds_of_draft() -> None:
    last = Previous("the receipt of Monday", BOX, with_drafts([14.0] * 3))
    worse = with_drafts([14.0] * 3, accepted=150)
    check, _ = performance(worse, box=BOX, last=last)
    assert (check.kind, check.verdict) == (SpeedClass.REGRESSION, Verdict.FAIL)
    assert "draft-3 accepts 50% of the drafted tokens, 67% before" in check.detail
    other = MeasuredArm("draft-3", draft="draft-dflash", width=3)
    check, _ = performance(replace(worse, arms=(BASE, other)), box=BOX, last=last)
    assert check.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("box", "subject", "told"),
    [
        ({**BOX, "cpu": "y"}, {}, "is of another machine"),
        ({**BOX, "memory": 900}, {}, "is of another machine"),
        (BOX, {"target": "abc"}, "measured other models or prompts"),
    ],
)
def test_what_is_not_the_same_is_not_compared_and_said(
    box: dict[str, object], subject: dict[str, str], told: str
) -> None:
    last = Previous("r", box, replace(with_drafts([99.0] * 3), subject=subject))
    check, _ = performance(with_drafts([12.0] * 3), box=BOX, last=last)
    assert check.verdict is Verdict.PASS
    assert f"r {told}" in check.detail


def test_more_runs_in_one_arm_are_compared_unpaired() -> None:
    analysis = analyse(measured([10.0, 11.0, 12.0, 13.0], [20.0, 22.0, 24.0]))
    assert analysis.comparisons[0].ratio == pytest.approx(22.0 / 11.5)
    assert analysis.comparisons[0].runs == 3


def told_of(sample: Sample, arm: MeasuredArm = BASE) -> list[str]:
    return [one.detail for one in reasons(sample, arm=arm, ceiling=TEN)]


def test_the_bounds_of_what_counts_are_exact() -> None:
    assert told_of(replace(SAMPLE, prompt_evaluated=2)) == []
    assert told_of(replace(SAMPLE, prompt_evaluated=1)) == [
        "1 token of the prompt was evaluated: the rest came from a cache"
    ]
    assert told_of(replace(SAMPLE, seconds=9.0, server_seconds=4.5)) == []
    assert told_of(replace(SAMPLE, seconds=1.5, server_seconds=0.5)) == []
    assert told_of(replace(SAMPLE, seconds=1.51, server_seconds=0.5)) == [
        "the server says that it took 0.50 s, and 1.51 s went by"
    ]
    assert told_of(replace(SAMPLE, seconds=9.0)) == []
    (both,) = reasons(replace(SAMPLE, prompt_evaluated=0, seconds=9.0, server_seconds=1.0))
    assert both.reasons == (Reason.CACHED_PROMPT, Reason.CLOCK)
    first, second = both.detail.split("; ")
    assert first == "no token of the prompt was evaluated: the rest came from a cache"
    assert second == "the server says that it took 1.00 s, and 9.00 s went by"


def test_runs_of_one_round_side_by_side_are_paired_whatever_their_order() -> None:
    base = runs(BASE, [50.0, 60.0, 100.0])
    draft = tuple(reversed(runs(DRAFT, [100.0, 120.0, 200.0])))
    (one,) = analyse(Measurement((BASE, DRAFT), (*base, *draft))).comparisons
    assert one.interval is not None
    assert (one.interval.low, one.interval.high) == pytest.approx((2.0, 2.0))
    assert (one.ratio, one.percent, one.pace, one.tasks, one.asked) == (2.0, 100.0, Pace.FASTER, ("prose",), 100)


def test_a_length_is_compared_with_the_nearest_of_the_baselines() -> None:
    near, far = (
        [replace(one, asked=asked, process=f"{one.process}{asked}") for one in runs(BASE, [rate] * 3)]
        for asked, rate in ((120, 10.0), (400, 5.0))
    )
    (one,) = analyse(Measurement((BASE, DRAFT), (*far, *near, *runs(DRAFT, [12.0] * 3)))).comparisons
    assert one.ratio == pytest.approx(1.2)


def test_what_could_not_be_compared_is_named_beside_what_could() -> None:
    samples = (
        *runs(BASE, [10.0] * 3), *runs(DRAFT, [12.0] * 3),
        *runs(BASE, [10.0] * 3, task="code"), *runs(DRAFT, [40.0] * 3, task="code", tokens=50),
        *runs(DRAFT, [40.0] * 3, task="alone"),
    )  # fmt: skip
    analysis = analyse(Measurement((BASE, DRAFT), samples))
    (whole,) = analysis.overall
    assert whole.ratio == pytest.approx(1.2)
    assert (whole.tasks, whole.runs) == (("prose",), 3)
    assert whole.left_out == ("alone at 100 tokens", "code at 50 tokens")
    assert [one.why for one in analysis.comparisons] == ["", "50 tokens against a baseline of 100"]


def test_a_cell_sums_its_drafts_and_marks_a_wide_spread() -> None:
    drafted = runs(DRAFT, [10.0, 11.0, 10.5], drafted=60, accepted=45)
    cell = analyse(Measurement((BASE, DRAFT), (*runs(BASE, [10.0] * 3), *drafted))).of_arm("draft-3")[0]
    assert (cell.drafted, cell.accepted, cell.acceptance, cell.median) == (180, 135, 0.75, 10.5)
    assert cell.spread == pytest.approx(0.1)
    assert cell.rounds == (1, 2, 3)
    wide = analyse(measured([10.0, 11.2, 10.5], [10.0] * 3)).of_arm("no-draft")[0]
    assert (wide.wide, wide.acceptance) == (True, None)
