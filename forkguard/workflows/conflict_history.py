"""Who wrote the two sides of a conflict: upstream's last changes of these lines, and the fork's."""

from collections.abc import Sequence
from dataclasses import replace

from forkguard.core.commits import Commit
from forkguard.core.history import Sought, line_key, removals
from forkguard.core.hunks import lines_of
from forkguard.core.merges import Conflict, Twice
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.porting import Pick
from forkguard.errors import CouldNotWork
from forkguard.ports import Repository

_MOST = 3
"""Upstream commits that are named for one conflict."""


def with_history(
    conflicts: Sequence[Conflict], *, repo: Repository, pick: Pick, onto: CommitHash, base: CommitHash
) -> tuple[Conflict, ...]:
    """The conflicts with the commits behind both sides; what history cannot tell stays empty."""
    paths = sorted({conflict.path for conflict in conflicts})
    tree = repo.tree(onto, under=paths) if paths else {}
    contents = repo.blobs(entry.blob for path, entry in tree.items() if path in paths and entry.is_file)
    lines = {path: lines_of(contents[tree[path].blob]) for path in paths if path in tree and tree[path].is_file}
    found = []
    for conflict in conflicts:
        mine = _of_fork(conflict, lines.get(conflict.path, []), repo=repo, onto=onto, base=base)
        found.append(replace(conflict, upstream_log=_of_upstream(conflict, repo, pick), fork_log=mine))
    return tuple(found)


def _of_upstream(conflict: Conflict, repo: Repository, pick: Pick) -> tuple[Commit, ...]:
    if conflict.span is None or conflict.origin is None:
        return ()
    first, last = conflict.span
    try:
        return repo.line_log(pick.before, conflict.origin, first=first, last=last, most=_MOST)
    except CouldNotWork:
        return ()


def _of_fork(
    conflict: Conflict, lines: Sequence[str], *, repo: Repository, onto: CommitHash, base: CommitHash
) -> tuple[Commit, ...]:
    ours = lines_of(conflict.ours.encode("utf-8", "surrogateescape"))
    at = _only_place(ours, lines) if conflict.twice is None else _place_of(conflict.twice, lines)
    if at is not None:
        blamed = repo.blame(base, onto, conflict.path, [(at + 1, at + max(len(ours), 1))])
        ids = dict.fromkeys(commit for commit in blamed.values() if commit is not None)
        known = repo.commits(ids)
        return tuple(known[commit] for commit in ids)
    return () if ours else _who_removed(conflict, repo, onto=onto, base=base)


def _place_of(twice: Twice, lines: Sequence[str]) -> int | None:
    """The line (from 0) of what a side had already; patches before this one may have moved it."""
    places = [at for at, line in enumerate(lines) if line.strip() == twice.text]
    return min(places, key=lambda at: abs(at - twice.own + 1), default=None)


def _only_place(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    size = len(wanted)
    places = [at for at in range(len(lines) - size + 1) if size and list(lines[at : at + size]) == list(wanted)]
    return places[0] if len(places) == 1 else None


def _who_removed(conflict: Conflict, repo: Repository, *, onto: CommitHash, base: CommitHash) -> tuple[Commit, ...]:
    old = conflict.base.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    keys = {line_key(line) for line in old.splitlines() if line_key(line)}
    if not keys:
        return ()
    path: TreePath = conflict.path
    found = removals(repo.patches(base, onto, [path]), [Sought(key, "") for key in sorted(keys)])
    ids = dict.fromkeys(removal.commit for removal in found.values())
    known = repo.commits(ids)
    return tuple(known[commit] for commit in ids)
