"""Who brought, took and later mended each line: history's part of a drift report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from forkguard.core.commits import Commit
from forkguard.core.differences import Difference, Sort, Trees
from forkguard.core.drift import History, first_line
from forkguard.core.findings import Finding
from forkguard.core.follow_ups import build_pairs, follow_ups, is_build
from forkguard.core.history import Sought, removals
from forkguard.core.names import CommitHash, PullNumber, TreePath
from forkguard.ports import Repository


def attribute(
    repo: Repository,
    different: Sequence[Difference],
    trees: Trees,
    *,
    fork: CommitHash,
    upstream: CommitHash,
    base: CommitHash,
) -> History:
    """Ask history about all differences at once: one blame per upstream file, one log per side."""
    brought, recent = _blame(repo, different, since=base, until=upstream)
    stale = {first_line(trees.fork, d.path, d.ours): d for d in different if d.sort is Sort.STALE and d.ours}
    missing = {
        first_line(trees.upstream, d.their_path, d.theirs): d
        for d in different
        if d.sort is Sort.MISSING and d.theirs and d.their_path
    }
    dropped = _removals(repo, stale, since=base, until=upstream)
    lost = _removals(repo, missing, since=base, until=fork)
    ids = {*brought.values(), *dropped.values(), *lost.values()}
    known = repo.commits(ids)
    return History(
        brought={spot: known[commit] for spot, commit in brought.items()},
        recent={*recent, *dropped.values()},
        dropped=_named(dropped, known),
        lost=_named(lost, known),
    )


def with_sequel(
    repo: Repository, found: Iterable[Finding], *, base: CommitHash, upstream: CommitHash
) -> tuple[Finding, ...]:
    """The findings with what came later: follow-ups of their requests, and the builds around a snapshot's change."""
    findings_ = tuple(found)
    commits = {place.commit.id: place.commit for one in findings_ if (place := one.upstream) and place.commit}
    merged = {commit.pull: commit.id for commit in commits.values() if commit.pull is not None}
    since = [f"{base}..{upstream}"]
    later = follow_ups(repo.messages(since), merged) if merged and base != upstream else {}
    snapshots = any(is_build(commit) for commit in commits.values())
    pairs = build_pairs(repo.history([upstream])) if snapshots else {}
    return tuple(_with_sequel(one, later, pairs) for one in findings_)


def _with_sequel(
    finding: Finding,
    later: Mapping[PullNumber, tuple[Commit, ...]],
    pairs: Mapping[CommitHash, tuple[str, str]],
) -> Finding:
    commit = finding.upstream.commit if finding.upstream else None
    if commit is None:
        return finding
    sequel = later.get(commit.pull, ()) if commit.pull is not None else ()
    return replace(finding, follow_ups=sequel, builds=pairs.get(commit.id))


def _named(found: Mapping[Sought, CommitHash], known: Mapping[CommitHash, Commit]) -> dict[Sought, Commit]:
    return {key: known[commit] for key, commit in found.items()}


def _blame(
    repo: Repository, different: Iterable[Difference], *, since: CommitHash, until: CommitHash
) -> tuple[dict[tuple[TreePath, int], CommitHash], set[CommitHash]]:
    """Upstream path and line to the commit since the base; for lines that are older, the one that brought them.

    The second value are the commits since the base.
    """
    spans: dict[TreePath, set[tuple[int, int]]] = {}
    old_matters: set[tuple[TreePath, int]] = set()
    for d in different:
        if d.theirs is not None and d.their_path is not None:
            spans.setdefault(d.their_path, set()).add((d.theirs.line, d.theirs.last))
            if d.in_base or d.sort is not Sort.MISSING:
                old_matters.add((d.their_path, d.theirs.line))
    found: dict[tuple[TreePath, int], CommitHash] = {}
    recent: set[CommitHash] = set()
    for path, asked in spans.items():
        lines = repo.blame(since, until, path, sorted(asked))
        found |= {(path, line): commit for line, commit in lines.items() if commit is not None}
        recent |= {commit for commit in lines.values() if commit is not None}
        known = {line for line, commit in lines.items() if commit is not None}
        older = sorted(
            (first, last)
            for first, last in asked
            if (path, first) in old_matters and known.isdisjoint(range(first, last + 1))
        )
        if older:
            ever = repo.blame(None, until, path, older)
            found |= {(path, line): commit for line, commit in ever.items() if commit is not None}
    return found, recent


def _is_telling(one: Sought, d: Difference) -> bool:
    """Whether a line of a registry says which arch it is about; a line of a nested table stands there many times."""
    return bool(d.group) or any(word in one.key for word in ("LLM_ARCH_", "MODEL_ARCH.", "COMMON_SPECULATIVE_TYPE_"))


def _removals(
    repo: Repository, wanted: Mapping[Sought, Difference], *, since: CommitHash, until: CommitHash
) -> Mapping[Sought, CommitHash]:
    paths = {path for d in wanted.values() for path in (d.path, d.their_path) if path}
    if not wanted or not paths or since == until:
        return {}
    merges = frozenset(commit.id for commit in repo.history(["--merges", f"{since}..{until}"]))
    # A line that the base had not is lost only where the fork had brought it, and where its own function lost it:
    # the same line stands in the graphs of many archs, and a merge of upstream takes away what upstream took away.
    at_home = {
        one: one
        if d.sort is Sort.STALE or d.in_base
        else replace(one, paths=frozenset(filter(None, (d.path, d.their_path))))
        for one, d in wanted.items()
    }
    gone = removals(repo.patches(since, until, sorted(paths)), at_home.values(), merges=merges)
    found = {one: gone[there] for one, there in at_home.items() if there in gone}
    return {
        one: removal.commit
        for one, removal in found.items()
        if (removal.certain and removal.brought and _is_telling(one, wanted[one]))
        or wanted[one].sort is Sort.STALE
        or wanted[one].in_base
    }
