"""Where a patch's hunks fit a file: the rules of `git apply`, on lines in memory.

A hunk is looked for at its own line, then one line below, one above, two below, and so on; all of its context
must be there; a hunk that begins (ends) without context belongs to the beginning (end) of the file; and no hunk
takes lines that another one has written. So what `git apply` takes is taken here, at the same place; but for lines
that are added without any context, which it puts at the end of the file.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.hunks import Change, FileChange, FileKind, Hunk, content_of, lines_of
from forkguard.core.names import TreePath

_NEW_START = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")


@dataclass(frozen=True, slots=True)
class Version:
    """A file: its mode, and its content (None where the object is not in this clone)."""

    mode: str
    content: bytes | None


Files = Mapping[TreePath, Version | None]
"""Files by path; None where there is no such file."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A file that a patch does not fit, the reason, and the first hunk that has no place (None: the file as such)."""

    path: TreePath
    reason: str
    hunk: Hunk | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of trying a patch: the files that it writes, or why it does not fit; `shifted` by any offset."""

    files: Mapping[TreePath, Version | None]
    misfits: tuple[Misfit, ...]
    shifted: bool = False


def try_patch(changes: Sequence[FileChange], files: Files) -> Attempt:
    """Apply every file change to `files`, which holds each path of the patch."""
    written: dict[TreePath, Version | None] = {}
    misfits: list[Misfit] = []
    shifted = False
    for change in changes:
        current = written.get(change.old_path, files.get(change.old_path))
        target = written.get(change.path, files.get(change.path))
        found = _try_file(change, current, target)
        if isinstance(found, Misfit):
            misfits.append(found)
            continue
        version, moved = found
        shifted = shifted or moved
        if change.kind is FileKind.RENAMED:
            written[change.old_path] = None
        written[change.path] = version
    return Attempt(written if not misfits else {}, tuple(misfits), shifted)


def _try_file(
    change: FileChange, current: Version | None, target: Version | None
) -> tuple[Version | None, bool] | Misfit:
    refused = _refused(change, current, target)
    if refused:
        return Misfit(change.path, refused)
    lines = lines_of(current.content or b"") if current and change.kind is not FileKind.ADDED else []
    place = fit_hunks(lines, change.hunks)
    if isinstance(place, Hunk):
        reason = "its lines are not there" if place.before else "a hunk without context may belong anywhere"
        return Misfit(change.path, reason, place)
    result, moved = place
    if change.kind is FileKind.DELETED:
        return Misfit(change.path, "more is in the file than the patch removes") if result else (None, moved)
    kept = current.mode if current and change.old_mode == change.mode else change.mode
    return Version(kept, content_of(result)), moved


def _refused(change: FileChange, current: Version | None, target: Version | None) -> str:
    """Why a file change cannot even be tried; empty where it can."""
    if change.kind is FileKind.ADDED:
        return "the file is there already" if target is not None else ""
    if current is None:
        return "there is no file of this name"
    if change.kind is FileKind.RENAMED and target is not None:
        return "the file is there already"
    if current.content is None:
        return "the content of the file is not in this clone"
    if current.mode[:3] != change.old_mode[:3]:
        return "it is another kind of file"
    return ""


def fit_hunks(lines: Sequence[str], hunks: Sequence[Hunk]) -> tuple[list[str], bool] | Hunk:
    """The lines with every hunk applied, and whether any had moved; or the first hunk that has no place."""
    result = list(lines)
    free = [True] * len(result)
    moved = False
    for hunk in hunks:
        expected = _expected(hunk)
        at = next((at for at in _places(result, hunk, expected) if _fits(result, free, hunk, at)), None)
        if at is None:
            return hunk
        moved = moved or at != expected
        size = len(hunk.before)
        result[at : at + size] = hunk.after
        free[at : at + size] = [False] * len(hunk.after)
    return result, moved


def _expected(hunk: Hunk) -> int:
    match = _NEW_START.match(hunk.header)
    return max(int(match[1]) - 1, 0) if match else hunk.start


def _places(lines: Sequence[str], hunk: Hunk, expected: int) -> Iterator[int]:
    """Where git looks for a hunk, in its order."""
    last = len(lines) - len(hunk.before)
    if last < 0:
        return
    at_start = hunk.start == 0
    at_end = not hunk.changes or hunk.changes[-1].end == hunk.end
    if at_start or at_end:
        if not (at_start and at_end and last):
            yield 0 if at_start else last
        return
    expected = min(expected, len(lines))
    for distance in range(len(lines) + 1):
        for at in (expected + distance, expected - distance) if distance else (expected,):
            if 0 <= at <= last:
                yield at


def _fits(lines: Sequence[str], free: Sequence[bool], hunk: Hunk, at: int) -> bool:
    size = len(hunk.before)
    if not size:
        return not lines
    if size > 1 and lines[at] != hunk.before[0]:
        return False
    there = tuple(lines[at : at + size])
    return there[:-1] == hunk.before[:-1] and _ends_alike(there[-1], hunk) and all(free[at : at + size])


def _ends_alike(line: str, hunk: Hunk) -> bool:
    """Whether a line is the hunk's last one; context without a line end also fits a line that has one."""
    wanted = hunk.before[-1]
    at_end = bool(hunk.changes) and hunk.changes[-1].end == hunk.end
    if wanted.endswith("\n") or at_end:
        return line == wanted
    return line.startswith(wanted) and line.rstrip() == wanted.rstrip()


def backwards(change: FileChange) -> FileChange:
    """The change that takes a change of contents back."""
    kinds = {FileKind.ADDED: FileKind.DELETED, FileKind.DELETED: FileKind.ADDED}
    return FileChange(
        kinds.get(change.kind, change.kind),
        change.path,
        change.old_path,
        change.mode,
        change.old_mode,
        change.blob,
        change.old_blob,
        tuple(_hunk_backwards(hunk) for hunk in change.hunks),
    )


def _hunk_backwards(hunk: Hunk) -> Hunk:
    match = re.match(r"@@ -(\S+) \+(\S+) @@(.*)", hunk.header, re.DOTALL)
    header = f"@@ -{match[2]} +{match[1]} @@{match[3]}" if match else hunk.header
    new_start = max(_expected(hunk), 0)
    grown = 0
    changes = []
    for change in hunk.changes:
        changes.append(Change(change.start - hunk.start + new_start + grown, change.added, change.removed))
        grown += change.growth
    return Hunk(header, new_start, hunk.after, hunk.before, tuple(changes))
