"""Porting one upstream change onto the fork: find it, apply it, keep it as a branch and as a patchset.

The order of writes is what makes a kill harmless: the journal says what is coming before it comes, and each
step can be made twice.
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace

from forkguard.core.commit_objects import commit_bytes, ported_message
from forkguard.core.compile_check import CompileReport
from forkguard.core.findings import Side
from forkguard.core.hunks import Outcome
from forkguard.core.journal import Journal, Phase
from forkguard.core.names import CommitHash, PullNumber, TreeHash
from forkguard.core.patchset import Manifest
from forkguard.core.porting import (
    AbortReport,
    HunkReport,
    Pick,
    PortOptions,
    PortReport,
    PortStatus,
    Source,
)
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.workflows.apply_change import apply_pick
from forkguard.workflows.find_change import Places, Wanted, find_source, squashed
from forkguard.workflows.later_versions import later_look
from forkguard.workflows.port_report import changed_files, port_report
from forkguard.workflows.port_tools import PLAIN, PortTools, Replay
from forkguard.workflows.resolutions import keep_resolutions, reuse_resolutions
from forkguard.workflows.strangers import check_change
from forkguard.workflows.write_patchset import known_manifest, new_files

# -- the three ways in -----------------------------------------------------------------------------------


def port(wanted: Wanted, *, fork: Side, upstream: Side, tools: PortTools, options: PortOptions = PLAIN) -> PortReport:
    """Port a change on top of the fork's commit.

    Raises `UsageProblem` where another port is in progress, the branch holds something else, or an open request
    moved since it was pinned; `CouldNotWork` where the change is not to be had, or is refused.
    """
    if not options.dry_run:
        settle_open_port(tools)
    tools.talk.step("looking for the change")
    source = find_source(wanted, places_of(tools, fork=fork, upstream=upstream))
    source = squashed(source) if options.squash else source
    return port_source(source, fork=fork, upstream=upstream, tools=tools, options=options)


def places_of(tools: PortTools, *, fork: Side, upstream: Side) -> Places:
    """Where a change is looked for that is to go on top of the fork's commit."""
    return Places(
        fork=tools.fork,
        upstream=tools.upstream,
        tip=upstream.commit,
        onto=fork.commit,
        base=tools.find_base(),
        bench=tools.bench,
        checkouts=tools.checkouts,
        forge=tools.forge,
    )


def port_source(
    source: Source, *, fork: Side, upstream: Side, tools: PortTools, options: PortOptions = PLAIN
) -> PortReport:
    """Port a change that was found; as `port` does it, where no port is in progress."""
    manifest = known_manifest(source, tools)
    _check_pin(source, manifest, options)
    tools.patchsets.order()
    journal = Journal(
        phase=Phase.OPENING,
        source=source,
        fork=str(tools.fork.path),
        fork_ref=fork.ref,
        onto=fork.commit,
        base=tools.find_base(),
        branch=f"forkguard/{source.patchset}",
        patchset=source.patchset,
        upstream=upstream.commit,
        force=options.force,
        rebuild=options.rebuild,
    )
    said = check_change(
        source,
        changed_files(source, tools.bench),
        bench=tools.bench,
        ours=tools.bench.commit(fork.commit).tree,
        allow=options.allow,
    )
    report = _run(journal, tools, dry_run=options.dry_run, pass_over=options.pass_over)
    return replace(report, notes=(*report.notes, *said))


def _check_pin(source: Source, manifest: Manifest | None, options: PortOptions) -> None:
    """An open request is the one that was pinned, or a person says so."""
    pinned = manifest.head if manifest else ""
    if source.head is not None and pinned not in ("", source.head) and not options.follow:
        raise UsageProblem(
            f"the head of {source.label} moved: {pinned[:10]} was pinned, now it is {source.head[:10]}",
            where=f"patchsets/{source.patchset}/patchset.toml",
            hint=f"forkguard port {shlex.quote(source.word)} --follow  takes the new one",
        )


def continue_port(pull: PullNumber | None, *, tools: PortTools, force: bool = False) -> PortReport:
    """Go on with the port in progress, once a person has decided its conflicts in its worktree."""
    journal = _open_port(pull, tools, word="continue")
    if journal.phase is Phase.CONFLICT:
        journal = journal.model_copy(update={"force": journal.force or force})
        replay = _replay(journal, tools)
        if replay.stopped is not None and replay.stopped.merged is not None:
            merged = replay.stopped.merged
            place = tools.checkouts.place(_place_name(journal))
            tree = tools.checkouts.resolved_tree(place, merged.conflicted, merged=merged.tree)
            journal = journal.model_copy(update={"resolved": {**journal.resolved, replay.at: tree}})
            tools.journal.write(journal)
            keep_resolutions(tools.bench, merged, tree, patchset=journal.patchset, store=tools.resolutions)
    return _run(journal, tools)


