"""From what the servers did to what the checks say. A check that saw too little is never a pass."""

from collections.abc import Mapping, Sequence

from forkguard.core.determinism import Comparison, Difference, compare
from forkguard.core.gate import (
    Arm,
    Check,
    CheckName,
    Failure,
    GateSettings,
    GateStage,
    NotRun,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.logfacts import Fallback

_SEVERITY = (Difference.CORRUPTION, Difference.NEAR_TIE, Difference.IDENTICAL)
WHEN = {
    GateStage.LOAD: "while loading",
    GateStage.CONTEXT: "while making the context",
    GateStage.FIRST_DECODE: "at the first decode",
    GateStage.LATER: "in a later request",
    GateStage.EXIT: "at exit",
}
"""The stages as they follow a failure: `abort at the first decode`."""
_SHOWN = 20
_VERBOSE = 5
"""The verbosity from which a server's log tells of checkpoints and of its contexts' rollback slots."""


def judge(
    arms: Sequence[Arm], settings: GateSettings, *, missing: Sequence[NotRun] = (), suspects: Sequence[Suspect] = ()
) -> tuple[tuple[Check, ...], tuple[NotRun, ...]]:
    """The checks that were asked for, in order, and those that were not.

    `missing` are arms that were planned and not started. `suspects` are drift findings that may explain what
    is red; each check keeps those that do.
    """
    asked = {
        CheckName.CRASH: lambda: crash(arms, missing, suspects),
        CheckName.LIVENESS: lambda: liveness(arms, missing),
        CheckName.DETERMINISM: lambda: determinism(arms, missing, suspects, near_tie=settings.near_tie),
        CheckName.FALLBACK: lambda: fallback(arms, fails=settings.fallback_fails),
    }
    checks, not_run = [], list(missing)
    for name in CheckName:
        random_weights = settings.probe and name in (CheckName.PERFORMANCE, CheckName.QUALITY)
        if name not in settings.checks or random_weights:
            not_run.append(NotRun(name, _why_not(probe=random_weights)))
        elif name in asked:
            checks.append(asked[name]())
        else:
            checks.append(
                Check(name, Verdict.INCONCLUSIVE, None, f"{name} was asked for, and this version does not measure it")
            )
    return tuple(checks), tuple(not_run)


def _why_not(*, probe: bool) -> str:
    if probe:
        return "a probe has random weights, so it shows neither speed nor quality"
    return "the map does not ask for it"


def crash(arms: Sequence[Arm], missing: Sequence[NotRun], suspects: Sequence[Suspect]) -> Check:
    """Did every server load, answer everything, stop when asked and leave nobody behind?"""
    troubled = [(arm, arm.trouble) for arm in arms if arm.trouble is not None]
    evidence = tuple(_trouble_evidence(arm, trouble) for arm, trouble in troubled)
    red = [(arm, trouble) for arm, trouble in troubled if trouble.failure is not Failure.STRANGER]
    if red:
        arm, trouble = red[0]
        detail = f"{arm.plan.name}: {trouble.failure} {WHEN[trouble.stage]}: {trouble.text}{_only_drafts(arms)}"
        named = tuple(suspect for suspect in suspects if any(_explains(suspect, one) for _, one in red))
        return Check(CheckName.CRASH, Verdict.FAIL, trouble.failure, detail, evidence, named)
    if troubled:
        arm, trouble = troubled[0]
        return Check(
            CheckName.CRASH, Verdict.INCONCLUSIVE, trouble.failure, f"{arm.plan.name}: {trouble.text}", evidence
        )
    if missing or not arms:
        what = missing[0].reason if missing else "no server was started"
        return Check(CheckName.CRASH, Verdict.INCONCLUSIVE, None, what)
    return Check(CheckName.CRASH, Verdict.PASS, None, f"{len(arms)} servers ran, answered and stopped as they must")


def _only_drafts(arms: Sequence[Arm]) -> str:
    plain = [arm for arm in arms if not arm.plan.drafts]
    drafting_only = plain and all(arm.trouble is None for arm in plain)
    return " (only with the draft: without it the same prompts were answered)" if drafting_only else ""


def _explains(suspect: Suspect, trouble: Trouble) -> bool:
    told = (trouble.text, *trouble.before, *trouble.after)
    return bool(suspect.log) and any(suspect.log in line for line in told)


def _trouble_evidence(arm: Arm, trouble: Trouble) -> Mapping[str, object]:
    return {
        "arm": arm.plan.name,
        "class": str(trouble.failure),
        "stage": str(trouble.stage),
        "text": trouble.text,
        "place": trouble.place,
        "signal": trouble.signal,
        "exit_code": trouble.exit_code,
        "before": list(trouble.before),
        "after": list(trouble.after),
        "frames": list(trouble.frames),
        "log": arm.end.log_file,
    }


def liveness(arms: Sequence[Arm], missing: Sequence[NotRun]) -> Check:
    """Did drafts run, and was some of what they proposed accepted, in every arm with a draft?"""
    drafting = [arm for arm in arms if arm.plan.drafts]
    evidence = tuple(
        {"arm": arm.plan.name, "drafted": arm.drafted, "accepted": arm.accepted, "complete": arm.complete}
        for arm in drafting
    )
    for arm in drafting:
        why = _why_dead(arm)
        if why:
            detail = f"{arm.plan.name} does not count: {why}"
            return Check(CheckName.LIVENESS, Verdict.INCONCLUSIVE, _dead_class(arm), detail, evidence)
    if not drafting or missing:
        what = missing[0].reason if missing else "no arm ran with a draft"
        return Check(CheckName.LIVENESS, Verdict.INCONCLUSIVE, "not-run", what, evidence)
    rates = ", ".join(f"{arm.plan.name} {arm.accepted} of {arm.drafted}" for arm in drafting)
    return Check(CheckName.LIVENESS, Verdict.PASS, None, f"accepted draft tokens: {rates}", evidence)


def _why_dead(arm: Arm) -> str:
    if not arm.complete:
        return "it did not run to its end"
    if not arm.drafted:
        return "not one token was drafted"
    return "" if arm.accepted else f"none of {arm.drafted} drafted tokens was accepted"


def _dead_class(arm: Arm) -> str:
    if not arm.complete:
        return "not-run"
    return "none-accepted" if arm.drafted else "no-drafts"


def determinism(
    arms: Sequence[Arm], missing: Sequence[NotRun], suspects: Sequence[Suspect], *, near_tie: float
) -> Check:
    """Is the text the same with the draft as without, and without it the same twice?"""
    plain = [arm for arm in arms if not arm.plan.drafts]
    drafting = [arm for arm in arms if arm.plan.drafts]
    if len(plain) < 2 or not all(arm.complete for arm in plain):
        return _undecided("the text without the draft could not be had twice")
    unstable = [
        row for row in _compare(plain[0], plain[1], near_tie) if row[1].difference is not Difference.IDENTICAL
    ]
    if unstable:
        prompt, comparison = unstable[0]
        detail = f"two runs without a draft differ (prompt {prompt}, token {comparison.first_difference})"
        evidence = tuple(_comparison_evidence(plain[1], *row) for row in unstable[:_SHOWN])
        return Check(CheckName.DETERMINISM, Verdict.INCONCLUSIVE, Difference.BASELINE_UNSTABLE, detail, evidence)
    rows = [(arm, prompt, found) for arm in drafting for prompt, found in _compare(plain[0], arm, near_tie)]
    worst = next((kind for kind in _SEVERITY if any(found.difference is kind for _, _, found in rows)), None)
    differing = [row for row in rows if row[2].difference is not Difference.IDENTICAL]
    evidence = tuple(_comparison_evidence(*row) for row in differing[:_SHOWN])
    if worst is Difference.CORRUPTION:
        row = next(row for row in differing if row[2].difference is Difference.CORRUPTION)
        detail = f"{len(differing)} of {len(rows)} texts differ; {_told(*row)}"
        named = tuple(suspect for suspect in suspects if suspect.severity == "corruption")
        return Check(CheckName.DETERMINISM, Verdict.FAIL, worst, detail, evidence, named)
    dead = next((arm for arm in drafting if _why_dead(arm)), None)
    if dead is not None or missing or worst is None:
        why = f"{dead.plan.name} does not count: {_why_dead(dead)}" if dead else "not every arm with a draft ran"
        return _undecided(why)
    if worst is Difference.NEAR_TIE:
        detail = f"{len(differing)} of {len(rows)} texts part at a near tie (gap under {near_tie:g} nats); "
        return Check(CheckName.DETERMINISM, Verdict.PASS, worst, detail + _told(*differing[0]), evidence)
    tokens = sum(len(answer.tokens) for arm in drafting for answer in arm.answers.values())
    detail = f"{len(rows)} texts, {tokens} tokens, with the draft are the same as without it"
    return Check(CheckName.DETERMINISM, Verdict.PASS, worst, detail)


def _undecided(detail: str) -> Check:
    return Check(CheckName.DETERMINISM, Verdict.INCONCLUSIVE, None, detail)


def _compare(reference: Arm, other: Arm, near_tie: float) -> list[tuple[str, Comparison]]:
    known = reference.answers
    return [
        (prompt, compare(known[prompt], answer, near_tie=near_tie))
        for prompt, answer in other.answers.items()
        if prompt in known
    ]


def _told(arm: Arm, prompt: str, comparison: Comparison) -> str:
    if comparison.first_difference is None:
        return f"first {arm.plan.name}, prompt {prompt}: the same tokens, but other bytes"
    gap = f"{comparison.gap:.3g} nats" if comparison.gap is not None else "out of reach"
    return (
        f"first {arm.plan.name}, prompt {prompt}, at token {comparison.first_difference}, "
        f"where the top-2 gap was {gap}"
    )


def _comparison_evidence(arm: Arm, prompt: str, comparison: Comparison) -> Mapping[str, object]:
    place = comparison.first_difference
    return {
        "arm": arm.plan.name,
        "prompt": prompt,
        "class": str(comparison.difference),
        "first_difference": place,
        "shared_prefix": len(arm.answers[prompt].tokens) if place is None else place,
        "expected": comparison.expected,
        "got": comparison.got,
        "gap_nats": comparison.gap,
        "width": arm.plan.width,
    }


def fallback(arms: Sequence[Arm], *, fails: bool) -> Check:
    """Did the server quietly take a slower way? Only a verbose log tells."""
    arm = next((arm for arm in arms if arm.plan.verbose), None)
    if arm is None or not arm.answers:
        return _unread("no verbose server came to answer")
    log = arm.end.log
    if not log.lines:
        return _unread("the server wrote no log", arm)
    if arm.end.log_left_out:
        return _unread(f"the log outgrew its bound: {arm.end.log_left_out} bytes are not kept", arm)
    found = {line.kind: line for line in log.fallbacks}
    if found:
        kind = Fallback.CHECKPOINTS if Fallback.CHECKPOINTS in found else next(iter(found))
        evidence = tuple(
            {"arm": arm.plan.name, "class": str(one.kind), "text": one.text, "count": one.count,
             "log": arm.end.log_file}
            for one in (found[kind], *(other for other in found.values() if other.kind is not kind))
        )  # fmt: skip
        verdict = Verdict.FAIL if fails else Verdict.PASS
        return Check(CheckName.FALLBACK, verdict, kind, f"the server fell back: {found[kind].text}", evidence)
    if (log.verbosity or 0) < _VERBOSE and not log.rollback_slots:
        return _unread("the log is not a verbose one, so it cannot show a fallback", arm)
    if not arm.complete:
        return _unread("the verbose server did not run to its end, and told of no fallback until then", arm)
    return Check(CheckName.FALLBACK, Verdict.PASS, None, "the verbose log tells of no fallback")


def _unread(detail: str, arm: Arm | None = None) -> Check:
    evidence = ({"arm": arm.plan.name, "log": arm.end.log_file},) if arm is not None else ()
    return Check(CheckName.FALLBACK, Verdict.INCONCLUSIVE, None, detail, evidence)
