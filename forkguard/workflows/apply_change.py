"""Applying one pick to a tree, in memory: what fits, what is there already, what git's merge makes of the rest."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.hunks import (
    Change,
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
from forkguard.core.merges import Conflict, Merged, header_of, regions
from forkguard.core.names import BlobHash, TreeHash, TreePath
from forkguard.core.porting import HunkReport, MissingName, Pick
from forkguard.core.trees import Tree, TreeEntry
from forkguard.errors import CouldNotWork
from forkguard.ports import Bench

OURS_LABEL = "fork"

_Judged = list[tuple[Hunk | None, Fit]]


@dataclass(frozen=True, slots=True)
class Applied:
    """One pick on top of a tree. `tree` is None where a person must decide; `merged` is then what they get."""

    tree: TreeHash | None
    merged: Merged | None
    hunks: tuple[HunkReport, ...]
    conflicts: tuple[Conflict, ...] = ()
    missing: tuple[MissingName, ...] = ()


def apply_pick(bench: Bench, pick: Pick, *, ours: TreeHash, theirs_label: str) -> Applied:
    """Bring one pick over to the tree `ours`.

    Hunks that are there already are left out; the rest is git's three-way merge, whose base is the tree
    that upstream changed.
    """
    before, after = bench.commit(pick.before).tree, bench.commit(pick.commit).tree
    files = bench.diff(before, after)
    check_paths(files)
    converted = _crlf_versions(bench, files, ours)
    if converted:
        before = bench.edit(before, {path: old for path, (old, _) in converted.items()})
        after = bench.edit(after, {path: new for path, (_, new) in converted.items()})
        files = bench.diff(before, after)
    judged = _judge(bench, files, before=before, ours=ours)
    theirs = _left_out(bench, after, judged)
    if theirs == before:
        return Applied(ours, None, _reports(pick, judged, {}, converted))
    merged = bench.merge(before, ours, theirs, ours_label=OURS_LABEL, theirs_label=theirs_label)
    settled = {path: _settle(bench, file, fits, merged) for path, (file, fits) in judged.items()}
    reports = _reports(pick, judged, settled, converted)
    missing = _missing_names(bench, judged, ours)
    if not merged.stages and not merged.messages:
        return Applied(merged.tree, None, reports, missing=missing)
    return Applied(None, merged, reports, _conflicts(bench, merged, files), missing)


def check_paths(files: Sequence[FileChange]) -> None:
    """Raise `CouldNotWork` for a change that writes where a checkout must not: `.git`, `..`."""
    for file in files:
        for part in file.path.split("/"):
            if part in ("", ".", "..") or part.lower().rstrip(". ") in (".git", "git~1"):
                raise CouldNotWork(
                    f"the change writes to {file.path!r}, which no checkout may hold",
                    hint="do not port this request; look at it with git show",
                )


def _crlf_versions(
    bench: Bench, files: Sequence[FileChange], ours: TreeHash
) -> dict[TreePath, tuple[TreeEntry, TreeEntry]]:
    """Both of upstream's versions with CRLF line ends, for the files that the fork turned to CRLF."""
    entries = bench.entries(ours, [file.path for file in files])
    changed = [
        (file, entries[file.path])
        for file in files
        if file.kind is FileKind.MODIFIED and file.hunks and file.path in entries
        if entries[file.path].blob not in (file.old_blob, file.blob) and entries[file.path].is_file
    ]
    contents = bench.blobs(blob for file, entry in changed for blob in (entry.blob, file.old_blob, file.blob))
    found = {}
    for file, entry in changed:
        mine, old, new = contents[entry.blob], contents[file.old_blob], contents[file.blob]
        if b"\n" in mine and mine.count(b"\r\n") == mine.count(b"\n") and b"\r\n" not in old + new:
            sides = [bench.put_blob(side.replace(b"\n", b"\r\n")) for side in (old, new)]
            found[file.path] = (TreeEntry(file.old_mode, sides[0]), TreeEntry(file.mode, sides[1]))
    return found


