"""The base of a fork whose history was squashed: the upstream commit whose tree is most like the fork's."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from forkguard.core.names import BlobHash, CommitHash, TreePath

Entries = Mapping[TreePath, BlobHash]
_MOST_TIES = 32
_SYNCED = 0.75
"""A fork that has this part of what upstream changed up to a commit took that commit, whatever its history says."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one upstream commit did to one path; None where the file is not there."""

    path: TreePath
    before: BlobHash | None
    after: BlobHash | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An upstream commit, how many tree entries it shares with the fork, and what it changed."""

    commit: CommitHash
    equal: int
    changes: tuple[Change, ...]


def parse_raw_log(log: str) -> Iterable[tuple[CommitHash, tuple[Change, ...]]]:
    """Read `Repository.raw_log`: each commit, newest first, with its changes.

    >>> list(parse_raw_log("commit " + "a" * 40 + "\\n\\n:100644 100644 b c M\\tx.cpp\\n"))[0][1]
    (Change(path='x.cpp', before='b', after='c'),)
    """
    commit: CommitHash | None = None
    changes: list[Change] = []
    for line in log.split("\n"):
        if line.startswith("commit "):
            if commit is not None:
                yield commit, tuple(changes)
            commit, changes = CommitHash(line[7:]), []
        elif line.startswith(":"):
            meta, path = line.split("\t", 1)
            _, _, before, after, _ = meta[1:].split(" ")
            changes.append(Change(TreePath(path), _blob(before), _blob(after)))
    if commit is not None:
        yield commit, tuple(changes)


def _blob(text: str) -> BlobHash | None:
    return BlobHash(text) if text.strip("0") else None


def candidates(*, fork: Entries, tip: Entries, log: str) -> list[Candidate]:
    """Every upstream commit with the number of entries (path and blob) that it shares with the fork.

    `tip` is the tree of the newest commit of the log; the others follow by undoing each commit's changes.
    """
    equal = sum(fork.get(path) == blob for path, blob in tip.items())
    found = []
    for commit, changes in parse_raw_log(log):
        found.append(Candidate(commit, equal, changes))
        for change in changes:
            ours = fork.get(change.path)
            if ours is not None:
                equal += (ours == change.before) - (ours == change.after)
    return found


def tied_for_best(found: list[Candidate]) -> list[Candidate]:
    """The candidates that share most entries, newest first (at most 32 of them)."""
    best = max((candidate.equal for candidate in found), default=0)
    return [candidate for candidate in found if candidate.equal == best][:_MOST_TIES]


@dataclass(frozen=True, slots=True)
class Sync:
    """How much of upstream's work between two commits a fork has: `taken` of `moved` files are as in the later."""

    taken: int
    moved: int

    @property
    def happened(self) -> bool:
        """Whether the fork took the later commit as a whole, by whatever means."""
        return self.taken > 0 and self.taken >= _SYNCED * self.moved


def sync_between(*, fork: Entries, earlier: Entries, later: Entries) -> Sync:
    """What the fork has of the files that upstream changed between two commits (trees as path to blob).

    >>> sync_between(fork={"a": "2", "b": "1"}, earlier={"a": "1", "b": "1"}, later={"a": "2", "b": "2"})
    Sync(taken=1, moved=2)
    """
    moved = [path for path in earlier.keys() | later.keys() if earlier.get(path) != later.get(path)]
    taken = sum(fork.get(path) == later.get(path) for path in moved)
    return Sync(taken, len(moved))


def contested_paths(found: list[Candidate], tied: list[Candidate]) -> frozenset[TreePath]:
    """The paths in which the tied candidates can differ from each other."""
    if len(tied) < 2:
        return frozenset()
    order = {candidate.commit: i for i, candidate in enumerate(found)}
    first, last = order[tied[0].commit], order[tied[-1].commit]
    return frozenset(change.path for candidate in found[first:last] for change in candidate.changes)


def closest_by_lines(
    tied: list[Candidate],
    *,
    fork: Callable[[TreePath], bytes],
    theirs: Callable[[CommitHash, TreePath], bytes],
    paths: frozenset[TreePath],
) -> Candidate:
    """Among equals, the one whose contested files have most lines in common with the fork's; the newest of those."""

    def score(candidate: Candidate) -> int:
        return sum(likeness(fork(path), theirs(candidate.commit, path)) for path in paths)

    return max(tied, key=score) if len(tied) > 1 else tied[0]


def likeness(ours: bytes, theirs: bytes) -> int:
    """How many lines two files share, less those of `theirs` that are not shared: comparable for one `ours`."""
    one, other = Counter(ours.split(b"\n")), Counter(theirs.split(b"\n"))
    return 2 * (one & other).total() - other.total()
