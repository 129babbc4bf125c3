"""`forkguard stack verify`: do series, files, exports, base and production branch agree?"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.commit_objects import PATCHSET_TRAILER
from forkguard.core.commits import Commit
from forkguard.core.findings import Side
from forkguard.core.names import CommitHash
from forkguard.core.patch_mail import NotAPatch, parse_mail
from forkguard.core.patchset import MANIFEST, Manifest, check_name
from forkguard.core.replay import PatchStatus, StackPatch, Trouble
from forkguard.core.stack_check import (
    Problem,
    StackFinding,
    VerifyReport,
    check_fields,
    check_order,
    check_patchset,
    unsaid_removals,
)
from forkguard.core.stack_edit import number_of
from forkguard.core.status import join_ids, uncovered_commits
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import PatchsetStore
from forkguard.workflows.replay import ACTIVE, replay
from forkguard.workflows.replay_stack import ReplayTools, Stack
from forkguard.workflows.stack_lost import lost_patches

_FIELDS = ("Origin", "Forwarded", "Applied-Upstream", "Author", "Bug", "Bug-Debian", "Reviewed-By", "Last-Update")
"""Header fields that an export is made with again, beside those of the mail itself."""

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Files:
    """The stack as its files say it: the patches of the active patchsets, in order, with their bytes."""

    patches: tuple[StackPatch, ...]
    contents: Mapping[str, bytes]
    manifests: Mapping[str, Manifest]
    findings: tuple[StackFinding, ...]


def verify(patchsets: PatchsetStore, *, base: CommitHash, fork: Side, tools: ReplayTools) -> VerifyReport:
    """Every check of the stack against its files, its base and the production branch."""
    tools.talk.step("reading the patch stack")
    files = _read(patchsets)
    findings = list(files.findings)
    notes: list[str] = []
    for patch in files.patches:
        findings += check_fields(patch.label, patch.mail)
    tools.talk.step("making each export again")
    exports = [_check_export(patch, files.contents[patch.label], tools, notes) for patch in files.patches]
    findings += [finding for finding in exports if finding is not None]
    tools.talk.step(f"applying the stack to {base[:10]}")
    report = replay(files.patches, base=base, onto=Side(base[:10], base), tools=tools, bisect=False)
    findings += [
        StackFinding(
            Problem.APPLY, result.patch.label, _why(result.status, result.troubles), "forkguard stack replay"
        )
        for result in report.results
        if result.status not in (PatchStatus.APPLIES, PatchStatus.ADDITIVE)
    ]
    findings += _removals(files, base, tools)
    uncovered = _uncovered(files, base, fork, tools)
    same, tree_findings = _against_production(report.tip, fork, uncovered, tools)
    findings += tree_findings
    if not same:
        findings += lost_patches(files.patches, base=base, tip=report.tip, fork=fork, tools=tools)
    return VerifyReport(
        base=report.base,
        fork=fork,
        patches=len(files.patches),
        findings=tuple(findings),
        uncovered=uncovered,
        tip=report.tip,
        same_tree=same,
        checked={
            "exports": sum(patch.mail.origin is not None for patch in files.patches),
            "patches": len(files.patches),
        },
        notes=tuple(notes),
    )


# -- files -----------------------------------------------------------------------------------------------


def _read(patchsets: PatchsetStore) -> _Files:
    order = [check_name(entry.name) for entry in patchsets.order()]
    findings: list[StackFinding] = []
    manifests: dict[str, Manifest] = {}
    for name in patchsets.names():
        try:
            manifests[name] = patchsets.manifest(name)
        except UsageProblem as problem:
            findings.append(StackFinding(Problem.MANIFEST, f"{name}/{MANIFEST}", problem.what, problem.hint))
    known = {name: manifest.state for name, manifest in manifests.items()}
    there = [name for name in order if name in manifests or name not in patchsets.names()]
    findings += check_order(there, known)
    contents: dict[str, bytes] = {}
    patches: list[StackPatch] = []
    for name in dict.fromkeys((*order, *manifests)):
        if name not in manifests:
            continue
        listed = patchsets.patches(name)
        own = [file.partition("/")[2] for file in patchsets.files(name)]
        findings += check_patchset(name, manifests[name], listed=listed, files=own)
        if manifests[name].state not in ACTIVE or name not in order:
            continue
        for patch, content in dict(listed).items():
            if content is None:
                continue
            try:
                patches.append(StackPatch(name, patch, parse_mail(content)))
                contents[patches[-1].label] = content
            except NotAPatch as problem:
                findings.append(StackFinding(Problem.FILE, f"{name}/{patch}", problem.what, problem.hint))
    return _Files(tuple(patches), contents, manifests, tuple(findings))


def _check_export(patch: StackPatch, content: bytes, tools: ReplayTools, notes: list[str]) -> StackFinding | None:
    """Make the patch file from its commit again; None where it is the same, byte for byte, or cannot be compared."""
    mail = patch.mail
    fix = "port or import it again, so that file and commit agree"
    if mail.origin is None or not mail.origin.strip("0"):
        return StackFinding(Problem.EXPORT, patch.label, "it does not name the commit that it was made of", fix)
    try:
        tools.bench.commit(mail.origin)
    except CouldNotWork:
        notes.append(
            f"{patch.label}: its commit {mail.origin[:10]} is not in this clone; the export was not compared"
        )
        return None
    headers = [f"{name}: {mail.headers[name]}" for name in mail.headers if name in _FIELDS]
    number = number_of(patch.name) or 1
    try:
        name, made = tools.bench.patch(mail.origin, number=number, base=mail.base or mail.origin, headers=headers)
    except CouldNotWork as problem:
        return StackFinding(Problem.EXPORT, patch.label, f"it cannot be made again: {problem.what}", fix)
    if made != content:
        line = next(
            number
            for number, (one, other) in enumerate(
                itertools.zip_longest(made.split(b"\n"), content.split(b"\n")), start=1
            )
            if one != other
        )
        what = f"it is not what git makes of its commit {mail.origin[:10]}: line {line} differs"
        return StackFinding(Problem.EXPORT, patch.label, what, fix)
    if name != patch.name:
        return StackFinding(Problem.EXPORT, patch.label, f"git would name this file {name}", f"rename it to {name}")
    return None


# -- base and production ---------------------------------------------------------------------------------


def _why(status: PatchStatus, troubles: Sequence[Trouble]) -> str:
    place = f": {troubles[0].path}, {troubles[0].reason}" if troubles else ""
    return f"it does not apply in its place on the base ({status.value}{place})"


def _removals(files: _Files, base: CommitHash, tools: ReplayTools) -> list[StackFinding]:
    stack = Stack(files.patches, tools, base=base, onto=base)
    found = []
    for patch in files.patches:
        upstream = stack.state().read(patch.mail.paths)
        for path, lines in unsaid_removals(patch.mail, files.manifests[patch.patchset], upstream):
            what = f"it takes {lines} of upstream's lines out of {path} and does not say so"
            fix = f'add removes = ["{path}"] to {patch.patchset}/{MANIFEST}, or put the lines back'
            found.append(StackFinding(Problem.REMOVES, patch.label, what, fix))
    return found


def _uncovered(files: _Files, base: CommitHash, fork: Side, tools: ReplayTools) -> tuple[Commit, ...]:
    """The fork's commits that no active patchset covers, newest first."""
    repo = tools.repo
    keys = (CommitHash(f"{number:040x}") for number in itertools.count(1))
    keyed = dict(zip(keys, files.patches, strict=False))
    own_ids = repo.patch_ids_of({key: files.contents[patch.label] for key, patch in keyed.items()})
    patches = {patch_id: keyed[key].patchset for key, patch_id in own_ids.items()}
    ids = repo.patch_ids(base, fork.commit) if patches else {}
    own = join_ids(repo.own_commits(base, fork.commit, trailer=PATCHSET_TRAILER), ids)
    return uncovered_commits(own, stack={patch.patchset for patch in files.patches}, patches=patches)


def _against_production(
    tip: CommitHash, fork: Side, uncovered: Sequence[Commit], tools: ReplayTools
) -> tuple[bool, list[StackFinding]]:
    stack_tree, own_tree = tools.bench.commit(tip).tree, tools.bench.commit(fork.commit).tree
    if stack_tree == own_tree:
        return True, []
    changed = [file.path for file in tools.bench.diff(stack_tree, own_tree, context=0, renames=False)]
    shown = ", ".join(changed[:_SHOWN]) + (f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else "")
    what = f"base plus stack is not the tree of {fork.ref}: {len(changed)} files differ ({shown})"
    fix = f"git diff {tip[:10]} {fork.commit[:10]}  shows how"
    found = [StackFinding(Problem.TREE, fork.ref, what, fix)]
    found += [
        StackFinding(
            Problem.UNCOVERED, commit.id, f"no patchset covers this commit: {commit.subject}",
            "forkguard stack import --from-branch REF  carries the commits of a branch",
        )
        for commit in uncovered
    ]  # fmt: skip
    return False, found
