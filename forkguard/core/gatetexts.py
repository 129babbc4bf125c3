"""Is the text the same with the draft and with more slots as without, and if not, whose fault is it?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from forkguard.core.determinism import Comparison, Difference, Recheck, compare, settle
from forkguard.core.gate import (
    Arm,
    ArmPlan,
    Check,
    CheckName,
    GateSettings,
    NotRun,
    Policy,
    Side,
    Suspect,
    Verdict,
)
from forkguard.core.gateplan import Differing, at_name, on_name
from forkguard.core.gatetrigger import FORK, UPSTREAM_TOO, counterpart, isolate
from forkguard.core.prompts import Prompt

_SEVERITY = (Difference.CORRUPTION, Difference.BATCH_SHAPE, Difference.NEAR_TIE, Difference.IDENTICAL)
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One text held against its reference, and what became of it: why, who else has it, whether it repeats."""

    arm: Arm
    prompt: str
    found: Comparison
    why: str = ""
    culprit: str | None = None
    repeats: bool | None = None

    @property
    def kind(self) -> Difference:
        """What the difference came to, after the second look."""
        return self.found.difference


def references(arms: Sequence[Arm], side: Side, target: str = "") -> tuple[Arm, ...]:
    """The runs without a draft on one slot: the first is the reference, which the others must repeat."""
    return tuple(
        arm for arm in arms if arm.plan.side is side and arm.plan.target == target and _is_reference(arm.plan)
    )


def _targets(arms: Sequence[Arm]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(arm.plan.target for arm in arms)) or ("",)


def _is_reference(plan: ArmPlan) -> bool:
    return not plan.drafts and plan.slots == 1 and not plan.recheck


def differing(arms: Sequence[Arm], settings: GateSettings) -> tuple[Differing, ...]:
    """The texts that are worth a second look: those that differ from a reference which repeats itself."""
    return tuple(
        Differing(arm, _prompt(arm, prompt), found)
        for side in Side
        for target in _targets(arms)
        if _steady(references(arms, side, target))
        for arm, prompt, found in _first_look(arms, side, target, settings)
        if found.difference is not Difference.IDENTICAL and not arm.plan.verbose
    )


def _prompt(arm: Arm, name: str) -> Prompt:
    return next(prompt for prompt in arm.plan.prompts if prompt.name == name)


def _steady(plain: Sequence[Arm]) -> bool:
    return len(plain) >= 2 and all(arm.complete for arm in plain) and not _unstable(plain)


def _unstable(plain: Sequence[Arm]) -> list[tuple[Arm, str, Comparison]]:
    return [
        (arm, prompt, found)
        for arm in plain[1:]
        for prompt, found in _compare(plain[0], arm, near_tie=0)
        if found.difference is not Difference.IDENTICAL
    ]


def _first_look(
    arms: Sequence[Arm], side: Side, target: str, settings: GateSettings
) -> Iterator[tuple[Arm, str, Comparison]]:
    reference = references(arms, side, target)[0]
    for arm in arms:
        same = arm.plan.side is side and arm.plan.target == target
        if same and not arm.plan.recheck and not _is_reference(arm.plan):
            for prompt, found in _compare(reference, arm, near_tie=settings.near_tie):
                yield arm, prompt, found


def _compare(reference: Arm, other: Arm, *, near_tie: float) -> list[tuple[str, Comparison]]:
    known = reference.answers
    return [
        (prompt, compare(known[prompt], answer, near_tie=near_tie))
        for prompt, answer in other.answers.items()
        if prompt in known
    ]


def determinism(
    arms: Sequence[Arm], missing: Sequence[NotRun], suspects: Sequence[Suspect], settings: GateSettings
) -> Check:
    """The check. Upstream's arms can excuse `batch-shape` only; without them a difference has no known culprit."""
    theirs = tuple(_rows(arms, Side.UPSTREAM, settings))
    rows = [_with_culprit(row, arms, theirs) for row in _rows(arms, Side.FORK, settings)]
    worst = next((kind for kind in _SEVERITY if any(row.kind is kind for row in rows)), None)
    parted = sorted(
        (row for row in rows if row.kind is not Difference.IDENTICAL), key=lambda row: _SEVERITY.index(row.kind)
    )
    if _red(parted, settings):
        return _different(rows, parted, arms=arms, suspects=suspects, settings=settings)
    if (unsettled := _no_reference(arms)) is not None:
        return unsettled
    planned = [arm for arm in arms if arm.plan.side is Side.FORK and not arm.plan.recheck]
    drafting = [arm for arm in planned if arm.plan.drafts]
    dead = next((arm for arm in drafting if why_dead(arm)), None)
    lost = [one for one in missing if one.side is Side.FORK]
    if dead is not None or lost or worst is None or not drafting or not all(arm.complete for arm in planned):
        why = f"{dead.plan.name} does not count: {why_dead(dead)}" if dead else "not every arm ran to its end"
        return _undecided(why)
    if parted:
        return _different(rows, parted, arms=arms, suspects=(), settings=settings)
    tokens = sum(len(row.arm.answers[row.prompt].tokens) for row in rows)
    detail = f"{len(rows)} texts, {tokens} tokens, are the same as without the draft on one slot"
    return Check(CheckName.DETERMINISM, Verdict.PASS, worst, detail + _against_upstream(arms))


