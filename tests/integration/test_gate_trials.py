"""Self-test and bisection on real git: which commits they make, and what they ask of the gate."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from forkguard.cli.compose import open_project, patchset_store, project_rules
from forkguard.cli.compose_stack import project_base, replay_tools
from forkguard.core.gate import GateReport, Verdict
from forkguard.core.gate_bisect import BisectReport, BisectResult
from forkguard.core.mutations import MUTATIONS, Mutation
from forkguard.core.names import CommitHash
from forkguard.core.self_test import Outcome, SelfTestReport, chosen_mutations
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.reports.gate_trials import bisect_json, bisect_text, self_test_json
from forkguard.workflows.gate_bisect import BisectTools, run_bisect
from forkguard.workflows.replay import read_patches
from forkguard.workflows.self_test import SelfTestTools, run_self_test
from tests.support.gate_reports import gate_report
from tests.support.gating import SilentTalk
from tests.support.mini_runtime import runtime_tree
from tests.support.stacks import NOTES, Queue, held, new_queue, notes

ABORT = gate_report(crash=(Verdict.FAIL, "abort"))
CORRUPT = gate_report(determinism=(Verdict.FAIL, "corruption"))
IDLE = gate_report(liveness=(Verdict.INCONCLUSIVE, "no-drafts"))


class Gate:
    """Stands for building and serving: what a commit's files say is what the gate reports."""

    def __init__(self, queue: Queue, report: Callable[[str], GateReport], *, path: str) -> None:
        self._queue = queue
        self._report = report
        self._path = path
        self.asked: list[tuple[str, object]] = []

    def __call__(self, commit: CommitHash, what: object) -> tuple[GateReport, str]:
        self.asked.append((commit, what))
        return self._report(self._queue.fork.text(self._path, ref=commit)), f"receipt-{len(self.asked)}"


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    return new_queue(tmp_path)


# -- which patchset ----------------------------------------------------------------------------------


def carry(queue: Queue, *lines: str) -> None:
    """A stack in which each patchset writes its line below the last; production is the whole of it."""
    text: dict[int, str | None] = {}
    for number, line in enumerate(lines, 1):
        text[2 * number] = line
        queue.patch(f"p{number}", {NOTES: notes(text)})
    queue.fork.git("fetch", "-q", str(queue.author.path), "HEAD")
    queue.fork.git("checkout", "-q", "-B", "production", "FETCH_HEAD")


def verdict_of(text: str) -> GateReport:
    if "idle" in text and "later" not in text:
        return IDLE
    if "no build" in text and "later" not in text:
        raise CouldNotWork("the compiler failed")
    return CORRUPT if "wrong" in text and "mended" not in text else gate_report()


def bisected(queue: Queue, answer: Callable[[str], GateReport] = verdict_of) -> tuple[BisectReport, Gate]:
    gate = Gate(queue, answer, path=NOTES)
    ticks = count()
    with open_project(map_file=queue.desk.path / "upstream-map.toml") as project:
        tools = BisectTools(replay_tools(project, SilentTalk()), gate, lambda: float(next(ticks)), SilentTalk())
        report = run_bisect(
            tools, read_patches(patchset_store(project)), base=project_base(project), fork=project.fork,
            upstream=project.upstream.ref, arch="heron", profile="cpu",
        )  # fmt: skip
    held(json.loads(bisect_json(report)))
    return report, gate


def test_the_first_bad_patchset_is_found_and_the_branches_stay(queue: Queue) -> None:
    carry(queue, "fine", "good", "wrong", "more", "last")
    before = queue.fork.snapshot()
    report, gate = bisected(queue)
    assert (report.answer.result, report.suspects, report.notes) == (BisectResult.FOUND, ("p3",), ())
    assert [what for _, what in gate.asked[:3]] == [("p1", "p2", "p3", "p4", "p5"), (), ("p1", "p2")]
    assert gate.asked[1][0] == queue.base
    assert [run.at for run in report.judged] == [5, 0, 2, 3, 1]
    text = bisect_text(report)
    assert "first red: p3 (determinism: corruption); p2, just before it, passes" in text
    assert text.endswith("receipt: receipt-4\nnext: forkguard stack show p3\n")
    assert queue.fork.snapshot() == before


