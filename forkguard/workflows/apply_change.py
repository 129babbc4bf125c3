"""Applying one pick to a tree, in memory: what fits, what is there already, what git's merge makes of the rest."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from forkguard.core.additive import Joined
from forkguard.core.doubled_hunks import told_by_hunk, with_left
from forkguard.core.doubled_marks import Marking
from forkguard.core.findings import Finding
from forkguard.core.hunks import (
    FileChange,
    FileKind,
    Fit,
    Hunk,
    Outcome,
    content_of,
    fit,
    lines_of,
    missing_names,
    with_hunks,
)
from forkguard.core.landing import stray_finding, strays
from forkguard.core.later_versions import LaterVersion, has_later
from forkguard.core.merges import Conflict, Merged, conflicts_of, header_of
from forkguard.core.names import BlobHash, TreeHash, TreePath
from forkguard.core.own_names import is_cxx
from forkguard.core.porting import HunkReport, MissingName, Pick
from forkguard.core.trees import Tree, TreeEntry
from forkguard.ports import Bench
from forkguard.workflows.settle_doubles import Trees, line_runs, merge_settled
from forkguard.workflows.strangers import check_paths
from forkguard.workflows.translate_change import Remark, Translated, translate

OURS_LABEL = "fork"

_Judged = list[tuple[Hunk | None, Fit]]
_MAY_BE_THERE = frozenset({None, Outcome.OFFSET})
_APPLIED = frozenset({Outcome.CLEAN, Outcome.OFFSET, Outcome.THREE_WAY})


@dataclass(frozen=True, slots=True)
class Applied:
    """One pick on top of a tree. `tree` is None where a person must decide; `merged` is then what they get."""

    tree: TreeHash | None
    merged: Merged | None
    hunks: tuple[HunkReport, ...]
    conflicts: tuple[Conflict, ...] = ()
    missing: tuple[MissingName, ...] = ()
    strays: tuple[Finding, ...] = ()


LaterLook = Callable[[Pick, FileChange, BlobHash], LaterVersion | None]
"""Finds the later upstream version that the fork's blob of a file stands on, if any."""


def apply_pick(
    bench: Bench,
    pick: Pick,
    *,
    ours: TreeHash,
    theirs_label: str,
    identifiers: Mapping[str, str] | None = None,
    later: LaterLook | None = None,
) -> Applied:
    """Bring one pick over to the tree `ours`.

    The change is first put in the fork's terms: `identifiers` are upstream's names that a person gave other ones.
    Hunks that are there already, or as upstream made them later, are left out; the rest is git's three-way merge,
    whose base is the tree that upstream changed. What both sides only added to one list is joined. What the result
    would hold twice is a conflict, or left out where the fork has it word for word and its place means nothing.
    """
    before, after = bench.commit(pick.before).tree, bench.commit(pick.commit).tree
    files = bench.diff(before, after)
    check_paths(files)
    change = translate(bench, before=before, after=after, files=files, ours=ours, identifiers=identifiers or {})
    judged = _judge(bench, change.files, before=change.before, ours=ours)
    if later is not None:
        judged = _with_later(bench, judged, files, ours=ours, look=partial(later, pick))
    theirs = _left_out(bench, change.after, judged)
    if theirs == change.before:
        return Applied(ours, None, _reports(pick, judged, {}, change.remarks))
    marking = _marking(bench, theirs_label)
    done = merge_settled(bench, Trees(change.before, theirs, ours), change.files, marking)
    told, judged = (
        judged,
        {path: (file, with_left(fits, done.left.get(path, ()), marking)) for path, (file, fits) in judged.items()},
    )
    if done.merged is None:
        return Applied(ours, None, _reports(pick, judged, {}, change.remarks))
    merged = done.merged
    twice = {path: told_by_hunk(fits, done.twice.get(path, ()), merged.twice) for path, (_, fits) in told.items()}
    settled = {
        path: _settle(bench, file, fits=fits, merged=merged, joins=done.joins.get(path, ()), twice=twice[path])
        for path, (file, fits) in judged.items()
    }
    reports = _reports(pick, judged, settled, change.remarks)
    missing = _missing_names(bench, judged, ours)
    if not merged.stages and not merged.messages:
        found = _strays(bench, judged, ours=ours, merged=merged.tree)
        return Applied(merged.tree, None, reports, missing=missing, strays=found)
    return Applied(None, merged, reports, _conflicts(bench, merged, change), missing)


