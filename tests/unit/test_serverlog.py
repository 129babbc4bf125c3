"""What the log parser makes of every form of line that a server writes. All lines are of our own wording."""

import itertools
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forkguard.core.logfacts import (
    Acceptance,
    Fallback,
    LoadProblem,
    LogSummary,
    Stage,
    Statistics,
    Timing,
)
from forkguard.core.logforms import AbortKind, Frame, Line, harmless, plain, split
from forkguard.core.serverlog import KEEP, LINE_LIMIT, LogParser, parse


def told(*lines: str) -> LogSummary:
    return parse("\n".join(lines).encode() + b"\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("0.00.001.002 I srv    load: ready", Line("I", None, "srv    load: ready")),
        ("612.59.999.000 E grf: bad", Line("E", None, "grf: bad")),
        ("[4711] 1.02.003.004 W grf: odd", Line("W", 4711, "grf: odd")),
        ("llama-1  | [4711] 1.02.003.004 W grf: odd", Line("W", 4711, "grf: odd")),
        ("Aug 21 09:08:07 box llama[77]: 1.02.003.004 D grf: x", Line("D", 77, "grf: x")),
        ("2026-08-21T09:08:07.123Z stderr F 1.02.003.004 I grf: x", Line("I", None, "grf: x")),
        ("Aug 21 09:08:07 box llama[77]: a/b.cpp:1: gone", Line("", 77, "a/b.cpp:1: gone")),
        ("llama-1  | a/b.cpp:1: gone", Line("", None, "a/b.cpp:1: gone")),
        ("2026-08-21 09:08:07 a/b.cpp:1: gone", Line("", None, "a/b.cpp:1: gone")),
        ("no prefix: at all", Line("", None, "no prefix: at all")),
        ("1.2.3.4 I not a stamp", Line("", None, "1.2.3.4 I not a stamp")),
    ],
)
def test_prefixes_come_off(text: str, line: Line) -> None:
    assert split(text) == line


@pytest.mark.parametrize(
    ("text", "kind", "said", "place"),
    [
        (
            "x/graph.cpp:9: GGML_ASSERT(a != b) failed",
            AbortKind.ASSERT,
            "GGML_ASSERT(a != b) failed",
            "x/graph.cpp:9",
        ),
        ("GGML_ASSERT: x/g.c:9: a == b", AbortKind.ASSERT, "assertion `a == b' failed", "x/g.c:9"),
        (
            "srv: x/g.cc:31: int tiny(int): Assertion `n > 0' failed.",
            AbortKind.ASSERT,
            "assertion `n > 0' failed",
            "x/g.cc:31",
        ),
        (
            "x/sched.cpp:88: tensor (leaf_3) sits in a buffer (TinyGPU) that cannot run (ADD)",
            AbortKind.ABORT,
            "tensor (leaf_3) sits in a buffer (TinyGPU) that cannot run (ADD)",
            "x/sched.cpp:88",
        ),
        ("/k/tiny.cu:5: GPU error", AbortKind.ABORT, "GPU error", "/k/tiny.cu:5"),
        ("free(): invalid size", AbortKind.HEAP, "free(): invalid size", ""),
        (
            "*** stack smashing detected ***: terminated",
            AbortKind.HEAP,
            "*** stack smashing detected ***: terminated",
            "",
        ),
        (
            "==91==ERROR: AddressSanitizer: stack-overflow",
            AbortKind.SANITIZER,
            "AddressSanitizer: stack-overflow",
            "",
        ),
        ("Segmentation fault (core dumped)", AbortKind.SIGNAL, "Segmentation fault (core dumped)", ""),
        ("libc++abi: terminating due to uncaught exception", AbortKind.EXCEPTION, None, ""),
    ],
)
def test_aborts(text: str, kind: AbortKind, said: str | None, place: str) -> None:
    for prefix, pid in (("", None), ("server-1  | [812] ", 812), ("\x1b[31m", None)):
        (abort,) = told("0.00.000.001 I srv: loading model 'm'", prefix + text).aborts
        assert (abort.kind, abort.text, abort.place) == (kind, said or text, place)
        assert (abort.stage, abort.pid) == (Stage.LOADING, pid)


