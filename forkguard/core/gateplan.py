"""Which servers a gate starts: the arms planned beforehand, and those that look again at what differs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from forkguard.core.determinism import NUMERICS_NATS, Comparison, Difference
from forkguard.core.gate import Arm, ArmPlan, Side
from forkguard.core.logfacts import LoadProblem
from forkguard.core.prompts import Prompt

_VERBOSE_PROMPTS = 2
_RECHECKED_TEXTS = 6
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def plan_arms(
    widths: Sequence[int],
    prompts: Sequence[Prompt],
    *,
    slots: Sequence[int] = (1,),
    drafts: Sequence[str] = ("",),
    targets: Sequence[str] = ("",),
    upstream: bool = False,
) -> tuple[ArmPlan, ...]:
    """The arms of a gate, the fork's before upstream's.

    Each side: twice without a draft on one slot (the reference), then for every number of slots each draft at each
    width, and without a draft where there are more slots than one. The fork's side ends with a verbose arm per
    draft, whose log tells of fallbacks. `drafts` and `targets` are the names of the files, "" for the only one; every
    draft runs with every target, and each target has a reference of its own.
    """
    sides = (Side.FORK, Side.UPSTREAM) if upstream else (Side.FORK,)
    return tuple(
        replace(plan, name=_on_target(target, plan.name, side=side), target=target)
        for side in sides
        for target in targets
        for plan in _of_one_side(side, widths, tuple(prompts), slots=slots, drafts=drafts)
    )


def arm_name(width: int, slots: int, *, draft: str = "", target: str = "") -> str:
    """The name of one of the fork's drafting arms.

    >>> arm_name(3, 1), arm_name(7, 2, draft="q8", target="big")
    ('draft-3', 'target-big-draft-q8-7-slots-2')
    """
    name = f"{_draft_word(draft)}-{width}" + (f"-slots-{slots}" if slots > 1 else "")
    return _on_target(target, name, side=Side.FORK)


def arm_word(name: str) -> str:
    """A model file's name as it is written in the names of arms, which name logs too.

    >>> arm_word("big one")
    'big_one'
    """
    return _UNSAFE.sub("_", name)


def _on_target(target: str, name: str, *, side: Side) -> str:
    prefix = "upstream-" if side is Side.UPSTREAM else ""
    return f"{prefix}target-{arm_word(target)}-{name}" if target else f"{prefix}{name}"


def _of_one_side(
    side: Side, widths: Sequence[int], prompts: tuple[Prompt, ...], *, slots: Sequence[int], drafts: Sequence[str]
) -> Iterator[ArmPlan]:
    yield ArmPlan("no-draft-1", prompts, side=side)
    yield ArmPlan("no-draft-2", prompts, side=side)
    for count in slots:
        suffix = f"-slots-{count}" if count > 1 else ""
        if count > 1:
            yield ArmPlan(f"no-draft{suffix}", prompts, side=side, slots=count)
        for draft in drafts:
            for width in widths:
                name = arm_name(width, count, draft=draft)
                yield ArmPlan(name, prompts, width=width, side=side, draft=draft, slots=count)
    if side is Side.FORK:
        for draft in drafts:
            name = f"{_draft_word(draft)}-{widths[0]}-verbose"
            yield ArmPlan(name, prompts[:_VERBOSE_PROMPTS], width=widths[0], verbose=True, draft=draft)


def plan_asserts(plans: Sequence[ArmPlan]) -> tuple[ArmPlan, ...]:
    """The arms of the build with libc's asserts: the fork's with the most slots, without and with each draft."""
    fork = [plan for plan in plans if plan.side is Side.FORK and not plan.verbose]
    most = max((plan.slots for plan in fork), default=1)
    wanted = {plan.setup: plan for plan in reversed(fork) if plan.slots == most}
    return tuple(replace(plan, name=f"asserts-{plan.name}", side=Side.ASSERTS) for plan in reversed(wanted.values()))


def _draft_word(draft: str) -> str:
    return f"draft-{arm_word(draft)}" if draft else "draft"


@dataclass(frozen=True, slots=True)
class Differing:
    """A text of `arm` that is not the reference's, and what the first look made of it."""

    arm: Arm
    prompt: Prompt
    comparison: Comparison


