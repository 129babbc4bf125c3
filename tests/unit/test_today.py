"""What needs a person today, from a night's record alone."""

from dataclasses import replace

from forkguard.core.history_rows import ReceiptRow, RecordKind, Skipped
from forkguard.core.nightly import (
    Candidate,
    Night,
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
    Retirement,
    StepResult,
)
from forkguard.core.replay import PatchStatus
from forkguard.core.today import Need, needs

NIGHT = Night(
    id="20260901T030000Z", started="2026-09-01T03:00:00Z", finished="2026-09-01T03:10:00Z", verdict=NightVerdict.RED,
    reason="a reason", story="s", repeats=0, days_red=1, version="1",
    upstream=NightUpstream("upstream/master", "a" * 40, "b" * 40, 3, 7),
)  # fmt: skip
ONTO = "b" * 12


def conflict(name: str, breaking: str | None, status: PatchStatus = PatchStatus.CONFLICT) -> NightPatch:
    return NightPatch(name, "0001-x.patch", status, breaking_commit=breaking)


def test_failures_of_one_root_are_one_thing_to_do() -> None:
    stack = (conflict("a", "c" * 40), conflict("it's b", "d" * 40), conflict("c", "c" * 40), conflict("d", "c" * 40))
    found = needs(replace(NIGHT, stack=stack))
    assert found == (
        Need(
            f"a/0001-x.patch: conflict since upstream {'c' * 10}; 2 more patches with it",
            f"forkguard stack replay --onto {ONTO} --resolve a", ("patchset", "a"),
        ),
        Need(
            f"it's b/0001-x.patch: conflict since upstream {'d' * 10}",
            f"forkguard stack replay --onto {ONTO} --resolve 'it'\"'\"'s b'", ("patchset", "it's b"),
        ),
    )  # fmt: skip


def test_a_missing_blob_is_not_to_be_resolved() -> None:
    (found,) = needs(replace(NIGHT, stack=(conflict("a", None, PatchStatus.MISSING_BLOB),)))
    assert (found.what, found.command) == ("a/0001-x.patch: missing-blob", f"forkguard stack replay --onto {ONTO}")


def test_commits_that_nothing_covers_are_imported_from_the_production_branch() -> None:
    commit = NightCommit("e" * 40, "2026-08-30T10:00:00Z", "hotfix", None)
    night = replace(NIGHT, uncovered=(commit, commit), fork=NightSide("production", "f" * 40))
    (found,) = needs(night)
    assert found.what == "2 commits of the fork that no patchset covers"
    assert found.command == "forkguard stack import --from-branch production"


def test_a_step_that_could_not_be_done_says_its_own_next_command() -> None:
    step = StepResult(NightStep.FETCH, Outcome.COULD_NOT, "", "", "no answer in 60 s", hint="see the network")
    (found,) = needs(replace(NIGHT, verdict=NightVerdict.COULD_NOT_RUN, steps=(step,)))
    assert found == Need("fetch: no answer in 60 s", "see the network", ("night", NIGHT.id))


def test_what_a_step_could_not_settle_is_told_once() -> None:
    commit = NightCommit("e" * 40, "2026-08-30T10:00:00Z", "hotfix", None)
    coverage = StepResult(
        NightStep.COVERAGE, Outcome.COULD_NOT, "", "", "1 commit is in no patchset", hint="import it"
    )
    gated = StepResult(NightStep.GATE, Outcome.COULD_NOT, "", "", "lfm2 inconclusive")
    gates = (NightGate("lfm2", "inconclusive", "r1/receipt.json"),)
    night = replace(NIGHT, verdict=NightVerdict.COULD_NOT_RUN, steps=(coverage, gated))
    assert [one.what for one in needs(replace(night, uncovered=(commit,), gate=gates))] == [
        "1 commit of the fork that no patchset covers", "the gate of lfm2 is inconclusive",
    ]  # fmt: skip
    assert [one.what for one in needs(night)] == ["coverage: 1 commit is in no patchset", "gate: lfm2 inconclusive"]


def test_an_arch_that_is_gone_is_asked_for() -> None:
    night = replace(NIGHT, drift=NightDrift({"lfm2": "absent", "qwen": "clean"}, ()))
    command = f"forkguard drift --arch lfm2 --upstream-ref {ONTO}"
    assert needs(night) == (Need("the fork has no arch lfm2", command, ("arch", "lfm2")),)
    (told_only,) = needs(replace(night, verdict=NightVerdict.GREEN))
    assert not told_only.urgent