def test_upstream_that_is_red_and_a_stack_that_passes_are_said(queue: Queue) -> None:
    carry(queue, "fine", "good")
    report, gate = bisected(queue)
    assert (report.answer.result, len(gate.asked)) == (BisectResult.TIP_GREEN, 1)
    assert "the whole stack passes" in bisect_text(report)


def test_a_base_that_is_red_is_upstreams(queue: Queue) -> None:
    carry(queue, "fine")
    report, gate = bisected(queue, lambda _: ABORT)
    assert (report.answer.result, len(gate.asked)) == (BisectResult.BASE_RED, 2)
    assert bisect_text(report).splitlines()[-2:] == [
        "the base is red by itself: it is upstream's, and no patchset brought it", "next: less receipt-2",
    ]  # fmt: skip


def test_a_stack_without_a_verdict_says_what_to_look_at(queue: Queue) -> None:
    carry(queue, "fine", "idle")
    report, _ = bisected(queue)
    assert bisect_text(report).splitlines()[-2:] == [
        "no answer: the gate of the whole stack has no verdict", "next: less receipt-1",
    ]  # fmt: skip


def test_states_that_do_not_build_or_draft_nothing_are_left_out(queue: Queue) -> None:
    carry(queue, "fine", "no build", "idle", "wrong later")
    report, _ = bisected(queue)
    assert (report.answer.result, report.answer.skipped) == (BisectResult.UNCLEAR, (2, 3))
    assert report.suspects == ("p2", "p3", "p4")
    text = bisect_text(report)
    assert "one of p2, p3, p4 (determinism: corruption); the states between have no verdict" in text
    assert "the compiler failed" in text
    assert "liveness: no-drafts" in text


def test_a_stack_that_turns_green_again_is_told_as_such(queue: Queue) -> None:
    carry(queue, "wrong", "mended", "fine", "good")
    queue.patch("p5", {NOTES: notes({2: "wrong", 10: "again"})})
    report, _ = bisected(queue)
    assert (report.answer.result, report.answer.monotone) == (BisectResult.FOUND, False)
    assert report.suspects == ("p5",)
    assert "not the whole story: the gate is red before it too, with p1" in bisect_text(report)


def test_a_production_branch_that_is_not_the_stack_is_noted(queue: Queue) -> None:
    queue.patch("p1", {NOTES: notes({2: "wrong"})})
    report, _ = bisected(queue)
    assert report.suspects == ("p1",)
    (note,) = report.notes
    assert note.startswith("base and stack are not the tree of production")


def test_an_empty_stack_and_one_that_does_not_apply_are_refused(queue: Queue) -> None:
    with pytest.raises(UsageProblem, match="the stack has no patches"):
        bisected(queue)
    carry(queue, "fine")
    mail = next((queue.desk.path / "patchsets" / "p1").glob("*.patch"))
    mail.write_text(mail.read_text().replace("note 3:", "nota 3:"))
    with pytest.raises(CouldNotWork, match="the stack does not apply to its own base: p1/"):
        bisected(queue)


# -- does the gate catch -----------------------------------------------------------------------------


def machine(queue: Queue) -> None:
    """Production becomes a tree in which every mutation has its subject."""
    queue.fork.commit("the machine", runtime_tree())


def self_tested(
    queue: Queue, gate: Callable[[CommitHash, Mutation | None], tuple[GateReport, str]], *names: str
) -> SelfTestReport:
    ticks = count()
    with open_project(map_file=queue.desk.path / "upstream-map.toml") as project:
        tools = SelfTestTools(
            project.fork_repo, replay_tools(project, SilentTalk()).store, gate, lambda: float(next(ticks)),
            SilentTalk(),
        )  # fmt: skip
        report = run_self_test(
            tools, fork=project.fork, arch="otter", profile="cpu", rules=project_rules(project),
            mutations=chosen_mutations(names), chosen=bool(names),
        )  # fmt: skip
    held(json.loads(self_test_json(report)))
    return report


