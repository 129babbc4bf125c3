"""`forkguard stack export`: the stack as numbered patches, as a bundle, or as the branch forkguard/stack."""

import shlex
from collections.abc import Sequence

from forkguard.core.commit_objects import IDENTITY
from forkguard.core.names import CommitHash
from forkguard.core.patchset import SeriesEntry, format_series
from forkguard.core.replay import PatchStatus, ReplayReport, StackPatch
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import Bench, Checkouts

BRANCH = "forkguard/stack"


def flat_files(patches: Sequence[tuple[StackPatch, bytes]]) -> dict[str, bytes]:
    """The patches of the whole stack, numbered through, for `git am *.patch`; and a quilt series.

    The contents stay as they are; only the files' names are new.
    """
    files: dict[str, bytes] = {}
    for number, (patch, content) in enumerate(patches, 1):
        plain = patch.name.rpartition("/")[2]
        head, dash, tail = plain.partition("-")
        files[f"{number:04d}-{tail if dash and head.isdigit() else plain}"] = content
    return {**files, "series": format_series([SeriesEntry(name) for name in files]).encode()}


def whole(report: ReplayReport) -> CommitHash:
    """The tip of a replay that left nothing out. Raises `CouldNotWork` naming the first patch that failed."""
    failed = [result for result in report.results if result.status.failed]
    if failed:
        raise CouldNotWork(
            f"the stack is not whole on {report.onto.ref}: {failed[0].patch.label} is {failed[0].status.value}",
            hint=f"forkguard stack replay --onto {shlex.quote(report.onto.ref)}  shows what stops it",
        )
    if not any(result.status is not PatchStatus.LANDED for result in report.results):
        raise CouldNotWork("there is nothing to export: the stack is empty", hint="forkguard stack list")
    return report.tip


def point_branch(tip: CommitHash, *, bench: Bench, checkouts: Checkouts) -> str:
    """Point forkguard/stack at the tip; returns what happened.

    Raises `UsageProblem` where the branch holds a commit of somebody else's.
    """
    before = checkouts.branch(BRANCH)
    if before == tip:
        return "it was there already"
    if before is not None and not bench.commit(before).committer.startswith(IDENTITY):
        raise UsageProblem(
            f"the branch {BRANCH} holds commits that forkguard did not make",
            where=BRANCH,
            hint=f"git branch -m {BRANCH} mine  puts it aside, then export again",
        )
    checkouts.set_branch(BRANCH, tip, before=before)
    return "made" if before is None else f"moved from {before[:10]}"
