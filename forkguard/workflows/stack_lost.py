"""Patches of the stack that the production branch no longer holds, and the commit that took them away."""

from collections.abc import Sequence

from forkguard.core.findings import Side
from forkguard.core.fitting import Files
from forkguard.core.names import CommitHash
from forkguard.core.replay import StackPatch
from forkguard.core.stack_check import Problem, StackFinding, lines_gone
from forkguard.errors import UnknownRef
from forkguard.workflows.replay_stack import ReplayTools, Stack


def lost_patches(
    patches: Sequence[StackPatch], *, base: CommitHash, tip: CommitHash, fork: Side, tools: ReplayTools
) -> list[StackFinding]:
    """A finding per patch with lines that are in base plus stack (`tip`) and not in the production branch.

    Where they were there once, it names the commit of the branch's first-parent line since which they are gone.
    """
    stack = Stack(patches, tools, base=base, onto=fork.commit)
    made = Stack(patches, tools, base=base, onto=tip)
    found = []
    for patch in patches:
        whole = made.state().read(patch.mail.paths)
        gone = lines_gone(patch.mail, whole=whole, ours=stack.state().read(patch.mail.paths))
        if not gone:
            continue
        path, lines = gone[0]
        culprit = _since(patch, whole, stack)
        if culprit is None:
            what, fix = f"{fork.ref} does not have it: {path}", f"git diff {fork.commit[:10]} {tip[:10]} -- {path}"
            if branch := _unmerged(patch.patchset, fork, tools):
                what, fix = f"{fork.ref} does not have it yet: {path}", f"git merge {branch}  into {fork.ref}"
        else:
            subject = tools.repo.commits([culprit])[culprit].subject
            what = f"{lines} of its lines are no longer in {path} of {fork.ref}, since {culprit[:10]} {subject}"
            fix = f"git show -m {culprit[:10]}  shows what happened"
        found.append(StackFinding(Problem.LOST, patch.label, what, fix))
    return found


def _unmerged(patchset: str, fork: Side, tools: ReplayTools) -> str | None:
    """The branch that a port of the patchset left, where the production branch does not hold it."""
    branch = f"forkguard/{patchset}"
    try:
        ported = tools.repo.resolve(branch)
    except UnknownRef:
        return None
    return None if tools.repo.is_ancestor(ported, fork.commit) else branch


def _since(patch: StackPatch, whole: Files, stack: Stack) -> CommitHash | None:
    """The commit since which lines are missing; None where they never were all there."""
    paths = patch.mail.paths
    touching = [touch.commit for touch in stack.touches if touch.paths.keys() & set(paths)]
    later: CommitHash | None = None
    for commit in reversed(touching):
        if not lines_gone(patch.mail, whole=whole, ours=stack.state(commit, paths=paths).read(paths)):
            return later
        later = commit
    return None
