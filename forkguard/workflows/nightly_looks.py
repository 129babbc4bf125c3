"""The steps of a night that look: fetch, target, coverage, recheck, drift, replay."""

import re
import shlex
from collections.abc import Collection
from dataclasses import replace

from forkguard.core.findings import ArchStatus, Base, DriftReport, Side
from forkguard.core.night_verdict import red_findings, retirements
from forkguard.core.nightly import (
    NightBase,
    NightCommit,
    NightDrift,
    NightFinding,
    NightFollowUp,
    NightPatch,
    NightPin,
    NightUpstream,
    Outcome,
)
from forkguard.core.replay import PatchStatus, ReplayReport
from forkguard.errors import CouldNotWork
from forkguard.workflows.night_state import DRIFT_FILE, REPLAY_FILE, Draft, NightMeans, StepEnd, done, skipped
from forkguard.workflows.recheck import Later
from forkguard.workflows.replay import read_patches
from forkguard.workflows.status import read_status

_SHORT = 10


def fetch(means: NightMeans, draft: Draft) -> StepEnd:
    """Upstream's branch and tags into refs of forkguard's own."""
    got = draft.fetched = means.work.fetch(draft.id)
    draft.note(*got.notes)
    if got.lost:
        draft.note(
            f"upstream was force-pushed: {_count(got.lost, 'commit')} up to {(got.before or '')[:_SHORT]} "
            f"of before {'is' if got.lost == 1 else 'are'} no longer in it"
        )
    if got.moved:
        draft.note(f"upstream moved {_count(len(got.moved), 'tag')}: {', '.join(got.moved[:5])}")
    came = "nothing new" if got.before == got.tip else f"now at {got.tip[:_SHORT]}"
    tags = f", {_count(got.new_tags, 'new tag')}" if got.new_tags else ""
    completed = f", {_count(got.completed, 'object')} of a partial clone completed" if got.completed else ""
    return done(f"{came}{tags}{completed}")


def target(means: NightMeans, draft: Draft) -> StepEnd:
    """The upstream commit that the night looks at."""
    if draft.fetched is None:
        return skipped("nothing was fetched")
    chosen = draft.target = draft.chosen = means.work.choose(draft.fetched, draft.started)
    draft.night = replace(draft.night, key=means.work.key(chosen))
    last = draft.last.upstream if draft.last is not None else None
    if last is not None and last.to == chosen.commit:
        return done(f"{chosen.ref} at {chosen.commit[:_SHORT]}, as the night before")
    return done(f"{chosen.ref} at {chosen.commit[:_SHORT]}")


def coverage(means: NightMeans, draft: Draft) -> StepEnd:
    """The base, and the commits of the fork that no patchset covers."""
    if draft.fork is None or draft.fetched is None or draft.target is None:
        return skipped("there is no target")
    report = read_status(
        means.repo,
        means.patchsets,
        fork=draft.fork,
        upstream=Side(draft.target.ref, draft.fetched.tip),
        configured_base=draft.configured_base,
        receipt=None,
        talk=means.talk,
    )
    base = draft.found_base = report.base
    draft.night = replace(draft.night, base=NightBase(base.commit, base.how), ahead=report.ahead)
    _count_upstream(means, draft, base)
    uncovered = tuple(NightCommit(one.id, one.date, one.subject, one.pull) for one in report.uncovered)
    draft.night = replace(draft.night, uncovered=uncovered)
    if not uncovered:
        return done(f"base {base.commit[:_SHORT]}; every commit of the fork is in a patchset")
    many = len(uncovered)
    return StepEnd(
        Outcome.COULD_NOT,
        f"{_count(many, 'commit')} of the fork {'is' if many == 1 else 'are'} in no patchset, "
        "so what the stack makes is not the fork",
        where=draft.fork.ref,
        hint=f"forkguard stack import --from-branch {shlex.quote(draft.fork.ref)}",
    )


def _count_upstream(means: NightMeans, draft: Draft, base: Base) -> None:
    """What came upstream; a fork that is newer than the target is looked at on its own base."""
    assert draft.target is not None  # noqa: S101  (the caller has it)
    repo, chosen = means.repo, draft.target
    if not repo.is_ancestor(base.commit, chosen.commit):
        if not repo.is_ancestor(chosen.commit, base.commit):
            raise CouldNotWork(
                f"the fork's base {base.commit[:_SHORT]} is no part of upstream's history",
                where=f"{chosen.ref} ({chosen.commit[:_SHORT]})",
                hint="correct [upstream] base in the map, or leave it out",
            )
        draft.note(
            f"the fork is newer than {chosen.ref} ({chosen.commit[:_SHORT]}): the stack was tried on its own base"
        )
        chosen = draft.target = Side(chosen.ref, base.commit)
    last = draft.last.upstream.to if draft.last is not None and draft.last.upstream is not None else None
    since = base.commit
    if last is not None and _is_known_ancestor(means, last, chosen):
        since = means.repo.resolve(last)
    came = NightUpstream(
        chosen.ref,
        since,
        chosen.commit,
        repo.count(since, chosen.commit),
        repo.count(base.commit, chosen.commit),
    )
    draft.night = replace(draft.night, upstream=came)


def _is_known_ancestor(means: NightMeans, commit: str, of: Side) -> bool:
    try:
        return means.repo.is_ancestor(means.repo.resolve(commit), of.commit)
    except CouldNotWork:  # upstream was force-pushed and git has dropped the commit
        return False