def test_the_exception_s_message_belongs_to_the_abort() -> None:
    summary = told("terminate called after throwing an instance of 'tiny::error'", "  what():  no room for the graph")
    assert (
        summary.telling_line == "terminate called after throwing an instance of 'tiny::error': no room for the graph"
    )
    assert len(summary.aborts) == 1


def test_the_explaining_line_is_found_on_both_sides() -> None:
    summary = told(
        "0.00.000.001 E far: too long ago",
        *["0.00.000.002 D hush: nothing"] * 60,
        "0.00.000.003 W near: the pool is nearly full",
        *["0.00.000.004 D hush: nothing"] * 5,
        "the last words",
        "\tpart = 1.0, of = 2.0, an = 3.0, ordinary = 4.0, message",
        "a/b.c:1: GGML_ASSERT(room) failed",
        "[New LWP 7]",
        "#0  0x00007f01 in wait4 () from /lib/libc.so.6",
        "0.00.000.005 E late: asked for 12, had 11",
        "0.00.000.006 I hush: nothing",
    )
    (abort,) = summary.aborts
    assert abort.before == ("near: the pool is nearly full", "the last words")
    assert abort.after == ("late: asked for 12, had 11",)
    assert abort.frames == (Frame("libc.so.6", "wait4"),)


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        ("#3  0x00005555 in tiny::graph::build(int) (this=0x1) at /a/b.cpp:7", Frame("", "tiny::graph::build")),
        ("#3  0x00005555 in ggml_abort () from /o/libggml-base.so.0", Frame("libggml-base.so.0", "ggml_abort")),
        ("/o/libx.so.1(_ZN4tiny5graph5buildEi+0x1f) [0x7f00aa]", Frame("libx.so.1", "tiny::graph::build")),
        ("./server(+0x1f2) [0x7f00aa]", Frame("server", "")),
        ("  frame #2: 0x0000000100 libx.dylib`tiny_build + 12", None),
        ("frame #2: 0x0000000100 libx.dylib`tiny_build + 12", Frame("libx.dylib", "tiny_build")),
        ("3   libx.dylib      0x00000001043b tiny_build + 44", Frame("libx.dylib", "tiny_build")),
        ("3: 0x7f00aa tiny_build", Frame("", "tiny_build")),
        ("0.00.000.001 I #3  0x00005555 in ggml_abort () from x", None),
    ],
)
def test_frames(text: str, frame: Frame | None) -> None:
    assert told(text).stray_frames == ((frame,) if frame else ())


def test_the_shell_s_word_for_an_abort_is_not_a_second_one() -> None:
    assert len(told("a/b.c:1: GGML_ASSERT(x) failed", "Aborted (core dumped)").aborts) == 1


def test_an_assert_that_the_server_logs_as_an_error_is_an_abort() -> None:
    assert [one.text for one in told("0.01.000.000 E a/b.c:1: GGML_ASSERT(x) failed").aborts] == [
        "GGML_ASSERT(x) failed"
    ]


@pytest.mark.parametrize("level", ["D", "I", "W"])
def test_a_prompt_that_quotes_an_assert_is_no_abort(level: str) -> None:
    assert told(f"0.01.000.000 {level} slot: prompt 'a/b.c:1: GGML_ASSERT(x) failed'").aborts == ()
    assert told(f"0.01.000.000 {level} a/b.c:1: GGML_ASSERT(x) failed").aborts == ()


def test_an_assert_that_breaks_into_a_line_of_another_thread_is_an_abort() -> None:
    summary = told(
        '0.00.083.976 I ../src/a.cpp:52: GGML_ASSERT(x != nullptr && "it is null") failed',
        "slot get_availabl: id  0 | task -1 | selected",
        "0.00.084.237 I slot launch_slot_: id  0 | task 0 | processing task",
        "[New LWP 32366]",
        "#4 0x00007f0 in box::build () from /opt/libbox.so",
    )
    (abort,) = summary.aborts
    assert (abort.kind, abort.text, abort.path, abort.line) == (
        AbortKind.ASSERT, 'GGML_ASSERT(x != nullptr && "it is null") failed', "../src/a.cpp", 52,
    )  # fmt: skip
    assert [frame.symbol for frame in abort.frames] == ["box::build"]
    assert told("0.01.000.000 I slot: prompt 'a/b.c:1: GGML_ASSERT(x) failed", "and more'").aborts == ()


