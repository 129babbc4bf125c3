"""What needs a person today: a short list, worst first, each with the command that begins the work."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forkguard.core.history_rows import ReceiptRow, RecordKind, Skipped
from forkguard.core.nightly import Night, NightFinding, NightPatch, NightStep, NightVerdict, Outcome
from forkguard.core.replay import PatchStatus

_TOLD = {NightStep.REPLAY, NightStep.DRIFT, NightStep.GATE, NightStep.COVERAGE}
"""Steps whose findings are told one by one."""

_ABSENT = "absent"

_BAD = {"crash", "corruption"}
_SEVERITIES = ("crash", "corruption", "slow", "change", "note")


@dataclass(frozen=True, slots=True)
class Need:
    """One thing to do. `page` names the page that tells more: its kind (night, patchset, arch, receipt) and name.

    `urgent`: it is why the night was not green.
    """

    what: str
    command: str = ""
    page: tuple[str, str] | None = None
    urgent: bool = True


def needs(
    night: Night | None,
    *,
    skipped: Sequence[Skipped] = (),
    cut_off: Sequence[str] = (),
    receipts: Sequence[ReceiptRow] = (),
) -> tuple[Need, ...]:
    """What to do after the newest night, about records that cannot be read or were not finished, and about the newest
    receipts of the archs, where they did not pass and the night does not tell of them.
    """
    found = [*_records(skipped, cut_off), *_other_gates(night, receipts)]
    if night is not None:
        found += [*_could_not(night), *_stack(night), *_gates(night), *_drift(night), *_later(night)]
        if night.verdict is not NightVerdict.GREEN and not any(one.urgent for one in found):
            found.insert(0, Need(night.reason, page=("night", night.id)))
    return tuple(sorted(found, key=lambda one: not one.urgent))


def _records(skipped: Sequence[Skipped], cut_off: Sequence[str]) -> Iterator[Need]:
    if cut_off:
        yield Need(f"the night {cut_off[-1]} has no record: it still runs, or was cut off", "forkguard nightly")
    for one in skipped:
        folder = "nightly" if one.kind is RecordKind.NIGHT else "receipts"
        place = f".forkguard/{folder}/{one.name}"
        yield Need(f"the {one.kind} {one.name} cannot be read ({one.why}); it counts as no result", f"ls -l {place}")


def _other_gates(night: Night | None, receipts: Sequence[ReceiptRow]) -> Iterator[Need]:
    told = {gate.receipt.partition("/")[0] for gate in night.gate} if night is not None else set()
    for one in receipts:
        if one.verdict != "pass" and one.name not in told:
            command = f"forkguard gate --arch {shlex.quote(one.arch)}"
            yield Need(f"the last gate of {one.arch} is {one.verdict}: {one.reason}", command, ("receipt", one.name))


def _could_not(night: Night) -> Iterator[Need]:
    for step in night.steps:
        found = step.outcome is Outcome.FOUND and step.name not in _TOLD
        if (step.outcome is Outcome.COULD_NOT and not _is_told(night, step.name)) or found:
            yield Need(f"{step.name}: {step.detail}", step.hint, ("night", night.id))


def _is_told(night: Night, step: NightStep) -> bool:
    """Whether what a step could not settle is told by commit or by arch."""
    if step is NightStep.COVERAGE:
        return bool(night.uncovered)
    return step is NightStep.GATE and any(gate.verdict != "pass" for gate in night.gate)


def _stack(night: Night) -> Iterator[Need]:
    """Failures of one root are one thing to do."""
    roots: dict[str, list[NightPatch]] = {}
    for one in night.stack:
        if one.status.failed:
            roots.setdefault(one.breaking_commit or "", []).append(one)
    for breaking, patches in roots.items():
        first = patches[0]
        since = f" since upstream {breaking[:10]}" if breaking else ""
        others = f"; {_count(len(patches) - 1, 'more patch', 'more patches')} with it" if len(patches) > 1 else ""
        yield Need(
            f"{first.label}: {first.status}{since}{others}", _replay(night, first), ("patchset", first.patchset)
        )
    if night.uncovered:
        hint = next((step.hint for step in night.steps if step.name is NightStep.COVERAGE and step.hint), "")
        branch = night.fork.ref if night.fork is not None else "HEAD"
        hint = hint or f"forkguard stack import --from-branch {shlex.quote(branch)}"
        told = f"{_count(len(night.uncovered), 'commit', 'commits')} of the fork that no patchset covers"
        yield Need(told, hint, ("night", night.id))


def _replay(night: Night, patch: NightPatch) -> str:
    onto = f" --onto {night.upstream.to[:12]}" if night.upstream is not None else ""
    resolve = f" --resolve {shlex.quote(patch.patchset)}" if patch.status is PatchStatus.CONFLICT else ""
    return f"forkguard stack replay{onto}{resolve}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _gates(night: Night) -> Iterator[Need]:
    hint = next((step.hint for step in night.steps if step.name is NightStep.GATE), "")
    candidate = f" --fork-ref {shlex.quote(night.candidate.branch)}" if night.candidate is not None else ""
    for gate in night.gate:
        if gate.verdict == "pass":
            continue
        bad = next((check for check in gate.checks if check.verdict != "pass"), None)
        told = f": {bad.name}, {bad.detail}" if bad is not None else ""
        page = ("receipt", gate.receipt.partition("/")[0]) if gate.receipt else ("night", night.id)
        yield Need(
            f"the gate of {gate.arch} is {gate.verdict}{told}",
            hint or f"forkguard gate --arch {shlex.quote(gate.arch)}{candidate}",
            page,
        )


def _drift(night: Night) -> Iterator[Need]:
    counting: dict[str, list[NightFinding]] = {}
    for one in night.drift.findings if night.drift is not None else ():
        if one.counts:
            counting.setdefault(one.arch, []).append(one)
    against = f" --upstream-ref {night.upstream.to[:12]}" if night.upstream is not None else ""
    red = night.verdict is not NightVerdict.GREEN
    for arch, status in night.drift.archs.items() if night.drift is not None else ():
        if status == _ABSENT:
            command = f"forkguard drift --arch {shlex.quote(arch)}{against}"
            yield Need(f"the fork has no arch {arch}", command, ("arch", arch), urgent=red)
    for arch, findings in counting.items():
        tally = [(name, sum(one.severity == name for one in findings)) for name in _SEVERITIES]
        told = ", ".join(f"{count} {name}" for name, count in tally if count)
        bad = red and any(one.severity in _BAD for one in findings)
        command = f"forkguard drift --arch {shlex.quote(arch)}{against}"
        yield Need(f"drift in {arch}: {told}", command, ("arch", arch), urgent=bad)


def _later(night: Night) -> Iterator[Need]:
    if night.verdict is NightVerdict.GREEN and night.candidate is not None and night.upstream is not None:
        branch = night.candidate.branch
        command = f"git log {night.upstream.to[:12]}..{shlex.quote(branch)}"
        yield Need(f"the candidate {branch} is ready to be looked at", command, ("night", night.id), urgent=False)
    for one in night.retire:
        landed = f" ({one.landed_in[:10]})" if one.landed_in else ""
        yield Need(
            f"{one.patchset} has landed upstream{landed}", one.command, ("patchset", one.patchset), urgent=False
        )
    for follow in night.follow_ups:
        if follow.new:
            pull = f"#{follow.pr} " if follow.pr else ""
            told = f"upstream {pull}came after what {follow.patchset} carries: {follow.why}"
            yield Need(
                told, f"forkguard port {follow.pr}" if follow.pr else "", ("patchset", follow.patchset), urgent=False
            )
    for pin in night.pins:
        if pin.head is not None and pin.head != pin.pinned:
            told = f"{pin.patchset} is pinned to an older head of #{pin.pr}, which is {pin.state}: {pin.why}"
            flag = "" if pin.state == "merged" else " --follow"
            yield Need(told, f"forkguard port {pin.pr}{flag}", ("patchset", pin.patchset), urgent=False)