def plan_rechecks(differing: Sequence[Differing]) -> tuple[ArmPlan, ...]:
    """The servers that tell corruption from numerics, for the differing texts of every arm.

    Per arm one more run of the same requests (does it repeat itself?), and one server without a draft that
    computes prompts in batches of the arm's size: what does it take at the first difference (`at_name`), and how
    does it go on from the arm's own token (`on_name`)? A near tie needs the last question only. Where some text
    is beyond excuse, a few questions are enough.
    """
    arms = {one.arm.plan.name: one.arm for one in differing}
    bound = _RECHECKED_TEXTS if any(_hopeless(one) for one in differing) else None
    plans: list[ArmPlan] = []
    for name, arm in arms.items():
        texts = [one for one in differing if one.arm.plan.name == name and not _hopeless(one)][:bound]
        if not texts:
            continue
        if any(one.comparison.difference is Difference.CORRUPTION for one in texts):
            plans.append(
                replace(arm.plan, name=f"{name}-again", prompts=_same_company(arm.plan, texts), recheck=True)
            )
        batch = arm.plan.slots * (1 + (arm.plan.width or 0))
        prompts = tuple(question for one in texts for question in _questions(one))
        score = ArmPlan(f"{name}-score", prompts, side=arm.plan.side, recheck=True, batch=batch)
        plans.append(replace(score, target=arm.plan.target))
    return tuple(plans)


def plan_tensor_listing(arms: Sequence[Arm]) -> tuple[ArmPlan, ...]:
    """A verbose server without requests, where a load failed over the number of tensors and no log names them."""
    failed = [arm for arm in arms if _miscounts(arm)]
    if not failed or any(arm.plan.verbose or _names_claimed(arm) for arm in failed):
        return ()
    return (replace(failed[0].plan, name=f"{failed[0].plan.name}-listing", prompts=(), verbose=True, recheck=True),)


def _miscounts(arm: Arm) -> bool:
    load = arm.trouble.load if arm.trouble is not None else None
    return load is not None and load.problem == LoadProblem.TENSOR_COUNT


def _names_claimed(arm: Arm) -> bool:
    return arm.trouble is not None and arm.trouble.load is not None and bool(arm.trouble.load.claimed)


def at_name(prompt: str) -> str:
    """The name of the question for the token at the first difference of a prompt's text."""
    return f"{prompt} at the difference"


def on_name(prompt: str) -> str:
    """The name of the question for what follows the first difference of a prompt's text."""
    return f"{prompt} after the difference"


def _hopeless(one: Differing) -> bool:
    """Whether no answer could excuse it: a text that ends early, other bytes, or a gap that no rounding bridges."""
    found = one.comparison
    cut = found.first_difference is None or found.got is None or found.expected is None
    return cut or found.gap is None or found.gap > NUMERICS_NATS


def _questions(one: Differing) -> Iterator[Prompt]:
    answer = one.arm.answers[one.prompt.name]
    place = one.comparison.first_difference or 0
    if one.comparison.difference is Difference.CORRUPTION:
        yield Prompt(at_name(one.prompt.name), one.prompt.text, 1, after=answer.tokens[:place])
    rest = len(answer.tokens) - place - 1
    if rest > 0:
        yield Prompt(on_name(one.prompt.name), one.prompt.text, rest, after=answer.tokens[: place + 1])


def _same_company(plan: ArmPlan, texts: Sequence[Differing]) -> tuple[Prompt, ...]:
    """The differing prompts with those that ran beside them."""
    wanted = {one.prompt.name for one in texts}
    return tuple(
        prompt for group in groups(plan) if any(prompt.name in wanted for prompt in group) for prompt in group
    )


def groups(plan: ArmPlan) -> tuple[tuple[Prompt, ...], ...]:
    """The plan's prompts as they are sent: as many side by side as there are slots."""
    return tuple(plan.prompts[start : start + plan.slots] for start in range(0, len(plan.prompts), plan.slots))
