"""Replaying the patch stack on another upstream commit, in memory: every patch is tried, none stops the others."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from forkguard.core.commit_objects import PATCHSET_TRAILER
from forkguard.core.findings import Side
from forkguard.core.landed_lines import landed_by_lines
from forkguard.core.names import CommitHash
from forkguard.core.patch_mail import NotAPatch, parse_mail
from forkguard.core.patchset import State as PatchsetState
from forkguard.core.replay import (
    PatchResult,
    PatchStatus,
    ReplayReport,
    StackPatch,
    Trouble,
    builds_on,
    groups_of,
)
from forkguard.errors import UsageProblem
from forkguard.ports import PatchsetStore
from forkguard.workflows.replay_landed import LandedCommits
from forkguard.workflows.replay_patch import Tried, Versions
from forkguard.workflows.replay_search import search_break, touching
from forkguard.workflows.replay_stack import ReplayTools, Stack

ACTIVE = (PatchsetState.PROPOSED, PatchsetState.CARRIED)
"""The states of the patchsets that make the fork."""

_SKIPPED = "left out (--skip)"
_VERIFY = "forkguard stack verify  says what is wrong"


def read_patches(patchsets: PatchsetStore) -> tuple[StackPatch, ...]:
    """The patches of the stack in their order. Raises `UsageProblem` for a file that is missing or no patch."""
    found = []
    for entry in patchsets.order():
        if patchsets.manifest(entry.name).state not in ACTIVE:
            continue
        for name, content in patchsets.patches(entry.name):
            where = str(patchsets.root / entry.name / name)
            if content is None:
                raise UsageProblem("the series names a patch that is not there", where=where, hint=_VERIFY)
            try:
                found.append(StackPatch(entry.name, name, parse_mail(content)))
            except NotAPatch as error:
                raise UsageProblem(error.what, where=where, hint=_VERIFY) from error
    return tuple(found)


def replay(
    patches: Sequence[StackPatch],
    *,
    base: CommitHash,
    onto: Side,
    tools: ReplayTools,
    bisect: bool = True,
    skipped: Collection[str] = (),
) -> ReplayReport:
    """Try every patch on `onto`; what fails is left out, and what can be tried without it is.

    `bisect`: look for the upstream commit that broke each conflicting patch. `skipped` are patches (PATCHSET/PATCH)
    that a person leaves out.
    """
    tools.talk.step(f"reading upstream from {base[:10]} to {onto.ref}")
    stack = Stack(patches, tools, base=base, onto=onto.commit)
    landed = LandedCommits(stack, tools)
    results, kept = _try_all(stack, tools, landed, skipped=skipped)
    squashed = _squashed(stack, results)
    if squashed:
        results, kept = _try_all(stack, tools, landed, skipped=skipped, squashed=squashed)
    if bisect:
        results = [_with_cause(result, index, stack, tools) for index, result in enumerate(results)]
    steps = [(each.patch.mail.author, replayed_message(each.patch), files) for each, files in kept]
    made = iter(tools.store.commit_series(onto.commit, steps))
    commits = {each.patch.label: next(made) for each, _ in kept}
    results = [replace(result, commit=commits.get(result.patch.label)) for result in results]
    known = tools.repo.commits([base, onto.commit])
    return ReplayReport(
        base=known[base],
        onto=onto,
        onto_commit=known[onto.commit],
        commits=len(stack.touches),
        results=tuple(results),
        groups=groups_of(results),
        tip=list(commits.values())[-1] if commits else onto.commit,
        replays=stack.trials + 1,
        notes=tuple(landed.notes),
    )


def replayed_message(patch: StackPatch) -> bytes:
    """The message of a replayed commit: the patch's own, with the trailer that names its patchset."""
    trailer = f"{PATCHSET_TRAILER}: {patch.patchset}\n".encode()
    text = patch.mail.message
    if trailer in text:
        return text
    last = text.rstrip().split(b"\n\n")
    in_block = len(last) > 1 and all(b": " in line or line.startswith(b"(cherry") for line in last[-1].split(b"\n"))
    return text.rstrip() + (b"\n" if in_block else b"\n\n") + trailer


_Kept = list[tuple[PatchResult, Versions]]


def _try_all(
    stack: Stack,
    tools: ReplayTools,
    landed: LandedCommits,
    *,
    skipped: Collection[str],
    squashed: Collection[str] = (),
) -> tuple[list[PatchResult], _Kept]:
    state = stack.state()
    results: list[PatchResult] = []
    kept: _Kept = []
    for index, patch in enumerate(stack.patches):
        tools.talk.progress(index, len(stack.patches), patch.label)
        if patch.patchset in squashed:
            how = "every line that its patchset adds came, every line that it removes went"
            results.append(PatchResult(patch, PatchStatus.LANDED, how))
            continue
        if patch.label in skipped:
            results.append(PatchResult(patch, PatchStatus.CONFLICT, note=_SKIPPED))
            continue
        tried = stack.attempt(index, state)
        if not tried.applies or stack.came(index, state):
            commit = landed.of(patch)
            if commit is not None:
                how = "an upstream commit makes the same change (git patch-id)"
                results.append(PatchResult(patch, PatchStatus.LANDED, how, landed_in=commit))
                continue
        result = _classified(patch, tried, results)
        results.append(result)
        if tried.applies:
            state.written |= tried.files
            kept.append((result, tried.files))
    return results, kept


def _classified(patch: StackPatch, tried: Tried, earlier: Sequence[PatchResult]) -> PatchResult:
    result = PatchResult(patch, tried.status, tried.how, tried.troubles, merged=tried.merged)
    if tried.applies:
        return result
    places = tried.troubles or [Trouble(path, None, "", "") for path in patch.mail.paths]
    needs = [each for each in earlier if each.status.failed and builds_on(patch, each.patch, places)]
    if not needs:
        return result
    return replace(result, status=PatchStatus.UNTESTED, needs=tuple(each.patch.label for each in needs))


def _squashed(stack: Stack, results: Sequence[PatchResult]) -> frozenset[str]:
    """The patchsets that went in upstream as a whole, though not every one of their patches shows it alone."""
    found = set()
    for name in {result.patch.patchset for result in results if result.status.failed}:
        works = [stack.work[index] for index, patch in enumerate(stack.patches) if patch.patchset == name]
        before: Versions = {}
        after: Versions = {}
        for work in works:
            before = {**work.before, **before}
            after = {**after, **work.after}
        changes = [change for work in works for change in work.changes]
        ours = stack.state().read(tuple(before))
        if len(works) > 1 and landed_by_lines(changes, before=before, after=after, ours=ours):
            found.add(name)
    return frozenset(found)


def _with_cause(result: PatchResult, index: int, stack: Stack, tools: ReplayTools) -> PatchResult:
    """A failure with the upstream commit that brought it, or those that touched a file whose blob is missing."""
    if result.status is PatchStatus.MISSING_BLOB:
        return replace(result, touched=touching(stack, index, tools.repo))
    if result.status is not PatchStatus.CONFLICT or result.note == _SKIPPED:
        return result
    tools.talk.step(f"looking for the upstream commit that broke {result.patch.label}")
    found = search_break(stack, index, tools.repo)
    return replace(result, note=found) if isinstance(found, str) else replace(result, broken=found)
