"""The steps of a night that make something: the candidate branch, its build, its gate, its push."""

from collections.abc import Sequence
from dataclasses import replace

from forkguard.core.findings import Side
from forkguard.core.names import CommitHash
from forkguard.core.nightly import Candidate, NightStep, Outcome
from forkguard.workflows.night_state import Draft, NightMeans, StepEnd, done, skipped

PREFIX = "forkguard/candidate/"
_MOST_A_DAY = 100


def candidate(means: NightMeans, draft: Draft) -> StepEnd:
    """A branch with the stack on the target; one that an earlier night made is never moved."""
    if draft.replayed is None or draft.target is None:
        return skipped("the stack was not replayed")
    if draft.night.uncovered:
        return skipped("commits of the fork that are in no patchset would be lost")
    if draft.replayed.failed:
        return skipped("the stack does not apply")
    tip = draft.replayed.tip
    for branch in _names(draft):
        there = means.branches.branch(branch)
        if there == tip:
            break
        if there is None:
            means.branches.set_branch(branch, tip, before=None)
            break
    else:
        return StepEnd(Outcome.COULD_NOT, f"there are {_MOST_A_DAY} candidates of this day already", where=PREFIX)
    draft.night = replace(draft.night, candidate=Candidate(branch, tip))
    dropped = _drop_old(means, draft, kept=branch)
    return done(f"{branch} at {tip[:10]}{f', {dropped} older removed' if dropped else ''}")


def _names(draft: Draft) -> list[str]:
    """Where the candidate may go: the branch of the night before that is it, else one of this day."""
    last = draft.last.candidate if draft.last is not None else None
    tip = draft.replayed.tip if draft.replayed is not None else None
    kept = [last.branch] if last is not None and last.commit == tip else []
    stem = f"{PREFIX}{draft.started:%Y-%m-%d}"
    return [*kept, stem, *(f"{stem}-{number}" for number in range(2, _MOST_A_DAY))]


def _drop_old(means: NightMeans, draft: Draft, *, kept: str) -> int:
    """Remove candidates of earlier nights beyond those that the map keeps; a branch that somebody moved stays."""
    if draft.settings.keep_candidates is None:
        return 0
    made: dict[str, str] = {kept: ""}
    for night in means.nights.newest_first():
        if night.candidate is not None:
            made.setdefault(night.candidate.branch, night.candidate.commit)
    dropped = 0
    for branch, commit in list(made.items())[draft.settings.keep_candidates :]:
        if branch != kept and means.branches.branch(branch) == commit:
            means.branches.drop_branch(branch, CommitHash(commit))
            dropped += 1
    return dropped


def build(means: NightMeans, draft: Draft) -> StepEnd:
    """The candidate, built in its isolated tree."""
    if not draft.settings.build:
        return skipped("not built, as the map says ([nightly] build)")
    sides = _sides(draft)
    if sides is None:
        return skipped("there is no candidate")
    made = means.candidates().build(*sides)
    draft.night = replace(draft.night, build=made)
    pruned = means.candidates().prune(draft.settings.keep_trees) if draft.settings.keep_trees is not None else 0
    return done(f"{made.profile}, in {made.seconds:.0f} s{f', trees removed: {pruned}' if pruned else ''}")


def gate(means: NightMeans, draft: Draft) -> StepEnd:
    """The candidate beside upstream, for every arch that can be gated."""
    if not (draft.settings.gate and draft.settings.build):
        return skipped("not gated, as the map says ([nightly] gate)")
    sides = _sides(draft)
    if sides is None or draft.night.build is None:
        return skipped("nothing was built")
    gates, ungated = means.candidates().gates(means.archs)
    if not gates:
        return StepEnd(
            Outcome.COULD_NOT,
            f"no arch can be gated: {'; '.join(ungated) or 'the map names none'}",
            hint="name models in [arch.NAME.gate] of the map, or gate = false in [nightly]",
        )
    for arch in gates:
        draft.night = replace(draft.night, gate=(*draft.night.gate, means.candidates().gate(arch, *sides)))
    return _judged(draft, ungated)


def _judged(draft: Draft, ungated: Sequence[str]) -> StepEnd:
    said = ", ".join(f"{one.arch} {one.verdict}" for one in draft.night.gate)
    left = f"; not gated: {'; '.join(ungated)}" if ungated else ""
    verdicts = {one.verdict for one in draft.night.gate}
    passed = Outcome.DONE if verdicts == {"pass"} else Outcome.COULD_NOT
    outcome = Outcome.FOUND if "fail" in verdicts else passed
    worst = next((one for one in draft.night.gate if one.verdict != "pass"), draft.night.gate[0])
    return StepEnd(outcome, f"{said}{left}", where=worst.receipt)


def _sides(draft: Draft) -> tuple[Side, Side] | None:
    candidate = draft.night.candidate
    if candidate is None or draft.target is None:
        return None
    return Side(candidate.branch, CommitHash(candidate.commit)), draft.target


def push(means: NightMeans, draft: Draft) -> StepEnd:
    """The candidate to the remote branch that the map names, if that stands where a night left it."""
    where = draft.settings.push
    if where is None:
        return skipped("the map names no branch to push to")
    candidate = draft.night.candidate
    if candidate is None:
        return skipped("there is no candidate")
    made = (NightStep.BUILD, NightStep.GATE)
    if any(step.name in made and step.outcome in (Outcome.FOUND, Outcome.COULD_NOT) for step in draft.night.steps):
        return skipped("the candidate did not pass")
    name = f"{where.remote}/{where.branch}"
    expected = _pushed_before(means, name)
    commit = CommitHash(candidate.commit)
    means.work.push(commit, expected)
    draft.night = replace(draft.night, candidate=replace(candidate, pushed=name))
    return done(f"{name} at {commit[:10]}")


def _pushed_before(means: NightMeans, name: str) -> CommitHash | None:
    """Where the last night that pushed left the remote branch."""
    for night in means.nights.newest_first():
        if night.candidate is not None and night.candidate.pushed == name:
            return CommitHash(night.candidate.commit)
    return None