def skip_pick(pull: PullNumber | None, *, tools: PortTools) -> PortReport:
    """Leave out the commit of the request that conflicts, and go on with the next."""
    journal = _open_port(pull, tools, word="skip")
    if journal.phase is not Phase.CONFLICT:
        raise UsageProblem("no commit of this port waits to be skipped", hint="forkguard port --continue")
    replay = _replay(journal, tools)
    if replay.stopped is not None:
        journal = journal.model_copy(update={"skipped": (*journal.skipped, replay.at)})
        tools.journal.write(journal)
    return _run(journal, tools)


def abort_port(pull: PullNumber | None, *, tools: PortTools) -> AbortReport:
    """Take back the port in progress: its worktree, and what it wrote if it was cut short while writing."""
    journal = _open_port(pull, tools, word="abort")
    if journal.phase is Phase.FINISHING:
        if journal.tip is not None:
            _take_branch_back(journal, journal.tip, tools)
        for name, content in journal.files_before.items():
            tools.patchsets.put(name, content)
    _close(journal, tools)
    return AbortReport(journal.source.pull, journal.source.label, journal.branch, journal.worktree)


def _take_branch_back(journal: Journal, tip: CommitHash, tools: PortTools) -> None:
    if journal.branch_before is None:
        tools.checkouts.drop_branch(journal.branch, tip)
    elif tools.checkouts.branch(journal.branch) == tip != journal.branch_before:
        tools.checkouts.set_branch(journal.branch, journal.branch_before, before=tip)


# -- ports in progress -----------------------------------------------------------------------------------


def _open_port(pull: PullNumber | None, tools: PortTools, *, word: str) -> Journal:
    journal = tools.journal.read()
    if journal is None:
        raise UsageProblem(f"there is no port to {word}", hint="forkguard port PR  begins one")
    if pull is not None and pull != journal.source.pull:
        raise UsageProblem(
            f"the port in progress is of {journal.source.label}, not of #{pull}", hint=f"forkguard port --{word}"
        )
    _check_same_fork(journal, tools)
    return journal


def _check_same_fork(journal: Journal, tools: PortTools) -> None:
    if journal.fork != str(tools.fork.path):
        raise UsageProblem(
            f"the port of {journal.source.label} in progress is in another fork",
            where=journal.fork,
            hint=f"forkguard port --continue --fork {shlex.quote(journal.fork)}   (or --abort)",
        )


def settle_open_port(tools: PortTools) -> None:
    """Finish or undo what a killed run left; refuse where a person is still deciding."""
    journal = tools.journal.read()
    if journal is None:
        return
    _check_same_fork(journal, tools)
    label = journal.source.label
    if journal.phase is Phase.FINISHING:
        tools.talk.note(f"the port of {label} was cut short while writing; it is finished first")
        _run(journal, tools)
        return
    if journal.phase is Phase.OPENING and not journal.resolved:
        tools.talk.note(f"a port of {label} was cut short before it was ready; it was undone")
        _close(journal, tools)
        return
    raise UsageProblem(
        f"a port of {label} is in progress, with conflicts to resolve",
        where=journal.worktree or "",
        hint="forkguard port --continue  when they are resolved, or  forkguard port --abort",
    )


def _close(journal: Journal, tools: PortTools) -> None:
    tools.checkouts.close(tools.checkouts.place(_place_name(journal)))
    tools.journal.remove()


def _place_name(journal: Journal) -> str:
    return f"port-{journal.patchset}"


# -- the work ------------------------------------------------------------------------------------------


def _run(journal: Journal, tools: PortTools, *, dry_run: bool = False, pass_over: bool = False) -> PortReport:
    """Replay the picks, then stop for a person or write the result."""
    tools.talk.step(f"applying {journal.source.label} to {journal.fork_ref}")
    replay = _replay(journal, tools)
    if replay.stopped is not None:
        if dry_run or pass_over:
            return replace(port_report(journal, replay, PortStatus.CONFLICT, tools), dry_run=dry_run)
        return _stop(journal, replay, tools)
    if not replay.made:
        return _nothing_made(journal, replay, tools)
    report = replace(port_report(journal, replay, PortStatus.APPLIED, tools), dry_run=dry_run)
    if report.blocked_by and not journal.force and journal.phase is not Phase.FINISHING:
        kept = journal.worktree if journal.phase is Phase.CONFLICT else None
        return replace(report, status=PortStatus.BLOCKED, branch=None, commits=(), worktree=kept)
    if not dry_run:
        report = _finish(journal, replay, report, tools)
    tools.talk.step("reading the ported files with the compiler of a built tree")
    return replace(report, compiled=_compiled(journal, replay, tools))


def _compiled(journal: Journal, replay: Replay, tools: PortTools) -> CompileReport:
    before, after = (tools.bench.commit(commit).tree for commit in (journal.onto, replay.tip))
    paths = tuple(file.path for file in tools.bench.diff(before, after, context=0, renames=False))
    return tools.compiles(replay.tip, journal.onto, paths)


