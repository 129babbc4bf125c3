"""The least that it takes for a fault to show, by the arms that show it and those that do not; and who has it too."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from forkguard.core.gate import Arm, ArmPlan, Side

FORK = "fork"
UPSTREAM_TOO = "upstream too"


def isolate(outcomes: Sequence[tuple[ArmPlan, bool]]) -> str:
    """What the fault needs, in words; "" when no arm has it.

    Each outcome is an arm that ran and whether it has the fault. The target alone, more slots than one, the draft
    (which, at which widths, with how many slots).
    """
    bad = [plan for plan, has in outcomes if has]
    if not bad:
        return ""
    good = [plan for plan, has in outcomes if not has]
    of_target = _narrowed(bad, good, lambda plan: plan.target, ", on the target {} ({} passes)") or ""
    if any(not plan.drafts and plan.slots == 1 for plan in bad):
        return f"the target alone: no draft is needed{of_target}"
    plain = [plan for plan in bad if not plan.drafts]
    if plain:
        return f"{_listed(sorted({plan.slots for plan in plain}))} slots, without a draft{of_target}"
    return f"{_of_drafts(bad, good)}{of_target}"


def _of_drafts(bad: Sequence[ArmPlan], good: Sequence[ArmPlan]) -> str:
    drafting = [plan for plan in good if plan.drafts]
    only = "only with the draft" if any(not plan.drafts for plan in good) else "with the draft"
    words = [f"{only}{_narrowed(bad, drafting, lambda plan: plan.draft, ' {}')}"]
    width = _narrowed(bad, drafting, lambda plan: plan.width or 0, "at width {} ({} passes)")
    slots = _narrowed(bad, drafting, lambda plan: plan.slots, "with {} slots ({} passes)")
    return ", ".join([*words, *filter(None, (width, slots))])


def _narrowed(
    bad: Sequence[ArmPlan], good: Sequence[ArmPlan], value: Callable[[ArmPlan], int | str], words: str
) -> str:
    """The values that the fault needs, where with some other value every arm passes."""
    faulty = {value(plan) for plan in bad}
    passing = {value(plan) for plan in good} - faulty
    return words.format(_listed(sorted(faulty, key=str)), _listed(sorted(passing, key=str))) if passing else ""


def _listed(values: Sequence[int | str]) -> str:
    return " and ".join(str(value) for value in values)


def counterpart(arm: Arm, arms: Sequence[Arm]) -> Arm | None:
    """Upstream's arm of the same configuration; for a verbose arm the plain one does as well."""
    wanted = arm.plan.same_on(Side.UPSTREAM)
    found = next((other for other in arms if other.plan.setup == wanted), None)
    if found is None and arm.plan.verbose:
        plan = replace(arm.plan, verbose=False)
        found = next((other for other in arms if other.plan.setup == plan.same_on(Side.UPSTREAM)), None)
    return found
