"""Which upstream commit the fork descends from: as configured, by ancestry, or by content."""

from forkguard.core.basematch import candidates, closest_by_lines, contested_paths, tied_for_best
from forkguard.core.findings import Base, Side
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.errors import CouldNotWork
from forkguard.ports import Repository

_LEAST_LIKENESS = 0.2
"""A fork that shares less than this part of its tree with every upstream commit has no base there."""


def find_base(repo: Repository, *, fork: Side, upstream: Side, configured: str | None = None) -> Base:
    """The base of the fork. Raises `CouldNotWork` where neither history nor content gives one."""
    if configured:
        return Base(repo.resolve(configured), "configured")
    ancestor = repo.merge_base(fork.commit, upstream.commit)
    if ancestor is not None:
        return Base(ancestor, "merge-base")
    return _by_content(repo, fork=fork, upstream=upstream)


def _by_content(repo: Repository, *, fork: Side, upstream: Side) -> Base:
    ours = {path: entry.blob for path, entry in repo.tree(fork.commit).items()}
    tip = {path: entry.blob for path, entry in repo.tree(upstream.commit).items()}
    found = candidates(fork=ours, tip=tip, log=repo.raw_log(upstream.commit))
    tied = tied_for_best(found)
    if not tied or tied[0].equal < _LEAST_LIKENESS * len(ours):
        raise CouldNotWork(
            "no upstream commit resembles the fork: they share no history and too few files",
            where=f"{fork.ref} and {upstream.ref}",
            hint="name the commit that the fork was made from as [upstream] base in upstream-map.toml",
        )
    paths = frozenset(path for path in contested_paths(found, tied) if path in ours)
    best = tied[0]
    if paths:
        contents = _contents(repo, [candidate.commit for candidate in tied], paths)
        mine = repo.blobs(ours[path] for path in paths)
        best = closest_by_lines(
            tied,
            fork=lambda path: mine[ours[path]],
            theirs=lambda commit, path: contents.get((commit, path), b""),
            paths=paths,
        )
    return Base(best.commit, "content", equal=best.equal, total=len(ours))


def _contents(
    repo: Repository, commits: list[CommitHash], paths: frozenset[TreePath]
) -> dict[tuple[CommitHash, TreePath], bytes]:
    trees = {commit: repo.tree(commit, under=sorted(paths)) for commit in commits}
    wanted: set[BlobHash] = {entry.blob for tree in trees.values() for entry in tree.values()}
    blobs = repo.blobs(wanted)
    return {(commit, path): blobs[entry.blob] for commit, tree in trees.items() for path, entry in tree.items()}
