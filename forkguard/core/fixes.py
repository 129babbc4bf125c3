"""Upstream commits that repair code which the fork carries: they change lines that the fork still has."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from forkguard.core.commits import Commit
from forkguard.core.history import line_key
from forkguard.core.names import CommitHash, TreePath

_REPAIRS = re.compile(
    r"\b(fix(es|ed|up)?|bug|crash(es)?|segfault|overflow|leak|race|deadlock|hang|corrupt(ion|ed)?|wrong|incorrect|broken"
    r"|regression|revert|abort|assert|out[- ]of[- ]bounds|uninitiali[sz]ed|use[- ]after[- ]free|nan|ub|cve)\b",
    re.IGNORECASE,
)
_GRAVE = re.compile(
    r"\b(crash(es)?|segfault|overflow|race|deadlock|hang|corrupt(ion|ed)?|out[- ]of[- ]bounds|use[- ]after[- ]free"
    r"|abort|cve|nan)\b",
    re.IGNORECASE,
)
_COSMETIC = re.compile(
    r"\b(typo|comment|readme|docs?|format(ting)?|whitespace|rename|clean[- ]?up|lint|ci)\b", re.IGNORECASE
)
_TESTS = re.compile(r"(^|/)(tests?|benches|examples)/")
_SHORTEST = 4  # tokens; shorter lines (`}`, `break;`) are everywhere and prove nothing


class Rank(StrEnum):
    """How much a missing fix matters; worst first."""

    GRAVE = "grave"
    FIX = "fix"
    CHANGE = "change"
    COSMETIC = "cosmetic"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What one commit did to one file: line keys that it removed and added."""

    path: TreePath
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """A commit that the fork lacks, with the files of the fork that still hold what it repaired.

    `kept` of `touched` lines that it removed upstream are in the fork. `files` is path to kept lines.
    """

    commit: Commit
    rank: Rank
    kept: int
    touched: int
    files: tuple[tuple[TreePath, int], ...] = field(default_factory=tuple)


def changes_by_commit(log: str) -> Iterator[tuple[CommitHash, tuple[FileChange, ...]]]:
    """Read `Repository.patches`: each commit, newest first, with what it did to each file."""
    for part in re.split(r"^commit (?=[0-9a-f]{40}(?:[0-9a-f]{24})?$)", log, flags=re.MULTILINE)[1:]:
        head, *files = re.split(r"^diff --git ", part, flags=re.MULTILINE)
        changes = (_file_change(text) for text in files)
        yield CommitHash(head.split("\n", 1)[0]), tuple(change for change in changes if change is not None)


def _file_change(text: str) -> FileChange | None:
    """One file's part of a diff without context; None for a file that is new, or whose mode alone changed."""
    head, *hunks = re.split(r"^@@ .*$", text, flags=re.MULTILINE)
    path = re.search(r"^--- a/(.*)$", head, flags=re.MULTILINE)
    if path is None or not hunks:
        return None
    lines = [line for hunk in hunks for line in hunk.split("\n")]
    removed = tuple(line_key(line[1:]) for line in lines if line.startswith("-"))
    added = tuple(line_key(line[1:]) for line in lines if line.startswith("+"))
    return FileChange(TreePath(path.group(1)), removed, added)


def missing_fixes(
    changes: Iterable[tuple[CommitHash, tuple[FileChange, ...]]],
    *,
    commits: Callable[[CommitHash], Commit],
    fork: Callable[[TreePath], Counter[str] | None],
) -> tuple[Fix, ...]:
    """The commits whose old lines the fork still has, gravest first, then by how much of them it keeps.

    `fork` gives the line keys of a file of the fork with their counts, None where the fork has no such file.
    """
    found = []
    for id_, files in changes:
        fix = _judge(commits(id_), files, fork)
        if fix is not None:
            found.append(fix)
    order = list(Rank)
    return tuple(sorted(found, key=lambda fix: (order.index(fix.rank), -fix.kept / fix.touched, -fix.kept)))


def _judge(
    commit: Commit, files: Iterable[FileChange], fork: Callable[[TreePath], Counter[str] | None]
) -> Fix | None:
    kept_by_file: list[tuple[TreePath, int]] = []
    touched = 0
    for change in files:
        ours = fork(change.path)
        old = Counter(key for key in change.removed if _telling(key)) - Counter(change.added)
        new = Counter(key for key in change.added if _telling(key)) - Counter(change.removed)
        touched += old.total()
        if ours is None or _is_there(new, ours, old):
            continue
        kept = (old & ours).total()
        if kept:
            kept_by_file.append((change.path, kept))
    if not kept_by_file:
        return None
    rank = _rank(commit.subject, [path for path, _ in kept_by_file])
    return Fix(commit, rank, sum(kept for _, kept in kept_by_file), touched, tuple(kept_by_file))


def _telling(key: str) -> bool:
    return key.count(" ") + 1 >= _SHORTEST


def _is_there(new: Counter[str], ours: Counter[str], old: Counter[str]) -> bool:
    """Whether the fork has what the commit brought and not what it removed: it was ported."""
    return bool(new) and new <= ours and not old & ours


def _rank(subject: str, paths: list[TreePath]) -> Rank:
    if all(_TESTS.search(path) for path in paths) or (_COSMETIC.search(subject) and not _GRAVE.search(subject)):
        return Rank.COSMETIC
    if _GRAVE.search(subject):
        return Rank.GRAVE
    return Rank.FIX if _REPAIRS.search(subject) else Rank.CHANGE