def test_a_red_gate_is_run_again_on_its_candidate() -> None:
    gates = (NightGate("lfm2", "fail", "r1/receipt.json"),)
    (found,) = needs(replace(NIGHT, gate=gates, candidate=Candidate("forkguard/candidate/2026-09-01", "c" * 40)))
    assert found.command == "forkguard gate --arch lfm2 --fork-ref forkguard/candidate/2026-09-01"


def test_a_red_gate_names_its_check_and_its_receipt() -> None:
    checks = (NightCheck("crash", "fail", "abort", "draft-3 aborted"),)
    gates = (NightGate("lfm2", "fail", "run-1/receipt.json", checks), NightGate("lfm2", "pass", "run-2/receipt.json"))
    (found,) = needs(replace(NIGHT, gate=gates))
    assert found.what == "the gate of lfm2 is fail: crash, draft-3 aborted"
    assert (found.command, found.page) == ("forkguard gate --arch lfm2", ("receipt", "run-1"))


def test_drift_is_told_by_arch_and_urgent_where_it_crashes() -> None:
    rows = (
        NightFinding("lfm2/x/00000001", "lfm2", "lost", "change", "t", counts=True),
        NightFinding("lfm2/x/00000002", "lfm2", "lost", "crash", "t", counts=True),
        NightFinding("qwen/x/00000003", "qwen", "lost", "change", "t", counts=True),
        NightFinding("qwen/x/00000004", "qwen", "hazard", "crash", "t", counts=False),
    )
    night = replace(NIGHT, drift=NightDrift({"lfm2": "drift", "qwen": "drift"}, rows))
    found = needs(night)
    assert [(one.what, one.urgent) for one in found] == [
        ("drift in lfm2: 1 crash, 1 change", True),
        ("drift in qwen: 1 change", False),
    ]
    told_only = needs(replace(night, verdict=NightVerdict.GREEN))
    assert [one.urgent for one in told_only] == [False, False]


def test_what_is_not_urgent_comes_last_and_old_follow_ups_not_at_all() -> None:
    night = replace(
        NIGHT,
        retire=(Retirement("27383", "a" * 40, "forkguard stack retire 27383"),),
        follow_ups=(
            NightFollowUp("27383", 1, None, "old"),
            NightFollowUp("27383", 2, None, "mends it", new=True),
        ),
        pins=(
            NightPin("29085", 29085, "a" * 40, "b" * 40, "open", "2 newer"),
            NightPin("3", 3, "a" * 40, "a" * 40, "open"),
        ),
        stack=(conflict("z", None),),
    )
    found = needs(night)
    assert [one.urgent for one in found] == [True, False, False, False]
    assert [one.command for one in found[1:]] == [
        "forkguard stack retire 27383", "forkguard port 2", "forkguard port 29085 --follow",
    ]  # fmt: skip


def test_a_red_night_always_needs_something_and_a_green_one_shows_its_candidate() -> None:
    assert needs(NIGHT) == (Need("a reason", page=("night", NIGHT.id)),)
    green = replace(NIGHT, verdict=NightVerdict.GREEN)
    assert needs(green) == ()
    (found,) = needs(replace(green, candidate=Candidate("forkguard/candidate/2026-09-01", "c" * 40)))
    assert (found.command, found.urgent) == (f"git log {ONTO}..forkguard/candidate/2026-09-01", False)


def test_records_that_cannot_be_read_are_urgent() -> None:
    skipped = Skipped(RecordKind.RECEIPT, "20260901T030000Z-x", "it is no JSON")
    found = needs(None, skipped=(skipped,), cut_off=("20260902T030000Z",))
    assert [one.urgent for one in found] == [True, True]
    assert "20260902T030000Z has no record" in found[0].what
    assert found[1].command == "ls -l .forkguard/receipts/20260901T030000Z-x"


def test_a_gate_that_was_run_by_hand_and_did_not_pass_needs_a_look_once() -> None:
    def row(name: str, verdict: str) -> ReceiptRow:
        moment = "2026-09-01T05:00:00+00:00"
        return ReceiptRow(name, moment, moment, verdict, "lfm2", True, None, "", None, "crash: it aborted", (), ())  # noqa: FBT003

    (found,) = needs(None, receipts=[row("r1", "fail")])
    assert found == Need(
        "the last gate of lfm2 is fail: crash: it aborted", "forkguard gate --arch lfm2", ("receipt", "r1")
    )
    assert needs(None, receipts=[row("r1", "pass")]) == ()
    told = needs(replace(NIGHT, gate=(NightGate("lfm2", "fail", "r1/receipt.json"),)), receipts=[row("r1", "fail")])
    assert [one.what for one in told] == ["the gate of lfm2 is fail"]
