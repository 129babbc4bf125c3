"""Nights and receipts as forkguard would have written them: figures like the published ones, everything made here.

Deterministic: the same arguments give the same bytes. Some texts are a stranger's, and hostile.
"""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from forkguard.core.findings import Kind, Severity
from forkguard.core.nightly import (
    Candidate,
    Night,
    NightBase,
    NightBuild,
    NightCheck,
    NightCommit,
    NightDrift,
    NightFinding,
    NightFollowUp,
    NightGate,
    NightPatch,
    NightPin,
    NightSide,
    NightStep,
    NightUpstream,
    NightVerdict,
    Outcome,
    Packet,
    Retirement,
    StepResult,
    story_of,
    write_night,
)
from forkguard.core.receipts import sums
from forkguard.core.replay import PatchStatus
from forkguard.reports.drift import as_json
from tests.support.drift_reports import finding, report
from tests.support.gate_documents import HOSTILE, commit_of, gate_checks, iso, receipt_document, server_log

START = datetime(2025, 9, 1, 3, 0, 5, tzinfo=UTC)
_NAMES = ("27383", "29085", "router-log", "kv-shift", "server-health")


@dataclass(frozen=True)
class Yearbook:
    """A folder `.forkguard` with records in it."""

    state: Path

    def write(self, *, nights: int = 12, patchsets: int = 5, extra_receipts: int = 0) -> "Yearbook":
        """So many nights, the newest one red; every night that has a candidate has a receipt."""
        names = (*_NAMES, *(f"own-{number:02}" for number in range(patchsets)))[:patchsets]
        days_red = repeats = 0
        story = ""
        for number in range(nights):
            night = make_night(number, names, of=nights)
            repeats = repeats + 1 if night.story and night.story == story else 0
            days_red = 0 if night.verdict is NightVerdict.GREEN else days_red + 1
            story = night.story
            self.put_night(replace(night, days_red=days_red, repeats=repeats))
        for number in range(extra_receipts):
            self.put_receipt(START + timedelta(days=number, hours=9), number, name="hand")
        return self

    def put_night(self, night: Night) -> Path:
        """Write a night, what lies beside it, and the receipt that it names."""
        folder = self.state / "nightly" / night.id
        folder.mkdir(parents=True)
        for packet in night.packets:
            (folder / packet.file).write_text(_packet(packet))
        if night.drift is not None and night.drift.document is not None:
            (folder / night.drift.document).write_text(drift_document(night.drift))
        number = (datetime.fromisoformat(night.started) - START).days
        for gate in night.gate:
            self.put_receipt(datetime.fromisoformat(night.started), number, name="night", verdict=gate.verdict)
        (folder / "night.json").write_text(write_night(night))
        return folder / "night.json"

    def put_receipt(self, started: datetime, number: int, *, name: str, verdict: str = "pass") -> Path:
        """Write a receipt with the logs of its arms."""
        folder = self.state / "receipts" / receipt_name(started, name)
        folder.mkdir(parents=True)
        document = receipt_document(started, number, verdict=verdict)
        for arm in document["arms"]:
            content = server_log(arm["name"], crashed=arm["trouble"] is not None)
            (folder / arm["end"]["log"]).write_bytes(content)
            arm["end"]["log_bytes"] = len(content)
            digest = sha256(content).hexdigest()
            document["logs"].append({"path": arm["end"]["log"], "sha256": digest, "bytes": len(content)})
        path = folder / "receipt.json"
        content = (json.dumps(document, indent=2) + "\n").encode()
        path.write_bytes(content)
        (folder / "SHA256SUMS").write_text(sums(content, previous=None, logs=()))
        return path


def receipt_name(started: datetime, name: str) -> str:
    """The folder of a receipt."""
    return f"{_id(started)}-{name}"


def _id(started: datetime) -> str:
    return f"{started.astimezone(UTC):%Y%m%dT%H%M%SZ}"


# -- nights ----------------------------------------------------------------------------------------------