def as_expected(mutation: Mutation | None) -> GateReport:
    if mutation is None:
        return gate_report()
    wanted = mutation.expected
    return gate_report(**{wanted.check: (max(wanted.verdicts), min(wanted.kinds))})


def test_every_mutant_is_a_commit_on_the_forks_and_no_ref_moves(queue: Queue) -> None:
    machine(queue)
    before = queue.fork.snapshot()
    tip = queue.fork.git("rev-parse", "HEAD")
    asked: list[tuple[CommitHash, Mutation | None]] = []

    def gate(commit: CommitHash, mutation: Mutation | None) -> tuple[GateReport, str]:
        asked.append((commit, mutation))
        return as_expected(mutation if commit != tip else None), "r"

    report = self_tested(queue, gate)
    assert report.verdict is Verdict.PASS
    assert {trial.mutation.name: trial.outcome for trial in report.trials} == {
        each.name: Outcome.NOT_GREEN if each.name == "draft-never-accepted" else Outcome.CAUGHT for each in MUTATIONS
    }
    mutants = [(commit, mutation) for commit, mutation in asked if commit != tip]
    assert [mutation for _, mutation in mutants] == list(MUTATIONS)
    assert {queue.fork.git("rev-parse", f"{commit}^") for commit, _ in mutants} == {tip}
    (changed,) = queue.fork.git("diff", "--name-only", tip, mutants[0][0]).splitlines()
    assert changed == "src/models/otter.cpp"
    assert queue.fork.snapshot() == before
    assert [commit for commit, _ in mutants] == [trial.commit for trial in self_tested(queue, gate).trials]
    deep = [(commit, mutation and mutation.name) for commit, mutation in asked if commit == tip][:2]
    assert deep == [(tip, None), (tip, "node-budget-dropped")]


def test_a_gate_that_always_passes_fails_the_test(queue: Queue) -> None:
    machine(queue)
    report = self_tested(queue, lambda *_: (gate_report(), "r"), "slot-not-written", "null-pointer")
    assert report.verdict is Verdict.FAIL
    assert [trial.outcome for trial in report.trials] == [Outcome.MISSED] * 2


def test_a_red_tree_ends_it_before_any_mutant(queue: Queue) -> None:
    machine(queue)
    report = self_tested(queue, lambda *_: (ABORT, "r"))
    assert (report.verdict, report.trials, report.controls[0].said) == (Verdict.INCONCLUSIVE, (), "crash: abort")


def test_what_cannot_be_shown_is_not_run(queue: Queue) -> None:
    """No subject; a mutant that does not build; a tree that falls back by itself; one whose deep probe is red."""
    machine(queue)
    queue.fork.commit("no rollback", {"src/llama-memory-recurrent.cpp": "int nothing;\n"})

    def gate(commit: CommitHash, mutation: Mutation | None) -> tuple[GateReport, str]:
        if mutation is not None and mutation.name == "null-pointer":
            raise CouldNotWork("ninja failed")
        if mutation is not None and mutation.probe == "deep":
            return ABORT, "r"
        own = gate_report(fallback=(Verdict.PASS, "checkpoints"))
        return (own if mutation is None else as_expected(mutation)), "r"

    report = self_tested(queue, gate)
    reasons = {trial.mutation.name: trial.reason for trial in report.trials if trial.outcome is Outcome.NOT_RUN}
    assert reasons == {
        "rollback-off-by-one": "the tree does not have the call of set_rs_idx() in seq_rm()",
        "null-pointer": "the mutant could not be gated: ninja failed",
        "rollback-unregistered": "the tree itself falls back (checkpoints)",
        "node-budget-dropped": "the tree itself does not pass with the deep probe: crash: abort",
    }
    assert report.verdict is Verdict.PASS


def test_an_arch_that_the_tree_lacks_is_wrong_use(queue: Queue) -> None:
    queue.fork.commit("nothing", {"src/llama-arch.cpp": "int nothing;\n"})
    with pytest.raises(UsageProblem, match="production has no arch 'otter'"):
        self_tested(queue, lambda *_: (gate_report(), "r"))
