"""What a night comes to: verdict, one sentence of reason, and the parts that name its story."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forkguard.core.nightly import (
    NightCommit,
    NightFinding,
    NightGate,
    NightPatch,
    NightStep,
    NightVerdict,
    Outcome,
    Retirement,
    StepResult,
)

_GRAVE = frozenset({"crash", "corruption"})
_VARYING = re.compile(r"\b[0-9a-f]{7,64}\b|\d+")
_NAMED = 3
"""Patches that a reason names."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict; `parts` are what the story is made of."""

    verdict: NightVerdict
    reason: str
    parts: tuple[str, ...]


def red_findings(findings: Sequence[NightFinding], policy: str) -> tuple[NightFinding, ...]:
    """The findings that make a night red, by `[nightly] drift`: `grave`, `red` or `report`."""
    counting = [finding for finding in findings if finding.counts and policy != "report"]
    return tuple(one for one in counting if policy == "red" or one.severity in _GRAVE)


def judge(
    steps: Sequence[StepResult],
    *,
    target: str,
    stack: Sequence[NightPatch],
    uncovered: Sequence[NightCommit],
    drifted: Sequence[NightFinding],
    gates: Sequence[NightGate],
    absent: Sequence[str] = (),
    candidate: bool,
) -> Judgement:
    """The verdict of a night: could-not-run where commits are not covered, else red, could-not-run or green.

    `drifted` are the findings that make it red, `absent` archs that do. What was skipped because it was not asked
    for leaves the verdict alone.
    """
    failed = [patch for patch in stack if patch.status.failed]
    refused = [gate for gate in gates if gate.verdict == "fail"]
    could_not = [step for step in steps if step.outcome is Outcome.COULD_NOT]
    red = [*_stack_says(failed), *_drift_says(drifted, absent), *(_gate_says(gate) for gate in refused)]
    parts = (
        *(f"{patch.label} {patch.status.value} {patch.breaking_commit or ''}" for patch in failed),
        *(f"drift {finding.id}" for finding in drifted),
        *(f"absent {name}" for name in absent),
        *(f"gate {gate.arch} {check.name} {check.class_}" for gate in refused for check in gate.checks
          if check.verdict == "fail"),
        *(f"uncovered {commit.commit}" for commit in uncovered),
        *(f"{step.name.value} {_VARYING.sub('#', step.detail)}" for step in could_not),
    )  # fmt: skip
    cannot = [_could_not_says(step) for step in could_not]
    if uncovered:
        return Judgement(NightVerdict.COULD_NOT_RUN, _sentence([*cannot, *red]), parts)
    if red:
        return Judgement(NightVerdict.RED, _sentence([*red, *cannot]), parts)
    if cannot:
        return Judgement(NightVerdict.COULD_NOT_RUN, _sentence(cannot), parts)
    if not candidate:
        return Judgement(NightVerdict.COULD_NOT_RUN, "there is no candidate", ("no candidate",))
    return Judgement(NightVerdict.GREEN, _green_says(steps, target, stack, gates), ())


def _sentence(words: Sequence[str]) -> str:
    return "; ".join(words)


def _could_not_says(step: StepResult) -> str:
    return f"{step.name.value}: {step.detail}"


def _stack_says(failed: Sequence[NightPatch]) -> list[str]:
    if not failed:
        return []
    named = ", ".join(f"{patch.label} ({patch.status.value})" for patch in failed[:_NAMED])
    more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    return [f"{_counted(len(failed), 'patch does', 'patches do')} not apply: {named}{more}"]


def _drift_says(findings: Sequence[NightFinding], absent: Sequence[str]) -> list[str]:
    said = [f"the fork does not have {', '.join(absent)}"] if absent else []
    if not findings:
        return said
    kinds = sorted({finding.severity for finding in findings})
    return [*said, f"{_counted(len(findings), 'finding', 'findings')} of drift ({', '.join(kinds)})"]


def _gate_says(gate: NightGate) -> str:
    checks = ", ".join(check.name for check in gate.checks if check.verdict == "fail")
    return f"the gate of {gate.arch} is red ({checks})"


def _green_says(
    steps: Sequence[StepResult], target: str, stack: Sequence[NightPatch], gates: Sequence[NightGate]
) -> str:
    said = [f"{_counted(len(stack), 'patch', 'patches')} on {target}"]
    if gates:
        said.append(f"gated: {', '.join(gate.arch for gate in gates)}")
    skipped = {step.name: step.detail for step in steps if step.outcome is Outcome.SKIPPED}
    said += [skipped[name] for name in (NightStep.BUILD, NightStep.GATE) if name in skipped][:1]
    return _sentence(said)


def retirements(stack: Sequence[NightPatch]) -> tuple[Retirement, ...]:
    """The patchsets of which every patch has landed, and what retires them."""
    found = []
    for name in dict.fromkeys(patch.patchset for patch in stack):
        own = [patch for patch in stack if patch.patchset == name]
        if all(patch.status.value == "landed" for patch in own):
            commits = {patch.landed_in for patch in own if patch.landed_in}
            landed = commits.pop() if len(commits) == 1 else None
            found.append(Retirement(name, landed, f"forkguard stack retire {name}"))
    return tuple(found)


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
