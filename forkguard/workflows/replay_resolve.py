"""A replay whose conflicts a person decides, one after the other, in a worktree of forkguard's own.

The journal says what is coming before it comes, and each step can be made twice: so a kill is harmless.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forkguard.core.findings import Side
from forkguard.core.merges import Merged
from forkguard.core.names import CommitHash, TreeHash
from forkguard.core.replay import OpenConflict, PatchResult, PatchStatus, ReplayEnd, ReplayReport, StackPatch
from forkguard.core.replay_journal import ReplayJournal, ReplayPhase
from forkguard.core.resolutions import resolution_name, sides_of
from forkguard.errors import UsageProblem
from forkguard.ports import Checkouts, OpenReplay, PatchsetStore, ResolutionStore
from forkguard.workflows.replay import read_patches, replay
from forkguard.workflows.replay_stack import ReplayTools
from forkguard.workflows.resolutions import keep_resolutions, reuse_resolutions

VERB = "forkguard stack replay"


@dataclass(frozen=True, slots=True)
class ResolveTools:
    """What it works with. `other` is upstream's clone, where it is not the fork itself."""

    replay: ReplayTools
    checkouts: Checkouts
    journal: OpenReplay
    patchsets: PatchsetStore
    resolutions: ResolutionStore
    other: Path | None = None


# -- the ways in -----------------------------------------------------------------------------------------


def resolve(wanted: str, *, base: CommitHash, onto: Side, tools: ResolveTools) -> ReplayReport:
    """Open the conflict of a patch (PATCHSET or PATCHSET/PATCH) on top of what the replay has before it.

    Raises `UsageProblem` where a replay is in progress, or the patch has no conflict that can be decided.
    """
    journal = tools.journal.read()
    if journal is not None:
        raise UsageProblem(
            f"a replay on {journal.onto_ref} is in progress, at {journal.patch}",
            where=journal.worktree,
            hint=f"{VERB} --continue  when it is resolved, or --skip, --quit, --abort",
        )
    patches = read_patches(tools.patchsets)
    named = _named(wanted, patches)
    report = replay(patches, base=base, onto=onto, tools=tools.replay, bisect=False)
    failing = [each for each in report.results if each.patch in named and each.status.failed]
    open_ones = [each for each in failing if each.merged is not None and each.merged.conflicted]
    if not open_ones:
        raise _nothing_to_decide(wanted, failing, onto)
    result = open_ones[0]
    label = result.patch.label
    begun = ReplayJournal(
        phase=ReplayPhase.OPENING,
        fork=str(tools.replay.repo.path),
        base=base,
        onto_ref=onto.ref,
        onto=onto.commit,
        first=label,
        patch=label,
    )
    return _open(begun, report, result, tools)


def continue_replay(tools: ResolveTools) -> ReplayReport:
    """Keep what the person decided, replay the stack with it, and open the next conflict behind it, if any."""
    journal = _in_progress(tools, word="continue")
    if journal.phase is ReplayPhase.CONFLICT:
        journal = _decided(journal, tools)
    if journal.phase is ReplayPhase.KEEPING:
        journal = _keep(journal, tools)
    return _go_on(journal, tools)


def skip_patch(tools: ResolveTools) -> ReplayReport:
    """Leave the open patch out of this replay, and open the next conflict behind it, if any."""
    journal = _in_progress(tools, word="skip")
    if journal.phase is not ReplayPhase.CONFLICT:
        raise UsageProblem("no patch waits to be skipped", hint=f"{VERB} --continue")
    update = {"phase": ReplayPhase.OPENING, "skipped": (*journal.skipped, journal.patch), "merged": None}
    journal = journal.model_copy(update=update)
    tools.journal.write(journal)
    return _go_on(journal, tools)


def end_replay(tools: ResolveTools, *, keep: bool) -> ReplayEnd:
    """Give the replay up; `keep` leaves the resolutions that were made in it, else they are taken back."""
    journal = _in_progress(tools, word="quit" if keep else "abort")
    written = len(journal.files_before)
    if not keep:
        for name, content in journal.files_before.items():
            tools.resolutions.put(name, content)
    _close(journal, tools)
    return ReplayEnd(journal.patch, 0 if keep else written, written if keep else 0)


def open_conflict(journal: ReplayJournal) -> OpenConflict:
    """What a journal says is open."""
    return OpenConflict(
        patch=journal.patch,
        subject=journal.subject,
        onto=journal.onto_ref,
        worktree=journal.worktree,
        paths=journal.merged.conflicted if journal.merged else (),
        decided=journal.decided,
        skipped=journal.skipped,
    )


# -- checks ----------------------------------------------------------------------------------------------


def _named(wanted: str, patches: Sequence[StackPatch]) -> tuple[StackPatch, ...]:
    """The patches that PATCHSET or PATCHSET/PATCH names; PATCH is a file's name or the number that it begins with."""
    patchset, _, name = wanted.partition("/")
    found = tuple(
        each
        for each in patches
        if each.patchset == patchset and (not name or each.name == name or each.name.partition("-")[0] == name)
    )
    if not found:
        raise UsageProblem(
            f"the stack has no patch {wanted!r} that is carried or proposed", hint="forkguard stack list  shows it"
        )
    return found


def _nothing_to_decide(wanted: str, failing: Sequence[PatchResult], onto: Side) -> UsageProblem:
    if not failing:
        return UsageProblem(f"{wanted} has no conflict on {onto.ref}", hint=f"{VERB} --onto {shlex.quote(onto.ref)}")
    first = failing[0]
    if first.status is PatchStatus.MISSING_BLOB:
        what = f"{first.patch.label} cannot be merged: this clone lacks what its merge needs"
    else:
        reason = first.troubles[0].reason if first.troubles else "git says no more"
        what = f"{first.patch.label} conflicts as a whole, with no lines to decide: {reason}"
    return UsageProblem(what, hint=f"forkguard stack show {first.patch.patchset}  shows the patch; change it there")