def _marking(bench: Bench, theirs_label: str) -> Marking:
    """Port brings upstream's change to the fork; on a workbench with exchanged sides, a patch goes to upstream."""
    words = ("the patch", "upstream") if bench.exchanged else ("upstream", "the fork")
    return Marking((OURS_LABEL, theirs_label), *words, first=bench.exchanged)


def _judge(
    bench: Bench, files: Sequence[FileChange], *, before: TreeHash, ours: TreeHash
) -> dict[TreePath, tuple[FileChange, _Judged]]:
    paths = sorted({path for file in files for path in (file.old_path, file.path)})
    entries = bench.entries(ours, paths)
    undecided = {file.path for file in files if _fit_whole(file, entries) is None}
    old_paths = [file.old_path for file in files if file.path in undecided]
    local = line_runs(bench, before, ours, old_paths)
    contents = bench.blobs(entries[path].blob for path in old_paths)
    judged = {}
    for file in files:
        whole = _fit_whole(file, entries)
        if whole is None:
            lines = lines_of(contents[entries[file.old_path].blob])
            its, loose = local[file.old_path], is_cxx(file.path)
            fits: _Judged = [(hunk, fit(hunk, ours=lines, local=its, loose=loose)) for hunk in file.hunks]
        else:
            by_hunk = file.kind in (FileKind.MODIFIED, FileKind.RENAMED) and file.hunks
            fits = [(hunk, whole) for hunk in file.hunks] if by_hunk else [(None, whole)]
        judged[file.path] = (file, fits)
    return judged


def _with_later(
    bench: Bench,
    judged: Mapping[TreePath, tuple[FileChange, _Judged]],
    files: Sequence[FileChange],
    *,
    ours: TreeHash,
    look: Callable[[FileChange, BlobHash], LaterVersion | None],
) -> dict[TreePath, tuple[FileChange, _Judged]]:
    """Hunks that the fork has in the form that upstream gave them later.

    One whose surroundings the fork left alone is looked at as well: what it adds may stand a few lines on, and a
    merge would add it once more.

    `files` are upstream's own, before they were put in the fork's terms: its later versions are in these.
    """
    found = dict(judged)
    for theirs in files:
        file, fits = judged.get(theirs.path, (theirs, []))
        undecided = any(hunk and fit_.outcome in _MAY_BE_THERE for hunk, fit_ in fits)
        if not undecided or theirs.kind is not FileKind.MODIFIED or len(fits) != len(theirs.hunks):
            continue
        entry = bench.entries(ours, [theirs.path]).get(theirs.path)
        version = look(theirs, entry.blob) if entry and entry.is_file else None
        if version is not None:
            there = Fit(Outcome.ALREADY_PRESENT, f"as upstream has it later: {version.said}")
            pairs = zip(fits, theirs.hunks, strict=True)
            maybe = {*_MAY_BE_THERE, Outcome.CLEAN}
            found[theirs.path] = (
                file,
                [
                    (hunk, there if fit_.outcome in maybe and has_later(own, theirs.hunks, version) else fit_)
                    for (hunk, fit_), own in pairs
                ],
            )
    return found


