"""Porting one upstream change onto the fork: find it, apply it, keep it as a branch and as a patchset.

The order of writes is what makes a kill harmless: the journal says what is coming before it comes, and each
step can be made twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from forkguard.core.commit_objects import commit_bytes, ported_message
from forkguard.core.findings import Side
from forkguard.core.hunks import FileChange, Outcome
from forkguard.core.journal import Journal, Phase
from forkguard.core.names import CommitHash, PullNumber, TreeHash
from forkguard.core.patchset import MANIFEST, Manifest, parse_manifest
from forkguard.core.porting import AbortReport, Hazards, HunkReport, MissingName, Pick, PortReport, PortStatus, Stat
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import Bench, Checkouts, PatchsetStore, PortJournal, Repository, Talk
from forkguard.workflows.apply_change import Applied, apply_pick
from forkguard.workflows.find_change import find_change
from forkguard.workflows.write_patchset import new_files

HazardCheck = Callable[[CommitHash, tuple[FileChange, ...]], Hazards]
"""Runs the drift rules at a commit, for the archs that these changes touch."""


@dataclass(frozen=True, slots=True)
class PortTools:
    """What a port works with.

    `find_base` names the upstream commit that the fork descends from, `identifiers` what the fork calls otherwise.
    """

    fork: Repository
    upstream: Repository
    bench: Bench
    checkouts: Checkouts
    journal: PortJournal
    patchsets: PatchsetStore
    talk: Talk
    find_base: Callable[[], CommitHash]
    hazards: HazardCheck
    identifiers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Replay:
    """The picks on top of the fork: the commits made, and the pick (by index) that a person must decide."""

    made: tuple[tuple[CommitHash, Pick], ...]
    tip: CommitHash
    hunks: tuple[HunkReport, ...]
    missing: tuple[MissingName, ...]
    stopped: Applied | None = None
    at: int = 0


# -- the three ways in -----------------------------------------------------------------------------------


def port(pull: PullNumber, *, fork: Side, upstream: Side, tools: PortTools) -> PortReport:
    """Port a request on top of the fork's commit.

    Raises `UsageProblem` where another port is in progress or the branch holds something else,
    `CouldNotWork` where the request is not known here.
    """
    _settle_open_port(tools)
    tools.talk.step(f"looking for #{pull}")
    source = find_change(
        pull,
        fork=tools.fork,
        upstream=tools.upstream,
        tip=upstream.commit,
        bench=tools.bench,
        checkouts=tools.checkouts,
    )
    name = str(pull)
    _manifest(name, tools)
    tools.patchsets.order()
    journal = Journal(
        phase=Phase.OPENING,
        source=source,
        fork=str(tools.fork.path),
        fork_ref=fork.ref,
        onto=fork.commit,
        base=tools.find_base(),
        branch=f"forkguard/{name}",
        patchset=name,
    )
    return _run(journal, tools)


def continue_port(pull: PullNumber | None, *, tools: PortTools) -> PortReport:
    """Go on with the port in progress, once a person has decided its conflicts in its worktree."""
    journal = _open_port(pull, tools, word="continue")
    if journal.phase is Phase.CONFLICT:
        replay = _replay(journal, tools)
        if replay.stopped is not None and replay.stopped.merged is not None:
            merged = replay.stopped.merged
            place = tools.checkouts.place(_place_name(journal))
            tree = tools.checkouts.resolved_tree(place, merged.conflicted, merged=merged.tree)
            journal = journal.model_copy(update={"resolved": {**journal.resolved, replay.at: tree}})
            tools.journal.write(journal)
    return _run(journal, tools)


def abort_port(pull: PullNumber | None, *, tools: PortTools) -> AbortReport:
    """Take back the port in progress: its worktree, and what it wrote if it was cut short while writing."""
    journal = _open_port(pull, tools, word="abort")
    if journal.phase is Phase.FINISHING:
        if journal.tip is not None and journal.branch_before is None:
            tools.checkouts.drop_branch(journal.branch, journal.tip)
        for name, content in journal.files_before.items():
            tools.patchsets.put(name, content)
    _close(journal, tools)
    return AbortReport(journal.source.pull, journal.branch, journal.worktree)


# -- ports in progress -----------------------------------------------------------------------------------


def _open_port(pull: PullNumber | None, tools: PortTools, *, word: str) -> Journal:
    journal = tools.journal.read()
    if journal is None:
        raise UsageProblem(f"there is no port to {word}", hint="forkguard port PR  begins one")
    if pull is not None and pull != journal.source.pull:
        raise UsageProblem(
            f"the port in progress is of #{journal.source.pull}, not of #{pull}", hint=f"forkguard port --{word}"
        )
    _check_same_fork(journal, tools)
    return journal


def _check_same_fork(journal: Journal, tools: PortTools) -> None:
    if journal.fork != str(tools.fork.path):
        raise UsageProblem(
            f"the port of #{journal.source.pull} in progress is in another fork",
            where=journal.fork,
            hint=f"forkguard port --continue --fork {journal.fork}   (or --abort)",
        )


def _settle_open_port(tools: PortTools) -> None:
    """Finish or undo what a killed run left; refuse where a person is still deciding."""
    journal = tools.journal.read()
    if journal is None:
        return
    _check_same_fork(journal, tools)
    pull = journal.source.pull
    if journal.phase is Phase.FINISHING:
        tools.talk.note(f"the port of #{pull} was cut short while writing; it is finished first")
        _run(journal, tools)
        return
    if journal.phase is Phase.OPENING and not journal.resolved:
        tools.talk.note(f"a port of #{pull} was cut short before it was ready; it was undone")
        _close(journal, tools)
        return
    raise UsageProblem(
        f"a port of #{pull} is in progress, with conflicts to resolve",
        where=journal.worktree or "",
        hint="forkguard port --continue  when they are resolved, or  forkguard port --abort",
    )


def _close(journal: Journal, tools: PortTools) -> None:
    tools.checkouts.close(tools.checkouts.place(_place_name(journal)))
    tools.journal.remove()


def _place_name(journal: Journal) -> str:
    return f"port-{journal.patchset}"


# -- the work ------------------------------------------------------------------------------------------


def _run(journal: Journal, tools: PortTools) -> PortReport:
    """Replay the picks, then stop for a person or write the result."""
    tools.talk.step(f"applying #{journal.source.pull} to {journal.fork_ref}")
    replay = _replay(journal, tools)
    if replay.stopped is not None:
        return _stop(journal, replay, tools)
    if not replay.made:
        if journal.resolved:
            raise UsageProblem(
                "what you resolved leaves nothing of the change",
                where=journal.worktree or "",
                hint="forkguard port --abort  gives it up",
            )
        tools.journal.remove()
        return _report(journal, replay, PortStatus.ALREADY_PRESENT, tools)
    return _finish(journal, replay, tools)


def _replay(journal: Journal, tools: PortTools) -> _Replay:
    tip, hunks = journal.onto, list[HunkReport]()
    made: list[tuple[CommitHash, Pick]] = []
    missing: dict[MissingName, None] = {}
    label = f"upstream #{journal.source.pull}"
    for index, pick in enumerate(journal.source.picks):
        ours = tools.bench.commit(tip).tree
        applied = apply_pick(tools.bench, pick, ours=ours, theirs_label=label, identifiers=tools.identifiers)
        missing |= dict.fromkeys(applied.missing)
        tree = applied.tree or journal.resolved.get(index)
        if applied.tree is None and tree is not None:
            hunks += [_decided(hunk) for hunk in applied.hunks]
        else:
            hunks += applied.hunks
        if tree is None:
            return _Replay(tuple(made), tip, tuple(hunks), tuple(missing), applied, index)
        if tree != ours:
            tip = _commit(pick, tree, parent=tip, journal=journal, tools=tools)
            made.append((tip, pick))
    return _Replay(tuple(made), tip, tuple(hunks), tuple(missing))


def _decided(hunk: HunkReport) -> HunkReport:
    return replace(hunk, detail="resolved by hand") if hunk.outcome is Outcome.CONFLICT else hunk


def _commit(pick: Pick, tree: TreeHash, *, parent: CommitHash, journal: Journal, tools: PortTools) -> CommitHash:
    raw = tools.bench.commit(pick.commit)
    alone = raw.parents == (pick.before,) or pick.subject == raw.subject
    message = raw.message if alone else f"{pick.subject}\n".encode()
    text = ported_message(message, origin=pick.commit, patchset=journal.patchset)
    content = commit_bytes(tree, (parent,), author=raw.author, committed=raw.committed, message=text)
    return tools.bench.put_commit(content)


def _stop(journal: Journal, replay: _Replay, tools: PortTools) -> PortReport:
    """Hand a conflict to a person, in a worktree."""
    assert replay.stopped is not None  # noqa: S101  (the caller saw it)
    assert replay.stopped.merged is not None  # noqa: S101
    if tools.checkouts.branch(journal.branch) is not None:
        raise _branch_taken(journal.branch, tools)
    place = tools.checkouts.place(_place_name(journal))
    journal = journal.model_copy(update={"phase": Phase.OPENING, "worktree": str(place), "at": replay.at})
    tools.journal.write(journal)
    tools.talk.step(f"making a worktree at {place}")
    tools.checkouts.open(place, head=replay.tip, merged=replay.stopped.merged)
    journal = journal.model_copy(update={"phase": Phase.CONFLICT})
    tools.journal.write(journal)
    return _report(journal, replay, PortStatus.CONFLICT, tools)


def _finish(journal: Journal, replay: _Replay, tools: PortTools) -> PortReport:
    """Write the branch, then the patchset's files; then the journal goes."""
    files = new_files(journal, replay.made, fork=tools.fork, bench=tools.bench, patchsets=tools.patchsets)
    before = tools.checkouts.branch(journal.branch)
    if before not in (None, replay.tip):
        raise _branch_taken(journal.branch, tools)
    if journal.phase is not Phase.FINISHING:
        kept = {name: tools.patchsets.content(name) for name in files}
        update = {"phase": Phase.FINISHING, "tip": replay.tip, "branch_before": before, "files_before": kept}
        finishing = journal.model_copy(update=update)
        tools.journal.write(finishing)
        try:
            _point_branch(finishing, replay, before, tools)
        except CouldNotWork:
            if journal.phase is Phase.CONFLICT:
                tools.journal.write(journal)
            else:
                tools.journal.remove()
            raise
        journal = finishing
    else:
        _point_branch(journal, replay, before, tools)
    for name, content in files.items():
        tools.patchsets.put(name, content)
    _close(journal, tools)
    report = _report(journal, replay, PortStatus.APPLIED, tools)
    again = (f"{journal.branch} held this very commit already",) if journal.branch_before == replay.tip else ()
    return replace(report, notes=(*report.notes, *again))


