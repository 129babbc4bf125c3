"""What a replay of the stack says of each patch. The JSON contract is replay@1."""

import heapq
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from forkguard.core.commits import Commit
from forkguard.core.findings import Side
from forkguard.core.hunks import FileKind
from forkguard.core.merges import Merged
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.patch_mail import PatchMail

TELLING = re.compile(r"[A-Za-z0-9_].*[A-Za-z0-9_]")
"""A line that tells something: not a brace, not an empty one."""


class PatchStatus(StrEnum):
    """The class of one patch (the contract of replay@1 and nightly@1)."""

    APPLIES = "applies"
    ADDITIVE = "additive"
    LANDED = "landed"
    CONFLICT = "conflict"
    MISSING_BLOB = "missing-blob"
    UNTESTED = "untested"

    @property
    def failed(self) -> bool:
        """Whether the patch is not in the result although upstream lacks it."""
        return self in (PatchStatus.CONFLICT, PatchStatus.MISSING_BLOB, PatchStatus.UNTESTED)


@dataclass(frozen=True, slots=True)
class StackPatch:
    """One patch of the stack: its patchset, its file's name there, and what the file holds."""

    patchset: str
    name: str
    mail: PatchMail

    @property
    def label(self) -> str:
        """How reports call it."""
        return f"{self.patchset}/{self.name}"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A place where a patch does not fit: `line` (from 1, of the patch's own old file) is None for a whole file."""

    path: TreePath
    line: int | None
    header: str
    reason: str


@dataclass(frozen=True, slots=True)
class Break:
    """The upstream commit since which a patch fails.

    `parent` is the commit before it, on which the patch was tried too. `monotone` is False where the patch also
    fails before it, or applies again behind it: `others` says so. `tried` counts the replays that it took.
    """

    commit: Commit
    parent: CommitHash
    monotone: bool
    others: tuple[str, ...]
    tried: int


@dataclass(frozen=True, slots=True)
class PatchResult:
    """One patch and its class.

    `how` says by what it applies (exact, offset, three-way, ...) or what shows that it landed. `needs` are the failed
    patches that an untested one builds on. `touched` are upstream's commits to the files of a patch whose base
    blob is missing. `commit` is the replayed commit; None where the result does not hold the patch. `merged` is the
    merge that a person would have to decide.
    """

    patch: StackPatch
    status: PatchStatus
    how: str = ""
    troubles: tuple[Trouble, ...] = ()
    needs: tuple[str, ...] = ()
    landed_in: CommitHash | None = None
    touched: tuple[Commit, ...] = ()
    broken: Break | None = None
    note: str = ""
    commit: CommitHash | None = None
    merged: Merged | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Failures with one root: the upstream commit that broke them, else the first patch that failed."""

    root: str
    commit: Commit | None
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenConflict:
    """The conflict of a patch that waits for a person in a worktree (empty: it is not made yet).

    `decided` and `skipped` are the patches (PATCHSET/PATCH) that a person is done with in this replay.
    """

    patch: str
    subject: str
    onto: str
    worktree: str
    paths: tuple[TreePath, ...]
    decided: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """A whole replay. `tip` holds every patch that could be kept, on top of `onto`; `replays` counts trials.

    `open` is the conflict that waits for a person, of this replay or of an earlier one.
    """

    base: Commit
    onto: Side
    onto_commit: Commit
    commits: int
    results: tuple[PatchResult, ...]
    groups: tuple[Group, ...]
    tip: CommitHash
    replays: int
    notes: tuple[str, ...] = ()
    open: OpenConflict | None = None

    @property
    def failed(self) -> bool:
        """Whether any patch of the stack is not in the result although upstream lacks it."""
        return any(result.status.failed for result in self.results)


@dataclass(frozen=True, slots=True)
class ReplayEnd:
    """A replay that was given up: the patch that was open, and what became of the resolutions made in it."""

    patch: str
    taken_back: int
    kept: int


@dataclass(frozen=True, slots=True)
class Touch:
    """One upstream commit of the first-parent line; the paths that it changes, with mode and blob (None: gone)."""

    commit: CommitHash
    paths: dict[TreePath, tuple[str, str] | None] = field(default_factory=dict)


# -- roots -----------------------------------------------------------------------------------------------


def builds_on(patch: StackPatch, earlier: StackPatch, troubles: Sequence[Trouble]) -> bool:
    """Whether a patch needs a file or lines that an earlier one, which failed, brings."""
    failing = {trouble.path for trouble in troubles}
    brought: dict[TreePath, set[str]] = {}
    for file in earlier.mail.files:
        if file.kind in (FileKind.ADDED, FileKind.RENAMED) and file.path in failing:
            return True
        lines = {line for hunk in file.hunks for change in hunk.changes for line in change.added}
        brought.setdefault(file.path, set()).update(line for line in lines if TELLING.search(line))
    for file in patch.mail.files:
        if file.old_path in failing or file.path in failing:
            wanted = {line for hunk in file.hunks for line in hunk.before}
            if wanted & brought.get(file.old_path, set()):
                return True
    return False


def groups_of(results: Sequence[PatchResult]) -> tuple[Group, ...]:
    """The failures by root: those that one upstream commit broke, with the patches that wait for them."""
    roots: dict[str, str] = {}
    commits: dict[str, Commit] = {}
    members: dict[str, list[str]] = {}
    for result in results:
        if not result.status.failed:
            continue
        label = result.patch.label
        key = result.broken.commit.id if result.broken else label
        if result.needs:
            key = roots.get(result.needs[0], result.needs[0])
        roots[label] = key
        members.setdefault(key, []).append(label)
        if result.broken:
            commits[key] = result.broken.commit
    return tuple(Group(names[0], commits.get(key), tuple(names)) for key, names in members.items())


# -- the commit that broke a patch -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found: the index of the first failing point, None where the first point fails already."""

    at: int | None
    monotone: bool
    others: tuple[int, ...]
    tried: int


def find_break(points: int, fails: Callable[[int], bool], *, budget: int) -> Search:
    """The point from which on a patch fails: bisection over the points 0..points-1, the last of which fails.

    Point 0 is where the patch was made; it is tried first. The found point and the one before it were
    both tried. What the budget leaves is spent on points on either side, to see whether the answer is the only one.

    >>> find_break(10, lambda at: at >= 7, budget=8)
    Search(at=7, monotone=True, others=(), tried=8)
    """
    known: dict[int, bool] = {points - 1: True}

    def failing(at: int) -> bool:
        if at not in known:
            known[at] = fails(at)
        return known[at]

    if failing(0):
        return Search(None, monotone=True, others=(), tried=len(known) - 1)
    low, high = 0, points - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if failing(middle) else (middle, high)
    for at in spread(points, set(known)):
        if len(known) > budget:
            break
        failing(at)
    others = tuple(at for at in sorted(known) if known[at] != (at >= high))
    return Search(high, monotone=not others, others=others, tried=len(known) - 1)


def spread(points: int, known: set[int]) -> Iterator[int]:
    """The points that were not tried, those in the middle of the widest gaps first."""
    gaps = [(low - high, low, high) for low, high in itertools.pairwise(sorted(known | {0, points - 1}))]
    heapq.heapify(gaps)
    while gaps:
        _, low, high = heapq.heappop(gaps)
        middle = (low + high) // 2
        if high - low > 1:
            yield middle
            heapq.heappush(gaps, (low - middle, low, middle))
            heapq.heappush(gaps, (middle - high, middle, high))
