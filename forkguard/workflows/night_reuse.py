"""A night on which nothing is new takes over the results of the one before, and says so."""

from collections.abc import Callable
from dataclasses import replace

from forkguard.core.findings import Base
from forkguard.core.names import CommitHash
from forkguard.core.nightly import Night, NightStep, NightUpstream, Outcome, StepResult
from forkguard.workflows.night_state import REPLAY_FILE, Draft, NightMeans, moment
from forkguard.workflows.nightly_looks import settle_drift

_AFRESH = (NightStep.FETCH, NightStep.TARGET)


def reusable(means: NightMeans, draft: Draft) -> Night | None:
    """The night before, where its results are those that this one would have.

    That is: the same key, every step came to an answer (commits that no patchset covers are one), and what it
    names is still there.
    """
    last, key = draft.last, draft.night.key
    if not key or last is None or last.key != key or last.upstream is None or last.base is None:
        return None
    open_ends = {step.name for step in last.steps if step.outcome is Outcome.COULD_NOT}
    if open_ends - {NightStep.COVERAGE, NightStep.RECHECK}:
        return None
    if last.candidate is not None and means.branches.branch(last.candidate.branch) != last.candidate.commit:
        draft.note(f"{last.candidate.branch} is not where the night {last.id} left it: all was done again")
        return None
    for gate in last.gate:
        if wrong := means.work.intact(gate.receipt):
            draft.note(f"the receipt {gate.receipt} is not intact ({wrong}): all was done again")
            return None
    return last


def take_over(means: NightMeans, draft: Draft, last: Night, *, run: Callable[[NightStep], StepResult]) -> None:
    """Put the results of that night into this one's record. What a forge is asked for is asked again (`run`)."""
    assert last.upstream is not None  # noqa: S101  (`reusable` looked)
    assert last.base is not None  # noqa: S101
    source = last.reused or last.id
    to = CommitHash(last.upstream.to)
    draft.note(f"nothing is new since the night {source}: its results were taken over")
    draft.found_base = Base(CommitHash(last.base.commit), last.base.how)
    draft.night = replace(
        draft.night,
        reused=source,
        base=last.base,
        ahead=last.ahead,
        upstream=NightUpstream(last.upstream.ref, to, to, 0, last.upstream.behind),
        stack=last.stack,
        uncovered=last.uncovered,
        retire=last.retire,
        drift=last.drift,
        build=last.build,
        gate=last.gate,
        candidate=last.candidate,
        packets=last.packets,
        pins=last.pins,
        follow_ups=tuple(replace(one, new=False) for one in last.follow_ups),
    )
    settle_drift(draft)
    names = [REPLAY_FILE, *(packet.file for packet in last.packets)]
    names += [last.drift.document] if last.drift is not None and last.drift.document is not None else []
    for name in names:
        if means.nights.path(last.id, name).exists():
            means.nights.take_over(draft.id, name, source=last.id)
    now = moment(means.now())
    for step in last.steps:
        if step.name is NightStep.RECHECK and (
            last.pins or step.outcome is Outcome.COULD_NOT or means.work.asks_forge()
        ):
            draft.ended(run(step.name))
        elif step.name not in _AFRESH:
            hint = step.hint.replace(last.id, draft.id)  # it may name a file beside the record
            draft.ended(replace(step, started=now, finished=now, hint=hint))