def _in_progress(tools: ResolveTools, *, word: str) -> ReplayJournal:
    journal = tools.journal.read()
    if journal is None:
        raise UsageProblem(f"there is no replay to {word}", hint=f"{VERB} --resolve PATCHSET  begins one")
    if journal.fork != str(tools.replay.repo.path):
        raise UsageProblem(
            "the replay in progress is of another fork",
            where=journal.fork,
            hint=f"{VERB} --{word} --fork {shlex.quote(journal.fork)}",
        )
    return journal


# -- the steps -------------------------------------------------------------------------------------------


def _decided(journal: ReplayJournal, tools: ResolveTools) -> ReplayJournal:
    """Read the person's tree, and record it with what the files that will hold it hold now."""
    merged = _merged(journal)
    place = tools.checkouts.place(_place_name(journal))
    tree = tools.checkouts.resolved_tree(place, merged.conflicted, merged=merged.tree)
    _check_alone(merged, tree, place, tools)
    names = [resolution_name(path, sides_of(merged, path)) for path in merged.conflicted]
    before = {name: tools.resolutions.content(name) for name in names if name not in journal.files_before}
    update = {
        "phase": ReplayPhase.KEEPING,
        "resolved": tree,
        "files_before": {**before, **journal.files_before},
    }
    journal = journal.model_copy(update=update)
    tools.journal.write(journal)
    return journal


def _check_alone(merged: Merged, tree: TreeHash, place: Path, tools: ResolveTools) -> None:
    """A resolution holds the conflicted files and nothing else."""
    changed = {file.path for file in tools.replay.bench.diff(merged.tree, tree, context=0, renames=False)}
    others = sorted(changed - set(merged.conflicted))
    if others:
        raise UsageProblem(
            f"{others[0]} was changed too, and a resolution holds the conflicted files alone",
            where=str(place / others[0]),
            hint=f"undo that change and put it into a patch of its own; then {VERB} --continue",
        )


def _keep(journal: ReplayJournal, tools: ResolveTools) -> ReplayJournal:
    merged, bench = _merged(journal), tools.replay.bench
    assert journal.resolved is not None  # noqa: S101  (the journal's own rule)
    patchset = journal.patch.partition("/")[0]
    keep_resolutions(bench, merged, journal.resolved, patchset=patchset, store=tools.resolutions)
    again, _ = reuse_resolutions(bench, merged, tools.resolutions)
    if again != journal.resolved:
        tools.journal.write(journal.model_copy(update={"phase": ReplayPhase.CONFLICT, "resolved": None}))
        raise UsageProblem(
            "only plain files can be kept as a resolution",
            where=journal.worktree,
            hint=f"{VERB} --skip  leaves this patch out",
        )
    update = {
        "phase": ReplayPhase.OPENING,
        "decided": (*journal.decided, journal.patch),
        "merged": None,
        "resolved": None,
    }
    journal = journal.model_copy(update=update)
    tools.journal.write(journal)
    return journal


def _merged(journal: ReplayJournal) -> Merged:
    assert journal.merged is not None  # noqa: S101  (there in the phases that ask)
    return journal.merged


def _go_on(journal: ReplayJournal, tools: ResolveTools) -> ReplayReport:
    """Replay with what was decided; stop at the next conflict from the first one on, or be done."""
    patches = read_patches(tools.patchsets)
    onto = Side(journal.onto_ref, journal.onto)
    report = replay(patches, base=journal.base, onto=onto, tools=tools.replay, bisect=False, skipped=journal.skipped)
    labels = [each.label for each in patches]
    first = labels.index(journal.first) if journal.first in labels else 0
    for result in report.results[first:]:
        waits = result.status is PatchStatus.CONFLICT and result.patch.label not in journal.skipped
        if waits and result.merged is not None and result.merged.conflicted:
            return _open(journal, report, result, tools)
    _close(journal, tools)
    return report


def _open(journal: ReplayJournal, report: ReplayReport, result: PatchResult, tools: ResolveTools) -> ReplayReport:
    """Make the worktree of a conflict, on top of the patches before it."""
    assert result.merged is not None  # noqa: S101  (the callers saw it)
    before = report.results[: report.results.index(result)]
    head = next((each.commit for each in reversed(before) if each.commit), report.onto.commit)
    if journal.worktree:
        tools.checkouts.close(tools.checkouts.place(_place_name(journal)))
    journal = journal.model_copy(
        update={
            "phase": ReplayPhase.OPENING,
            "patch": result.patch.label,
            "subject": result.patch.mail.subject,
            "merged": result.merged,
        }
    )
    place = tools.checkouts.place(_place_name(journal))
    journal = journal.model_copy(update={"worktree": str(place)})
    tools.journal.write(journal)
    if tools.other is not None:
        tools.checkouts.fetch(tools.other, journal.onto, f"refs/forkguard/replay/{journal.onto[:12]}")
    tools.replay.talk.step(f"making a worktree at {place}")
    tools.checkouts.open(place, head=head, merged=result.merged)
    journal = journal.model_copy(update={"phase": ReplayPhase.CONFLICT})
    tools.journal.write(journal)
    return replace(report, open=open_conflict(journal))


def _close(journal: ReplayJournal, tools: ResolveTools) -> None:
    tools.checkouts.close(tools.checkouts.place(_place_name(journal)))
    tools.journal.remove()


def _place_name(journal: ReplayJournal) -> str:
    return f"replay-{journal.patch.partition('/')[0]}"
