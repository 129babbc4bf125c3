"""What a port has to say: hunks, prerequisites, follow-ups, hazards, and the history behind conflicts."""

from dataclasses import replace

from forkguard.core.hunks import FileChange
from forkguard.core.journal import Journal
from forkguard.core.names import PullNumber
from forkguard.core.patchset import FollowUp
from forkguard.core.porting import Hazards, MissingName, PortReport, PortStatus, Source, Stat, blocking
from forkguard.ports import Bench
from forkguard.workflows.closure import find_follow_ups, find_prerequisites, new_follow_ups, open_follow_ups
from forkguard.workflows.conflict_history import with_history
from forkguard.workflows.find_change import squash_commit
from forkguard.workflows.port_tools import PortTools, Replay
from forkguard.workflows.write_patchset import known_manifest


def port_report(journal: Journal, replay: Replay, status: PortStatus, tools: PortTools) -> PortReport:
    """Look at what a replay made, or where it stopped."""
    onto = tools.fork.commits([journal.onto])[journal.onto]
    applied, stopped = status is PortStatus.APPLIED, replay.stopped
    files: tuple[FileChange, ...] = ()
    if applied:
        files = tools.bench.diff(tools.bench.commit(journal.onto).tree, tools.bench.commit(replay.tip).tree)
    hazards = tools.hazards(replay.tip, journal.onto, files) if files else Hazards()
    strays = replay.strays if applied else ()
    hazards = replace(
        hazards,
        findings=(*strays, *hazards.findings),
        brought=hazards.brought | {finding.id for finding in strays},
    )
    conflicts = stopped.conflicts if stopped else ()
    later, not_looked = _follow_ups(journal, tools)
    if conflicts:
        pick = journal.source.picks[replay.at]
        conflicts = with_history(conflicts, repo=tools.fork, pick=pick, onto=journal.onto, base=journal.base)
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
        stat=Stat(len(files), sum(file.added for file in files), sum(file.removed for file in files)),
        missing=_needed(journal, replay, tools),
        follow_ups=later,
        hazards=hazards.findings,
        conflicts=conflicts,
        worktree=journal.worktree if stopped else None,
        archs=hazards.archs,
        notes=tuple(
            note
            for note in (journal.source.remark, *_not_there_yet(journal, tools), *hazards.notes, *not_looked)
            if note
        ),
        blocked_by=tuple(finding.id for finding in blocking(hazards)) if applied else (),
    )


def changed_files(source: Source, bench: Bench) -> tuple[FileChange, ...]:
    """What a whole change does, pick by pick."""
    return tuple(
        file
        for pick in source.picks
        for file in bench.diff(bench.commit(pick.before).tree, bench.commit(pick.commit).tree)
    )


def _needed(journal: Journal, replay: Replay, tools: PortTools) -> tuple[MissingName, ...]:
    found = find_prerequisites(
        journal.source,
        changed_files(journal.source, tools.bench),
        repo=tools.fork,
        bench=tools.bench,
        ours=tools.bench.commit(journal.onto).tree,
        base=journal.base,
        identifiers=tools.identifiers,
    )
    known = {name.symbol for name in found}
    return (*found, *(name for name in replay.missing if name.symbol not in known))


def _not_there_yet(journal: Journal, tools: PortTools) -> tuple[str, ...]:
    """The requests declared to come first, as far as neither the stack nor the fork's history names them."""
    manifest = known_manifest(journal.source, tools)
    stack = {entry.name for entry in tools.patchsets.order()}
    return tuple(
        f"#{item.pull} comes first, and neither the stack nor the fork's history names it: {item.why}"
        for item in (manifest.prerequisites if manifest else ())
        if item.pull and item.commit is None and str(item.pull) not in stack
        if squash_commit(PullNumber(item.pull), tools.fork, journal.onto) is None
    )


def _follow_ups(journal: Journal, tools: PortTools) -> tuple[tuple[FollowUp, ...], tuple[str, ...]]:
    """What a person declared, what upstream did later, what open requests do here; and what was not looked at."""
    manifest = known_manifest(journal.source, tools)
    declared = manifest.follow_ups if manifest else ()
    files = changed_files(journal.source, tools.bench)
    found: tuple[FollowUp, ...] = ()
    if journal.upstream is not None:
        found = find_follow_ups(journal.source, files, repo=tools.fork, tip=journal.upstream, onto=journal.onto)
    near, notes = open_follow_ups(journal.source.pull, files, tools.open_requests)
    return (*declared, *new_follow_ups(declared, (*found, *near))), notes