@pytest.mark.parametrize(
    ("text", "problem", "subject", "counts"),
    [
        ("done: wrong number of tensors; expected 81, got 58", LoadProblem.TENSOR_COUNT, "", (81, 58)),
        ("load: unknown model architecture: 'tinyflash'", LoadProblem.UNKNOWN_ARCH, "tinyflash", (None, None)),
        ("load: key not found in model: tiny.width", LoadProblem.MISSING_KEY, "tiny.width", (None, None)),
        ("load: missing tensor 'blk.3.tiny.weight'", LoadProblem.MISSING_TENSOR, "blk.3.tiny.weight", (None, None)),
        ("load: check: tensor 'a.b' has wrong shape; wanted 3", LoadProblem.TENSOR_SHAPE, "a.b", (None, None)),
        ("init: failed to open GGUF file 'x' (gone)", LoadProblem.FILE, "", (None, None)),
        ("srv: failed to load draft model, 'x'", LoadProblem.OTHER, "", (None, None)),
    ],
)
def test_load_errors(text: str, problem: LoadProblem, subject: str, counts: tuple[int | None, int | None]) -> None:
    (error,) = told(f"0.00.000.001 E {text}").load_errors
    assert (error.problem, error.subject, (error.expected, error.got)) == (problem, subject, counts)
    assert error.text == text


def test_the_precise_load_error_is_the_telling_one() -> None:
    summary = told(
        "0.00.000.001 E load: error loading model: unknown model architecture: 'tiny'",
        "0.00.000.002 E srv: failed to load model 'x'",
        "0.00.000.003 E srv: leaving",
    )
    assert summary.telling_line == "load: error loading model: unknown model architecture: 'tiny'"
    assert summary.aborts == ()


def test_an_error_of_the_fitting_trial_is_forgotten_when_the_model_loads() -> None:
    summary = told(
        "0.00.000.001 E fit: failed to load model",
        "0.00.000.002 I srv: model loaded",
        "0.00.000.003 E srv: failed to load model 'second'",
    )
    assert [error.text for error in summary.recovered] == ["fit: failed to load model"]
    assert [error.text for error in summary.load_errors] == ["srv: failed to load model 'second'"]


def test_a_clean_exit_is_explained_by_the_warning() -> None:
    summary = told("0.00.000.001 W arg: those two draft types do not mix", "0.00.000.002 I srv: bye")
    assert summary.telling_line == "arg: those two draft types do not mix"


def test_the_last_complaint_tells_most_else_the_last_line_and_of_nothing_nothing() -> None:
    for level in "EW":
        two = told(f"0.00.000.001 {level} srv: one", f"0.00.000.002 {level} srv: two", "0.00.000.003 I srv: bye")
        assert two.telling_line.endswith("srv: two")
    assert told("0.00.000.001 I srv: hello", "0.00.000.002 I srv: bye").telling_line.endswith("srv: bye")
    assert parse(b"").telling_line == ""


@pytest.mark.parametrize(
    "text",
    [
        "gpu: failed to allocate 12.00 MB",
        "TinyGPU error: out of memory",
        "graph: std::bad_alloc",
        "unable to allocate x",
    ],
)
def test_memory_that_could_not_be_had(text: str) -> None:
    assert told(f"0.00.000.001 E {text}").out_of_memory == (text,)
    assert told(f"0.00.000.001 E {text}").telling_line == text


