"""The gate: one fresh server per arm, the same prompts to each, then the checks. It owns no detail of either."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from forkguard.core.gate import (
    Arm,
    ArmPlan,
    Asked,
    Failure,
    FileHash,
    GatedTree,
    GateReport,
    GateSettings,
    GateStage,
    Misbehaved,
    ModelFile,
    NotRun,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.gatechecks import judge
from forkguard.core.gatetrouble import diagnose
from forkguard.core.prompts import Prompt
from forkguard.errors import ForkguardError
from forkguard.ports import Server, Servers, Talk

_VERBOSE_PROMPTS = 2


@dataclass(frozen=True, slots=True)
class GateMeans:
    """What the gate needs from outside.

    `libraries` hashes those beside the program and those that its process had loaded. `suspects` looks for
    drift that may explain what is red; it is asked only then, and may fail.
    """

    servers: Servers
    now: Callable[[], datetime]
    libraries: Callable[[tuple[str, ...]], tuple[FileHash, ...]]
    suspects: Callable[[], Sequence[Suspect]]
    talk: Talk


@dataclass(frozen=True, slots=True)
class GateSubject:
    """What is gated, and where, for the receipt."""

    tree: GatedTree
    models: tuple[ModelFile, ...]
    box: Mapping[str, object]
    environment: Mapping[str, str]
    version: str


def plan_arms(widths: Sequence[int], prompts: Sequence[Prompt]) -> tuple[ArmPlan, ...]:
    """Twice without a draft, once with it at each width, and a verbose arm whose log tells of fallbacks."""
    asked = tuple(prompts)
    plans = [ArmPlan("no-draft-1", asked), ArmPlan("no-draft-2", asked)]
    plans += [ArmPlan(f"draft-{width}", asked, width=width) for width in widths]
    plans.append(ArmPlan(f"draft-{widths[0]}-verbose", asked[:_VERBOSE_PROMPTS], width=widths[0], verbose=True))
    return tuple(plans)


def run_gate(
    means: GateMeans, *, settings: GateSettings, subject: GateSubject, plans: Sequence[ArmPlan]
) -> GateReport:
    """Run every arm, judge, and return the report. A server's misbehaviour is a result, never an exception."""
    started = means.now()
    arms, missing = _run_arms(means, plans)
    checks, not_run = judge(arms, settings, missing=missing)
    warnings: tuple[str, ...] = ()
    if any(check.verdict is Verdict.FAIL for check in checks):
        suspects, warnings = _ask_drift(means)
        checks, not_run = judge(arms, settings, missing=missing, suspects=suspects)
    loaded = sorted({path for arm in arms for path in arm.end.libraries})
    return GateReport(
        settings=settings,
        tree=subject.tree,
        models=subject.models,
        libraries=means.libraries(tuple(loaded)),
        arms=arms,
        checks=checks,
        not_run=not_run,
        box=subject.box,
        environment=subject.environment,
        started=_iso(started),
        finished=_iso(means.now()),
        version=subject.version,
        warnings=warnings,
    )


def _run_arms(means: GateMeans, plans: Sequence[ArmPlan]) -> tuple[tuple[Arm, ...], tuple[NotRun, ...]]:
    """Every arm in turn. After one that makes the rest pointless (and perhaps very slow) the rest is left out."""
    total = sum(len(plan.prompts) for plan in plans)
    arms: list[Arm] = []
    done = 0
    for number, plan in enumerate(plans):
        means.talk.step(f"arm {plan.name}: {len(plan.prompts)} prompts")
        arm = _run_arm(means, plan, done=done, total=total)
        done += len(plan.prompts)
        arms.append(arm)
        if arm.trouble is not None and _stops_the_gate(arm, arm.trouble):
            why = f"not started, since {plan.name} failed ({arm.trouble.failure})"
            return tuple(arms), tuple(NotRun(left.name, why) for left in plans[number + 1 :])
    return tuple(arms), ()


def _stops_the_gate(arm: Arm, trouble: Trouble) -> bool:
    never_served = trouble.stage in (GateStage.LOAD, GateStage.CONTEXT) and not arm.plan.drafts
    return never_served or trouble.failure is Failure.HANG


def _run_arm(means: GateMeans, plan: ArmPlan, *, done: int, total: int) -> Arm:
    begun = means.now()
    asked: list[Asked] = []
    ready = False
    raised: Misbehaved | None = None
    with means.servers.start(plan) as server:
        try:
            server.wait_ready()
            ready = True
            for number, prompt in enumerate(plan.prompts):
                means.talk.progress(done + number, total, f"{plan.name}: {prompt.name}")
                _ask(means, server, prompt, asked)
            server.confirm()
        except Misbehaved as misbehaviour:
            raised = misbehaviour
        end = server.stop()
        command = server.command
    answered = sum(one.answer is not None for one in asked)
    trouble = diagnose(raised, end, ready=ready, answered=answered)
    return Arm(plan, command, tuple(asked), end, trouble, (means.now() - begun).total_seconds())


def _ask(means: GateMeans, server: Server, prompt: Prompt, asked: list[Asked]) -> None:
    begun = means.now()
    try:
        answer = server.ask(prompt)
    except Misbehaved:
        asked.append(Asked(prompt.name, None, (means.now() - begun).total_seconds()))
        raise
    asked.append(Asked(prompt.name, answer, (means.now() - begun).total_seconds()))


def _ask_drift(means: GateMeans) -> tuple[tuple[Suspect, ...], tuple[str, ...]]:
    means.talk.step("looking for drift that explains it")
    try:
        return tuple(means.suspects()), ()
    except ForkguardError as error:
        return (), (f"drift could not be asked what explains this: {error.what}",)


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