def make_night(number: int, names: tuple[str, ...], *, of: int) -> Night:
    """Night `number` of `of`. Every eleventh has no network; the last four have a conflict that stays."""
    started = START + timedelta(days=number)
    moment = iso(started)
    behind = 40 + 12 * number
    if number % 11 == 7 and number < of - 4:
        return _could_not_run(started)
    conflicts = _conflicts(number, names, of=of)
    stack = tuple(_patch(name, at, number, conflicts) for name in names for at in range(1 + len(name) % 2))
    failing = [one for one in stack if one.status.failed]
    drift = _drift(number, of=of)
    counting = any(one.counts for one in drift.findings)
    gated = not failing
    gate_fails = gated and number % 13 == 9
    red = bool(failing) or gate_fails
    verdict = NightVerdict.RED if red or counting else NightVerdict.GREEN
    reason = _reason(failing, drift, gate_fails=gate_fails)
    parts = [f"{one.label} {one.status}" for one in failing]
    parts += [one.id for one in drift.findings if one.counts] + (["gate"] if gate_fails else [])
    return Night(
        id=_id(started), started=moment, finished=iso(started + timedelta(minutes=21, seconds=number % 60)),
        verdict=verdict, reason=reason, story=story_of(verdict, parts), repeats=0, days_red=0, version="0.1.0",
        fork=NightSide("production", commit_of(f"fork {number // 7}")), base=NightBase(commit_of("base"), "content"),
        upstream=NightUpstream(
            "upstream/master", commit_of(f"up {number - 1}"), commit_of(f"up {number}"), 12, behind
        ),
        ahead=len(stack) + 1, steps=_steps(started, failing, drift, gate_fails=gate_fails), stack=stack,
        uncovered=_uncovered(number, of), retire=_retire(stack), follow_ups=_follow_ups(number),
        pins=(NightPin("29085", 29085, commit_of("pin"), commit_of(f"pin {number // 20}"), "open", "2 newer"),),
        drift=drift, build=NightBuild("release", "a1b2c3", "/trees/a1b2c3/build/bin/llama-server", 312.4)
        if gated else None,
        gate=(_gate(started, fails=gate_fails),) if gated else (),
        candidate=Candidate(f"forkguard/candidate/{started:%Y-%m-%d}", commit_of(f"candidate {number}"))
        if gated else None,
        packets=tuple(
            Packet(one.patchset, one.patch, f"conflict-{one.patchset}.md", f"forkguard stack replay {one.patchset}")
            for one in failing if one.status is PatchStatus.CONFLICT
        ),
        notes=("upstream renamed a file of the stack: src/models/heron.cpp",) if number % 9 == 3 else (),
    )  # fmt: skip