def _no_reference(arms: Sequence[Arm]) -> Check | None:
    """The check for a target whose own text could not be had twice, or does not repeat itself."""
    for target in _targets(arms):
        plain = references(arms, Side.FORK, target)
        if len(plain) < 2 or not all(arm.complete for arm in plain):
            return _undecided("the text without the draft could not be had twice")
        if unstable := _unstable(plain):
            return _baseline_unstable(unstable)
    return None


def why_dead(arm: Arm) -> str:
    """Why an arm with a draft proves nothing; "" for one that does."""
    if not arm.complete:
        return "it did not run to its end"
    if not arm.drafted:
        return "not one token was drafted"
    return "" if arm.accepted else f"none of {arm.drafted} drafted tokens was accepted"


def _undecided(detail: str) -> Check:
    return Check(CheckName.DETERMINISM, Verdict.INCONCLUSIVE, None, detail)


def _baseline_unstable(unstable: Sequence[tuple[Arm, str, Comparison]]) -> Check:
    arm, prompt, found = unstable[0]
    detail = (
        f"two runs without a draft differ (prompt {prompt}, token {found.first_difference}); {_likely_cause(arm)}"
    )
    evidence = tuple(_evidence(Row(*row)) for row in unstable[:_SHOWN])
    return Check(CheckName.DETERMINISM, Verdict.INCONCLUSIVE, Difference.BASELINE_UNSTABLE, detail, evidence)


def _likely_cause(arm: Arm) -> str:
    """Fresh processes, one slot, greedy: what is left is a cache that was asked not to be used, or the backend."""
    reused = sum(answer.timings.get("cache_n", 0) for answer in arm.answers.values())
    if reused or arm.end.log.cached_repeats:
        return "likely the prompt cache: the server reused tokens though it was asked not to"
    if sum(word in ("-np", "--parallel") for word in arm.command) > 1:
        return "likely the slots: the map's args give the server a number of its own"
    return "likely the backend: it does not add up in the same order twice (atomics, or threads that race)"


def _rows(arms: Sequence[Arm], side: Side, settings: GateSettings) -> Iterator[Row]:
    steady = [target for target in _targets(arms) if _steady(references(arms, side, target))]
    for target in steady:
        for arm, prompt, found in _first_look(arms, side, target, settings):
            recheck = _second_look(arm, prompt, found, arms)
            kind, why = settle(found, recheck, near_tie=settings.near_tie)
            yield Row(arm, prompt, replace(found, difference=kind), why, repeats=recheck.repeats)


def _second_look(arm: Arm, prompt: str, found: Comparison, arms: Sequence[Arm]) -> Recheck:
    """What the rechecks of an arm told about one of its texts; a verbose arm shares the plain one's."""
    name = arm.plan.name.removesuffix("-verbose")
    by_name = {one.plan.name: one for one in arms if one.plan.recheck}
    again, score = by_name.get(f"{name}-again"), by_name.get(f"{name}-score")
    repeated = again.answers.get(prompt) if again is not None else None
    answer = arm.answers[prompt]
    place = found.first_difference or 0
    return Recheck(
        repeats=repeated.tokens == answer.tokens if repeated is not None else None,
        at=score.answers.get(at_name(prompt)) if score is not None else None,
        on=score.answers.get(on_name(prompt)) if score is not None else None,
        rest=answer.tokens[place + 1 :],
    )


def _with_culprit(row: Row, arms: Sequence[Arm], theirs: Sequence[Row]) -> Row:
    """Who else has a difference: upstream's arm of the same configuration, at the same place for numerics."""
    other = counterpart(row.arm, arms)
    if row.kind is Difference.IDENTICAL or other is None:
        return row
    same = next((one for one in theirs if one.arm is other and one.prompt == row.prompt), None)
    if same is None:
        return row
    if row.kind is Difference.CORRUPTION:
        return replace(row, culprit=UPSTREAM_TOO if same.kind is Difference.CORRUPTION else FORK)
    place = (row.found.first_difference, row.found.got)
    shared = same.kind is not Difference.CORRUPTION and (same.found.first_difference, same.found.got) == place
    return replace(row, culprit=UPSTREAM_TOO if shared else FORK)


