"""Speed and quality, measured with real models: fresh servers, arms in turn, every raw number kept.

The order: for each round and each task, every arm once, each in a process of its own, the first arm another
one each round. So what happens to the machine happens to all arms alike.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forkguard.core.boxes import BoxState
from forkguard.core.ceiling import Ceiling
from forkguard.core.completion import Answer
from forkguard.core.gate import ArmPlan, Failure, Misbehaved, ServerEnd
from forkguard.core.measured import Measured
from forkguard.core.measurements import Lost, MeasuredArm, Measurement, Sample
from forkguard.core.performance import DEFAULTS, Pace, PerformanceSettings
from forkguard.core.performance_checks import Previous, performance
from forkguard.core.prompts import Prompt
from forkguard.core.quality import Graded, Question, grade, matches, quality
from forkguard.errors import CouldNotWork
from forkguard.ports import Server, Servers, Talk

WARM_UP = Prompt("warm-up", "The weather over the bay this morning, as the pilots wrote it down:", 16, bare=True)
"""Asked first of every timed process and not counted; no task may have its name."""


@dataclass(frozen=True, slots=True)
class MeasureMeans:
    """What a measurement needs from outside: servers, the machine's state (it is told which moment it is), a clock
    that only goes forward (in seconds), and where to talk. `search` holds a question's pattern against a text, and
    may give up with `CouldNotWork`."""

    servers: Servers
    look: Callable[[str], BoxState]
    clock: Callable[[], float]
    talk: Talk
    search: Callable[[str, str], bool] = matches


@dataclass(frozen=True, slots=True)
class TimedArm:
    """A server configuration and its kind of draft (None: the baseline). The plan's prompts are not used."""

    plan: ArmPlan
    draft: str | None = None

    @property
    def measured(self) -> MeasuredArm:
        """As it is recorded."""
        return MeasuredArm(self.plan.name, self.draft, self.plan.width)


@dataclass(frozen=True, slots=True)
class MeasureQuestion:
    """What is measured: `prompts` for speed, `questions` for quality; each may be empty.

    `shared_process` lets the tasks of one arm and round share a process, which is quicker, and is said: caches
    then see more than one task. `subject` names by hash what must be equal for a comparison with an earlier receipt.
    """

    arms: tuple[TimedArm, ...]
    prompts: tuple[Prompt, ...] = ()
    questions: tuple[Question, ...] = ()
    settings: PerformanceSettings = DEFAULTS
    shared_process: bool = False
    ceiling: Ceiling | None = None
    subject: Mapping[str, str] = field(default_factory=dict)


def measure(
    means: MeasureMeans, question: MeasureQuestion, *, box: Mapping[str, object], last: Previous | None = None
) -> Measured:
    """Measure what is asked and judge it. `box` are the machine's facts, `last` the newest receipt that measured.

    Takes minutes and real models; a probe's random weights show neither speed nor quality. A server's misbehaviour
    is a result (its runs are lost, and the check inconclusive), never an exception.
    """
    measured = Measured(())
    if question.prompts:
        check, analysis = performance(time_arms(means, question), box=box, last=last, settings=question.settings)
        measured = Measured((check,), analysis)
    if question.questions:
        graded, lost = ask_questions(means, question.arms, question.questions)
        overall = measured.analysis.overall if measured.analysis is not None else ()
        check, _ = quality(
            graded,
            arms=[arm.plan.name for arm in question.arms if arm.draft is not None],
            baseline=next((arm.plan.name for arm in question.arms if arm.draft is None), ""),
            lost=lost,
            faster={one.arm for one in overall if one.pace is Pace.FASTER},
        )
        measured = replace(measured, checks=(*measured.checks, check), graded=graded, lost_answers=lost)
    return measured


def time_arms(means: MeasureMeans, question: MeasureQuestion) -> Measurement:
    """Every arm at every task, `settings.runs` times, as recorded. An arm that misbehaves once is not asked again."""
    prompts = [replace(prompt, bare=True) for prompt in question.prompts]
    groups = [prompts] if question.shared_process else [[prompt] for prompt in prompts]
    samples: list[Sample] = []
    lost: list[Lost] = []
    boxes: list[BoxState] = []
    for number in range(1, question.settings.runs + 1):
        means.talk.step(f"speed, round {number} of {question.settings.runs}")
        boxes.append(means.look(f"before round {number}"))
        for done, (place, arm) in enumerate(_turns(question.arms, groups=len(groups), first=number - 1)):
            means.talk.progress(done, len(groups) * len(question.arms), f"{arm.plan.name}: {groups[place][0].name}")
            gone = next((one for one in lost if one.arm == arm.plan.name), None)
            if gone is not None:
                lost += [replace(gone, task=prompt.name, round=number) for prompt in groups[place]]
                continue
            found, missing = _time(means, arm, groups[place], round_=number, place=place)
            samples += found
            lost += missing
    boxes.append(means.look("after the last round"))
    return Measurement(
        tuple(arm.measured for arm in question.arms),
        tuple(samples),
        tuple(lost),
        tuple(boxes),
        question.ceiling,
        question.subject,
        shared_process=question.shared_process and len(prompts) > 1,
    )


def _turns(arms: Sequence[TimedArm], *, groups: int, first: int) -> Iterator[tuple[int, TimedArm]]:
    """Places of groups of tasks and arms, for one round: the arms take turns, and another begins each round."""
    begin = first % len(arms)
    for place in range(groups):
        for arm in (*arms[begin:], *arms[:begin]):
            yield place, arm


