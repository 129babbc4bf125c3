"""Servers that misbehave, as real processes: none is green, each is told for what it is, and none is left."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from forkguard.adapters.server import Bounds, LlamaServers, ServerSpec
from forkguard.adapters.server_log import LogCapture
from forkguard.core.determinism import Difference
from forkguard.core.gate import ArmPlan, CheckName, Failure, GateStage, Suspect, Verdict
from forkguard.errors import UsageProblem
from forkguard.reports.gate import to_json, to_text
from tests.support.gating import QUICK, SETTINGS, check, gate, processes_left
from tests.support.scripted_server import ABORT_LINE, CHECKPOINT_LINE, Behaviour, write_server

SHORT = replace(QUICK, ready=1.5, request=1.0, stop=0.5, death=0.5, grace=0.3)


def test_a_good_server_is_green_and_nothing_is_left(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(), widths=(3, 7))
    assert report.verdict is Verdict.PASS, to_text(report, receipt=None)
    assert [one.name for one in report.checks] == ["crash", "liveness", "determinism", "fallback"]
    assert check(report, CheckName.DETERMINISM).kind == Difference.IDENTICAL
    assert [one.name for one in report.not_run] == ["performance", "quality"]
    assert [arm.plan.name for arm in report.arms] == [
        "no-draft-1", "no-draft-2", "draft-3", "draft-7", "draft-3-verbose",
    ]  # fmt: skip
    assert [(arm.drafted, arm.accepted) for arm in report.arms] == [(0, 0), (0, 0), (30, 15), (30, 15), (20, 10)]
    assert processes_left(tmp_path) == []


CRASHES = {
    "exits at start": (Behaviour(start="exit"), Failure.LOAD_ERROR, GateStage.LOAD),
    "aborts at start": (Behaviour(start="abort"), Failure.ABORT, GateStage.LOAD),
    "never listens": (Behaviour(start="silent"), Failure.HANG, GateStage.LOAD),
    "loads for ever": (Behaviour(health="loading"), Failure.HANG, GateStage.CONTEXT),
    "hangs in health": (Behaviour(health="hang"), Failure.HANG, GateStage.CONTEXT),
    "trickles health": (Behaviour(health="trickle"), Failure.HANG, GateStage.CONTEXT),
    "hangs after health": (Behaviour(answers=("hang",)), Failure.HANG, GateStage.FIRST_DECODE),
    "hangs in the second request": (Behaviour(answers=("ok", "hang")), Failure.HANG, GateStage.LATER),
    "trickles its answer": (Behaviour(answers=("trickle",)), Failure.HANG, GateStage.FIRST_DECODE),
    "is killed": (Behaviour(answers=("ok", "kill")), Failure.SIGNAL, GateStage.LATER),
    "dies silently": (Behaviour(answers=("segv",)), Failure.SIGNAL, GateStage.FIRST_DECODE),
    "aborts at the first decode": (Behaviour(answers=("abort",)), Failure.ABORT, GateStage.FIRST_DECODE),
    "answers rubbish": (Behaviour(answers=("rubbish",)), Failure.BAD_ANSWER, GateStage.FIRST_DECODE),
    "answers half a JSON": (Behaviour(answers=("ok", "half")), Failure.BAD_ANSWER, GateStage.LATER),
    "breaks off its answer": (Behaviour(answers=("cut",)), Failure.BAD_ANSWER, GateStage.FIRST_DECODE),
    "closes the connection": (Behaviour(answers=("close",)), Failure.BAD_ANSWER, GateStage.FIRST_DECODE),
    "answers 500": (Behaviour(answers=("error",)), Failure.BAD_ANSWER, GateStage.FIRST_DECODE),
    "answers for ever": (Behaviour(answers=("endless",)), Failure.BAD_ANSWER, GateStage.FIRST_DECODE),
    "leaves a child": (Behaviour(child="child"), Failure.LEFT_BEHIND, GateStage.EXIT),
    "leaves a daemon": (Behaviour(child="daemon"), Failure.LEFT_BEHIND, GateStage.EXIT),
    "will not stop": (Behaviour(stop="ignore"), Failure.HANG, GateStage.EXIT),
    "crashes when it stops": (Behaviour(stop="segv"), Failure.SIGNAL, GateStage.EXIT),
    "stops with a status": (Behaviour(stop="status"), Failure.EXITED, GateStage.EXIT),
}


@pytest.mark.parametrize("case", CRASHES, ids=lambda case: case.replace(" ", "-"))
def test_a_server_that_misbehaves_is_red(tmp_path: Path, case: str) -> None:
    behaviour, failure, stage = CRASHES[case]
    slow_to_stop = failure in (Failure.HANG, Failure.BAD_ANSWER)
    report = gate(tmp_path, behaviour, bounds=SHORT if slow_to_stop else replace(QUICK, grace=0.3))
    assert report.verdict is Verdict.FAIL
    crash = check(report, CheckName.CRASH)
    assert (crash.verdict, crash.kind) == (Verdict.FAIL, failure)
    trouble = report.arms[0].trouble
    assert trouble is not None
    assert (trouble.failure, trouble.stage) == (failure, stage)
    assert check(report, CheckName.LIVENESS).verdict is Verdict.INCONCLUSIVE
    assert len(report.arms) == 1 or failure is not Failure.HANG, "what hangs once would hang in every arm"
    assert processes_left(tmp_path) == []


def test_what_an_abort_says_is_told_with_its_place_and_signal(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(answers=("ok", "abort"), only_drafting=True))
    trouble = next(arm.trouble for arm in report.arms if arm.trouble is not None)
    assert trouble.text == ABORT_LINE.partition(": ")[2]
    assert (trouble.place, trouble.signal, trouble.exit_code) == ("kettle.cpp:12", "SIGABRT", None)
    assert "only with the draft" in check(report, CheckName.CRASH).detail
    assert [arm.trouble is None for arm in report.arms] == [True, True, False, False]


def test_false_as_server_is_a_load_error_and_the_rest_is_not_tried(tmp_path: Path) -> None:
    report = gate(tmp_path, Path("/bin/false"))
    assert report.verdict is Verdict.FAIL
    trouble = report.arms[0].trouble
    assert trouble is not None
    assert (trouble.failure, trouble.exit_code) == (Failure.LOAD_ERROR, 1)
    assert len(report.arms) == 1
    assert [one.name for one in report.not_run][:3] == ["no-draft-2", "draft-3", "draft-3-verbose"]


@contextlib.contextmanager
def stranger() -> Iterator[int]:
    """A healthy server of somebody else's (here: the test's own process)."""

    class Healthy(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("start", ["silent", "ok", "exit"])
def test_a_stranger_on_the_port_is_never_trusted(tmp_path: Path, start: str) -> None:
    with stranger() as port:
        report = gate(tmp_path, Behaviour(start=start), port=lambda: port)
    assert report.verdict is not Verdict.PASS
    assert all(not arm.answers for arm in report.arms)
    assert processes_left(tmp_path) == []


def test_a_stranger_beside_a_living_child_is_named(tmp_path: Path) -> None:
    with stranger() as port:
        report = gate(tmp_path, Behaviour(start="silent"), port=lambda: port)
    assert check(report, CheckName.CRASH).kind == Failure.STRANGER
    assert report.verdict is Verdict.INCONCLUSIVE


def test_tokens_without_drafts_do_not_count(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(drafted=0))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert check(report, CheckName.LIVENESS).kind == "no-drafts"
    assert check(report, CheckName.DETERMINISM).verdict is Verdict.INCONCLUSIVE


def test_drafts_of_which_none_is_accepted_do_not_count(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(accepted=0))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert check(report, CheckName.LIVENESS).kind == "none-accepted"


def test_a_server_without_a_log_cannot_show_its_fallbacks(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(quiet=True))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert check(report, CheckName.FALLBACK).verdict is Verdict.INCONCLUSIVE


def test_a_flooded_log_fills_neither_disk_nor_memory(tmp_path: Path) -> None:
    before = psutil.Process().memory_info().rss
    size = 100_000_000
    report = gate(tmp_path, Behaviour(flood=size, only_drafting=False), bounds=replace(QUICK, ready=60))
    assert psutil.Process().memory_info().rss - before < 50_000_000
    assert report.verdict is Verdict.INCONCLUSIVE
    assert check(report, CheckName.FALLBACK).verdict is Verdict.INCONCLUSIVE
    kept = [(tmp_path / "logs" / arm.end.log_file).stat().st_size for arm in report.arms]
    assert max(kept) <= QUICK.log_head + QUICK.log_tail + 100
    assert all(arm.end.log_left_out > size - QUICK.log_head - QUICK.log_tail for arm in report.arms)
    text = (tmp_path / "logs" / report.arms[0].end.log_file).read_text()
    assert "model loaded" in text[-QUICK.log_tail :]


def test_a_log_keeps_its_head_and_its_tail_and_little_memory(tmp_path: Path) -> None:
    capture = LogCapture(tmp_path / "x.log", head=1000, tail=2000)
    writer = os.dup(capture.writer)
    capture.started()
    for number in range(100):
        os.write(writer, f"{number:09}\n".encode() * 1000)
        assert len(capture._tail) <= 2 * 2000 + (1 << 18)
    os.close(writer)
    capture.close(wait=20)
    assert capture.left_out == 1_000_000 - 3000
    kept = (tmp_path / "x.log").read_text().splitlines()
    assert kept[:100] == ["000000000"] * 100
    assert kept[100:102] == ["", "[forkguard: 997000 bytes of the log left out here]"]
    assert kept[102:] == ["000000099"] * 200
    assert b"".join(capture.kept()).count(b"\n") == len(kept)


def test_a_log_whose_writer_never_ends_is_closed_all_the_same(tmp_path: Path) -> None:
    capture = LogCapture(tmp_path / "x.log", head=1000, tail=2000)
    writer = os.dup(capture.writer)
    capture.started()
    os.write(writer, b"still here\n")
    capture.close(wait=0.2)
    os.close(writer)
    assert capture.path.read_text() == "still here\n"


def test_a_text_that_differs_with_the_draft_is_corruption(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(diverge_at=4))
    found = check(report, CheckName.DETERMINISM)
    assert (report.verdict, found.kind) == (Verdict.FAIL, Difference.CORRUPTION)
    first = found.evidence[0]
    assert (first["arm"], first["prompt"], first["shared_prefix"], first["gap_nats"]) == ("draft-3", "one", 4, 1.5)


def test_a_difference_at_a_near_tie_is_told_and_passes(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(diverge_at=4, gap=0.02))
    found = check(report, CheckName.DETERMINISM)
    assert (report.verdict, found.kind) == (Verdict.PASS, Difference.NEAR_TIE)
    assert "0.05" in found.detail


def test_two_runs_without_the_draft_that_differ_decide_nothing(tmp_path: Path) -> None:
    report = gate(tmp_path, Behaviour(unstable=True))
    found = check(report, CheckName.DETERMINISM)
    assert (found.verdict, found.kind) == (Verdict.INCONCLUSIVE, Difference.BASELINE_UNSTABLE)


@pytest.mark.parametrize(("fails", "verdict"), [(False, Verdict.PASS), (True, Verdict.FAIL)])
def test_a_fallback_is_told_with_its_line(tmp_path: Path, *, fails: bool, verdict: Verdict) -> None:
    settings = replace(SETTINGS, fallback_fails=fails)
    earlier = "0.00.003.000 W llama_context: n_rs_seq=3 requested but the model cannot; clamping to 0"
    report = gate(tmp_path, Behaviour(log_line=f"{earlier}\n{CHECKPOINT_LINE}"), settings=settings)
    found = check(report, CheckName.FALLBACK)
    assert (found.verdict, found.kind) == (verdict, "checkpoints")
    assert [one["class"] for one in found.evidence] == ["checkpoints", "rollback-clamped"]
    assert found.evidence[0]["text"] == CHECKPOINT_LINE.partition("W ")[2]


def test_a_clamp_without_checkpoints_is_no_fallback_since_there_is_no_state(tmp_path: Path) -> None:
    line = "0.00.003.000 W llama_context: n_rs_seq=3 requested but the model cannot; clamping to 0"
    report = gate(tmp_path, Behaviour(log_line=line), settings=replace(SETTINGS, fallback_fails=True))
    assert (check(report, CheckName.FALLBACK).verdict, check(report, CheckName.FALLBACK).kind) == (Verdict.PASS, None)


def test_a_bug_in_drift_does_not_lose_what_the_servers_did(tmp_path: Path) -> None:
    def suspects() -> tuple[Suspect, ...]:
        raise KeyError("registry")

    report = gate(tmp_path, Behaviour(answers=("abort",)), suspects=suspects)
    assert check(report, CheckName.CRASH).verdict is Verdict.FAIL
    assert report.warnings == (
        "a bug in forkguard: drift failed where it was asked what explains this: KeyError('registry')",
    )  # fmt: skip


def test_a_program_that_is_not_there_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem):
        gate(tmp_path, tmp_path / "nowhere")


def test_escapes_in_a_log_do_not_reach_the_reports(tmp_path: Path) -> None:
    report = replace(gate(tmp_path, Behaviour(answers=("rubbish",))), warnings=("from a map: \x1b]0;owned\x07",))
    text, document = to_text(report, receipt=None), to_json(report)
    assert not {"\x1b", "\x07"} & set(text)
    assert "from a map" in text
    assert document.isascii()
    assert json.loads(document)["verdict"] == "fail"


def test_a_server_ends_when_forkguard_is_killed(tmp_path: Path) -> None:
    """The kernel ends it: no code of ours runs any more. The child says nothing, so no broken pipe ends it."""
    program = write_server(tmp_path, Behaviour(start="silent", quiet=True))
    code = (
        "import os, sys, time; from pathlib import Path; from forkguard.adapters import proc\n"
        f"child = proc.start([{str(program)!r}], cwd=Path('/'), env={{}}, output=1)\n"
        "print(child.pid, flush=True); time.sleep(3600)"
    )
    root = Path(__file__).parents[2]
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=root, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    while "-c" in child.cmdline():
        """The child is not yet the program."""
    parent.kill()
    parent.wait(10)
    parent.stdout.close()
    _, alive = psutil.wait_procs([child], timeout=10)
    left = [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    for process in left:
        process.kill()
    assert left == []


def test_an_impatient_person_leaves_no_server(tmp_path: Path) -> None:
    """Who interrupts again, while a server is asked to stop, does not wait for it, and it is gone all the same."""
    program = write_server(tmp_path, Behaviour(stop="ignore"))
    spec = ServerSpec(program, tmp_path / "target.gguf", None, "none", tmp_path / "logs")
    environment = {"PATH": "/usr/bin:/bin", "FORKGUARD_TEST": str(tmp_path)}
    servers = LlamaServers(spec, env=environment, bounds=replace(QUICK, stop=60))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with servers.start(ArmPlan("one", ())) as server:
            server.wait_ready()
            assert len(processes_left(tmp_path)) == 1
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                server.stop()
            assert processes_left(tmp_path) == []
    finally:
        signal.signal(signal.SIGALRM, before)
    assert server.stop().signal == "SIGKILL"


def test_the_default_bounds_keep_a_log_of_any_length_small() -> None:
    assert Bounds().log_head + 3 * Bounds().log_tail < 100 << 20


@pytest.mark.full
def test_four_gigabytes_of_logs_stay_below_200_megabytes(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from forkguard.adapters.server import Bounds; from tests.support.gating import gate\n"
        "from tests.support.scripted_server import Behaviour\n"
        f"report = gate(Path({str(tmp_path)!r}), Behaviour(flood=10**9), bounds=Bounds(ready=300))\n"
        "print(report.verdict, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    verdict, kilobytes = done.stdout.split()
    assert verdict == "inconclusive"
    assert int(kilobytes) < 200 * 1024
    kept = sum(path.stat().st_size for path in (tmp_path / "logs").iterdir())
    assert kept < 4 * (Bounds().log_head + Bounds().log_tail + 100)
