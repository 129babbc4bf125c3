"""Which patchset makes the gate red: base and stack as commits, made in memory, and a gate of as few as it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from forkguard.core.findings import Side
from forkguard.core.gate import GateReport, Verdict
from forkguard.core.gate_bisect import BisectReport, BisectResult, Judged, Point, bisect, named
from forkguard.core.names import CommitHash
from forkguard.core.replay import ReplayReport, StackPatch
from forkguard.core.self_test import Gated, said
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import Repository, Talk
from forkguard.workflows.replay import replay
from forkguard.workflows.replay_stack import ReplayTools

EXTRA = 1
"""Points that are gated although the answer is known, to see whether it is the only one."""


@dataclass(frozen=True, slots=True)
class BisectTools:
    """What a bisection needs. `gate` builds and gates a commit that holds these patchsets.

    It gives the report and the receipt's path, and raises `CouldNotWork` where the commit cannot be built.
    """

    replay: ReplayTools
    gate: Callable[[CommitHash, tuple[str, ...]], tuple[GateReport, str]]
    seconds: Callable[[], float]
    talk: Talk


def run_bisect(
    tools: BisectTools,
    patches: Sequence[StackPatch],
    *,
    base: CommitHash,
    fork: Side,
    upstream: str,
    arch: str,
    profile: str,
) -> BisectReport:
    """Find the first patchset after which the gate is red.

    Raises `UsageProblem` for an empty stack, `CouldNotWork` where the stack does not apply to its own base, and what
    building the base or the whole stack raises. Another state that cannot be built has no verdict.
    """
    begun = tools.seconds()
    points = stack_points(tools.replay, patches, base=base, upstream=upstream)
    runs: list[Judged] = []

    def judge(at: int) -> Verdict:
        runs.append(_gate(tools, points, at))
        gated = runs[-1].gated
        return gated.verdict if gated is not None else Verdict.INCONCLUSIVE

    answer = bisect(len(points), judge, extra=EXTRA)
    notes = _notes(tools.replay.repo, points, fork) if answer.result is not BisectResult.BASE_RED else ()
    return BisectReport(
        arch, profile, fork, upstream, points, tuple(runs), answer, notes, tools.seconds() - begun
    )  # fmt: skip


def stack_points(
    tools: ReplayTools, patches: Sequence[StackPatch], *, base: CommitHash, upstream: str
) -> tuple[Point, ...]:
    """The base, and the commit after each patchset that changes something, in the order of the stack."""
    if not patches:
        raise UsageProblem("the stack has no patches", hint="forkguard stack list  shows what is carried")
    report = replay(patches, base=base, onto=Side(upstream, base), tools=tools, bisect=False)
    _refuse_failures(report)
    points = [Point(None, base)]
    for result in report.results:
        if result.commit is None:
            continue
        if points[-1].patchset == result.patch.patchset:
            points.pop()
        points.append(Point(result.patch.patchset, result.commit))
    return tuple(points)


def _refuse_failures(report: ReplayReport) -> None:
    failed = [result for result in report.results if result.status.failed]
    if failed:
        raise CouldNotWork(
            f"the stack does not apply to its own base: {failed[0].patch.label} ({failed[0].status})",
            hint="forkguard stack verify  says what is wrong",
        )


def _gate(tools: BisectTools, points: Sequence[Point], at: int) -> Judged:
    point = points[at]
    name = point.patchset if point.patchset is not None else "the base"
    where = f"patchset {at} of {len(points) - 1}, {name}" if at else name
    tools.talk.step(f"gate of {where}")
    started = tools.seconds()
    try:
        report, receipt = tools.gate(point.commit, named(points[: at + 1]))
    except CouldNotWork as error:
        if at in (0, len(points) - 1):
            raise
        judged = Judged(at, point, None, error.what, tools.seconds() - started)
    else:
        gated = Gated(report.verdict, said(report), receipt)
        judged = Judged(at, point, gated, "", tools.seconds() - started)
    tools.talk.note(f"{where}: {judged.gated.said if judged.gated is not None else judged.reason}")
    return judged


def _notes(repo: Repository, points: Sequence[Point], fork: Side) -> tuple[str, ...]:
    """What keeps the answer for the stack from being one for the production branch."""
    if repo.tree(points[-1].commit) == repo.tree(fork.commit):
        return ()
    what = f"base and stack are not the tree of {fork.ref}: what no patchset covers was not gated"
    return (f"{what} (forkguard stack verify)",)
