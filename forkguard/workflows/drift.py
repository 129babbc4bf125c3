"""What a fork lacks, lost, or carries as a hazard, for some archs: read, compare, attribute."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from forkguard.core.archs import CXX_SUFFIXES, SOURCE_FOLDERS, SourceTree
from forkguard.core.commits import Commit
from forkguard.core.differences import Difference, Family, Sort, Trees, broken_files, family
from forkguard.core.drift import History, findings, first_line
from forkguard.core.findings import ArchReport, ArchStatus, Base, DriftReport, Finding, Kind, Side
from forkguard.core.graph_differences import graph_differences
from forkguard.core.history import Sought, removals
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.core.registry_differences import SPECULATIVE, hazards, registry_differences
from forkguard.core.rules import Rule, subject_exists
from forkguard.ports import Repository, Talk

Ledger = Mapping[str, str]
"""Accepted drift: finding id to the reason."""


def run_drift(
    repo: Repository,
    *,
    fork: Side,
    upstream: Side,
    base: Base,
    archs: Sequence[str],
    rules: Sequence[Rule],
    ledger: Ledger | None = None,
    talk: Talk | None = None,
) -> DriftReport:
    """Compare the fork's tree with upstream's for the archs (and those that share their graphs).

    Raises `MissingObject` where the clone lacks blobs, and what else `Repository` raises.
    """
    if talk:
        talk.step("reading both trees")
    trees = read_trees(repo, fork=fork.commit, upstream=upstream.commit, base=base.commit)
    present = [name for name in dict.fromkeys(archs) if _is_present(name, trees)]
    families = _families(trees, present)
    different = _differences(trees, families, rules, talk)
    history = attribute(repo, different, trees, fork=fork.commit, upstream=upstream.commit, base=base.commit)
    found = [_accepted(finding, ledger or {}) for finding in findings(different, trees, history)]
    found.sort(key=lambda finding: (not finding.counts(strict=False), finding.severity.rank, finding.arch))
    names = [arch.name for its in families for arch in its.fork]
    reports = [_absent(name, trees) for name in dict.fromkeys(archs) if name not in present]
    reports += [_report(name, trees, found) for name in names]
    if any(finding.arch == SPECULATIVE for finding in found):
        reports.append(ArchReport(SPECULATIVE, ArchStatus.DRIFT, (), "lists of speculative types, not an arch"))
    said = [*_unread(trees, names), *_disarmed(rules, trees)]
    return DriftReport(fork, upstream, base, tuple(reports), tuple(found), tuple(said))


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


def _differences(
    trees: Trees, families: Sequence[Family], rules: Sequence[Rule], talk: Talk | None
) -> tuple[Difference, ...]:
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
    """The C++ sources of the three commits; a blob that several share is read and parsed once."""
    sides = [repo.tree(commit, under=SOURCE_FOLDERS) for commit in (fork, upstream, base)]
    wanted: list[dict[TreePath, BlobHash]] = [
        {path: entry.blob for path, entry in side.items() if entry.is_file and path.endswith(CXX_SUFFIXES)}
        for side in sides
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
    found = removals(repo.patches(since, until, sorted(paths)), wanted)
    # A line that the base had not is lost only where its own function lost it: the same line stands in many.
    return {
        one: removal.commit
        for one, removal in found.items()
        if removal.certain or wanted[one].sort is Sort.STALE or wanted[one].in_base
    }


# -- archs ---------------------------------------------------------------------------------------------


def _accepted(finding: Finding, ledger: Ledger) -> Finding:
    reason = ledger.get(finding.id)
    return replace(finding, kind=Kind.ACCEPTED, ledger=reason) if reason is not None else finding


def _report(name: str, trees: Trees, found: Sequence[Finding]) -> ArchReport:
    mine = [finding for finding in found if finding.arch == name and finding.counts(strict=False)]
    arch = trees.fork.archs.archs[name]
    status = ArchStatus.DRIFT if mine else ArchStatus.CLEAN
    remark = f"its graph is {arch.graph_of}'s" if arch.graph_of else ""
    if name not in trees.upstream.archs.archs:
        remark = "upstream has no arch of this name"
    return ArchReport(name, status, arch.files, remark)


def _is_present(name: str, trees: Trees) -> bool:
    """Whether the fork has the arch: named, and with a model class unless upstream makes none either."""
    ours, theirs = trees.fork.archs.archs.get(name), trees.upstream.archs.archs.get(name)
    return ours is not None and (ours.cls is not None or theirs is None or theirs.cls is None)


def _absent(name: str, trees: Trees) -> ArchReport:
    theirs = trees.upstream.archs.archs.get(name)
    if name in trees.fork.archs.archs:
        return ArchReport(name, ArchStatus.ABSENT, (), "the fork names it, but makes no model class for it")
    alike = difflib.get_close_matches(name, [*trees.fork.archs.archs], n=3, cutoff=0.6)
    remark = "upstream has it" if theirs else "upstream has no such arch either"
    if alike:
        remark += f"; the fork has {', '.join(alike)}"
    return ArchReport(name, ArchStatus.ABSENT, theirs.files if theirs else (), remark)


def _unread(trees: Trees, names: Iterable[str]) -> list[str]:
    """Files of the fork that were read only in part."""
    archs = [trees.fork.archs.archs[name] for name in sorted(names) if name in trees.fork.archs.archs]
    return [
        f"{path} has a syntax error; what the parser could not read was compared as words"
        for path in broken_files(trees.fork, archs)
    ]


def _disarmed(rules: Sequence[Rule], trees: Trees) -> tuple[str, ...]:
    """Rules whose subject is not in upstream any more: it moved, and the check says nothing."""
    return tuple(
        f"rule {rule.id} is disarmed: upstream has no {rule.symbol}"
        for rule in rules
        if rule.form == "registry" and not subject_exists(rule, trees.upstream)
    )
