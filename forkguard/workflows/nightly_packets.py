"""Conflict packets of a replay: the places to decide, by whom each side came, and how to go on by hand."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forkguard.core.fitting import Version
from forkguard.core.hunks import FileChange
from forkguard.core.merges import Conflict, Merged, conflicts_of
from forkguard.core.names import CommitHash, TreeHash, TreePath
from forkguard.core.night_packets import ConflictPacket
from forkguard.core.porting import Pick
from forkguard.core.replay import PatchResult, PatchStatus, ReplayReport, StackPatch
from forkguard.core.trees import TreeEntry
from forkguard.errors import CouldNotWork
from forkguard.ports import Bench
from forkguard.workflows.conflict_history import with_history
from forkguard.workflows.replay_patch import Work
from forkguard.workflows.replay_stack import ReplayTools, Stack
from forkguard.workflows.settle_doubles import Trees, patch_marking, with_doubles

_UPSTREAM = "upstream"


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a person mends by hand: the fork's clone, and the folder of patchsets."""

    fork: Path
    patchsets: Path


def conflict_packets(
    patches: Sequence[StackPatch], report: ReplayReport, *, base: CommitHash, tools: ReplayTools, place: Workplace
) -> tuple[ConflictPacket, ...]:
    """A packet for each patch that failed, in the order of the stack."""
    works = Stack(patches, tools, base=base, onto=base).work
    failed = [(result, work) for result, work in zip(report.results, works, strict=True) if result.status.failed]
    return tuple(_packet(result, work, report, base=base, tools=tools, place=place) for result, work in failed)


def _packet(
    result: PatchResult, work: Work, report: ReplayReport, *, base: CommitHash, tools: ReplayTools, place: Workplace
) -> ConflictPacket:
    remarks = []
    conflicts: tuple[Conflict, ...] = ()
    if result.status is PatchStatus.CONFLICT:
        try:
            conflicts = _conflicts(work, report, base=base, tools=tools)
        except CouldNotWork as error:
            remarks.append(f"the two sides could not be shown: {error.what}")
    broke = ""
    if result.broken is not None:
        broken = result.broken
        paths = sorted({*work.before, *work.after})
        broke = tools.repo.patches(broken.parent, broken.commit.id, paths)
    return ConflictPacket(
        result=result,
        base=base,
        onto=report.onto,
        conflicts=conflicts,
        broke=broke,
        touched=result.touched,
        resume=_resume(result, report, place),
        by_git=_by_git(result, report, place),
        remarks=tuple(remarks),
    )


def _conflicts(work: Work, report: ReplayReport, *, base: CommitHash, tools: ReplayTools) -> tuple[Conflict, ...]:
    """The marked places of the merge of the patch into what the replay made, with upstream's history of each."""
    bench = tools.bench
    ours = bench.commit(report.tip).tree
    before, after = _with(bench, ours, work.before), _with(bench, ours, {**work.before, **work.after})
    merged = bench.merge(before, ours, after, ours_label=_UPSTREAM, theirs_label="patch")
    marking = patch_marking(_UPSTREAM, "patch", first=False)
    merged = with_doubles(bench, Trees(before, after, ours), merged, files=work.changes, marking=marking)
    found = _places(bench, merged, work.changes)
    pick = Pick(commit=report.tip, before=base, subject=work.patch.mail.subject)
    return with_history(found, repo=tools.repo, pick=pick, onto=report.onto.commit, base=base)


def _with(bench: Bench, tree: TreeHash, files: Mapping[TreePath, Version | None]) -> TreeHash:
    edits: dict[TreePath, TreeEntry | None] = {}
    for path, version in files.items():
        if version is not None and version.content is None:
            raise CouldNotWork("this clone lacks the blob that the patch was made from", where=path)
        edits[path] = TreeEntry(version.mode, bench.put_blob(version.content or b"")) if version else None
    return bench.edit(tree, edits)


def _places(bench: Bench, merged: Merged, changes: Sequence[FileChange]) -> tuple[Conflict, ...]:
    entries = bench.entries(merged.tree, merged.conflicted)
    contents = bench.blobs(entry.blob for entry in entries.values() if entry.is_file)
    found: list[Conflict] = []
    for path in merged.conflicted:
        hunks = [hunk for file in changes if path in (file.path, file.old_path) for hunk in file.hunks]
        content = contents.get(entries[path].blob, b"") if path in entries else b""
        found += conflicts_of(merged, path, content, hunks, label=_UPSTREAM, origin=path)
    return tuple(found)


def _resume(result: PatchResult, report: ReplayReport, place: Workplace) -> tuple[str, ...]:
    label, onto = shlex.quote(result.patch.label), report.onto.commit
    if result.status is PatchStatus.CONFLICT:
        return (
            f"forkguard stack replay --onto {onto} --resolve {label}",
            "forkguard stack replay --continue    # when the marked files are resolved in the worktree that it names",
        )
    if result.status is PatchStatus.MISSING_BLOB:
        return (
            f"git -C {shlex.quote(str(place.fork))} fetch --refetch --no-filter",
            f"forkguard stack replay --onto {onto}",
        )
    needed = result.needs[0] if result.needs else result.patch.label
    return (f"forkguard stack replay --onto {onto} --resolve {shlex.quote(needed)}",)


def _by_git(result: PatchResult, report: ReplayReport, place: Workplace) -> tuple[str, ...]:
    fork = shlex.quote(str(place.fork))
    patch = shlex.quote(str(place.patchsets / result.patch.patchset / result.patch.name))
    return (
        f"git -C {fork} worktree add --detach ../mend {report.tip}    # upstream with every patch that applies",
        f"git -C {fork}/../mend am --3way {patch}",
    )
