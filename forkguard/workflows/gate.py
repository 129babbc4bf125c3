"""The gate: one fresh server per arm, the same prompts to each, then the checks. It owns no detail of either."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    LibcAsserts,
    Misbehaved,
    ModelFile,
    NotRun,
    Side,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.gatechecks import judge
from forkguard.core.gateload import name_unclaimed
from forkguard.core.gateplan import groups, plan_arms, plan_rechecks, plan_tensor_listing
from forkguard.core.gatetexts import differing
from forkguard.core.gatetrouble import diagnose
from forkguard.core.prompts import Prompt
from forkguard.errors import CouldNotWork, ForkguardError
from forkguard.ports import Server, Servers, Talk

__all__ = ["GateMeans", "GateSubject", "plan_arms", "run_gate", "with_asserts_told"]


@dataclass(frozen=True, slots=True)
class GateMeans:
    """What the gate needs from outside.

    `upstream` starts upstream's program, where there are arms of it, `asserts` the fork's with libc's asserts.
    `libraries` hashes those beside the program and those that its process had loaded. `suspects` looks for drift
    that may explain what is red; it is asked only then, and may fail. `tensors` reads the tensor names in the model
    files' headers, by path.
    """

    servers: Servers
    now: Callable[[], datetime]
    libraries: Callable[[tuple[str, ...]], tuple[FileHash, ...]]
    suspects: Callable[[], Sequence[Suspect]]
    talk: Talk
    upstream: Servers | None = None
    tensors: Callable[[], Mapping[str, tuple[str, ...]]] = dict
    asserts: Servers | None = None

    def of(self, side: Side) -> Servers:
        """Who starts the servers of a side."""
        found = {Side.FORK: self.servers, Side.UPSTREAM: self.upstream, Side.ASSERTS: self.asserts}[side]
        if found is None:
            raise CouldNotWork(f"an arm of the side {side} is planned, and there is no program of it")
        return found


@dataclass(frozen=True, slots=True)
class GateSubject:
    """What is gated, and where, for the receipt; `upstream` is what upstream's arms ran."""

    tree: GatedTree
    models: tuple[ModelFile, ...]
    box: Mapping[str, object]
    environment: Mapping[str, str]
    version: str
    upstream: GatedTree | None = None


def run_gate(
    means: GateMeans, *, settings: GateSettings, subject: GateSubject, plans: Sequence[ArmPlan]
) -> GateReport:
    """Run every arm, look again at what differs, judge, and return the report.

    A server's misbehaviour is a result, never an exception.
    """
    started = means.now()
    arms, missing = _run_arms(means, plans)
    again, lost = _run_arms(means, (*plan_tensor_listing(arms), *plan_rechecks(differing(arms, settings))))
    arms, missing = name_unclaimed((*arms, *again), means.tensors()), (*missing, *lost)
    checks, not_run = judge(arms, settings, missing=missing)
    warnings: tuple[str, ...] = ()
    if any(check.verdict is Verdict.FAIL for check in checks):
        suspects, warnings = _ask_drift(means)
        checks, not_run = judge(arms, settings, missing=missing, suspects=suspects)
    loaded = sorted({path for arm in arms if arm.plan.side is Side.FORK for path in arm.end.libraries})
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
        upstream=subject.upstream,
    )


def with_asserts_told(report: GateReport, *, compiled_in: bool | None, tree: GatedTree | None) -> GateReport:
    """The report with what is known of libc's asserts in the gated program; `tree` is what the arm with them ran."""
    told = replace(report, asserts=LibcAsserts(compiled_in, tree))
    if compiled_in is not False or tree is not None:
        return told
    reason = "libc's asserts are compiled out of this build; gate --asserts runs an arm with them"
    return replace(told, not_run=(*report.not_run, NotRun("asserts", reason)))


def _run_arms(means: GateMeans, plans: Sequence[ArmPlan]) -> tuple[tuple[Arm, ...], tuple[NotRun, ...]]:
    """Every arm in turn. After one that makes the rest of its side pointless (or very slow) that rest is left out."""
    total = sum(len(plan.prompts) for plan in plans)
    arms: list[Arm] = []
    missing: list[NotRun] = []
    stopped: dict[tuple[Side, str | None], str] = {}
    done = 0
    for plan in plans:
        why = stopped.get((plan.side, None)) or stopped.get((plan.side, plan.target))
        if why is not None:
            missing.append(NotRun(plan.name, why, plan.side))
            continue
        means.talk.step(f"arm {plan.name}: {len(plan.prompts)} prompts")
        arm = _run_arm(means, plan, done=done, total=total)
        done += len(plan.prompts)
        arms.append(arm)
        if arm.trouble is not None and _stops_its_side(arm, arm.trouble):
            of_target = plan.target if arm.trouble.failure is not Failure.HANG else None
            stopped[plan.side, of_target] = f"not started, since {plan.name} failed ({arm.trouble.failure})"
    return tuple(arms), tuple(missing)


def _stops_its_side(arm: Arm, trouble: Trouble) -> bool:
    never_served = trouble.stage in (GateStage.LOAD, GateStage.CONTEXT) and not arm.plan.drafts
    return (never_served and arm.plan.slots == 1) or trouble.failure is Failure.HANG


def _run_arm(means: GateMeans, plan: ArmPlan, *, done: int, total: int) -> Arm:
    begun = means.now()
    asked: list[Asked] = []
    ready = False
    raised: Misbehaved | None = None
    with means.of(plan.side).start(plan) as server:
        try:
            server.wait_ready()
            ready = True
            for group in groups(plan):
                means.talk.progress(done + len(asked), total, f"{plan.name}: {_names(group)}")
                _ask(means, server, group, asked)
            server.confirm()
        except Misbehaved as misbehaviour:
            raised = misbehaviour
        end = server.stop()
        command = server.command
    answered = sum(one.answer is not None for one in asked)
    trouble = diagnose(raised, end, ready=ready, answered=answered)
    return Arm(plan, command, tuple(asked), end, trouble, (means.now() - begun).total_seconds())


def _names(prompts: Iterable[Prompt]) -> str:
    return ", ".join(prompt.name for prompt in prompts)


def _ask(means: GateMeans, server: Server, group: Sequence[Prompt], asked: list[Asked]) -> None:
    """Send the prompts of a group side by side; every answer is kept, then the first misbehaviour is raised."""
    begun = means.now()
    outcomes = server.ask_together(group)
    seconds = (means.now() - begun).total_seconds()
    failed = [outcome for outcome in outcomes if isinstance(outcome, Misbehaved)]
    for prompt, outcome in zip(group, outcomes, strict=True):
        asked.append(Asked(prompt.name, None if isinstance(outcome, Misbehaved) else outcome, seconds))
    if failed:
        raise failed[0]


def _ask_drift(means: GateMeans) -> tuple[tuple[Suspect, ...], tuple[str, ...]]:
    means.talk.step("looking for drift that explains it")
    try:
        return tuple(means.suspects()), ()
    except ForkguardError as error:
        return (), (f"drift could not be asked what explains this: {error.what}",)
    except Exception as error:  # noqa: BLE001  (whatever it is: what the servers did must reach its receipt)
        return (), (f"a bug in forkguard: drift failed where it was asked what explains this: {error!r}",)


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")
