"""From what the servers did to what the checks say. A check that saw too little is never a pass."""

from collections.abc import Sequence

from forkguard.core.gate import MAP_CHECKS, Arm, Check, CheckName, GateSettings, NotRun, Side, Suspect, Verdict
from forkguard.core.gatecrash import WHEN, crash
from forkguard.core.gatetexts import determinism, why_dead
from forkguard.core.logfacts import Fallback

__all__ = ["WHEN", "judge"]

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
        CheckName.DETERMINISM: lambda: determinism(arms, missing, suspects, settings),
        CheckName.FALLBACK: lambda: fallback(arms, missing, fails=settings.fallback_fails),
    }
    checks, not_run = [], list(missing)
    for name in MAP_CHECKS:
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


def liveness(arms: Sequence[Arm], missing: Sequence[NotRun]) -> Check:
    """Did drafts run, and was some of what they proposed accepted, in every arm of the fork's with a draft?"""
    drafting = [arm for arm in _planned(arms) if arm.plan.drafts]
    missing = [one for one in missing if one.side is Side.FORK]
    evidence = tuple(
        {"arm": arm.plan.name, "drafted": arm.drafted, "accepted": arm.accepted, "complete": arm.complete}
        for arm in drafting
    )
    for arm in drafting:
        why = why_dead(arm)
        if why:
            detail = f"{arm.plan.name} does not count: {why}"
            return Check(CheckName.LIVENESS, Verdict.INCONCLUSIVE, _dead_class(arm), detail, evidence)
    if not drafting or missing:
        what = missing[0].reason if missing else "no arm ran with a draft"
        return Check(CheckName.LIVENESS, Verdict.INCONCLUSIVE, "not-run", what, evidence)
    rates = ", ".join(f"{arm.plan.name} {arm.accepted} of {arm.drafted}" for arm in drafting)
    return Check(CheckName.LIVENESS, Verdict.PASS, None, f"accepted draft tokens: {rates}", evidence)


def _dead_class(arm: Arm) -> str:
    if not arm.complete:
        return "not-run"
    return "none-accepted" if arm.drafted else "no-drafts"


def _planned(arms: Sequence[Arm]) -> list[Arm]:
    """The fork's arms without those that looked again."""
    return [arm for arm in arms if arm.plan.side is Side.FORK and not arm.plan.recheck]


def fallback(arms: Sequence[Arm], missing: Sequence[NotRun] = (), *, fails: bool) -> Check:
    """Did a server quietly take a slower way? Every log may tell, but only a verbose one can tell of all ways.

    So a pass without any needs the verbose log of every draft and target.
    """
    planned = _planned(arms)
    verbose = [arm for arm in planned if arm.plan.verbose]
    found = _fallback_lines([*verbose, *planned])
    if Fallback.CHECKPOINTS not in found and any(not _cannot_show(arm) for arm in verbose):
        found.pop(Fallback.ROLLBACK_CLAMPED, None)  # attention alone keeps no state that could be rolled back
    if found:
        order = sorted(found, key=lambda kind: kind is not Fallback.CHECKPOINTS)
        evidence = tuple(
            {"arm": arm.plan.name, "class": str(kind), "text": text, "count": count, "log": arm.end.log_file}
            for kind in order
            for arm, text, count in (found[kind],)
        )
        verdict = Verdict.FAIL if fails else Verdict.PASS
        first = order[0]
        others = "".join(f", {kind}" for kind in order[1:])
        detail = f"the server fell back: {found[first][1]}" + (f" (also{others[1:]})" if others else "")
        return Check(CheckName.FALLBACK, verdict, first, detail, evidence)
    return _no_fallback(planned, verbose, [one for one in missing if one.side is Side.FORK])


def _no_fallback(planned: Sequence[Arm], verbose: Sequence[Arm], missing: Sequence[NotRun]) -> Check:
    """The check where no log tells of a fallback: whether all those that would tell can be believed."""
    if not any(arm.answers for arm in verbose):
        return _unread("no verbose server came to answer")
    for arm in verbose:
        why = _cannot_show(arm)
        if why:
            return _unread(why, arm)
        of_draft = [one for one in planned if (one.plan.draft, one.plan.target) == (arm.plan.draft, arm.plan.target)]
        if not any(one.accepted for one in of_draft) and not _tells_of_drafts(arm):
            return _unread("no acceptance line: no drafts ran", arm, kind=Fallback.NO_ACCEPTANCE)
    if missing:
        return _unread(missing[0].reason)
    return Check(CheckName.FALLBACK, Verdict.PASS, None, "the verbose log tells of no fallback")


def _fallback_lines(arms: Sequence[Arm]) -> dict[Fallback, tuple[Arm, str, int]]:
    """Each kind of fallback with the first arm whose log tells of it, the line, and how many lines did."""
    found: dict[Fallback, tuple[Arm, str, int]] = {}
    for arm in arms:
        for line in arm.end.log.fallbacks:
            found.setdefault(line.kind, (arm, line.text, line.count))
    return found


def _cannot_show(arm: Arm) -> str:
    """Why an arm's log proves no absence; "" for one that does."""
    log = arm.end.log
    if not log.lines:
        return "the server wrote no log"
    if arm.end.log_left_out:
        return f"the log outgrew its bound: {arm.end.log_left_out} bytes are not kept"
    if (log.verbosity or 0) < _VERBOSE and not log.rollback_slots:
        return "the log is not a verbose one, so it cannot show a fallback"
    return "" if arm.complete else "the verbose server did not run to its end, and told of no fallback until then"


def _tells_of_drafts(arm: Arm) -> bool:
    return bool(arm.drafted or arm.end.log.acceptances or any(one.generated for one in arm.end.log.statistics))


def _unread(detail: str, arm: Arm | None = None, *, kind: Fallback | None = None) -> Check:
    evidence = ({"arm": arm.plan.name, "log": arm.end.log_file},) if arm is not None else ()
    return Check(CheckName.FALLBACK, Verdict.INCONCLUSIVE, kind, detail, evidence)
