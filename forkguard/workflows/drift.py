"""What a fork lacks, lost, or carries as a hazard, for some archs: read, compare, attribute."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

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
from forkguard.core.archs import CXX_SUFFIXES, SOURCE_FOLDERS, ArchIndex, SourceTree, is_source, read_archs
from forkguard.core.differences import Difference, Family, Trees, family
from forkguard.core.drift import findings
from forkguard.core.findings import ArchReport, Base, DriftReport, Finding, Side
from forkguard.core.graph_differences import graph_differences, needy_first
from forkguard.core.ledger import Ledger, settle
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.core.registry_differences import SPECULATIVE, hazards, registry_differences
from forkguard.core.rules import Rule
from forkguard.core.sweeps import fold_exchanged_names
from forkguard.ports import Repository, Talk
from forkguard.workflows.attribution import attribute, with_sequel
from forkguard.workflows.siblings import passed_by


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
    left, passed = passed_by(repo, trees, families, fork=fork.commit, upstream=upstream.commit)
    different, history = (*different, *left), replace(history, passed=passed)
    found: tuple[Finding, ...] = with_sequel(
        repo, findings(different, trees, history), base=base.commit, upstream=upstream.commit
    )
    names = [arch.name for its in families for arch in its.fork]
    remarks: tuple[str, ...] = ()
    if ledger is not None:
        found, remarks = settle(found, ledger, examined=None if archs is None else {*names, SPECULATIVE})
    found = tuple(sorted(found, key=lambda one: (not one.counts(strict=False), one.severity.rank, one.arch)))
    reports = _arch_reports(trees, found, names=names, absent=[name for name in wanted if name not in present])
    disarmed = disarmed_rules(rules, trees.upstream)
    said = [
        *([base.remark] if base.remark else []),
        *unread_files(trees, names),
        *(f"rule {rule} is disarmed: {reason}" for rule, reason in disarmed.items()),
        *(upstream_alone(trees) if archs is None else ()),
        *remarks,
    ]
    return DriftReport(fork, upstream, base, reports, found, tuple(said), tuple(disarmed))


def _arch_reports(
    trees: Trees, found: Sequence[Finding], *, names: Sequence[str], absent: Sequence[str]
) -> tuple[ArchReport, ...]:
    reports = [absent_arch(name, trees) for name in absent]
    reports += [present_arch(name, trees, found) for name in names]
    if any(finding.arch == SPECULATIVE for finding in found):
        reports.append(speculative_report(found))
    return tuple(reports)


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
    for number, its in enumerate(needy_first(trees.upstream, families, rules)):
        if talk:
            talk.progress(number, len(families), f"comparing {its.name}")
        found += graph_differences(trees, its, rules, done=done)
    found += registry_differences(trees, families, rules)
    found += hazards(trees, families, rules)
    return fold_exchanged_names(found, trees)


def archs_at(repo: Repository, commit: CommitHash) -> ArchIndex:
    """The archs of one commit."""
    tree = repo.tree(commit, under=SOURCE_FOLDERS)
    wanted = {path: entry.blob for path, entry in tree.items() if entry.is_file and path.endswith(CXX_SUFFIXES)}
    blobs = repo.blobs(wanted.values())
    return read_archs({path: blobs[blob] for path, blob in wanted.items()})


def read_trees(repo: Repository, *, fork: CommitHash, upstream: CommitHash, base: CommitHash) -> Trees:
    """The sources of the three commits; a blob that several share is read and parsed once."""
    sides = [repo.tree(commit, under=SOURCE_FOLDERS) for commit in (fork, upstream, base)]
    wanted: list[dict[TreePath, BlobHash]] = [
        {path: entry.blob for path, entry in side.items() if entry.is_file and is_source(path)} for side in sides
    ]
    blobs = repo.blobs(blob for side in wanted for blob in side.values())
    ours, theirs, old = (SourceTree({path: blobs[blob] for path, blob in side.items()}) for side in wanted)
    return Trees(fork=ours, upstream=theirs, base=old)
