"""The later upstream version that a fork's file stands on, looked up in upstream's history."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from forkguard.core.basematch import parse_raw_log
from forkguard.core.hunks import Change, FileChange
from forkguard.core.later_versions import LaterVersion, nearest_version
from forkguard.core.names import BlobHash, CommitHash, TreeHash, TreePath
from forkguard.core.porting import Pick
from forkguard.core.trees import TreeEntry
from forkguard.errors import MissingObject
from forkguard.ports import Bench, Repository
from forkguard.workflows.apply_change import LaterLook

_MOST = 80
"""Versions of a file that are looked at, from the change on."""


def later_look(tip: CommitHash | None, *, repo: Repository, bench: Bench) -> LaterLook | None:
    """Looks among upstream's versions from the change to `tip`; None where no tip is known.

    Only a change that upstream has merged has later versions, and only a file whose blobs are all here is looked at.
    """
    if tip is None:
        return None

    @lru_cache(maxsize=8)
    def since(commit: CommitHash) -> dict[TreePath, list[tuple[BlobHash, CommitHash]]]:
        return _versions(repo.raw_log(tip, since=commit)) if repo.is_ancestor(commit, tip) else {}

    def look(pick: Pick, file: FileChange, ours: BlobHash) -> LaterVersion | None:
        later = [(file.blob, pick.commit), *since(pick.commit).get(file.path, [])]
        best = _nearest(bench, file, ours, [blob for blob, _ in later])
        if best is None:
            return None
        tree = bench.commit(pick.commit).tree
        steps = [_with(bench, tree, file, blob) for blob in (file.blob, best, ours)]
        evolved, own = (_between(bench, one, other, file.path) for one, other in pairwise(steps))
        commit = next(commit for blob, commit in later if blob == best)
        pull = repo.commits([commit])[commit].pull
        return LaterVersion(evolved, own, f"#{pull}" if pull else commit[:10])

    return look


def _versions(log: str) -> dict[TreePath, list[tuple[BlobHash, CommitHash]]]:
    """The versions of each file in a log, the oldest first."""
    found: dict[TreePath, list[tuple[BlobHash, CommitHash]]] = {}
    for commit, changes in parse_raw_log(log):
        for change in changes:
            if change.after is not None:
                found.setdefault(change.path, []).append((change.after, commit))
    return {path: versions[::-1][:_MOST] for path, versions in found.items()}


def _nearest(bench: Bench, file: FileChange, ours: BlobHash, versions: Sequence[BlobHash]) -> BlobHash | None:
    try:
        contents = bench.blobs([ours, file.old_blob, *versions])
    except MissingObject:
        return None
    known = {blob: contents[blob] for blob in versions}
    return nearest_version(contents[ours], before=contents[file.old_blob], versions=known)


def _with(bench: Bench, tree: TreeHash, file: FileChange, blob: BlobHash) -> TreeHash:
    return bench.edit(tree, {file.path: TreeEntry(file.mode, blob)})


def _between(bench: Bench, one: TreeHash, other: TreeHash, path: TreePath) -> tuple[Change, ...]:
    files = bench.diff(one, other, context=0, renames=False, paths=[path])
    return tuple(change for file in files for hunk in file.hunks for change in hunk.changes)