def _conflicts(number: int, names: tuple[str, ...], *, of: int) -> dict[str, str]:
    found = {names[2 % len(names)]: "tonight"} if number >= of - 4 else {}
    if 20 <= number % 60 < 24:
        found[names[(number // 60) % len(names)]] = f"spell {number // 60}"
    return found


def _patch(name: str, at: int, number: int, conflicts: dict[str, str]) -> NightPatch:
    file, subject = f"{at + 1:04}-{name}.patch", f"{name} : step {at + 1}"
    if name in conflicts and at == 0:
        breaking = commit_of(f"breaking {name} {conflicts[name]}")
        return NightPatch(
            name, file, PatchStatus.CONFLICT, subject, "", breaking, note="hunk 2 of src/llama-graph.cpp"
        )
    if name in conflicts:
        return NightPatch(name, file, PatchStatus.UNTESTED, subject, note="it stands on a patch that does not apply")
    if name == "27383" and number > 5:
        return NightPatch(name, file, PatchStatus.LANDED, subject, "content", landed_in=commit_of("landed"))
    if name == "kv-shift":
        return NightPatch(name, file, PatchStatus.ADDITIVE, subject, "joined", note="both sides add a case")
    return NightPatch(name, file, PatchStatus.APPLIES, subject, "as it is")


def _drift(number: int, *, of: int) -> NightDrift:
    rows = [("lfm2/budget/00000002", "hazard", "slow", "a larger node budget is not asked for", False)]
    if number < 4:
        rows.append(("lfm2/layer-input/00000001", "not-ported", "crash", "the layer loop publishes its input", True))
    if number >= of - 2:
        rows.append(
            ("qwen35/snapshots/00000003", "lost", "corruption", f"state is written once per slot {HOSTILE}", True)
        )
        rows.append(("lfm2/flag/00000004", "not-ported", "change", "a default changed", True))
    findings = tuple(NightFinding(name, name.split("/")[0], *rest) for name, *rest in rows)  # type: ignore[arg-type]
    counting = {one.arch for one in findings if one.counts}
    archs = {name: "drift" if name in counting else "clean" for name in ("lfm2", "lfm2moe", "qwen35")}
    return NightDrift(archs, findings, "drift.json")


def drift_document(drift: NightDrift) -> str:
    """The `drift@1` document of a night's findings."""
    whole = [
        replace(
            finding(
                one.id, severity=Severity(one.severity), kind=Kind(one.kind), title=one.title,
                path=f"src/models/{one.arch}.cpp", also_upstream=one.kind == "hazard",
                fix="forkguard port 27383" if one.severity == "crash" else "",
            )
        )
        for one in drift.findings
    ]  # fmt: skip
    return as_json(report(*whole, archs=tuple(drift.archs)))


def _uncovered(number: int, of: int) -> tuple[NightCommit, ...]:
    if number < of - 1:
        return ()
    return (NightCommit(commit_of("uncovered"), "2026-08-30T10:00:00+00:00", f"hotfix {HOSTILE}", None),)


def _retire(stack: tuple[NightPatch, ...]) -> tuple[Retirement, ...]:
    return tuple(
        Retirement(one.patchset, one.landed_in, f"forkguard stack retire {one.patchset}")
        for one in stack
        if one.status is PatchStatus.LANDED and one.patch.startswith("0001")
    )


def _follow_ups(number: int) -> tuple[NightFollowUp, ...]:
    return (NightFollowUp("27383", 28466, commit_of("follow"), "it mends what 27383 brought", new=number % 30 == 2),)


def _reason(failing: list[NightPatch], drift: NightDrift, *, gate_fails: bool) -> str:
    if failing:
        return f"{failing[0].label} does not apply since {(failing[0].breaking_commit or '')[:10]}"
    if gate_fails:
        return "the gate is red: crash, draft-3 aborted at the first decode"
    counting = [one for one in drift.findings if one.counts]
    return f"drift: {counting[0].title}" if counting else "all of the stack applies, and the gate passed"


def _steps(
    started: datetime, failing: list[NightPatch], drift: NightDrift, *, gate_fails: bool
) -> tuple[StepResult, ...]:
    steps, at = [], started
    for step in NightStep:
        outcome, detail, hint = Outcome.DONE, "", ""
        if step is NightStep.REPLAY and failing:
            outcome, detail = Outcome.FOUND, f"{len(failing)} patches do not apply"
            hint = f"forkguard stack replay {failing[0].patchset}"
        elif step is NightStep.DRIFT and any(one.counts for one in drift.findings):
            outcome, detail, hint = Outcome.FOUND, "findings that count", "forkguard drift --arch lfm2"
        elif step in (NightStep.CANDIDATE, NightStep.BUILD, NightStep.GATE) and failing:
            outcome, detail = Outcome.SKIPPED, "the stack does not apply"
        elif step is NightStep.GATE and gate_fails:
            outcome, detail, hint = Outcome.FOUND, "crash: abort", "forkguard gate --arch lfm2"
        elif step is NightStep.PUSH:
            outcome, detail = Outcome.SKIPPED, "[nightly] push is not set"
        end = at + timedelta(seconds=3 + 60 * (step in (NightStep.BUILD, NightStep.GATE)))
        steps.append(StepResult(step, outcome, iso(at), iso(end), detail, hint=hint))
        at = end
    return tuple(steps)


def _could_not_run(started: datetime) -> Night:
    moment, later = iso(started), iso(started + timedelta(seconds=61))
    what = "upstream could not be fetched: no answer in 60 s"
    step = StepResult(
        NightStep.FETCH, Outcome.COULD_NOT, moment, later, what, "upstream", "see that the network is there"
    )
    return Night(
        id=_id(started), started=moment, finished=later, verdict=NightVerdict.COULD_NOT_RUN, reason=what,
        story=story_of(NightVerdict.COULD_NOT_RUN, ["fetch"]), repeats=0, days_red=0, version="0.1.0", steps=(step,),
    )  # fmt: skip


def _gate(started: datetime, *, fails: bool) -> NightGate:
    checks = tuple(
        NightCheck(one["name"], one["verdict"], one["class"], one["detail"]) for one in gate_checks(fails=fails)
    )
    return NightGate("lfm2", "fail" if fails else "pass", f"{receipt_name(started, 'night')}/receipt.json", checks)


def _packet(packet: Packet) -> str:
    return (
        f"# {packet.patchset}/{packet.patch}\n\nBroken by `{commit_of(packet.patchset)[:10]}`.\n\n"
        f"```diff\n-    ours\n+    theirs {HOSTILE}\n```\n\nResume: `{packet.resume}`\n"
    )