def _judge(
    bench: Bench, files: Sequence[FileChange], *, before: TreeHash, ours: TreeHash
) -> dict[TreePath, tuple[FileChange, _Judged]]:
    paths = sorted({path for file in files for path in (file.old_path, file.path)})
    entries = bench.entries(ours, paths)
    undecided = {file.path for file in files if _fit_whole(file, entries) is None}
    old_paths = [file.old_path for file in files if file.path in undecided]
    local = _local_changes(bench, before, ours, old_paths)
    contents = bench.blobs(entries[path].blob for path in old_paths)
    judged = {}
    for file in files:
        whole = _fit_whole(file, entries)
        if whole is None:
            lines = lines_of(contents[entries[file.old_path].blob])
            fits: _Judged = [(hunk, fit(hunk, ours=lines, local=local[file.old_path])) for hunk in file.hunks]
        else:
            by_hunk = file.kind in (FileKind.MODIFIED, FileKind.RENAMED) and file.hunks
            fits = [(hunk, whole) for hunk in file.hunks] if by_hunk else [(None, whole)]
        judged[file.path] = (file, fits)
    return judged


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


def _local_changes(
    bench: Bench, before: TreeHash, ours: TreeHash, paths: Sequence[TreePath]
) -> Mapping[TreePath, tuple[Change, ...]]:
    found: dict[TreePath, tuple[Change, ...]] = dict.fromkeys(paths, ())
    if paths:
        for file in bench.diff(before, ours, context=0, renames=False, paths=paths):
            found[file.path] = tuple(change for hunk in file.hunks for change in hunk.changes)
    return found


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


def _settle(bench: Bench, file: FileChange, fits: _Judged, merged: Merged) -> list[Fit]:
    """The outcome of every hunk of a file once the merge is known."""
    path = _conflicted_as(file, merged)
    if path is None:
        return [found if found.outcome else Fit(Outcome.THREE_WAY, found.detail) for _, found in fits]
    sides = [merged.side(path, number) for number in (1, 2, 3)]
    blobs = [side.blob for side in sides if side]
    settled = []
    contents = bench.blobs(blobs) if len(blobs) == 3 else {}
    for hunk, found in fits:
        clean = hunk is not None and _merges_alone(bench, hunk, [contents[blob] for blob in blobs if contents])
        if found.outcome:
            settled.append(found)
        else:
            settled.append(Fit(Outcome.THREE_WAY if clean else Outcome.CONFLICT, found.detail))
    if not any(found.outcome is Outcome.CONFLICT for found in settled):
        settled = [
            found if found.outcome is Outcome.ALREADY_PRESENT else Fit(Outcome.CONFLICT, found.detail)
            for found in settled
        ]
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


def _conflicts(bench: Bench, merged: Merged, files: Sequence[FileChange]) -> tuple[Conflict, ...]:
    entries = bench.entries(merged.tree, merged.conflicted)
    contents = bench.blobs(entry.blob for entry in entries.values() if entry.is_file)
    found: list[Conflict] = []
    for path in merged.conflicted:
        hunks = [hunk for file in files if _conflicted_as(file, merged) == path for hunk in file.hunks]
        marked = regions(lines_of(_content(path, entries, contents)), label=OURS_LABEL)
        for region in marked:
            ours, base, theirs = ("".join(side) for side in (region.ours, region.base, region.theirs))
            header = header_of(region, hunks)
            found.append(Conflict(path, region.line, header, ours=ours, base=base, theirs=theirs))
        if not marked:
            reason = next((text for text in merged.messages if path in text), "both sides changed this file")
            found.append(Conflict(path, None, reason=reason))
    if not found:
        found = [Conflict(files[0].path, None, reason=reason) for reason in merged.messages]
    return tuple(found)


def _content(path: TreePath, entries: Tree, contents: Mapping[BlobHash, bytes]) -> bytes:
    return contents.get(entries[path].blob, b"") if path in entries else b""


def _reports(
    pick: Pick,
    judged: Mapping[TreePath, tuple[FileChange, _Judged]],
    settled: Mapping[TreePath, Sequence[Fit]],
    converted: Collection[TreePath],
) -> tuple[HunkReport, ...]:
    rows = []
    for path, (file, fits) in judged.items():
        final = settled.get(path) or [found for _, found in fits]
        for (hunk, _), found in zip(fits, final, strict=True):
            assert found.outcome is not None  # noqa: S101  (the merge settled it)
            header = hunk.header if hunk else file.whole
            details = [found.detail] if found.detail else []
            details += ["in the fork's CRLF line ends"] if path in converted else []
            rows.append(HunkReport(path, header, found.outcome, "; ".join(details), pick.commit))
    return tuple(rows)
