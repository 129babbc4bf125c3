"""Load errors, memory and fallbacks, from logs of our own making: each of its class, with what the reader needs."""

from dataclasses import replace

import pytest

from forkguard.core.completion import Answer
from forkguard.core.gate import (
    Arm,
    ArmPlan,
    Asked,
    Check,
    CheckName,
    Failure,
    GateSettings,
    GateStage,
    Misbehaved,
    NotRun,
    ServerEnd,
    Side,
    Suspect,
    Trouble,
    Verdict,
)
from forkguard.core.gatechecks import judge
from forkguard.core.gatecrash import crash
from forkguard.core.gateload import name_unclaimed, told_load
from forkguard.core.gatetrouble import diagnose
from forkguard.core.logfacts import Fallback
from forkguard.core.prompts import Prompt
from forkguard.core.serverlog import parse

END = ServerEnd(0, None, asked=True, killed=False, log=parse(b""), log_file="x.log")
GONE = Misbehaved(Failure.EXITED, "gone")
PROMPTS = (Prompt("one", "Say one.", 3),)
HEAD = b"0.00.001.000 D loader: loaded meta data with 9 key-value pairs and %d tensors from %s (version GGUF V3)\n"
COUNT = b"0.00.003.000 E load: error loading model: wrong number of tensors; expected 3, got 2\n"
CLAIMS = b"".join(b"0.00.002.000 D create_tensor: loading tensor %s\n" % name for name in (b"a.weight", b"b.weight"))
VERBOSE = b"0.00.000.100 I main: verbosity = 5\n"


def failed(log: bytes, *, signal: str | None = None, ready: bool = False) -> Trouble:
    end = replace(END, asked=False, exit_code=None if signal else 1, signal=signal, log=parse(log))
    trouble = diagnose(GONE, end, ready=ready, answered=0)
    assert trouble is not None
    return trouble


def test_the_names_that_were_not_claimed_come_from_the_header_and_a_verbose_log() -> None:
    other = HEAD % (1, b"/m/target.gguf") + b"0.00.001.500 D create_tensor: loading tensor z.weight\n"
    loud = failed(other + HEAD % (3, b"/m/draft.gguf") + CLAIMS + COUNT)
    quiet = failed(COUNT)
    assert loud.load is not None
    assert (loud.load.problem, loud.load.expected, loud.load.got) == ("tensor-count", 3, 2)
    assert (loud.load.model, loud.load.claimed) == ("/m/draft.gguf", ("a.weight", "b.weight"))
    arms = [
        Arm(ArmPlan(name, PROMPTS), ("x",), (), END, trouble, 1.0)
        for name, trouble in (("draft-3", quiet), ("draft-3-verbose", loud), ("other", None))
    ]
    headers = {"/m/target.gguf": ("z.weight",), "/m/draft.gguf": ("a.weight", "new.weight", "b.weight")}
    named = [arm.trouble.load for arm in name_unclaimed(arms, headers) if arm.trouble is not None]
    assert [load.unclaimed for load in named if load is not None] == [("new.weight",), ("new.weight",)]
    assert named[0] is not None
    assert "new.weight" in told_load(named[0])


def test_a_count_is_never_guessed_into_names() -> None:
    quiet = failed(COUNT)
    (arm,) = name_unclaimed([Arm(ArmPlan("a", PROMPTS), ("x",), (), END, quiet, 1.0)], {"/m/x": ("a", "b", "c")})
    assert arm.trouble is not None
    assert arm.trouble.load is not None
    assert arm.trouble.load.unclaimed == ()
    told = told_load(arm.trouble.load)
    assert told == "which tensors is unknown: no verbose log names those that were claimed"


def test_an_unknown_architecture_is_told_with_its_other_names() -> None:
    trouble = failed(b"0.00.003.000 E load: error loading model: unknown model architecture: 'dflash-draft'\n")
    assert trouble.load is not None
    assert (trouble.failure, trouble.load.problem) == (Failure.LOAD_ERROR, "unknown-architecture")
    assert trouble.load.known_as == ("dflash", "dspark")
    assert told_load(trouble.load) == "other trees call 'dflash-draft' 'dflash' or 'dspark'"
    stranger = failed(b"0.00.003.000 E load: error loading model: unknown model architecture: 'heron'\n")
    assert stranger.load is not None
    assert told_load(stranger.load) == ""


def test_a_missing_key_is_a_load_error_that_names_the_key() -> None:
    trouble = failed(b"0.00.003.000 E load: error loading model: key not found in model: heron.block_count\n")
    assert trouble.load is not None
    assert (trouble.failure, trouble.load.problem, trouble.load.subject) == (
        Failure.LOAD_ERROR, "missing-key", "heron.block_count",
    )  # fmt: skip


OOM = b"0.00.003.000 E alloc_tensor_range: failed to allocate CPU buffer of size 99\n"


@pytest.mark.parametrize(
    ("log", "signal", "failure"),
    [
        (OOM, None, Failure.OUT_OF_MEMORY),
        (OOM + b"0.00.004.000 E load: failed to load model\n", None, Failure.OUT_OF_MEMORY),
        (OOM + b"pot.cu:7: CUDA error\n", "SIGABRT", Failure.OUT_OF_MEMORY),
        (b"terminate called after throwing an instance of 'std::bad_alloc'\n", "SIGABRT", Failure.OUT_OF_MEMORY),
        (OOM + b"0.00.004.000 E load: key not found in model: heron.x\n", None, Failure.LOAD_ERROR),
        (b"pot.cpp:7: GGML_ASSERT(lid) failed\n", "SIGABRT", Failure.ABORT),
        (b"", "SIGKILL", Failure.SIGNAL),
    ],
)
def test_memory_that_could_not_be_had_is_its_own_class(log: bytes, signal: str | None, failure: Failure) -> None:
    assert failed(log, signal=signal).failure is failure


