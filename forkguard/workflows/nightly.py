"""One night, from the fetch to the verdict: named steps, and the record written after each of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from forkguard.core.night_verdict import judge
from forkguard.core.nightly import (
    Night,
    NightStep,
    NightVerdict,
    Outcome,
    StepResult,
    story_of,
    streak,
)
from forkguard.errors import CouldNotWork, ForkguardError
from forkguard.ports import NightStore
from forkguard.workflows import nightly_candidate, nightly_looks
from forkguard.workflows.night_reuse import reusable, take_over
from forkguard.workflows.night_state import Draft, NightMeans, StepEnd, moment

Step = Callable[[NightMeans, Draft], StepEnd]
STEPS: tuple[tuple[NightStep, Step], ...] = (
    (NightStep.FETCH, nightly_looks.fetch),
    (NightStep.TARGET, nightly_looks.target),
    (NightStep.COVERAGE, nightly_looks.coverage),
    (NightStep.RECHECK, nightly_looks.recheck),
    (NightStep.DRIFT, nightly_looks.drift),
    (NightStep.REPLAY, nightly_looks.replay),
    (NightStep.CANDIDATE, nightly_candidate.candidate),
    (NightStep.BUILD, nightly_candidate.build),
    (NightStep.GATE, nightly_candidate.gate),
    (NightStep.PUSH, nightly_candidate.push),
)
_REMEMBERED = 4000
"""Nights that are looked back for the last green one."""


def run_night(means: NightMeans, draft: Draft, *, fresh: bool) -> Night:
    """Run every step and write the record; `fresh`: take over no results of the night before.

    What a step raises is its result. Raises `CouldNotWork` where the record cannot be written.
    """
    means.nights.save(draft.until(means.now()))
    for name, step in STEPS:
        means.talk.step(f"{name.value}")
        draft.ended(_run(name, step, means, draft))
        means.nights.save(draft.until(means.now()))
        if name is NightStep.TARGET and not fresh and (earlier := reusable(means, draft)) is not None:
            take_over(means, draft, earlier, run=lambda name: _run(name, dict(STEPS)[name], means, draft))
            break
    return conclude(means.nights, draft, finished=means.now())


def not_opened(nights: NightStore, draft: Draft, error: CouldNotWork, *, now: Callable[[], datetime]) -> Night:
    """The record of a night whose fork could not be opened: nothing of it ran."""
    end = StepEnd(Outcome.COULD_NOT, error.what, error.where, error.hint)
    draft.ended(_result(NightStep.FETCH, end, began=draft.started, ended=now()))
    return conclude(nights, draft, finished=now())


def _run(name: NightStep, step: Step, means: NightMeans, draft: Draft) -> StepResult:
    began = means.now()
    try:
        end = step(means, draft)
    except ForkguardError as error:
        end = StepEnd(Outcome.COULD_NOT, error.what, error.where, error.hint)
    except OSError as error:
        end = StepEnd(Outcome.COULD_NOT, f"{error.strerror or error}", where=str(error.filename or ""))
    except Exception as error:  # noqa: BLE001  (a bug of ours must not lose the night, and must not be green)
        kind = type(error).__name__
        end = StepEnd(
            Outcome.COULD_NOT, f"a bug in forkguard: {kind}: {error}", where=means.work.on_bug(draft.id, error)
        )
    return _result(name, end, began=began, ended=means.now())


def _result(name: NightStep, end: StepEnd, *, began: datetime, ended: datetime) -> StepResult:
    return StepResult(name, end.outcome, moment(began), moment(max(began, ended)), end.detail, end.where, end.hint)


def conclude(nights: NightStore, draft: Draft, *, finished: datetime) -> Night:
    """Judge, and write the record."""
    target = draft.target
    judged = judge(
        draft.night.steps,
        target=f"{target.ref} ({target.commit[:10]})" if target is not None else "",
        stack=draft.night.stack,
        uncovered=draft.night.uncovered,
        drifted=draft.drifted,
        gates=draft.night.gate,
        absent=draft.absent,
        candidate=draft.night.candidate is not None,
    )
    story = story_of(judged.verdict, judged.parts)
    days = streak(_since_green(nights, draft.id), started=draft.night.started, verdict=judged.verdict, story=story)
    night = replace(
        draft.until(finished),
        verdict=judged.verdict,
        reason=judged.reason,
        story=story,
        repeats=days.repeats,
        days_red=days.days_red,
    )
    nights.finish(night)
    return night


def _since_green(nights: NightStore, but: str) -> Sequence[Night]:
    """The nights since the last green one, that one included, oldest first."""
    found: list[Night] = []
    for night in islice(nights.newest_first(), _REMEMBERED):
        if night.id != but:
            found.append(night)
        if night.verdict is NightVerdict.GREEN and night.id != but:
            break
    return found[::-1]


def close_cut_off(nights: NightStore) -> tuple[str, ...]:
    """Give every night that was cut off the record of one that could not run; what to say of them."""
    said = []
    for night in nights.unfinished():
        part = nights.part(night)
        if part is None:
            nights.discard(night)
            said.append(f"the night {night} was cut off before its first step")
            continue
        at = _step_in_progress(part)
        reason = f"it was cut off {f'at the step {at}' if at else 'behind its last step'}"
        story = story_of(NightVerdict.COULD_NOT_RUN, ["cut off", at])
        days = streak(
            _since_green(nights, night), started=part.started, verdict=NightVerdict.COULD_NOT_RUN, story=story
        )
        nights.finish(
            replace(
                part,
                verdict=NightVerdict.COULD_NOT_RUN,
                reason=reason,
                story=story,
                repeats=days.repeats,
                days_red=days.days_red,
            )
        )
        said.append(f"the night {night} did not end: {reason}")
    return tuple(said)


def _step_in_progress(part: Night) -> str:
    ended = {step.name for step in part.steps}
    return next((name.value for name, _ in STEPS if name not in ended), "")
