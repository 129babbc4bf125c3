"""The gate's self-test: known faults, one at a time, each built in an isolated tree and given to the gate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from forkguard.core.archs import SourceTree, is_source
from forkguard.core.commit_objects import IDENTITY
from forkguard.core.findings import Side
from forkguard.core.fitting import Version
from forkguard.core.gate import GateReport, Verdict
from forkguard.core.mutations import FEWEST, SOURCE_FOLDERS, Edit, Mutation, Subject, mutated
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.rules import Rule
from forkguard.core.self_test import (
    Gated,
    Outcome,
    SelfTestReport,
    Trial,
    falls_back,
    judged,
    said,
)
from forkguard.core.trees import Tree
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import ReplayObjects, Repository, Talk

Gate = Callable[[CommitHash, Mutation | None], tuple[GateReport, str]]
"""Builds a commit and gates it as a mutation asks (None: the tree itself); the report and the receipt's path.

Raises `CouldNotWork` where the commit cannot be built.
"""


@dataclass(frozen=True, slots=True)
class SelfTestTools:
    """What a self-test needs: the fork's sources, a place for commits that no branch has, the gate, a clock."""

    repo: Repository
    store: ReplayObjects
    gate: Gate
    seconds: Callable[[], float]
    talk: Talk


def run_self_test(
    tools: SelfTestTools,
    *,
    fork: Side,
    arch: str,
    profile: str,
    rules: Sequence[Rule],
    mutations: Sequence[Mutation],
    chosen: bool,
) -> SelfTestReport:
    """Gate the tree itself, then every mutant of it.

    A tree that does not pass by itself ends the test: a red mutant would show nothing. Raises `UsageProblem` for an
    arch that the tree lacks, and what building the tree itself raises.
    """
    begun = tools.seconds()
    entries, subject = _read(tools.repo, fork, arch, rules)
    tools.talk.step(f"the tree itself, {fork.ref}")
    report, receipt = tools.gate(fork.commit, None)
    controls = {"": (report, Gated(report.verdict, said(report), receipt))}
    trials: list[Trial] = []
    for number, mutation in enumerate(mutations if report.verdict is Verdict.PASS else (), 1):
        tools.talk.step(f"mutation {number} of {len(mutations)}: {mutation.name}")
        started = tools.seconds()
        trial = _try(tools, mutation, fork=fork, subject=subject, entries=entries, controls=controls)
        trials.append(replace(trial, seconds=tools.seconds() - started))
        tools.talk.note(f"{number}/{len(mutations)} {mutation.name}: {trial.outcome}, {_told(trial)}")
    return SelfTestReport(
        arch, fork, profile, tuple(gated for _, gated in controls.values()), tuple(trials), FEWEST, chosen,
        tools.seconds() - begun,
    )  # fmt: skip


def _told(trial: Trial) -> str:
    return trial.gated.said if trial.gated is not None else trial.reason


def _read(repo: Repository, fork: Side, arch: str, rules: Sequence[Rule]) -> tuple[Tree, Subject]:
    entries = repo.tree(fork.commit, under=SOURCE_FOLDERS)
    wanted = {path: entry.blob for path, entry in entries.items() if entry.is_file and is_source(path)}
    blobs = repo.blobs(wanted.values())
    tree = SourceTree({path: blobs[blob] for path, blob in wanted.items()})
    if arch not in tree.archs.archs:
        raise UsageProblem(
            f"{fork.ref} has no arch {arch!r}", hint="forkguard wiring --fork-ref REF  lists the archs of a tree"
        )
    return entries, Subject(tree, tree.archs.archs[arch], {rule.id: rule for rule in rules})


def _try(
    tools: SelfTestTools,
    mutation: Mutation,
    *,
    fork: Side,
    subject: Subject,
    entries: Tree,
    controls: dict[str, tuple[GateReport, Gated]],
) -> Trial:
    edits = mutation.find(subject)
    if not edits:
        return Trial(mutation, Outcome.NOT_RUN, reason=f"the tree does not have {mutation.subject}")
    why = _no_control(tools, mutation, fork, controls)
    if why:
        return Trial(mutation, Outcome.NOT_RUN, reason=why)
    commit = _commit(tools.store, mutation, fork.commit, edits, subject=subject, entries=entries)
    try:
        report, receipt = tools.gate(commit, mutation)
    except CouldNotWork as error:
        return Trial(mutation, Outcome.NOT_RUN, commit, reason=f"the mutant could not be gated: {error.what}")
    outcome, words = judged(mutation, report)
    return Trial(mutation, outcome, commit, Gated(report.verdict, words, receipt))


def _no_control(
    tools: SelfTestTools, mutation: Mutation, fork: Side, controls: dict[str, tuple[GateReport, Gated]]
) -> str:
    """Why the tree itself, gated as the mutation asks, would not pass either; "" where it does."""
    if mutation.fallback_fails and (found := falls_back(controls[""][0])):
        return f"the tree itself falls back ({found})"
    if not mutation.probe:
        return ""
    if mutation.probe not in controls:
        tools.talk.step(f"the tree itself, as {mutation.name} asks for it")
        report, receipt = tools.gate(fork.commit, replace(mutation, timeout=None))
        controls[mutation.probe] = report, Gated(report.verdict, said(report), receipt)
    _, gated = controls[mutation.probe]
    asked = f"the {mutation.probe} probe"
    return "" if gated.verdict is Verdict.PASS else f"the tree itself does not pass with {asked}: {gated.said}"


def _commit(
    store: ReplayObjects,
    mutation: Mutation,
    onto: CommitHash,
    edits: Sequence[Edit],
    *,
    subject: Subject,
    entries: Tree,
) -> CommitHash:
    """A commit on top of the fork's that holds the mutant; no ref names it, and its id is the same every time."""
    files = mutated(subject.tree.files, edits)
    written: dict[TreePath, Version | None] = {
        path: Version(entries[path].mode, content) for path, content in files.items()
    }
    author = f"{IDENTITY.decode()} 0 +0000".encode()
    message = f"forkguard self-test: {mutation.name}\n\n{mutation.title}\n".encode()
    return store.commit_series(onto, [(author, message, written)])[0]