def _point_branch(journal: Journal, replay: _Replay, before: CommitHash | None, tools: PortTools) -> None:
    if before != replay.tip:
        tools.checkouts.set_branch(journal.branch, replay.tip, before=before)


def _branch_taken(branch: str, tools: PortTools) -> UsageProblem:
    where = str(tools.fork.path)
    return UsageProblem(
        f"the branch {branch} exists already and holds something else",
        where=where,
        hint=f"git -C {where} log {branch}  shows it; "
        f"git -C {where} branch -m {branch} {branch}-old  puts it aside, then port again",
    )


# -- what is said --------------------------------------------------------------------------------------


def _manifest(name: str, tools: PortTools) -> Manifest | None:
    content = tools.patchsets.content(f"{name}/{MANIFEST}")
    if content is None:
        return None
    return parse_manifest(content.decode("utf-8", "replace"), name=str(tools.patchsets.root / name / MANIFEST))


def _report(journal: Journal, replay: _Replay, status: PortStatus, tools: PortTools) -> PortReport:
    onto = tools.fork.commits([journal.onto])[journal.onto]
    files: tuple[FileChange, ...] = ()
    if status is PortStatus.APPLIED:
        files = tools.bench.diff(tools.bench.commit(journal.onto).tree, tools.bench.commit(replay.tip).tree)
    stat = Stat(len(files), sum(file.added for file in files), sum(file.removed for file in files))
    hazards = tools.hazards(replay.tip, files) if files else Hazards()
    manifest = _manifest(journal.patchset, tools)
    stopped = replay.stopped
    applied = status is PortStatus.APPLIED
    return PortReport(
        source=journal.source,
        status=status,
        fork_ref=journal.fork_ref,
        fork_path=str(tools.fork.path),
        onto=onto,
        branch=journal.branch if applied else None,
        commits=tuple(commit for commit, _ in replay.made) if applied else (),
        patchset=journal.patchset,
        hunks=replay.hunks,
        stat=stat,
        missing=replay.missing,
        follow_ups=manifest.follow_ups if manifest else (),
        hazards=hazards.findings,
        conflicts=stopped.conflicts if stopped else (),
        worktree=journal.worktree if stopped else None,
        patchset_folder=str(tools.patchsets.root / journal.patchset) if applied else "",
        archs=hazards.archs,
        notes=tuple(note for note in (journal.source.remark, *hazards.notes) if note),
    )
