"""Wiring of a measurement: which arms, what the machine can do, and the last receipt to compare with."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from forkguard.adapters.bounded_regex import search
from forkguard.adapters.box_watch import BoxWatch
from forkguard.adapters.gpu import GpuTools
from forkguard.adapters.memory_speed import measure_bandwidth, model_bytes_per_token
from forkguard.core.boxes import same_box
from forkguard.core.ceiling import Ceiling, ceiling, known_bandwidth
from forkguard.core.gate import ArmPlan, Check, CheckName, GateReport, NotRun, Side, Suspect, Verdict
from forkguard.core.map_models import GateTable
from forkguard.core.measured import attach, not_measured, previous_measurement
from forkguard.core.performance import DEFAULTS
from forkguard.core.performance_checks import Previous
from forkguard.core.quality import Question, read_questions
from forkguard.errors import CouldNotWork, ForkguardError
from forkguard.ports import Servers, Talk
from forkguard.workflows.measure import MeasureMeans, MeasureQuestion, TimedArm, measure

BASELINE = "no-draft"
_SLOW = "slow"
_LOOKED_AT = 200
_SIZE_LIMIT = 64 << 20


def choose_questions(table: GateTable, *, root: Path) -> tuple[Question, ...]:
    """The map's questions; none where it names no file. Raises `UsageProblem` and `CouldNotWork` for a bad one."""
    if table.questions is None:
        return ()
    path = root / Path(table.questions).expanduser()
    try:
        return read_questions(path.read_text(encoding="utf-8"), name=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CouldNotWork(
            f"the questions cannot be read: {error}", where=str(path), hint="correct `questions` in the map"
        ) from error


def with_measurements(
    report: GateReport,
    table: GateTable,
    plans: Sequence[ArmPlan],
    *,
    servers: Servers,
    questions: Sequence[Question],
    kinds: Mapping[str, str],
    receipts: Sequence[Path],
    suspects: Callable[[], Sequence[Suspect]],
    talk: Talk,
    now: Callable[[], datetime],
) -> GateReport:
    """The gate's report with speed and quality measured, where the map asks for them and the models are real.

    A gate that is red already is not measured further, and says so; nor are targets behind the first. `plans` are the
    gate's own, `kinds` the types of its drafts by their names, `receipts` are earlier ones, oldest first. `suspects`
    finds drift that may explain a slow draft; it is asked only then.
    """
    report, asked = _wanted(report, questions)
    if not asked:
        return report
    report = _said_of_other_targets(report, plans)
    prompts = plans[0].prompts if CheckName.PERFORMANCE in asked else ()
    subject = {model.name: model.sha256 for model in report.models}
    question = MeasureQuestion(
        timed_arms(plans, kinds),
        prompts,
        tuple(questions) if CheckName.QUALITY in asked else (),
        replace(DEFAULTS, runs=table.runs or DEFAULTS.runs),
        table.shared_process,
        ceiling=_ceiling(table, Path(report.models[0].path), talk=talk) if prompts else None,
        subject={**subject, "prompts": _digest(plans[0]), "args": json.dumps(table.args)},
    )
    means = MeasureMeans(servers, look=BoxWatch().look, clock=time.monotonic, talk=talk, search=search)
    measured = measure(means, question, box=report.box, last=_last(receipts, report))
    measured = replace(measured, checks=tuple(_explained(check, suspects, talk) for check in measured.checks))
    return attach(report, measured, finished=now().astimezone(UTC).isoformat(timespec="seconds"))


def _wanted(report: GateReport, questions: Sequence[Question]) -> tuple[GateReport, set[CheckName]]:
    """What is to be measured, and the report with the reason for what was asked for and cannot be."""
    asked = {CheckName.PERFORMANCE, CheckName.QUALITY} & set(report.settings.checks)
    if not asked or report.settings.probe:
        return report, set()
    if report.verdict is Verdict.FAIL:
        return not_measured(report, asked, "the gate is red without it"), set()
    if CheckName.QUALITY in asked and not questions:
        report = not_measured(report, {CheckName.QUALITY}, "the map names no file of `questions`")
        asked.discard(CheckName.QUALITY)
    return report, asked


def _explained(check: Check, suspects: Callable[[], Sequence[Suspect]], talk: Talk) -> Check:
    """A red speed with the drift that is known to slow a draft down."""
    if check.name is not CheckName.PERFORMANCE or check.verdict is not Verdict.FAIL:
        return check
    talk.step("looking for drift that explains it")
    try:
        return replace(check, suspects=tuple(one for one in suspects() if one.severity == _SLOW))
    except ForkguardError as error:
        return replace(check, detail=f"{check.detail}; drift could not be asked what explains this: {error.what}")
    except Exception as error:  # noqa: BLE001  (whatever it is: what was measured must reach its receipt)
        return replace(check, detail=f"{check.detail}; a bug in forkguard: drift failed: {error!r}")


def _said_of_other_targets(report: GateReport, plans: Sequence[ArmPlan]) -> GateReport:
    others = list(dict.fromkeys(plan.target for plan in plans))[1:]
    told = tuple(NotRun(f"measurement of the target {name}", "only the first target is measured") for name in others)
    return replace(report, not_run=(*report.not_run, *told))


def timed_arms(plans: Sequence[ArmPlan], kinds: Mapping[str, str]) -> tuple[TimedArm, ...]:
    """The fork's arms on the first target and one slot, once each, without those that are read for their logs.

    The one without a draft comes first; `kinds` are the types of the drafts by their names.
    """
    alone = [
        plan
        for plan in plans
        if plan.side is Side.FORK and plan.slots == 1 and not plan.verbose and plan.target == plans[0].target
    ]
    plain = [TimedArm(replace(plan, name=BASELINE)) for plan in alone if not plan.drafts][:1]
    return (*plain, *(TimedArm(plan, kinds[plan.draft]) for plan in alone if plan.drafts))


def _ceiling(table: GateTable, target: Path, *, talk: Talk) -> Ceiling | None:
    """By the map, else by the GPUs' data sheets and by copying memory; unknown GPUs have no ceiling."""
    size = table.bytes_per_token or model_bytes_per_token(target)
    if table.memory_bandwidth is not None:
        return ceiling(size, given=table.memory_bandwidth, known=None, measured=None)
    gpus = [gpu.name for gpu in GpuTools().read().gpus]
    known = known_bandwidth(gpus)
    if gpus and known is None:
        return None
    talk.step("measuring the memory's bandwidth")
    return ceiling(size, given=None, known=known, measured=measure_bandwidth())


def _digest(plan: ArmPlan) -> str:
    asked = [(prompt.name, prompt.text, prompt.tokens) for prompt in plan.prompts]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def _last(receipts: Sequence[Path], report: GateReport) -> Previous | None:
    """The newest earlier receipt of this arch and this machine that measured speed."""
    for path in reversed(receipts[-_LOOKED_AT:]):
        try:
            if path.stat().st_size > _SIZE_LIMIT:
                continue
            receipt = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue  # `forkguard verify` judges receipts; here a damaged one is only no use
        if not isinstance(receipt, dict) or receipt.get("arch") != report.settings.arch:
            continue
        found = previous_measurement(receipt, name=path.parent.name)
        if found is not None and same_box(report.box, found.box):
            return found
    return None