def test_pinned_memory_has_a_fallback() -> None:
    assert told("0.00.000.001 W gpu: failed to allocate 12.00 MiB of pinned memory").out_of_memory == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("D srv: speculative decoding will use checkpoints", Fallback.CHECKPOINTS),
        ("D slot: created speculative checkpoint (at 4)", Fallback.CHECKPOINTS),
        ("D ctx: n_rs_seq=3 requested but this model cannot; clamping to 0", Fallback.ROLLBACK_CLAMPED),
        ("W recurrent state rollback is not compatible with 'q' - disabling it", Fallback.ROLLBACK_DISABLED),
        ("W ctx: Flash Attention not supported, set to disabled", Fallback.FLASH_ATTENTION_OFF),
        ("W ctx: flash_attn does not go with Tiny - forcing off", Fallback.FLASH_ATTENTION_OFF),
        ("E srv: failed to initialize speculative decoding context: no", Fallback.DRAFT_DROPPED),
        ("W spec: requested draft size (9) is above the block - clamping to 8", Fallback.DRAFT_CLAMPED),
        ("W spec: backend offload failed for seq_id=0; on the CPU then", Fallback.CPU_SAMPLING),
    ],
)
def test_fallbacks(text: str, kind: Fallback) -> None:
    (line, *rest) = told(f"0.00.000.001 {text}", f"0.00.000.001 {text}").fallbacks
    assert (line.kind, line.text, line.count) == (kind, text[2:], 2)
    assert rest == []


def test_fallback_figures() -> None:
    summary = told(
        "0.00.000.001 I cmn: verbosity = 5 (more with -lv)",
        "0.00.000.001 I ctx: n_rs_seq              = 0",
        "0.00.000.001 I ctx: n_rs_seq              = 3",
        "0.00.000.001 D slot: created speculative checkpoint (1)",
        "0.00.000.001 D slot: restoring speculative checkpoint (1)",
        "0.00.000.001 D srv: speculative decoding will use checkpoints",
    )
    assert (summary.verbosity, summary.rollback_slots, summary.speculative_steps) == (5, (0, 3), 2)


def test_three_forms_of_acceptance() -> None:
    summary = told(
        "draft acceptance rate = 0.50000 (   10 accepted /    20 generated)",
        "slot print: id  2 | task 15 | draft acceptance = 0.25 (  1 accepted /  4 generated), "
        "mean acceptance length =  1.50, x",
        "9.01.001.001 I slot print: id  0 | task -1 | draft acceptance = 1.00000 (    3 accepted /     3 generated), "
        "mean len =  4.00",
    )
    assert summary.acceptances == (
        Acceptance(10, 20),
        Acceptance(1, 4, mean_length=1.5, slot=2, task=15),
        Acceptance(3, 3, mean_length=4.0, slot=0, task=-1),
    )
    assert (summary.accepted, summary.drafted) == (14, 27)


def test_statistics_are_the_last_ones_of_each_kind() -> None:
    summary = told(
        "0.00.000.001 I spec: statistics     draft-tiny: #calls = 1, #gen tokens =      7, #acc tokens =     2, x",
        "0.00.000.002 I spec: statistics     draft-tiny: #calls = 2, #gen tokens =     70, #acc tokens =    20, x",
    )
    assert summary.statistics == (Statistics("draft-tiny", generated=70, accepted=20),)
    assert summary.acceptances == ()


def test_timings_and_cached_repeats() -> None:
    summary = told(
        "0.00.000.001 I slot: prompt eval time =     120.50 ms /    48 tokens (x)",
        "0.00.000.001 I slot:        eval time =     900.00 ms /   128 tokens (x)",
        "0.00.000.001 I slot: prompt eval time =       3.00 ms /     1 tokens (x)",
    )
    assert summary.prompt_evals == (Timing(120.5, 48), Timing(3.0, 1))
    assert summary.evals == (Timing(900.0, 128),)
    assert summary.cached_repeats == 1


def test_stages_go_forward_only() -> None:
    lines = [
        ("loading model 'x'", Stage.LOADING),
        ("ctx: constructing llama_context", Stage.CONTEXT),
        ("srv: model loaded", Stage.LOADED),
        ("srv: server is listening on here", Stage.LISTENING),
        ("slot: processing task, number = 1", Stage.REQUEST),
        ("slot:        eval time = 1.00 ms / 2 tokens", Stage.ANSWERED),
        ("slot: processing task, number = 1", Stage.ANSWERED),
        ("srv: cleaning up before exit", Stage.EXITING),
    ]
    parser = LogParser()
    for text, stage in lines:
        parser.feed(f"0.00.000.001 I {text}\n".encode())
        assert parser.summary().stage is stage