def _red(parted: Sequence[Row], settings: GateSettings) -> bool:
    return any(_verdict(row, settings) is Verdict.FAIL for row in parted)


def _verdict(row: Row, settings: GateSettings) -> Verdict:
    """What the policy makes of one text."""
    if row.kind is Difference.IDENTICAL:
        return Verdict.PASS
    if row.kind is Difference.CORRUPTION or settings.policy is Policy.STRICT:
        return Verdict.FAIL
    if row.kind is Difference.NEAR_TIE:
        return Verdict.PASS
    if settings.policy is Policy.DIFFERENTIAL and row.culprit != FORK:
        return Verdict.PASS if row.culprit == UPSTREAM_TOO else Verdict.INCONCLUSIVE
    return Verdict.FAIL


def _different(
    rows: Sequence[Row],
    parted: Sequence[Row],
    *,
    arms: Sequence[Arm],
    suspects: Sequence[Suspect],
    settings: GateSettings,
) -> Check:
    """The check where texts differ; the first of `parted`, which is of the worst kind, is told."""
    verdicts = {_verdict(row, settings) for row in parted}
    verdict = next(one for one in (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS) if one in verdicts)
    first = next(row for row in parted if _verdict(row, settings) is verdict)
    worst = parted[0].kind
    trigger = isolate([(arm.plan, any(row.arm is arm for row in parted)) for arm in _ran(arms)])
    detail = f"{len(parted)} of {len(rows)} texts differ; {_told(first)}"
    if worst is Difference.NEAR_TIE:
        detail = f"{len(parted)} of {len(rows)} texts part at a near tie (gap under {settings.near_tie:g} nats); "
        detail += _told(first)
    detail += "".join(f"; {words}" for words in (first.why, _who(first), _advice(first, settings)) if words)
    detail += f" ({trigger})" if trigger else ""
    named = tuple(
        suspect for suspect in suspects if suspect.severity == "corruption" and worst is Difference.CORRUPTION
    )
    evidence = tuple(_evidence(row) for row in parted[:_SHOWN])
    return Check(
        CheckName.DETERMINISM, verdict, worst, detail, evidence, named, culprit=first.culprit, trigger=trigger
    )


def _ran(arms: Sequence[Arm]) -> list[Arm]:
    return [arm for arm in arms if arm.plan.side is Side.FORK and not arm.plan.recheck and arm.answers]


def _who(row: Row) -> str:
    if row.culprit is None:
        return ""
    return "upstream shows the same" if row.culprit == UPSTREAM_TOO else "upstream does not show it"


def _advice(row: Row, settings: GateSettings) -> str:
    if row.kind is not Difference.BATCH_SHAPE or row.culprit is not None or settings.policy is Policy.STRICT:
        return ""
    if settings.policy is Policy.DIFFERENTIAL:
        return "upstream's arm could not be held against it"
    return "--upstream tells whether upstream does the same"


def _told(row: Row) -> str:
    name, found = row.arm.plan.name, row.found
    if found.first_difference is None:
        return f"first {name}, prompt {row.prompt}: the same tokens, but other bytes"
    gap = f"{found.gap:.3g} nats" if found.gap is not None else "out of reach"
    return f"first {name}, prompt {row.prompt}, at token {found.first_difference}, where the top-2 gap was {gap}"


def _evidence(row: Row) -> Mapping[str, object]:
    found, place = row.found, row.found.first_difference
    return {
        "arm": row.arm.plan.name,
        "prompt": row.prompt,
        "class": str(row.kind),
        "first_difference": place,
        "shared_prefix": len(row.arm.answers[row.prompt].tokens) if place is None else place,
        "expected": found.expected,
        "got": found.got,
        "gap_nats": found.gap,
        "width": row.arm.plan.width,
        "slots": row.arm.plan.slots,
        "agreeing_after": found.agreeing,
        "after": found.after,
        "repeats": row.repeats,
        "why": row.why,
        "culprit": row.culprit,
    }


def _against_upstream(arms: Sequence[Arm]) -> str:
    """Whether the fork's own text, without a draft, is upstream's."""
    rows: list[tuple[str, Comparison]] = []
    for target in _targets(arms):
        ours, theirs = references(arms, Side.FORK, target), references(arms, Side.UPSTREAM, target)
        if not theirs or not theirs[0].complete:
            return ""
        rows += _compare(theirs[0], ours[0], near_tie=0)
    other = sum(found.difference is not Difference.IDENTICAL for _, found in rows)
    return f"; without a draft {other} of {len(rows)} texts are not upstream's" if other else "; and as upstream's"