def test_the_child_of_a_router_is_named() -> None:
    end = replace(END, log=parse(b"[812] pot.cpp:7: GGML_ASSERT(lid) failed\n"))
    trouble = diagnose(Misbehaved(Failure.BAD_ANSWER, "answered with status 500"), end, ready=True, answered=0)
    assert trouble is not None
    assert (trouble.failure, trouble.stage, trouble.child) == (Failure.ABORT, GateStage.FIRST_DECODE, 812)


def fallback(
    log: bytes, *, quiet_log: bytes = b"", drafted: int = 5, fails: bool = False, head: bytes = VERBOSE
) -> Check:
    answer = Answer((1, 2, 3), "x", ((), (), ()), drafted, drafted and 1, {})
    arms = [
        Arm(plan, ("x",), (Asked("one", answer, 1.0),), replace(END, log=parse(text)), None, 1.0)
        for plan, text in (
            (ArmPlan("draft-3", PROMPTS, width=3), quiet_log),
            (ArmPlan("draft-3-verbose", PROMPTS, width=3, verbose=True), head + log),
        )
    ]
    settings = GateSettings("heron", near_tie=0.05, probe=True, checks=(CheckName.FALLBACK,), fallback_fails=fails)
    (check,), _ = judge(arms, settings)
    return check


CLAMPED = b"0.00.004.000 W ctx: n_rs_seq=3 requested but the model cannot; clamping to 0\n"
FALLBACKS = {
    Fallback.CHECKPOINTS: b"0.00.004.000 W srv  load: speculative decoding will use checkpoints",
    Fallback.ROLLBACK_DISABLED: b"0.00.004.000 W x: recurrent state rollback is not compatible with 'x' - disabling",
    Fallback.DRAFT_DROPPED: b"0.00.004.000 W srv: draft model 'x' will not be used",
    Fallback.FLASH_ATTENTION_OFF: b"0.00.004.000 W ctx: Flash Attention was auto, set to disabled",
    Fallback.LAYERS_ON_CPU: b"0.00.004.000 I load_tensors: offloaded 20/33 layers to GPU",
}


@pytest.mark.parametrize("kind", FALLBACKS, ids=str)
def test_each_fallback_is_told_with_its_line_from_whichever_log(kind: Fallback) -> None:
    line = FALLBACKS[kind] + b"\n"
    for check in (fallback(line), fallback(b"", quiet_log=line)):
        assert (check.verdict, check.kind) == (Verdict.PASS, kind)
        assert check.evidence[0]["text"] == FALLBACKS[kind].decode().partition("000 ")[2][2:]
    assert fallback(line, fails=True).verdict is Verdict.FAIL


def test_a_clamped_rollback_counts_with_checkpoints_or_where_no_log_could_tell_of_them() -> None:
    """A model of attention alone keeps no state that a checkpoint would restore."""
    both = fallback(CLAMPED + FALLBACKS[Fallback.CHECKPOINTS] + b"\n")
    assert (both.kind, both.detail.partition("(")[2]) == (Fallback.CHECKPOINTS, "also rollback-clamped)")
    assert fallback(CLAMPED).kind is None
    assert fallback(CLAMPED, head=b"").kind is Fallback.ROLLBACK_CLAMPED


def test_all_layers_on_the_gpu_are_no_fallback() -> None:
    assert fallback(b"0.00.004.000 I load_tensors: offloaded 33/33 layers to GPU\n").kind is None


def test_no_acceptance_line_says_that_no_drafts_ran() -> None:
    idle = fallback(b"", drafted=0)
    assert (idle.verdict, idle.kind) == (Verdict.INCONCLUSIVE, Fallback.NO_ACCEPTANCE)
    line = b"0.00.005.000 I slot: draft acceptance = 0.00000 (    0 accepted /     9 generated), mean len =  1.00\n"
    assert fallback(line, drafted=0).kind is None


@pytest.mark.parametrize(
    ("aborts", "explained"),
    [
        (b"pot.c:7: GGML_ASSERT(pool) failed\n", True),
        (b"pot.c:9: GGML_ASSERT((int)size >= nodes) failed\n", True),
        (b"pot.c:9: GGML_ASSERT(lid) failed\n", False),
    ],
)
def test_drift_explains_an_abort_by_any_of_the_texts_that_its_rule_names(aborts: bytes, *, explained: bool) -> None:
    suspect = Suspect(
        "x/budget/1", "missing", "crash", ("GGML_ASSERT(pool)", ">= nodes"), 7, "pot.c:1", "port", "port"
    )
    silent = replace(suspect, finding="x/other/1", logs=())
    arm = Arm(ArmPlan("draft-3", PROMPTS, width=3), ("x",), (), END, failed(aborts, signal="SIGABRT"), 1.0)
    found = crash([arm], [], [suspect, silent])
    assert found.verdict is Verdict.FAIL
    assert [one.finding for one in found.suspects] == (["x/budget/1"] if explained else [])


@pytest.mark.parametrize(
    ("side", "verdict", "said"),
    [(Side.FORK, Verdict.INCONCLUSIVE, "no room"), (Side.UPSTREAM, Verdict.PASS, "1 servers ran")],
)
def test_an_arm_of_the_fork_that_was_left_out_leaves_crash_open(side: Side, verdict: Verdict, said: str) -> None:
    quiet = Arm(ArmPlan("no-draft", PROMPTS), ("x",), (), END, None, 1.0)

    found = crash([quiet], [NotRun("draft-3", "no room", side)], [])

    assert found.verdict is verdict
    assert found.detail.startswith(said)
