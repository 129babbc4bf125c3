"""Which upstream commit the fork descends from: as configured, by ancestry, or by content."""

from forkguard.core.basematch import (
    Candidate,
    Entries,
    candidates,
    closest_by_lines,
    contested_paths,
    sync_between,
    tied_for_best,
)
from forkguard.core.findings import Base, Side
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.errors import CouldNotWork
from forkguard.ports import Repository

_LEAST_LIKENESS = 0.2
"""A fork that shares less than this part of its tree with every upstream commit has no base there."""

_FEWEST_SYNCED = 2
"""A fork that took no more than one upstream commit ported it; that is no sync."""


def find_base(repo: Repository, *, fork: Side, upstream: Side, configured: str | None = None) -> Base:
    """The base of the fork. Raises `CouldNotWork` where neither history nor content gives one.

    A merge base is taken unless the fork's files tell that it took a later upstream commit without recording it
    (a sync that was squashed); `remark` then says so.
    """
    if configured:
        return Base(repo.resolve(configured), "configured")
    ours = _entries(repo, fork.commit)
    ancestor = repo.merge_base(fork.commit, upstream.commit)
    if ancestor is None:
        return _by_content(repo, ours, fork=fork, upstream=upstream)
    return _after_squashed_sync(repo, ours, ancestor, upstream=upstream) or Base(ancestor, "merge-base")


def _entries(repo: Repository, commit: CommitHash) -> Entries:
    return {path: entry.blob for path, entry in repo.tree(commit).items()}


def _after_squashed_sync(repo: Repository, ours: Entries, ancestor: CommitHash, *, upstream: Side) -> Base | None:
    """The upstream commit that a squashed sync brought, where the merge base is older than that."""
    if ancestor == upstream.commit:
        return None
    log = repo.raw_log(upstream.commit, since=ancestor)
    found = candidates(fork=ours, tip=_entries(repo, upstream.commit), log=log)
    tied = tied_for_best(found)
    earlier = _entries(repo, ancestor)
    if not tied or tied[0].equal <= sum(ours.get(path) == blob for path, blob in earlier.items()):
        return None
    best = _closest(repo, ours, found, tied)
    if len(found) - found.index(best) < _FEWEST_SYNCED:
        return None
    sync = sync_between(fork=ours, earlier=earlier, later=_entries(repo, best.commit))
    if not sync.happened:
        return None
    remark = (
        f"the merge base {ancestor[:12]} is stale: of the {sync.moved} files that upstream changed after it, up to "
        f"{best.commit[:12]}, {sync.taken} are in the fork as they were there (a squashed sync)"
    )
    return Base(best.commit, "content", equal=best.equal, total=len(ours), remark=remark)


def _by_content(repo: Repository, ours: Entries, *, fork: Side, upstream: Side) -> Base:
    found = candidates(fork=ours, tip=_entries(repo, upstream.commit), log=repo.raw_log(upstream.commit))
    tied = tied_for_best(found)
    if not tied or tied[0].equal < _LEAST_LIKENESS * len(ours):
        raise CouldNotWork(
            "no upstream commit resembles the fork: they share no history and too few files",
            where=f"{fork.ref} and {upstream.ref}",
            hint="name the commit that the fork was made from as [upstream] base in upstream-map.toml",
        )
    best = _closest(repo, ours, found, tied)
    return Base(best.commit, "content", equal=best.equal, total=len(ours))


def _closest(repo: Repository, ours: Entries, found: list[Candidate], tied: list[Candidate]) -> Candidate:
    """Among candidates with as many equal files, the one whose other files are most like the fork's.

    A file that the fork has not counts against a candidate that has it.
    """
    paths = contested_paths(found, tied)
    if not paths:
        return tied[0]
    contents = _contents(repo, [candidate.commit for candidate in tied], paths)
    mine = repo.blobs(ours[path] for path in paths if path in ours)
    return closest_by_lines(
        tied,
        fork=lambda path: mine[ours[path]] if path in ours else b"",
        theirs=lambda commit, path: contents.get((commit, path), b""),
        paths=paths,
    )


def _contents(
    repo: Repository, commits: list[CommitHash], paths: frozenset[TreePath]
) -> dict[tuple[CommitHash, TreePath], bytes]:
    trees = {commit: repo.tree(commit, under=sorted(paths)) for commit in commits}
    wanted: set[BlobHash] = {entry.blob for tree in trees.values() for entry in tree.values()}
    blobs = repo.blobs(wanted)
    return {(commit, path): blobs[entry.blob] for commit, tree in trees.items() for path, entry in tree.items()}