def _time(
    means: MeasureMeans, arm: TimedArm, prompts: Sequence[Prompt], *, round_: int, place: int
) -> tuple[list[Sample], list[Lost]]:
    process = f"speed-{round_}-{place + 1}-{arm.plan.name}"
    plan = replace(arm.plan, name=process, prompts=(WARM_UP, *prompts), verbose=False)
    samples: list[Sample] = []
    trouble = ""
    with means.servers.start(plan) as server:
        try:
            server.wait_ready()
            for prompt in plan.prompts:
                answer, seconds = _ask(means, server, prompt)
                samples.append(_sample(arm, prompt, answer, seconds, round_=round_, process=process))
            server.confirm()
        except Misbehaved as misbehaviour:
            trouble = misbehaviour.text
        end = server.stop()
    trouble = trouble or _bad_end(end)
    if not trouble:
        return _with_log(samples, end), []
    return [], [Lost(arm.plan.name, prompt.name, round_, trouble) for prompt in prompts]


def _ask(means: MeasureMeans, server: Server, prompt: Prompt) -> tuple[Answer, float]:
    begun = means.clock()
    answer = server.ask(prompt)
    return answer, means.clock() - begun


def _sample(
    arm: TimedArm, prompt: Prompt, answer: Answer, seconds: float, *, round_: int, process: str
) -> Sample:  # fmt: skip
    """Raises `Misbehaved` for an answer whose own numbers are missing or cannot be."""
    timings = answer.timings
    generation, reading = timings.get("predicted_ms", 0.0), timings.get("prompt_ms", 0.0)
    if generation <= 0.0 or reading < 0.0:
        raise Misbehaved(Failure.BAD_ANSWER, "the answer does not say how long it took")
    if (
        len(answer.tokens) > prompt.tokens
        or answer.accepted > answer.drafted
        or min(answer.drafted, answer.accepted) < 0
    ):
        raise Misbehaved(Failure.BAD_ANSWER, "the answer's counts of tokens cannot be")
    return Sample(
        arm.plan.name,
        prompt.name,
        round_,
        process,
        len(answer.tokens),
        prompt.tokens,
        rate=1000.0 * len(answer.tokens) / generation,
        prompt_evaluated=_count(timings, "prompt_n"),
        prompt_cached=_count(timings, "cache_n"),
        drafted=answer.drafted if arm.draft is not None else None,
        accepted=answer.accepted if arm.draft is not None else None,
        seconds=max(0.0, seconds),
        server_seconds=(reading + generation) / 1000.0,
        warm_up=prompt is WARM_UP,
    )


def _count(timings: Mapping[str, float], name: str) -> int | None:
    value = timings.get(name)
    return int(value) if value is not None and value >= 0 else None


def _bad_end(end: ServerEnd) -> str:
    if not end.asked:
        return f"the server ended by itself ({end.signal or f'status {end.exit_code}'})"
    if end.killed:
        return "the server did not stop when asked"
    if not end.stopped_well:
        return f"the server stopped badly ({end.signal or f'status {end.exit_code}'})"
    return f"the server left {len(end.left_behind)} processes behind" if end.left_behind else ""


def _with_log(samples: Sequence[Sample], end: ServerEnd) -> list[Sample]:
    """The samples, with the log's counts of evaluated prompt tokens where the answers had none."""
    evaluations = end.log.prompt_evals
    if len(evaluations) != len(samples):
        return list(samples)
    return [
        replace(sample, prompt_evaluated=found.tokens) if sample.prompt_evaluated is None else sample
        for sample, found in zip(samples, evaluations, strict=True)
    ]


def ask_questions(
    means: MeasureMeans, arms: Sequence[TimedArm], questions: Sequence[Question]
) -> tuple[tuple[Graded, ...], tuple[str, ...]]:
    """All questions to one fresh server of each arm, greedily; the grades, and what could not be asked.

    An arm that misbehaves keeps no grade: half its answers are no sample of them.
    """
    graded: list[Graded] = []
    lost: list[str] = []
    for arm in arms:
        means.talk.step(f"quality, {arm.plan.name}: {len(questions)} questions")
        found, why = _grade_arm(means, arm, questions)
        if why:
            lost.append(f"{arm.plan.name}: {why}, after {len(found)} of {len(questions)} questions")
        else:
            graded += found
    return tuple(graded), tuple(lost)


def _grade_arm(means: MeasureMeans, arm: TimedArm, questions: Sequence[Question]) -> tuple[list[Graded], str]:
    prompts = tuple(Prompt(one.id, one.prompt, one.tokens, until_end=True, bare=True) for one in questions)
    plan = replace(arm.plan, name=f"quality-{arm.plan.name}", prompts=prompts, verbose=False)
    graded: list[Graded] = []
    with means.servers.start(plan) as server:
        try:
            server.wait_ready()
            for number, (question, prompt) in enumerate(zip(questions, prompts, strict=True)):
                means.talk.progress(number, len(questions), f"{arm.plan.name}: {question.id}")
                graded.append(_graded(means, arm, question, server.ask(prompt)))
            server.confirm()
        except Misbehaved as misbehaviour:
            return graded, misbehaviour.text
        except CouldNotWork as problem:
            return graded, problem.what
        end = server.stop()
    return graded, _bad_end(end)


def _graded(means: MeasureMeans, arm: TimedArm, question: Question, answer: Answer) -> Graded:
    truncated = len(answer.tokens) >= question.tokens
    right = grade(question, answer.text, truncated=truncated, search=means.search)
    return Graded(arm.plan.name, question.id, right, truncated, answer.text)