def _fit_whole(file: FileChange, entries: Tree) -> Fit | None:
    """How a file fits as a whole, or None where its hunks must be looked at one by one."""
    old, new = entries.get(file.old_path), entries.get(file.path)
    if file.kind is FileKind.DELETED:
        if old is None:
            return Fit(Outcome.ALREADY_PRESENT, "the fork has no such file")
        same = old.blob == file.old_blob
        return Fit(Outcome.CLEAN) if same else Fit(None, "the fork changed the file that upstream removed")
    moved = file.kind is FileKind.RENAMED and old is not None
    if new == TreeEntry(file.mode, file.blob) and not moved:
        return Fit(Outcome.ALREADY_PRESENT, "the file is the same already")
    if file.kind is FileKind.ADDED:
        return Fit(Outcome.CLEAN) if new is None else Fit(None, "the fork has another file of this name")
    if old is None:
        return Fit(None, "the fork has no file of this name; git looked for it under other names")
    if old == TreeEntry(file.old_mode, file.old_blob):
        return Fit(Outcome.CLEAN)
    if not file.hunks or file.old_mode != file.mode or not old.is_file:
        return Fit(None, "the fork changed this file as well")
    return None


def _left_out(bench: Bench, after: TreeHash, judged: Mapping[TreePath, tuple[FileChange, _Judged]]) -> TreeHash:
    """Upstream's tree without what the fork has already."""
    edits: dict[TreePath, TreeEntry | None] = {}
    for path, (file, fits) in judged.items():
        present = [hunk for hunk, found in fits if found.outcome is Outcome.ALREADY_PRESENT]
        if not present:
            continue
        if len(present) == len(fits):
            edits[path] = None
            if file.kind is not FileKind.ADDED:
                edits[file.old_path] = TreeEntry(file.old_mode, file.old_blob)
            continue
        wanted = [hunk for hunk, found in fits if hunk and found.outcome is not Outcome.ALREADY_PRESENT]
        old = lines_of(bench.blobs([file.old_blob])[file.old_blob])
        edits[path] = TreeEntry(file.mode, bench.put_blob(content_of(with_hunks(old, wanted))))
    return bench.edit(after, edits)


def _missing_names(
    bench: Bench, judged: Mapping[TreePath, tuple[FileChange, _Judged]], ours: TreeHash
) -> tuple[MissingName, ...]:
    entries = bench.entries(ours, [file.old_path for file, _ in judged.values()])
    pairs = [
        (file, fits, entries[file.old_path])
        for file, fits in judged.values()
        if file.old_path in entries and file.kind in (FileKind.MODIFIED, FileKind.RENAMED)
    ]
    edited = [(file, fits, entry) for file, fits, entry in pairs if entry.is_file and entry.blob != file.old_blob]
    contents = bench.blobs(blob for file, _, entry in edited for blob in (file.old_blob, entry.blob))
    found: dict[MissingName, None] = {}
    for file, fits, entry in edited:
        old, mine = lines_of(contents[file.old_blob]), lines_of(contents[entry.blob])
        for hunk, fitted in fits:
            if hunk is not None and fitted.outcome is not Outcome.ALREADY_PRESENT:
                names = missing_names(hunk, old=old, ours=mine)
                found |= dict.fromkeys(MissingName(name, file.path) for name in names)
    return tuple(found)


# -- what the merge decided ----------------------------------------------------------------------------


def _settle(
    bench: Bench,
    file: FileChange,
    *,
    fits: _Judged,
    merged: Merged,
    joins: Sequence[Joined],
    twice: Mapping[Hunk | None, str],
) -> list[Fit]:
    """The outcome of every hunk of a file once the merge is known; `twice` says what some of them bring once more."""
    added = {header_of(join.region, file.hunks): join.how for join in joins}
    path = _conflicted_as(file, merged)
    sides = [merged.side(path, number) for number in (1, 2, 3)] if path else []
    blobs = [side.blob for side in sides if side]
    contents = bench.blobs(blobs) if len(blobs) == 3 else {}
    settled = []
    for hunk, found in fits:
        if hunk in twice:
            settled.append(Fit(Outcome.CONFLICT, twice[hunk]))
        elif found.outcome:
            settled.append(found)
        elif hunk is not None and hunk.header in added:
            settled.append(Fit(Outcome.ADDITIVE, added[hunk.header]))
        else:
            alone = hunk is not None and _merges_alone(bench, hunk, [contents[blob] for blob in blobs if contents])
            settled.append(Fit(Outcome.THREE_WAY if path is None or alone else Outcome.CONFLICT, found.detail))
    if path is not None and not any(found.outcome is Outcome.CONFLICT for found in settled):
        done = {Outcome.ALREADY_PRESENT, Outcome.ADDITIVE}
        settled = [found if found.outcome in done else Fit(Outcome.CONFLICT, found.detail) for found in settled]
    return settled


