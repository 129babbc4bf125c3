"""The gate as jobs for a CI system's own matrix, and the receipts of such jobs as one verdict."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from forkguard.core.gate import Verdict
from forkguard.core.gateplan import arm_name
from forkguard.core.receipts import Receipt
from forkguard.errors import UsageProblem

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Job:
    """One arch on one build profile with one draft, width and number of slots, beside its own reference runs.

    `draft` and `target` name the model files where the map has several.

    `id` is the same from run to run, and may be the name of a file or of an artifact.
    """

    id: str
    arch: str
    profile: str
    width: int
    slots: int
    draft: str = ""
    target: str = ""

    @property
    def arm(self) -> str:
        """The drafting arm, as a gate of several names it."""
        return arm_name(self.width, self.slots, draft=self.draft, target=self.target)


@dataclass(frozen=True, slots=True)
class Axes:
    """What one arch's gate runs over."""

    arch: str
    profiles: tuple[str, ...]
    widths: tuple[int, ...]
    slots: tuple[int, ...]
    drafts: tuple[str, ...] = ("",)
    targets: tuple[str, ...] = ("",)


def plan_jobs(axes: Sequence[Axes]) -> tuple[Job, ...]:
    """One per arch, profile and arm. Raises `UsageProblem` where two names would give one id.

    >>> [job.id for job in plan_jobs([Axes("lfm2", ("cpu",), (3,), (1, 2))])]
    ['lfm2.cpu.draft-3', 'lfm2.cpu.draft-3-slots-2']
    """
    jobs: dict[str, Job] = {}
    for each in axes:
        choices = (each.profiles, each.targets, each.drafts, each.widths, each.slots)
        for profile, target, draft, width, slots in itertools.product(*choices):
            words = (each.arch, profile, arm_name(width, slots, draft=draft, target=target))
            name = ".".join(_UNSAFE.sub("_", word) for word in words)
            if name in jobs:
                raise UsageProblem(
                    f"two jobs would have the id {name}", hint="rename an arch, a profile or a model file in the map"
                )
            jobs[name] = Job(name, each.arch, profile, width, slots, draft, target)
    return tuple(jobs.values())


def find_job(jobs: Sequence[Job], name: str) -> Job:
    """The job of that id. Raises `UsageProblem` where there is none."""
    for job in jobs:
        if job.id == name:
            return job
    raise UsageProblem(f"there is no job {name!r}", hint="forkguard gate --matrix json  lists their ids")


@dataclass(frozen=True, slots=True)
class Found:
    """A receipt that lay in the folder, or why it counts for nothing."""

    path: str
    receipt: Receipt | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class JobResult:
    """What one job came to; `receipt` and `path` are None where it left none."""

    job: Job
    verdict: Verdict
    detail: str
    path: str | None = None
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class MergeReport:
    """All jobs of the matrix. `problems` are receipts that may not be believed, `ignored` those of other jobs.

    `commit` is that of all receipts, `mixed` says that they have several. `adopted` are the receipts that were
    written of them.
    """

    results: tuple[JobResult, ...]
    problems: tuple[str, ...]
    ignored: tuple[str, ...]
    commit: str | None
    mixed: bool
    adopted: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Red if any is red; green only when every job is, on one commit, and no receipt is bad."""
        verdicts = {result.verdict for result in self.results}
        if Verdict.FAIL in verdicts:
            return Verdict.FAIL
        whole = verdicts == {Verdict.PASS} and not self.problems and not self.mixed
        return Verdict.PASS if whole else Verdict.INCONCLUSIVE


def merge(jobs: Sequence[Job], found: Sequence[Found]) -> MergeReport:
    """Join the receipts of a matrix: the newest of each job counts, a job without one is inconclusive."""
    problems = tuple(f"{each.path}: {each.problem}" for each in found if each.problem is not None)
    ignored: list[str] = []
    newest: dict[str, tuple[datetime, str, Receipt]] = {}
    known = {job.id for job in jobs}
    for each in found:
        receipt = each.receipt
        if receipt is None or each.problem is not None:
            continue
        if receipt.job not in known:
            what = f"of job {receipt.job}, which the matrix does not have" if receipt.job else "of no job"
            ignored.append(f"{each.path}: it is {what}")
        elif receipt.job not in newest or newest[receipt.job][0] < receipt.finished:
            newest[receipt.job] = (receipt.finished, each.path, receipt)
    results = tuple(_result(job, newest.get(job.id)) for job in jobs)
    commits = {result.receipt.tree.commit for result in results if result.receipt is not None}
    commit = next(iter(commits)) if len(commits) == 1 else None
    return MergeReport(results, problems, tuple(ignored), commit, len(commits) > 1)


def _result(job: Job, found: tuple[datetime, str, Receipt] | None) -> JobResult:
    if found is None:
        return JobResult(job, Verdict.INCONCLUSIVE, "it left no receipt")
    _, path, receipt = found
    if receipt.arch != job.arch:
        return JobResult(job, Verdict.INCONCLUSIVE, f"its receipt is about {receipt.arch}", path, receipt)
    told = (f"{check.name}: {check.detail}" for check in receipt.checks if check.verdict == receipt.verdict)
    detail = "all checks passed" if receipt.verdict == "pass" else next(told, "none of its checks says why")
    return JobResult(job, Verdict(receipt.verdict), detail, path, receipt)
