"""What a fork lacks, lost, or carries as a hazard, for some archs: read, compare, attribute."""

from collections.abc import Iterable, Mapping, Sequence

from forkguard.core.arch_reports import (
    absent_arch,
    disarmed_rules,
    every_arch,
    is_present,
    present_arch,
    speculative_report,
    unread_files,
    upstream_alone,
)
from forkguard.core.archs import SOURCE_FOLDERS, SourceTree, is_source
from forkguard.core.commits import Commit
from forkguard.core.differences import Difference, Family, Sort, Trees, family
from forkguard.core.drift import History, findings, first_line
from forkguard.core.findings import Base, DriftReport, Finding, Side
from forkguard.core.graph_differences import graph_differences
from forkguard.core.history import Sought, removals
from forkguard.core.ledger import Ledger, settle
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.core.registry_differences import SPECULATIVE, hazards, registry_differences
from forkguard.core.rules import Rule
from forkguard.ports import Repository, Talk


def run_drift(
    repo: Repository,
    *,
    fork: Side,
    upstream: Side,
    base: Base,
    archs: Sequence[str] | None,
    rules: Sequence[Rule],
    ledger: Ledger | None = None,
    talk: Talk | None = None,
) -> DriftReport:
    """Compare the fork's tree with upstream's for the archs (and those that share their graphs).

    `archs` None means every arch that the fork makes a model of. Raises `MissingObject` where the clone lacks
    blobs, and what else `Repository` raises.
    """
    if talk:
        talk.step("reading both trees")
    trees = read_trees(repo, fork=fork.commit, upstream=upstream.commit, base=base.commit)
    wanted = tuple(dict.fromkeys(every_arch(trees.fork) if archs is None else archs))
    present = [name for name in wanted if is_present(name, trees)]
    families = _families(trees, present)
    different = differences(trees, families, rules, talk)
    history = attribute(repo, different, trees, fork=fork.commit, upstream=upstream.commit, base=base.commit)
    found: tuple[Finding, ...] = findings(different, trees, history)
    names = [arch.name for its in families for arch in its.fork]
    remarks: tuple[str, ...] = ()
    if ledger is not None:
        found, remarks = settle(found, ledger, examined=None if archs is None else {*names, SPECULATIVE})
    found = tuple(sorted(found, key=lambda one: (not one.counts(strict=False), one.severity.rank, one.arch)))
    reports = [absent_arch(name, trees) for name in wanted if name not in present]
    reports += [present_arch(name, trees, found) for name in names]
    if any(finding.arch == SPECULATIVE for finding in found):
        reports.append(speculative_report(found))
    disarmed = disarmed_rules(rules, trees.upstream)
    said = [
        *unread_files(trees, names),
        *(f"rule {rule} is disarmed: {reason}" for rule, reason in disarmed.items()),
        *(upstream_alone(trees) if archs is None else ()),
        *remarks,
    ]
    return DriftReport(fork, upstream, base, tuple(reports), found, tuple(said), tuple(disarmed))


def _families(trees: Trees, names: Iterable[str]) -> list[Family]:
    """The families of the archs, each once."""
    found: list[Family] = []
    seen: set[str] = set()
    for name in names:
        if name not in seen:
            its = family(trees, name)
            seen.update(arch.name for arch in its.fork)
            found.append(its)
    return found


def differences(
    trees: Trees, families: Sequence[Family], rules: Sequence[Rule], talk: Talk | None = None
) -> tuple[Difference, ...]:
    """Everything in which the families differ, and their hazards, without history."""
    found: list[Difference] = []
    done: set[str] = set()
    for number, its in enumerate(families):
        if talk:
            talk.progress(number, len(families), f"comparing {its.name}")
        found += graph_differences(trees, its, rules, done=done)
    found += registry_differences(trees, families, rules)
    found += hazards(trees, families, rules)
    return tuple(found)


def read_trees(repo: Repository, *, fork: CommitHash, upstream: CommitHash, base: CommitHash) -> Trees:
    """The sources of the three commits; a blob that several share is read and parsed once."""
    sides = [repo.tree(commit, under=SOURCE_FOLDERS) for commit in (fork, upstream, base)]
    wanted: list[dict[TreePath, BlobHash]] = [
        {path: entry.blob for path, entry in side.items() if entry.is_file and is_source(path)} for side in sides
    ]
    blobs = repo.blobs(blob for side in wanted for blob in side.values())
    ours, theirs, old = (SourceTree({path: blobs[blob] for path, blob in side.items()}) for side in wanted)
    return Trees(fork=ours, upstream=theirs, base=old)


# -- history -------------------------------------------------------------------------------------------


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


def _removals(
    repo: Repository, wanted: Mapping[Sought, Difference], *, since: CommitHash, until: CommitHash
) -> Mapping[Sought, CommitHash]:
    paths = {path for d in wanted.values() for path in (d.path, d.their_path) if path}
    if not wanted or not paths or since == until:
        return {}
    merges = frozenset(commit.id for commit in repo.history(["--merges", f"{since}..{until}"]))
    found = removals(repo.patches(since, until, sorted(paths)), wanted, merges=merges)
    # A line that the base had not is lost only where the fork had brought it, and where its own function lost it:
    # the same line stands in many, and a merge of upstream takes away what upstream took away.
    return {
        one: removal.commit
        for one, removal in found.items()
        if (removal.certain and removal.brought) or wanted[one].sort is Sort.STALE or wanted[one].in_base
    }
