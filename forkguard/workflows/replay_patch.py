"""Trying one patch on one state of the tree: exactly, with git's three-way merge, and by joining what is only added.

What `git am --3way` takes is taken here; what it rejects is tried as `port` would, and as a person once decided it.
Nothing is written but objects.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.common_words import may_share
from forkguard.core.fitting import Misfit, Version, backwards, try_patch
from forkguard.core.hunks import FileChange, FileKind, lines_of
from forkguard.core.landed_lines import landed_by_lines
from forkguard.core.merges import Merged, regions
from forkguard.core.names import CommitHash, TreeHash, TreePath
from forkguard.core.replay import PatchStatus, StackPatch, Trouble
from forkguard.core.trees import TreeEntry
from forkguard.errors import MissingObject
from forkguard.ports import Bench, ReplayObjects, ResolutionStore
from forkguard.workflows.resolutions import reuse_resolutions

_LABEL = "fork"
_MOST_FILES = 60
"""Files of a patch up to which port's ways are tried: they take about a second for ten files of C++."""
Versions = Mapping[TreePath, Version | None]


@dataclass(frozen=True, slots=True)
class Work:
    """One patch with both of its own sides: the files before and after it.

    `whole` is False where no state is known that the patch fits. `below` is what the stack wrote on the
    base before this patch; `misfits` is why the patch does not fit that state (empty where it does).
    """

    patch: StackPatch
    changes: tuple[FileChange, ...]
    before: Versions
    after: Versions
    whole: bool
    below: Versions
    misfits: tuple[Misfit, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """A patch and the state that it is tried on: `now` are its files there, `written` what differs from `root`."""

    work: Work
    now: Versions
    base: CommitHash
    root: CommitHash
    written: Versions


@dataclass(frozen=True, slots=True)
class Sides:
    """The trees of a merge: the stack on its own base before a patch and after it, and the state to put it on."""

    before: TreeHash
    after: TreeHash
    ours: TreeHash


@dataclass(frozen=True, slots=True)
class Means:
    """With what a patch is tried.

    `port` is the workbench for port's ways, None where they are not wanted; `resolutions` what people decided.
    """

    bench: Bench
    store: ReplayObjects
    port: Bench | None = None
    resolutions: ResolutionStore | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it; `files` is what the patch writes, `merged` the merge that a person would have to decide."""

    status: PatchStatus
    how: str
    files: Versions
    troubles: tuple[Trouble, ...] = ()
    merged: Merged | None = None

    @property
    def applies(self) -> bool:
        """Whether the result holds the patch."""
        return self.status in (PatchStatus.APPLIES, PatchStatus.ADDITIVE)


def try_on(trial: Trial, means: Means, *, quick: bool = False) -> Tried:
    """The class of a patch on this state, and what it writes.

    `quick`: where git's merge of a file under its own name conflicts, do not look for a better way.
    """
    work, now = trial.work, trial.now
    attempt = try_patch(work.changes, now)
    if not attempt.misfits:
        tried = Tried(PatchStatus.APPLIES, "offset" if attempt.shifted else "exact", attempt.files)
        return _unless_twice(tried, trial, means, quick=quick)
    troubles = tuple(_trouble(misfit) for misfit in attempt.misfits)
    lost = [path for path, version in now.items() if version is not None and version.content is None]
    if lost:
        reason = "upstream's content of this file is not in this clone"
        return Tried(PatchStatus.MISSING_BLOB, "", {}, tuple(Trouble(path, None, "", reason) for path in lost))
    if not try_patch([backwards(change) for change in reversed(work.changes)], now).misfits:
        return Tried(PatchStatus.LANDED, "its lines are there, and what it removes is gone", {})
    if not work.whole:
        return Tried(PatchStatus.MISSING_BLOB, "", {}, _without_base(work, troubles))
    merged = _merged(trial, means.store)
    if merged is not None:
        return _unless_twice(merged, trial, means, quick=quick)
    return _otherwise(trial, means, troubles, quick=quick)


def _unless_twice(tried: Tried, trial: Trial, means: Means, *, quick: bool) -> Tried:
    """What applied, unless the result holds something twice that upstream brought too: then a better way, if any.

    Only files that upstream changed are read, and parsed only where both sides may have brought the same.
    """
    work = trial.work
    if not tried.applies or not any(_may_be_twice(change, trial) for change in work.changes):
        return tried
    bench = means.bench
    try:
        sides = _sides(trial, bench)
        tree = _edited(bench, sides.ours, tried.files)
        merged = _marked(sides, Merged(tree, (), ()), work.changes, bench)
        if not merged.twice:
            return tried
        found = Tried(PatchStatus.CONFLICT, "", {}, _conflicts(bench, merged), merged)
        return found if quick else _better(sides, means, found, files=len(work.changes))
    except MissingObject:
        return tried


def _may_be_twice(change: FileChange, trial: Trial) -> bool:
    before, now = trial.work.before.get(change.path), trial.now.get(change.path)
    if before is None or now is None or before.content is None or now.content is None:
        return False
    added = (line for hunk in change.hunks for run in hunk.changes for line in run.added)
    return before.content != now.content and may_share(added, before=before.content, ours=now.content)


def _merged(trial: Trial, store: ReplayObjects) -> Tried | None:
    merged = _merge_files(trial, store)
    if merged is None:
        return None
    changed = {path: version for path, version in merged.items() if version != trial.now.get(path)}
    if not changed:
        return Tried(PatchStatus.LANDED, "merging it changes nothing", {})
    return Tried(PatchStatus.APPLIES, "three-way", changed)


def _otherwise(trial: Trial, means: Means, troubles: tuple[Trouble, ...], *, quick: bool) -> Tried:
    work, now = trial.work, trial.now
    if landed_by_lines(work.changes, before=work.before, after=work.after, ours=now):
        return Tried(PatchStatus.LANDED, "every line that it adds came, every line that it removes went", {})
    if quick and all(now.get(path) is not None for path, version in work.before.items() if version is not None):
        return Tried(PatchStatus.CONFLICT, "", {}, troubles)
    return _merge_trees(trial, means, troubles)


def _trouble(misfit: Misfit) -> Trouble:
    hunk = misfit.hunk
    first = hunk.changes[0].start + 1 if hunk and hunk.changes else None
    return Trouble(misfit.path, first, hunk.header if hunk else "", misfit.reason)


def _without_base(work: Work, troubles: Sequence[Trouble]) -> tuple[Trouble, ...]:
    lost = {path for path, version in work.before.items() if version is not None and version.content is None}
    reason = "the blob that the patch was made from is not in this clone, so no merge can be tried"
    return tuple(
        Trouble(each.path, each.line, each.header, reason if each.path in lost else each.reason) for each in troubles
    )


def _merge_files(trial: Trial, store: ReplayObjects) -> Versions | None:
    """git's merge of each file under its own name; None where one conflicts, or may have another name now."""
    merged: dict[TreePath, Version | None] = {}
    for path in trial.work.before.keys() | trial.work.after.keys():
        base, ours, theirs = (side.get(path) for side in (trial.work.before, trial.now, trial.work.after))
        if theirs in (ours, base):
            merged[path] = ours
        elif ours == base:
            merged[path] = theirs
        elif base is None or ours is None or theirs is None or not base.mode == ours.mode == theirs.mode:
            return None
        else:
            result = store.merge_file(base.content or b"", ours.content or b"", theirs.content or b"")
            if result is None:
                return None
            merged[path] = Version(ours.mode, result)
    return merged


# -- as trees --------------------------------------------------------------------------------------------


def _merge_trees(trial: Trial, means: Means, troubles: tuple[Trouble, ...]) -> Tried:
    """git's merge of whole trees, then port's ways, then what a person decided before."""
    work, bench = trial.work, means.bench
    try:
        sides = _sides(trial, bench)
        found = _by_git(sides, work.changes, bench)
        return _better(sides, means, found, files=len(work.changes), troubles=troubles)
    except MissingObject as problem:
        missing = tuple(Trouble(each.path, each.line, each.header, problem.what) for each in troubles)
        return Tried(PatchStatus.MISSING_BLOB, "", {}, missing)


def _sides(trial: Trial, bench: Bench) -> Sides:
    work = trial.work
    before = _edited(bench, bench.commit(trial.base).tree, {**work.below, **work.before})
    after = _edited(bench, before, work.after)
    return Sides(before, after, _edited(bench, bench.commit(trial.root).tree, trial.written))


def _better(sides: Sides, means: Means, found: Tried, *, files: int, troubles: tuple[Trouble, ...] = ()) -> Tried:
    """A conflict by port's ways, or as a person decided it before, where one of these helps."""
    if found.status is PatchStatus.CONFLICT and means.port is not None and files <= _MOST_FILES:
        found = _as_port(sides, means.port, found)
    if found.status is PatchStatus.CONFLICT and found.merged is not None:
        return _decided(sides, means, found, troubles)
    return found


def _by_git(sides: Sides, changes: Sequence[FileChange], bench: Bench) -> Tried:
    """git's merge of whole trees, which finds renamed files; what both sides only add is joined, upstream first.

    What it would hold twice is a conflict.
    """
    from forkguard.workflows.join_additions import join_additions  # noqa: PLC0415  (as below)

    merged = bench.merge(sides.before, sides.after, sides.ours, ours_label=_LABEL, theirs_label="upstream")
    merged, joins = join_additions(bench, merged, label=_LABEL)
    merged = _marked(sides, merged, changes, bench)
    if merged.stages or merged.messages:
        return Tried(PatchStatus.CONFLICT, "", {}, merged=merged)
    if merged.tree == sides.ours:
        return Tried(PatchStatus.LANDED, "merging it changes nothing", {})
    files = _written(bench, sides.ours, merged.tree)
    if joins:
        return Tried(PatchStatus.ADDITIVE, f"both sides only add, joined in {', '.join(sorted(joins))}", files)
    return Tried(PatchStatus.APPLIES, "three-way, in files that upstream renamed", files)


def _marked(sides: Sides, merged: Merged, changes: Sequence[FileChange], bench: Bench) -> Merged:
    """The merge with marks at what it holds twice."""
    from forkguard.workflows.settle_doubles import Trees, patch_marking, with_doubles  # noqa: PLC0415  (as below)

    trees = Trees(sides.before, sides.after, sides.ours)
    return with_doubles(bench, trees, merged, files=changes, marking=patch_marking(_LABEL, "upstream", first=True))


def _as_port(sides: Sides, bench: Bench, otherwise: Tried) -> Tried:
    """The patch in upstream's present terms; `otherwise` where that does not help."""
    from forkguard.workflows.replay_port import ported  # noqa: PLC0415  (parsers load slowly; few patches come here)

    try:
        found = ported(bench, before=sides.before, after=sides.after, ours=sides.ours)
    except MissingObject:
        return otherwise
    if found.tree is None:
        return Tried(PatchStatus.CONFLICT, "", {}, merged=found.merged) if found.merged else otherwise
    if found.tree == sides.ours:
        return Tried(PatchStatus.LANDED, found.how, {})
    status = PatchStatus.ADDITIVE if found.additive else PatchStatus.APPLIES
    return Tried(status, found.how, _written(bench, sides.ours, found.tree))


def _decided(sides: Sides, means: Means, found: Tried, troubles: tuple[Trouble, ...]) -> Tried:
    """A conflict as a person decided it when the same sides met; else the places to decide."""
    bench, merged = means.bench, found.merged
    assert merged is not None  # noqa: S101  (the caller saw it)
    if means.resolutions is not None:
        tree, how = reuse_resolutions(bench, merged, means.resolutions)
        if tree is not None:
            return Tried(PatchStatus.APPLIES, how, _written(bench, sides.ours, tree))
    return Tried(PatchStatus.CONFLICT, "", {}, _conflicts(bench, merged) or troubles, merged)


def _conflicts(bench: Bench, merged: Merged) -> tuple[Trouble, ...]:
    """Each place that a person would have to decide; the line is that of its marker in the merged file."""
    entries = bench.entries(merged.tree, merged.conflicted)
    contents = bench.blobs(entry.blob for entry in entries.values() if entry.is_file)
    found = []
    for path in merged.conflicted:
        content = contents.get(entries[path].blob, b"") if path in entries else b""
        marked = regions(lines_of(content), label=_LABEL)
        twice = {each.line: each.said for each in merged.twice if each.path == path}
        found += [
            Trouble(path, each.line, "", twice.get(each.line, "both sides changed these lines")) for each in marked
        ]
        if not marked:
            reason = next((text for text in merged.messages if path in text), "both sides changed this file")
            found.append(Trouble(path, None, "", reason))
    return tuple(found)


def _edited(bench: Bench, tree: TreeHash, files: Versions) -> TreeHash:
    edits: dict[TreePath, TreeEntry | None] = {}
    for path, version in files.items():
        if version is None:
            edits[path] = None
        elif version.content is not None:
            edits[path] = TreeEntry(version.mode, bench.put_blob(version.content))
    return bench.edit(tree, edits)


def _written(bench: Bench, old: TreeHash, new: TreeHash) -> dict[TreePath, Version | None]:
    changed = bench.diff(old, new, renames=False)
    contents = bench.blobs(file.blob for file in changed if file.kind is not FileKind.DELETED)
    return {
        file.path: None if file.kind is FileKind.DELETED else Version(file.mode, contents[file.blob])
        for file in changed
    }
