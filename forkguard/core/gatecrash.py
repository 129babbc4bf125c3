"""Did every server load, answer everything, stop when asked, and leave nobody behind? And who else does not?"""

from collections.abc import Mapping, Sequence

from forkguard.core.gate import (
    Arm,
    Check,
    CheckName,
    Failure,
    GateStage,
    LoadFault,
    NotRun,
    Side,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.gateload import told_load
from forkguard.core.gatetrigger import FORK, UPSTREAM_TOO, counterpart, isolate

WHEN = {
    GateStage.LOAD: "while loading",
    GateStage.CONTEXT: "while making the context",
    GateStage.FIRST_DECODE: "at the first decode",
    GateStage.LATER: "in a later request",
    GateStage.EXIT: "at exit",
}
"""The stages as they follow a failure: `abort at the first decode`."""


def crash(arms: Sequence[Arm], missing: Sequence[NotRun], suspects: Sequence[Suspect]) -> Check:
    """The check over all sides' arms, rechecks included; only what the fork's servers do is red."""
    fork = [arm for arm in arms if arm.plan.side is not Side.UPSTREAM]
    troubled = [(arm, arm.trouble) for arm in fork if arm.trouble is not None and _counts(arm)]
    evidence = tuple(_evidence(arm, trouble, arms) for arm, trouble in troubled)
    upstream = [(arm, arm.trouble) for arm in arms if arm.plan.side is Side.UPSTREAM and arm.trouble is not None]
    evidence += tuple(_evidence(arm, trouble, arms) for arm, trouble in upstream if not arm.plan.recheck)
    red = [(arm, trouble) for arm, trouble in troubled if trouble.failure is not Failure.STRANGER]
    if red:
        return _red(arms, red, evidence, suspects)
    if troubled:
        arm, trouble = troubled[0]
        return Check(
            CheckName.CRASH, Verdict.INCONCLUSIVE, trouble.failure, f"{arm.plan.name}: {trouble.text}", evidence
        )
    lost = [one for one in missing if one.side is not Side.UPSTREAM]
    if lost or not fork:
        what = lost[0].reason if lost else "no server was started"
        return Check(CheckName.CRASH, Verdict.INCONCLUSIVE, None, what, evidence)
    detail = f"{len(fork)} servers ran, answered and stopped as they must{_upstream_alone(upstream)}"
    return Check(CheckName.CRASH, Verdict.PASS, None, detail, evidence)


def _counts(arm: Arm) -> bool:
    """Whether it is the fork's fault: a recheck with settings of our own, or without requests, shows none."""
    return not arm.plan.recheck or (arm.plan.batch is None and bool(arm.plan.prompts))


def _red(
    arms: Sequence[Arm],
    red: Sequence[tuple[Arm, Trouble]],
    evidence: tuple[Mapping[str, object], ...],
    suspects: Sequence[Suspect],
) -> Check:
    arm, trouble = red[0]
    trigger = isolate([(one.plan, one.trouble is not None) for one in _of_trigger(arms, arm.plan.side)])
    if arm.plan.side is Side.ASSERTS:
        trigger = f"only with libc's asserts, which the Release build leaves out; {trigger}"
    culprit = _culprit(arm, trouble, arms)
    detail = f"{arm.plan.name}: {trouble.failure} {WHEN[trouble.stage]}: {trouble.text}"
    more = told_load(trouble.load) if trouble.load is not None else ""
    detail += "".join(f"; {words}" for words in (more, _who(culprit)) if words)
    detail += f" ({trigger})" if trigger else ""
    named = tuple(suspect for suspect in suspects if any(_explains(suspect, one) for _, one in red))
    return Check(
        CheckName.CRASH, Verdict.FAIL, trouble.failure, detail, evidence, named, culprit=culprit, trigger=trigger
    )


def _of_trigger(arms: Sequence[Arm], side: Side) -> list[Arm]:
    return [arm for arm in arms if arm.plan.side is side and not arm.plan.recheck]


def _culprit(arm: Arm, trouble: Trouble, arms: Sequence[Arm]) -> str | None:
    """Who has this fault: by upstream's arm of the same configuration, where it ran with the same asserts."""
    other = counterpart(arm, arms) if arm.plan.side is Side.FORK else None
    if other is None:
        return None
    if other.trouble is None:
        return FORK
    same = other.trouble.failure is trouble.failure
    return UPSTREAM_TOO if same else f"fork; upstream fails in another way ({other.trouble.failure})"


def _who(culprit: str | None) -> str:
    if culprit == FORK:
        return "upstream at the pin does not"
    return "upstream at the pin does the same" if culprit == UPSTREAM_TOO else culprit or ""


def _upstream_alone(upstream: Sequence[tuple[Arm, Trouble]]) -> str:
    if not upstream:
        return ""
    arm, trouble = upstream[0]
    return f"; upstream does not ({arm.plan.name}: {trouble.failure} {WHEN[trouble.stage]})"


def _explains(suspect: Suspect, trouble: Trouble) -> bool:
    told = (trouble.text, *trouble.before, *trouble.after)
    return any(log in line for log in suspect.logs for line in told)


def _evidence(arm: Arm, trouble: Trouble, arms: Sequence[Arm]) -> Mapping[str, object]:
    culprit = "upstream" if arm.plan.side is Side.UPSTREAM else _culprit(arm, trouble, arms)
    return {
        "arm": arm.plan.name,
        "class": str(trouble.failure),
        "stage": str(trouble.stage),
        "text": trouble.text,
        "place": trouble.place,
        "signal": trouble.signal,
        "exit_code": trouble.exit_code,
        "child": trouble.child,
        "before": list(trouble.before),
        "after": list(trouble.after),
        "frames": list(trouble.frames),
        "load": load_values(trouble.load) if trouble.load is not None else None,
        "culprit": culprit,
        "log": arm.end.log_file,
    }


def load_values(load: LoadFault) -> Mapping[str, object]:
    """A load error as plain JSON values."""
    return {
        "problem": load.problem,
        "subject": load.subject,
        "expected": load.expected,
        "got": load.got,
        "model": load.model,
        "unclaimed": list(load.unclaimed),
        "known_as": list(load.known_as),
    }
