"""Open pull requests of a forge, and whether one of them works on the lines that a change is about."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.forge import text_of
from forkguard.core.history import line_key
from forkguard.core.hunks import FileChange
from forkguard.core.names import CommitHash, PullNumber, TreePath
from forkguard.core.patchset import FollowUp
from forkguard.errors import CouldNotWork

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORTEST = 4  # tokens; shorter lines are everywhere
_NEXT_TO = 2
"""Lines of a change around another one's edits, from which on that one works in the same place."""


@dataclass(frozen=True, slots=True)
class OpenPull:
    """One open request, as the forge lists it."""

    pull: PullNumber
    title: str
    head: CommitHash


@dataclass(frozen=True, slots=True)
class PatchedFile:
    """What a request does to one file: keys of lines removed, added, and shown around them."""

    path: TreePath
    removed: frozenset[str]
    added: frozenset[str]
    around: frozenset[str]


@dataclass(frozen=True, slots=True)
class OpenPulls:
    """Open requests whose files were read; `unread` were listed and not read, `notes` say what was not looked at."""

    read: tuple[tuple[OpenPull, tuple[PatchedFile, ...]], ...] = ()
    unread: int = 0
    notes: tuple[str, ...] = ()


def parse_open_pulls(content: bytes, *, where: str) -> tuple[OpenPull, ...]:
    """Read what the API answers for `/repos/OWNER/NAME/pulls`. Raises `CouldNotWork` for anything else."""
    try:
        rows = json.loads(content)
        found = [
            OpenPull(PullNumber(int(r["number"])), text_of(r["title"]), CommitHash(str(r["head"]["sha"])))
            for r in rows
        ]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CouldNotWork(
            "the forge's answer is no list of requests", where=where, hint="check [forge] api"
        ) from error
    return tuple(one for one in found if _HASH.fullmatch(one.head))


def parse_pull_files(content: bytes, *, where: str) -> tuple[PatchedFile, ...]:
    """Read what the API answers for `/repos/OWNER/NAME/pulls/N/files`; a file without a patch has no lines."""
    try:
        rows = [(str(row["filename"]), str(row.get("patch") or "")) for row in json.loads(content)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CouldNotWork("the forge's answer is no list of files", where=where, hint="check [forge] api") from error
    return tuple(_patched(TreePath(path), patch) for path, patch in rows)


def _patched(path: TreePath, patch: str) -> PatchedFile:
    rows: dict[str, set[str]] = {"-": set(), "+": set(), " ": set()}
    for line in patch.split("\n"):
        if line[:1] in rows:
            rows[line[0]].add(_key(line[1:]))
    return PatchedFile(path, *(frozenset(filter(_tells, rows[mark])) for mark in "-+ "))


def change_lines(files: Iterable[FileChange]) -> dict[TreePath, PatchedFile]:
    """A change's own lines, by file."""
    found: dict[TreePath, PatchedFile] = {}
    for file in files:
        changes = [change for hunk in file.hunks for change in hunk.changes]
        removed = frozenset(filter(_tells, (_key(line) for change in changes for line in change.removed)))
        added = frozenset(filter(_tells, (_key(line) for change in changes for line in change.added)))
        old = found.get(file.path, PatchedFile(file.path, frozenset(), frozenset(), frozenset()))
        found[file.path] = PatchedFile(file.path, old.removed | removed, old.added | added, frozenset())
    return found


def _key(line: str) -> str:
    return line_key(line.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def _tells(key: str) -> bool:
    return key.count(" ") + 1 >= _SHORTEST


def near(change: Mapping[TreePath, PatchedFile], pulls: OpenPulls, *, own: PullNumber | None) -> tuple[FollowUp, ...]:
    """The open requests that work on the lines of a change, as follow-ups; the one that it came from is none."""
    found = []
    for pull, files in pulls.read:
        why = _why(change, files) if pull.pull != own else ""
        if why:
            found.append(FollowUp(pull=pull.pull, why=f"open: {why}: {pull.title}"))
    return tuple(found)


def _why(change: Mapping[TreePath, PatchedFile], files: Sequence[PatchedFile]) -> str:
    pairs = [(change[file.path], file) for file in files if file.path in change]
    takes = sum(len(mine.added & its.removed) for mine, its in pairs)
    same = sum(len(mine.removed & its.removed) for mine, its in pairs)
    beside = sum(len(mine.added & its.around) for mine, its in pairs)
    if takes:
        return f"changes {takes} of its lines"
    if same:
        return f"changes {same} of the lines that it changes"
    return f"works next to {beside} of its lines" if beside >= _NEXT_TO else ""