def _nothing_made(journal: Journal, replay: Replay, tools: PortTools) -> PortReport:
    if journal.resolved or journal.skipped:
        raise UsageProblem(
            "what you resolved leaves nothing of the change",
            where=journal.worktree or "",
            hint="forkguard port --abort  gives it up",
        )
    if tools.journal.read() == journal:
        tools.journal.remove()
    return port_report(journal, replay, PortStatus.ALREADY_PRESENT, tools)


def _replay(journal: Journal, tools: PortTools) -> Replay:
    done = Replay((), journal.onto, (), ())
    names = {**tools.identifiers, **_own_identifiers(journal.source, tools)}
    label = f"upstream {journal.source.label}"
    later = later_look(journal.upstream, repo=tools.fork, bench=tools.bench)
    for index, pick in enumerate(journal.source.picks):
        ours = tools.bench.commit(done.tip).tree
        applied = apply_pick(tools.bench, pick, ours=ours, theirs_label=label, identifiers=names, later=later)
        done = replace(done, missing=tuple(dict.fromkeys((*done.missing, *applied.missing))))
        if index in journal.skipped:
            done = replace(done, hunks=done.hunks + tuple(_said(hunk, "left out") for hunk in applied.hunks))
            continue
        tree, how = applied.tree or journal.resolved.get(index), "resolved by hand"
        if tree is None and applied.merged is not None:
            tree, how = reuse_resolutions(tools.bench, applied.merged, tools.resolutions)
        hunks = applied.hunks
        if applied.tree is None and tree is not None:
            hunks = tuple(_said(hunk, how) if hunk.outcome is Outcome.CONFLICT else hunk for hunk in hunks)
        done = replace(done, hunks=done.hunks + hunks, strays=done.strays + applied.strays)
        if tree is None:
            return replace(done, stopped=applied, at=index)
        if tree != ours:
            tip = _commit(pick, tree, parent=done.tip, journal=journal, tools=tools)
            done = replace(done, tip=tip, made=(*done.made, (tip, pick)))
    return done


def _own_identifiers(source: Source, tools: PortTools) -> Mapping[str, str]:
    manifest = known_manifest(source, tools)
    return manifest.identifiers if manifest else {}


def _said(hunk: HunkReport, detail: str) -> HunkReport:
    return replace(hunk, detail=detail)


def _commit(pick: Pick, tree: TreeHash, *, parent: CommitHash, journal: Journal, tools: PortTools) -> CommitHash:
    raw = tools.bench.commit(pick.commit)
    alone = raw.parents == (pick.before,) or pick.subject == raw.subject
    message = raw.message if alone else f"{pick.subject}\n".encode()
    text = ported_message(message, origin=pick.commit, patchset=journal.patchset)
    content = commit_bytes(tree, (parent,), author=raw.author, committed=raw.committed, message=text)
    return tools.bench.put_commit(content)


def _stop(journal: Journal, replay: Replay, tools: PortTools) -> PortReport:
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
    return port_report(journal, replay, PortStatus.CONFLICT, tools)


def _finish(journal: Journal, replay: Replay, report: PortReport, tools: PortTools) -> PortReport:
    """Write the branch, then the patchset's files; then the journal goes."""
    files = new_files(journal, replay.made, report=report, tools=tools)
    before = tools.checkouts.branch(journal.branch)
    if before not in (None, replay.tip, *_may_leave(journal, tools)):
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
    again = (f"{journal.branch} held this very commit already",) if journal.branch_before == replay.tip else ()
    return replace(report, notes=(*report.notes, *again))


def _may_leave(journal: Journal, tools: PortTools) -> tuple[CommitHash, ...]:
    """The commits that the branch may point at and be moved from: nothing of a person's is lost with them."""
    if journal.phase is Phase.FINISHING:
        return (journal.branch_before,) if journal.branch_before else ()
    content = tools.patchsets.patches(journal.patchset)[-1:] if journal.rebuild else ()
    words = content[0][1].split(b" ", 2) if content and content[0][1] else []
    return (CommitHash(words[1].decode("ascii", "replace")),) if len(words) == 3 and words[0] == b"From" else ()


def _point_branch(journal: Journal, replay: Replay, before: CommitHash | None, tools: PortTools) -> None:
    if before != replay.tip:
        tools.checkouts.set_branch(journal.branch, replay.tip, before=before)


def _branch_taken(branch: str, tools: PortTools) -> UsageProblem:
    where = str(tools.fork.path)
    return UsageProblem(
        f"the branch {branch} exists already and holds something else",
        where=where,
        hint=f"git -C {shlex.quote(where)} log {branch}  shows it; "
        f"git -C {shlex.quote(where)} branch -m {branch} {branch}-old  puts it aside, then port again",
    )