def _conflicted_as(file: FileChange, merged: Merged) -> TreePath | None:
    """The path under which a file conflicts: its own, or the one that the fork gave it."""
    if file.path in merged.conflicted:
        return file.path
    renamed = (stage.path for stage in merged.stages if stage.number == 1 and stage.blob == file.old_blob)
    return next(renamed, None)


def _merges_alone(bench: Bench, hunk: Hunk, sides: Sequence[bytes]) -> bool:
    if len(sides) != 3:
        return False
    base, ours, _ = sides
    return bench.merges_cleanly(base, ours, content_of(with_hunks(lines_of(base), [hunk])))


def _strays(
    bench: Bench, judged: Mapping[TreePath, tuple[FileChange, _Judged]], *, ours: TreeHash, merged: TreeHash
) -> tuple[Finding, ...]:
    """Hunks that the merge put into another function than upstream has them in."""
    wanted: dict[TreePath, tuple[FileChange, list[Hunk]]] = {}
    for path, (file, fits) in judged.items():
        left = [
            hunk for hunk, found in fits if hunk and found.outcome not in (Outcome.CLEAN, Outcome.ALREADY_PRESENT)
        ]
        if left and is_cxx(path):
            wanted[path] = (file, left)
    entries = bench.entries(merged, list(wanted))
    contents = bench.blobs(
        blob for path in entries for blob in (entries[path].blob, wanted[path][0].blob) if entries[path].is_file
    )
    placed = bench.diff(ours, merged, context=0, renames=False, paths=list(entries)) if entries else ()
    found = []
    for file in placed:
        theirs, left = wanted[file.path]
        runs = [run for hunk in file.hunks for run in hunk.changes]
        lost = strays(theirs.hunks, placed=runs, after=contents[theirs.blob], merged=contents[file.blob])
        found += [stray_finding(one, file.path) for one in lost if one.hunk in left]
    return tuple(found)


def _conflicts(bench: Bench, merged: Merged, change: Translated) -> tuple[Conflict, ...]:
    entries = bench.entries(merged.tree, merged.conflicted)
    contents = bench.blobs(entry.blob for entry in entries.values() if entry.is_file)
    found: list[Conflict] = []
    for path in merged.conflicted:
        files = [file for file in change.files if _conflicted_as(file, merged) == path]
        remark = change.remarks.get(path, Remark(files[0].old_path if files else path))
        hunks = [hunk for file in files for hunk in file.hunks]
        content = contents.get(entries[path].blob, b"") if path in entries else b""
        found += conflicts_of(
            merged, path, content, hunks, label=OURS_LABEL, origin=remark.origin, spans=not remark.alien
        )
    if not found:
        found = [Conflict(change.files[0].path, None, reason=reason) for reason in merged.messages]
    return tuple(found)


def _reports(
    pick: Pick,
    judged: Mapping[TreePath, tuple[FileChange, _Judged]],
    settled: Mapping[TreePath, Sequence[Fit]],
    remarks: Mapping[TreePath, Remark],
) -> tuple[HunkReport, ...]:
    rows = []
    by_origin = sorted((remarks.get(path, Remark(path)).origin, path) for path in judged)
    for _, path in by_origin:
        file, fits = judged[path]
        final = settled.get(path) or [found for _, found in fits]
        remark = remarks.get(path, Remark(path))
        for (hunk, _), found in zip(fits, final, strict=True):
            assert found.outcome is not None  # noqa: S101  (the merge settled it)
            header = hunk.header if hunk else file.whole
            details = [*([found.detail] if found.detail else []), *remark.details(hunk)]
            outcome = Outcome.MOVED if remark.moved and found.outcome in _APPLIED else found.outcome
            rows.append(HunkReport(remark.origin, header, outcome, "; ".join(details), pick.commit))
    return tuple(rows)