def recheck(means: NightMeans, draft: Draft) -> StepEnd:
    """Requests that patchsets carry: what came after them, and whether open ones moved."""
    if draft.target is None:
        return skipped("there is no target")
    found = means.work.recheck(draft.target)
    known = {(one.patchset, one.pr, one.commit) for one in draft.last.follow_ups} if draft.last is not None else set()
    follow_ups = tuple(_follow_up(one, known) for one in found.follow_ups)
    pins = tuple(
        NightPin(one.patchset, one.pull, one.pinned, one.head, one.state.value, one.why)
        for one in found.pins
        if _is_whole(one.pinned)
    )
    draft.night = replace(draft.night, follow_ups=follow_ups, pins=pins)
    draft.note(
        *(
            f"{one.patchset}: head = {one.pinned!r} in its patchset.toml is no whole commit id"
            for one in found.pins
            if not _is_whole(one.pinned)
        )
    )
    said = "nothing came after the requests that the stack carries"
    if found.pins or found.follow_ups:
        moved = sum(pin.moved for pin in found.pins)
        fresh = sum(one.new for one in follow_ups)
        said = f"{_count(len(found.follow_ups), 'follow-up')} ({fresh} new)"
        said += f", {_count(len(found.pins), 'open request')} ({moved} moved)" if found.pins else ""
    if found.problems:
        return StepEnd(Outcome.COULD_NOT, "; ".join(found.problems))
    return done(said)


def _is_whole(commit: str) -> bool:
    """Whether a pin, which a person may have written, is a commit id as records hold it."""
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit) is not None


def _follow_up(found: Later, known: Collection[tuple[str, int | None, str | None]]) -> NightFollowUp:
    pull, commit = found.follow_up.pull, found.follow_up.commit or None
    new = found.new and (found.patchset, pull, commit) not in known
    return NightFollowUp(found.patchset, pull, commit, found.follow_up.why, new)


def drift(means: NightMeans, draft: Draft) -> StepEnd:
    """The production branch against the target."""
    if draft.target is None or draft.found_base is None:
        return skipped("there is no base")
    report, document = means.work.drift(draft.target, draft.found_base)
    means.nights.put(draft.id, DRIFT_FILE, document)
    keep_drift(draft, report)
    counting = [finding for finding in report.findings if finding.counts(strict=False)]
    if report.clean():
        return done(f"{_count(len(report.archs), 'arch')} clean")
    red = len(draft.drifted)
    said = f"{_count(len(counting), 'finding')} in {_count(len(report.archs), 'arch')}"
    return StepEnd(
        Outcome.FOUND, f"{said}, {red} of them red" if red else f"{said}, told only", hint=drift_command(report)
    )


def keep_drift(draft: Draft, report: DriftReport) -> None:
    """The report's part of the record, and what of it makes the night red."""
    found = tuple(
        NightFinding(one.id, one.arch, one.kind.value, one.severity.value, one.title, one.counts(strict=False))
        for one in report.findings
    )
    drift = NightDrift({arch.name: arch.status.value for arch in report.archs}, found, DRIFT_FILE)
    draft.night = replace(draft.night, drift=drift)
    settle_drift(draft)


def settle_drift(draft: Draft) -> None:
    """Which drift makes the night red, by the map."""
    drift = draft.night.drift
    if drift is None:
        return
    policy = draft.settings.drift
    draft.drifted = red_findings(drift.findings, policy)
    absent = [name for name, status in drift.archs.items() if status == ArchStatus.ABSENT.value]
    draft.absent = tuple(absent) if policy == "red" else ()


def drift_command(report: DriftReport) -> str:
    """What to type to see the worst of it: the person's own remote may not have been fetched as far."""
    worst = next((one.arch for one in report.findings if one.counts(strict=False)), None)
    name = worst or next(arch.name for arch in report.archs if arch.status is ArchStatus.ABSENT)
    return f"forkguard drift --arch {shlex.quote(name)} --upstream-ref {report.upstream.commit[:12]}"


def replay(means: NightMeans, draft: Draft) -> StepEnd:
    """The stack on the target, in memory."""
    if draft.target is None or draft.found_base is None:
        return skipped("there is no base")
    patches = read_patches(means.patchsets)
    report, document = means.work.replay(patches, draft.found_base, draft.target)
    if draft.chosen is not None and means.work.key(draft.chosen) != draft.night.key:
        raise CouldNotWork(
            "the stack or the map was changed while the night looked at it",
            where=str(means.patchsets.root),
            hint="forkguard nightly  once that is done",
        )
    means.nights.put(draft.id, REPLAY_FILE, document)
    draft.replayed = report
    stack = night_patches(report)
    draft.night = replace(draft.night, stack=stack, retire=retirements(stack))
    draft.note(*report.notes)
    if not report.failed:
        landed = sum(patch.status is PatchStatus.LANDED for patch in stack)
        return done(f"{_count(len(stack), 'patch', 'patches')}, {landed} landed")
    written = means.work.packets(report, draft.found_base)
    for packet, text in written:
        means.nights.put(draft.id, packet.file, text)
    draft.night = replace(draft.night, packets=tuple(packet for packet, _ in written))
    failed = [patch for patch in stack if patch.status.failed]
    return StepEnd(
        Outcome.FOUND,
        f"patches that do not apply: {len(failed)} of {len(stack)}",
        where=", ".join(patch.label for patch in failed),
        hint=f"less {shlex.quote(str(means.nights.path(draft.id, written[0][0].file)))}" if written else "",
    )


def night_patches(report: ReplayReport) -> tuple[NightPatch, ...]:
    """The replay's results as the record holds them."""
    breaking = {label: group.commit.id for group in report.groups if group.commit for label in group.members}
    return tuple(
        NightPatch(
            patchset=one.patch.patchset,
            patch=one.patch.name,
            status=one.status,
            subject=one.patch.mail.subject,
            how=one.how,
            breaking_commit=breaking.get(one.patch.label),
            landed_in=one.landed_in,
            note=one.note,
        )
        for one in report.results
    )


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
