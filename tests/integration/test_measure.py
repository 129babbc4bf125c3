"""A measurement over scripted servers as real processes: the order, what is kept and lost, and the verdicts."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forkguard.adapters.server import LlamaServers, ServerSpec
from forkguard.core.boxes import BoxState
from forkguard.core.ceiling import Bandwidth, Ceiling, Source
from forkguard.core.gate import ArmPlan, CheckName, Verdict
from forkguard.core.measured import Measured, previous_measurement
from forkguard.core.measurements import read_measurement
from forkguard.core.performance import PerformanceSettings, Reason
from forkguard.core.performance_checks import SpeedClass
from forkguard.core.prompts import Prompt
from forkguard.core.quality import QualityClass, Question, matches
from forkguard.errors import CouldNotWork
from forkguard.reports.performance import to_document
from forkguard.workflows.measure import MeasureMeans, MeasureQuestion, TimedArm, measure
from tests.support.gating import QUICK, SilentTalk, processes_left
from tests.support.scripted_server import Behaviour, write_server

ARMS = (TimedArm(ArmPlan("no-draft", ())), TimedArm(ArmPlan("draft-3", (), width=3), "draft-dspark"))
PROMPTS = (Prompt("one", "Say one.", 30), Prompt("two/../x", "Say two.", 30))
BOX = {"cpu": "x", "memory": 1000}
FAST = Behaviour(rate=50.0, draft_rate=80.0, prompt_n=9, drafted=24, accepted=16)
QUESTIONS = tuple(
    Question(id=f"q{number}", prompt=f"{number} + {number}?", answer=str(2 * number), grade="number", tokens=24)
    for number in range(1, 9)
)
RIGHT = {one.prompt: f"It is {one.answer}." for one in QUESTIONS}


def clock() -> Iterator[float]:
    """Goes on by 0.8 seconds each time it is read."""
    now = 0.0
    while True:
        now += 0.8
        yield now


def run(
    folder: Path, behaviour: Behaviour, question: MeasureQuestion, *, box: BoxState | None = None,
    last: object = None, search: Callable[[str, str], bool] = matches,
) -> Measured:  # fmt: skip
    binary = write_server(folder, behaviour)
    spec = ServerSpec(binary, folder / "target.gguf", folder / "draft.gguf", "draft-dspark", folder / "logs")
    environment = {"PATH": "/usr/bin:/bin", "FORKGUARD_TEST": str(folder)}
    ticks = clock()
    means = MeasureMeans(
        LlamaServers(spec, env=environment, bounds=replace(QUICK, grace=0.3)),
        look=lambda when: replace(box or BoxState("", 0.01), when=when),
        clock=lambda: next(ticks),
        talk=SilentTalk(),
        search=search,
    )
    earlier = None if last is None else previous_measurement({"box": BOX, "measurements": last}, name="r1")
    measured = measure(means, question, box=BOX, last=earlier)
    assert processes_left(folder) == []
    return measured


SPEED = MeasureQuestion(ARMS, PROMPTS[:1], settings=PerformanceSettings(runs=2))


def test_arms_take_turns_each_in_a_fresh_process_and_the_record_can_be_read_back(tmp_path: Path) -> None:
    measured = run(tmp_path, FAST, replace(SPEED, prompts=PROMPTS))
    (check,) = measured.checks
    assert (check.name, check.verdict, check.kind) == (CheckName.PERFORMANCE, Verdict.PASS, SpeedClass.FASTER)
    assert check.detail.startswith("draft-3 +60.0 % (+60.0 % to +60.0 %)")
    assert measured.analysis is not None
    record = measured.analysis.measurement
    timed = [(one.round, one.task, one.arm) for one in record.samples if not one.warm_up]
    assert timed == [
        (1, "one", "no-draft"), (1, "one", "draft-3"), (1, "two/../x", "no-draft"), (1, "two/../x", "draft-3"),
        (2, "one", "draft-3"), (2, "one", "no-draft"), (2, "two/../x", "draft-3"), (2, "two/../x", "no-draft"),
    ]  # fmt: skip
    assert len({one.process for one in record.samples}) == 8
    assert sum(one.warm_up for one in record.samples) == 8
    sample = record.samples[3]
    assert (sample.rate, sample.tokens, sample.drafted, sample.accepted) == (80.0, 30, 24, 16)
    assert (sample.prompt_evaluated, sample.server_seconds) == (9, 0.376)
    assert sample.seconds == pytest.approx(0.8)
    assert [state.when for state in record.boxes] == ["before round 1", "before round 2", "after the last round"]
    document = to_document(measured)
    speed = document["performance"]
    assert isinstance(speed, dict)
    assert read_measurement(speed["recorded"]) == record
    assert sorted(path.name for path in (tmp_path / "logs").iterdir())[:2] == [
        "speed-1-1-draft-3.log",
        "speed-1-1-no-draft.log",
    ]


def test_a_slower_draft_must_not_ship(tmp_path: Path) -> None:
    (check,) = run(tmp_path, replace(FAST, draft_rate=40.0), SPEED).checks
    assert (check.verdict, check.kind) == (Verdict.FAIL, SpeedClass.SLOWER)
    assert "draft-3 -20.0 %" in check.detail
    assert "must not ship" in check.detail


def test_a_cached_prompt_a_ceiling_and_tasks_that_share_a_process(tmp_path: Path) -> None:
    cached = run(tmp_path / "a", replace(FAST, prompt_n=1), SPEED)
    assert cached.analysis is not None
    assert {one.reasons for one in cached.analysis.excluded} == {(Reason.CACHED_PROMPT,)}
    assert cached.checks[0].kind == SpeedClass.TOO_FEW
    low = Ceiling(1000, Bandwidth(20_000.0, Source.MAP, "x"))
    refused = run(tmp_path / "b", FAST, replace(SPEED, ceiling=low))
    assert (refused.checks[0].verdict, refused.checks[0].kind) == (Verdict.INCONCLUSIVE, SpeedClass.ABOVE_CEILING)
    shared = run(tmp_path / "c", FAST, replace(SPEED, prompts=PROMPTS, shared_process=True))
    assert shared.checks[0].verdict is Verdict.PASS
    assert "the tasks of a round shared one process, in this order" in shared.checks[0].detail
    assert shared.analysis is not None
    assert len({one.process for one in shared.analysis.measurement.samples}) == 4


LOST = {
    "killed": (Behaviour(answers=("ok", "kill"), only_drafting=True), "the server ended by itself"),
    "no timings": (replace(FAST, draft_rate=-1.0), "does not say how long it took"),
    "more accepted than drafted": (replace(FAST, accepted=25), "counts of tokens cannot be"),
    "crashes when it stops": (replace(FAST, stop="segv"), "the server stopped badly (SIGSEGV)"),
    "leaves a child": (replace(FAST, child="child"), "left 1 processes behind"),
}


@pytest.mark.parametrize("case", LOST)
def test_an_arm_that_misbehaves_is_lost_and_not_tried_again(tmp_path: Path, case: str) -> None:
    behaviour, told = LOST[case]
    measured = run(tmp_path, behaviour, SPEED)
    (check,) = measured.checks
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, SpeedClass.NOT_MEASURED)
    assert told in check.detail
    assert measured.analysis is not None
    lost = measured.analysis.measurement.lost
    assert ("draft-3", 2) in {(one.arm, one.round) for one in lost}
    assert not list((tmp_path / "logs").glob("speed-2-*-draft-3.log"))


def test_the_status_that_a_shell_reports_for_our_signal_is_a_good_end(tmp_path: Path) -> None:
    assert run(tmp_path, replace(FAST, stop="shell"), SPEED).checks[0].verdict is Verdict.PASS


def test_a_regression_against_the_last_receipt_and_a_busy_box(tmp_path: Path) -> None:
    before = to_document(run(tmp_path / "a", FAST, replace(SPEED, subject={"target": "abc"})))
    slower = replace(FAST, draft_rate=60.0)
    now = replace(SPEED, subject={"target": "abc"})
    (check,) = run(tmp_path / "b", slower, now, last=before).checks
    assert (check.verdict, check.kind) == (Verdict.FAIL, SpeedClass.REGRESSION)
    busy = BoxState("", 2.0)
    (check,) = run(tmp_path / "c", slower, now, last=before, box=busy).checks
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, SpeedClass.BUSY)
    assert "busy box: the load was 2.00 per thread before the first run" in check.detail
    (check,) = run(tmp_path / "d", slower, replace(now, subject={"target": "other"}), last=before).checks
    assert check.verdict is Verdict.PASS
    assert "r1 measured other models or prompts" in check.detail


def test_questions_are_graded_and_faster_and_worse_is_red(tmp_path: Path) -> None:
    wrong = dict.fromkeys(RIGHT, "It is 99.")
    behaviour = replace(FAST, replies=RIGHT, draft_replies=wrong)
    both = run(tmp_path / "a", behaviour, replace(SPEED, questions=QUESTIONS))
    speed, quality = both.checks
    assert (speed.verdict, quality.verdict, quality.kind) == (
        Verdict.PASS, Verdict.FAIL, QualityClass.FASTER_AND_WORSE,
    )  # fmt: skip
    assert "0 of 8 right (draft-3) against 8 of 8 right (no-draft): McNemar, n = 8, p = 0.0078" in quality.detail
    (alone,) = run(tmp_path / "b", behaviour, MeasureQuestion(ARMS, questions=QUESTIONS)).checks
    assert (alone.name, alone.kind) == (CheckName.QUALITY, QualityClass.WORSE)


def test_truncated_answers_are_counted_apart(tmp_path: Path) -> None:
    long = {**RIGHT, QUESTIONS[0].prompt: "Let us think about it for a long time"}
    measured = run(tmp_path, replace(FAST, replies=long), MeasureQuestion(ARMS, questions=QUESTIONS))
    (check,) = measured.checks
    assert (check.verdict, check.kind) == (Verdict.PASS, QualityClass.SAME)
    assert [(score.right, score.of, score.truncated) for score in measured.scores] == [(7, 8, 1), (7, 8, 1)]
    document = to_document(measured)["quality"]
    assert isinstance(document, dict)
    assert document["answers"][1]["text"] == "It is 4."


def test_an_arm_that_dies_in_the_questions_makes_them_inconclusive(tmp_path: Path) -> None:
    behaviour = replace(FAST, replies=RIGHT, answers=("ok", "ok", "abort"))
    measured = run(tmp_path, behaviour, MeasureQuestion(ARMS, questions=QUESTIONS))
    (check,) = measured.checks
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, QualityClass.NOT_MEASURED)
    assert check.detail.startswith("no-draft: ")
    assert check.detail.endswith("after 2 of 8 questions")


def test_a_pattern_that_is_given_up_makes_the_questions_inconclusive(tmp_path: Path) -> None:
    def search(pattern: str, text: str) -> bool:
        raise CouldNotWork(f"the pattern {pattern!r} was not matched within 5 s")

    asked = (Question(id="q", prompt="Well?", answer="(a+)+$", grade="regex", tokens=24),)
    measured = run(tmp_path, FAST, MeasureQuestion(ARMS, questions=asked), search=search)
    (check,) = measured.checks
    assert (check.verdict, check.kind) == (Verdict.INCONCLUSIVE, QualityClass.NOT_MEASURED)
    assert "the pattern '(a+)+$' was not matched within 5 s" in check.detail