@pytest.mark.parametrize(
    "text",
    [
        "srv: [spec] failed to measure draft model memory: no",
        "borrow_shared_tensor: this model is a draft head without its own output",
        "ctx: n_ctx_seq (4096) < n_ctx_train (32768) -- not all of it is used",
        "srv: CORS is open to all",
        "ctx: CPU compute buffer size of 3 MiB, does not match expectation of 2 MiB",
        "init: it needs the other one (this warning is normal during memory fitting)",
    ],
)
def test_alarming_but_harmless(text: str) -> None:
    assert harmless(Line("W", None, text))
    summary = told(f"0.00.000.001 W {text}", "a/b.c:1: GGML_ASSERT(x) failed", f"0.00.000.001 E {text}")
    assert summary.warnings == summary.errors == summary.out_of_memory == ()
    assert summary.load_errors == ()
    assert summary.aborts[0].before == summary.aborts[0].after == ()


def test_what_is_shown_is_safe_for_a_terminal() -> None:
    hostile = (
        b"\x1b]0;you are owned\x07\x1b[2J\x9b1mx.c:1: \x1b[31mGGML_ASSERT(\xe2\x80\xaea\x00) failed\x1bP1;2|q\x1b\\\n"
    )
    assert parse(hostile).telling_line == "GGML_ASSERT(a) failed"
    assert plain("\u009b31mred".encode()) == "red"


def test_long_lines_are_cut_and_forgotten() -> None:
    parser = LogParser()
    for _ in range(50):
        parser.feed(b"y" * 1_000_000)
    parser.feed(b"\na/b.c:1: GGML_ASSERT(x) failed\n")
    summary = parser.summary()
    assert (len(summary.tail[0]), summary.lines, summary.size) == (LINE_LIMIT, 2, 50_000_032)
    assert summary.telling_line == "GGML_ASSERT(x) failed"


def test_lists_are_bounded_and_counts_are_whole() -> None:
    line = b"draft acceptance = 0.5 (    1 accepted /     2 generated)\na/b.c:1: GGML_ASSERT(x) failed\n"
    line += b"free(): x\n#1  main ()\n"
    parser = LogParser()
    tracemalloc.start()
    try:
        for _ in range(200):
            parser.feed(line * 50)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    summary = parser.summary()
    assert (len(summary.acceptances), summary.drafted, summary.lines) == (KEEP, 20_000, 40_000)
    assert len(summary.aborts) == 8
    assert len(summary.aborts[-1].frames) <= 64
    assert peak < 4_000_000


_FRAGMENTS = st.sampled_from(
    [
        b"\n",
        b"\r",
        b"\r\n",
        b"a/b.cpp:12: GGML_ASSERT(x) failed",
        b"0.01.002.003 W grf: odd",
        b"0.01.002.003 D ",
        b"[12] ",
        b"x-1  | ",
        b"draft acceptance = 0.5 (  1 accepted /  2 generated), mean len = 1.50",
        b"prompt eval time = 1.0 ms / 1 tokens",
        b"terminate called after throwing an instance of 'x'\n  what():  y",
        b"#0  0x12 in f () from /l.so\n",
        b"model loaded",
        b"failed to load model",
        b"statistics a: #gen tokens = 1, #acc tokens = 1",
        b"\x1b[3",
        b"1m\xff\x9b",
        b"created speculative checkpoint",
        b"z" * 5000,
    ]
)
_LOGS = st.lists(st.one_of(_FRAGMENTS, st.binary(max_size=30)), max_size=30).map(b"".join)


@settings(deadline=None)
@given(data=_LOGS, cuts=st.lists(st.integers(0, 12_000), max_size=8), look=st.sampled_from(["each", "last"]))
def test_any_bytes_in_any_pieces_give_one_summary(data: bytes, cuts: list[int], look: str) -> None:
    parser = LogParser()
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    for start, end in itertools.pairwise(edges):
        parser.feed(data[start:end])
        if look == "each":
            parser.summary()
    summary = parser.summary()
    assert summary == parse(data)
    shown = (summary.telling_line, *summary.tail, *summary.errors, *(abort.text for abort in summary.aborts))
    assert all(text.isprintable() for text in shown)
