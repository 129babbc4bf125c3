"""Figures that others published, out of their recorded runs: medians, ratios, what is marked or refused."""

from dataclasses import replace

import pytest

from forkguard.core.gate import Verdict
from forkguard.core.measurements import BadRecord, read_measurement, write_measurement
from forkguard.core.performance import Pace, Reason, analyse
from forkguard.core.performance_checks import SpeedClass, performance
from forkguard.core.statistics import median, spread
from tests.support.measuring import measured, recorded

FIRST_REPEAT = "the same prompt again in one process: the n-gram cache replays its answer"
TABLE = {
    "zh-prose": (11.66, 14.42, 18.43, 22.15),
    "en-prose": (11.54, 13.24, 17.19, 21.09),
    "code-gen": (11.54, 15.54, 23.89, 28.06),
    "code-edit": (11.54, 12.96, 18.71, 23.09),
    "json-out": (11.54, 19.58, 20.83, 23.33),
    "reasoning": (11.54, 23.35, 26.61, 28.33),
    "translate": (11.53, 24.11, 24.68, 29.48),
    "long-ctx": (11.47, 14.05, 19.63, 22.02),
}


def test_a_labs_three_arms() -> None:
    check, analysis = performance(recorded("lab_gfx1151"), box={})
    rows = [(cell.arm, cell.asked, cell.median, cell.wide) for cell in analysis.cells]
    assert rows == [
        ("no-draft", 200, 93.9, False),
        ("draft-f16", 200, 110.5, True),
        ("draft-f16", 1200, 141.4, False),
        ("draft-q8", 200, 74.4, True),
    ]
    told = [(one.arm, one.asked, f"{one.percent:+.1f}", one.pace) for one in analysis.comparisons]
    assert told == [
        ("draft-f16", 200, "+17.7", Pace.FASTER),
        ("draft-f16", 1200, "+50.6", Pace.NOT_COMPARABLE),
        ("draft-q8", 200, "-20.8", Pace.SLOWER),
    ]
    assert [(one.arm, f"{one.percent:+.1f}") for one in analysis.overall] == [
        ("draft-f16", "+17.7"),
        ("draft-q8", "-20.8"),
    ]
    assert analysis.overall[0].left_out == ("prose at 1200 tokens",)
    assert (check.verdict, check.kind) == (Verdict.FAIL, SpeedClass.SLOWER)
    assert check.detail.startswith("draft-q8 -20.8 % (-29.8 % to -14.5 %): must not ship; ")
    assert "wide spread: draft-f16 at prose 27%" in check.detail
    assert "draft-f16 +50.6 %, not comparable: 1200 tokens against a baseline of 200" in check.detail
    whole = {row["arm"]: row for row in check.evidence if row["ratio"] != 1.5059}
    assert (whole["draft-f16"]["tokens_per_second"], whole["draft-f16"]["runs"]) == (110.5, 3)


def test_a_model_cards_three_sizes() -> None:
    check, analysis = performance(recorded("model_card"), box={})
    assert [f"{one.task} {one.percent:+.1f}" for one in analysis.comparisons] == [
        "1.2B -28.4",
        "2.6B -19.1",
        "8B-A1B -38.0",
    ]
    assert check.kind == SpeedClass.SLOWER
    assert "slower than no draft: draft at 1.2B, draft at 2.6B, draft at 8B-A1B" in check.detail


def test_a_replay_above_the_ceiling_is_refused_and_the_honest_runs_are_left() -> None:
    measurement = recorded("ngram_replay")
    assert measurement.ceiling is not None
    assert f"{measurement.ceiling.rate:.1f}" == "15.6"
    check, analysis = performance(measurement, box={})
    honest = next(cell for cell in analysis.cells if cell.arm == "ngram-mod")
    assert (min(honest.rates), max(honest.rates), len(analysis.excluded)) == (11.5, 12.4, 12)
    fastest = max(analysis.excluded, key=lambda one: one.sample.rate)
    assert (fastest.sample.rate, fastest.reasons) == (208.0, (Reason.REPLAY, Reason.ABOVE_CEILING))
    assert fastest.detail == f"{FIRST_REPEAT}; 208.0 tok/s is more than the 15.6 that memory allows"
    assert "12 runs thrown out (cache-replay, above-ceiling)" in check.detail
    assert check.verdict is not Verdict.FAIL


def test_the_ceiling_alone_refuses_the_replay_where_its_process_is_not_known() -> None:
    measurement = recorded("ngram_replay")
    document = write_measurement(measurement)
    samples = document["samples"]
    assert isinstance(samples, list)
    for number, sample in enumerate(samples):
        sample["process"] = str(number)
    check, analysis = performance(read_measurement(document), box={})
    assert {one.reasons for one in analysis.excluded} == {(Reason.ABOVE_CEILING,)}
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, SpeedClass.ABOVE_CEILING)
    assert "96.0 tok/s is more than the 15.6 that memory allows" in check.detail


def test_repeats_that_replay_the_prompt_cache_are_excluded_and_said() -> None:
    honest = measured([46.7, 46.5, 46.9], [60.0, 60.1, 60.2])
    again = tuple(replace(one, rate=167.5, prompt_evaluated=1) for one in honest.samples[:3])
    check, analysis = performance(replace(honest, samples=(*honest.samples, *again)), box={})
    assert [(one.sample.rate, one.reasons) for one in analysis.excluded] == [
        (167.5, (Reason.REPEAT, Reason.CACHED_PROMPT))
    ] * 3
    assert analysis.cells[0].median == 46.7
    assert "3 runs thrown out (repeat, cached-prompt)" in check.detail


def test_eight_tasks_and_three_drafts() -> None:
    check, analysis = performance(recorded("gb10_tasks"), box={})
    assert analysis.excluded == ()
    for place, arm in enumerate(("none", "draft-2b", "dspark", "dflash2")):
        assert [cell.median for cell in analysis.of_arm(arm)] == [row[place] for row in TABLE.values()]
    assert not any(cell.wide for cell in analysis.cells)
    plain = [cell.median for cell in analysis.of_arm("none")]
    assert round(100 * spread(plain), 1) == 1.7
    assert analysis.measurement.ceiling is not None
    assert round(100 * median(plain) / analysis.measurement.ceiling.rate) == 74
    assert (check.verdict, check.kind) == (Verdict.PASS, SpeedClass.FASTER)
    assert [row["ratio"] for row in check.evidence if row["task"] is None] == [1.4437, 1.8202, 2.1222]


def test_acceptance_ranks_two_kinds_of_draft_wrongly_so_throughput_comes_first() -> None:
    analysis = analyse(recorded("gb10_tasks"))
    code = {cell.arm: cell for cell in analysis.cells if cell.task == "code-gen"}
    assert (code["draft-2b"].acceptance, code["dflash2"].acceptance) == pytest.approx((0.88, 0.75), abs=0.001)
    assert (code["draft-2b"].median, code["dflash2"].median) == (15.54, 28.06)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rate": 0}, "samples.0.rate"),
        ({"rate": "9"}, "samples.0.rate"),
        ({"arm": "none"}, "which is no arm"),
        ({"tokens": 201}, "201 tokens of 200"),
        ({"drafted": 3, "accepted": 4}, "more accepted than drafted"),
    ],
)
def test_a_record_that_is_none_is_refused(change: dict[str, object], told: str) -> None:
    document = write_measurement(recorded("lab_gfx1151"))
    samples = document["samples"]
    assert isinstance(samples, list)
    samples[0] |= change
    with pytest.raises(BadRecord, match=told):
        read_measurement(document)
