"""What is concluded from how a server ended, and from what the map asks."""

from dataclasses import replace

import pytest

from forkguard.core.gate import (
    CheckName,
    Failure,
    GateSettings,
    GateStage,
    Misbehaved,
    NotRun,
    Policy,
    ServerEnd,
    Verdict,
)
from forkguard.core.gatechecks import judge
from forkguard.core.gateoptions import gate_settings, gate_table, named_drafts, named_targets
from forkguard.core.gatetrouble import diagnose
from forkguard.core.mapfile import parse_map
from forkguard.core.prompts import PROMPTS, read_prompts
from forkguard.core.serverlog import parse
from forkguard.errors import UsageProblem

GOOD = ServerEnd(0, None, asked=True, killed=False, log=parse(b""), log_file="x.log")
MAP = """
[upstream]
path = "../up"
ref = "master"
[gate]
widths = [2]
near_tie_gap = 0.1
[arch.heron]
enum = "LLM_ARCH_HERON"
[arch.heron.gate]
fallback = "fail"
checks = ["crash", "quality"]
[arch.otter]
enum = "LLM_ARCH_OTTER"
gate = { target = "a.gguf" }
[arch.sketch]
enum = "LLM_ARCH_SKETCH"
gate = { target = "a.gguf", draft = "b.gguf", checks = ["performance"] }
"""


def ended(log: bytes, *, exit_code: int | None = None, signal: str | None = None) -> ServerEnd:
    return replace(GOOD, asked=False, exit_code=exit_code, signal=signal, log=parse(log))


def test_an_end_that_was_asked_for_is_no_trouble() -> None:
    assert diagnose(None, GOOD, ready=True, answered=3) is None
    assert diagnose(None, replace(GOOD, exit_code=None, signal="SIGTERM"), ready=True, answered=3) is None


def test_a_clean_exit_during_load_is_a_load_error_and_cites_the_telling_line() -> None:
    log = b"0.00.001.000 W common  the two draft kinds exclude each other\n"
    trouble = diagnose(Misbehaved(Failure.EXITED, "gone"), ended(log, exit_code=1), ready=False, answered=0)
    assert trouble is not None
    assert (trouble.failure, trouble.stage, trouble.exit_code) == (Failure.LOAD_ERROR, GateStage.LOAD, 1)
    assert trouble.text == "common  the two draft kinds exclude each other"


def test_an_abort_without_an_assert_is_a_crash_and_its_explanation_may_come_later() -> None:
    log = (
        b"0.00.001.000 I srv    load_model: loading model\n"
        b"0.00.002.000 I llama_context: constructing llama_context\n"
        b"pot.cpp:7: GGML_ASSERT(lid) failed\n"
        b"0.00.003.000 E srv    the lid was left at home\n"
        b"libpot.so.0(ggml_print_backtrace+0x1f)[0x7f0000000001]\n"
        b"libpot.so.0(ggml_abort+0x1f)[0x7f0000000002]\n"
        b"libpot.so.0(cook+0x1f)[0x7f0000000003]\n"
    )
    trouble = diagnose(Misbehaved(Failure.EXITED, "gone"), ended(log, signal="SIGABRT"), ready=False, answered=0)
    assert trouble is not None
    assert (trouble.failure, trouble.stage, trouble.signal) == (Failure.ABORT, GateStage.CONTEXT, "SIGABRT")
    assert trouble.after == ("srv    the lid was left at home",)
    assert trouble.frames == ("cook (libpot.so.0)",)


def test_the_stack_tells_that_the_context_was_being_made_where_the_log_does_not() -> None:
    log = (
        b"pot.cpp:7: GGML_ASSERT(lid) failed\n"
        b"libpot.so.0(cook+0x1f)[0x7f0000000003]\n"
        b"libpot.so.0(llama_init_from_model+0x1f)[0x7f0000000004]\n"
    )
    trouble = diagnose(Misbehaved(Failure.EXITED, "gone"), ended(log, signal="SIGABRT"), ready=False, answered=0)
    assert trouble is not None
    assert trouble.stage is GateStage.CONTEXT


def test_in_router_mode_the_childs_abort_is_told_though_the_router_lives() -> None:
    end = replace(GOOD, log=parse(b"[812] pot.cpp:7: GGML_ASSERT(lid) failed\n"))
    trouble = diagnose(Misbehaved(Failure.BAD_ANSWER, "answered with status 500"), end, ready=True, answered=0)
    assert trouble is not None
    assert (trouble.failure, trouble.stage) == (Failure.ABORT, GateStage.FIRST_DECODE)
    assert trouble.before[0] == "answered with status 500"


def test_nothing_started_is_inconclusive_everywhere() -> None:
    settings = GateSettings("heron", near_tie=0.05, probe=True)
    checks, not_run = judge((), settings, missing=(NotRun("draft-3", "not started"),))
    assert {check.verdict for check in checks} == {Verdict.INCONCLUSIVE}
    assert [one.name for one in not_run] == ["draft-3", "performance", "quality"]


def test_an_archs_own_table_goes_over_the_general_one() -> None:
    map_ = parse_map(MAP, name="m")
    table = gate_table(map_, "heron")
    assert (table.widths, table.near_tie_gap, table.fallback) == ((2,), 0.1, "fail")
    settings = gate_settings(table, "heron")
    assert (settings.near_tie, settings.probe, settings.fallback_fails) == (0.1, True, True)


def test_with_a_probe_quality_is_never_asked_for() -> None:
    settings = gate_settings(gate_table(parse_map(MAP, name="m"), "heron"), "heron")
    checks, not_run = judge((), settings)
    assert [check.name for check in checks] == [CheckName.CRASH]
    assert "random weights" in next(one.reason for one in not_run if one.name == "quality")


def test_a_check_that_was_asked_for_and_cannot_run_is_inconclusive() -> None:
    settings = gate_settings(gate_table(parse_map(MAP, name="m"), "sketch"), "sketch")
    (check,), _ = judge((), settings)
    assert (check.name, check.verdict) == (CheckName.PERFORMANCE, Verdict.INCONCLUSIVE)


def test_the_policy_is_differential_with_upstreams_arms_and_cannot_be_without() -> None:
    table = gate_table(parse_map(MAP, name="m"), "heron")
    assert gate_settings(table, "heron").policy is Policy.NEAR_TIE
    assert gate_settings(table, "heron", upstream=True).policy is Policy.DIFFERENTIAL
    asked = table.model_copy(update={"policy": "differential"})
    with pytest.raises(UsageProblem):
        gate_settings(asked, "heron")
    strict = table.model_copy(update={"policy": "strict"})
    assert gate_settings(strict, "heron", upstream=True).policy is Policy.STRICT


def test_drafts_are_named_once_and_need_a_target() -> None:
    text = MAP.replace('target = "a.gguf" }', 'target = "t.gguf", draft = "a.gguf", drafts = ["b.gguf", "a.gguf"] }')
    table = gate_table(parse_map(text, name="m"), "otter")
    assert list(named_drafts(table)) == ["a", "b"]
    lonely = MAP.replace('target = "a.gguf"', 'drafts = ["a.gguf"]')
    with pytest.raises(UsageProblem) as caught:
        gate_table(parse_map(lonely, name="m"), "otter")
    assert caught.value.hint == "add target to [arch.otter.gate], or remove both and use the probe"
    with pytest.raises(UsageProblem, match="names one model and lacks the other") as caught:
        gate_table(parse_map(MAP, name="m"), "otter")
    assert caught.value.hint.startswith("add draft to [arch.otter.gate]")


def test_a_draft_has_a_type_of_its_own_and_one_that_needs_no_file_needs_none() -> None:
    drafts = '["a.gguf", {file = "b.gguf", spec_type = "draft-eagle3"}, {spec_type = "ngram-simple"}]'
    text = MAP.replace('target = "a.gguf"', f'target = "t.gguf", spec_type = "draft-odd", drafts = {drafts}')
    found = named_drafts(gate_table(parse_map(text, name="m"), "otter"))
    assert {name: (one.file, one.spec_type) for name, one in found.items()} == {
        "a": ("a.gguf", "draft-odd"), "b": ("b.gguf", "draft-eagle3"), "ngram-simple": (None, "ngram-simple"),
    }  # fmt: skip
    alone = MAP.replace('target = "a.gguf" }', 'target = "t.gguf", spec_type = "ngram-mod" }')
    (one,) = named_drafts(gate_table(parse_map(alone, name="m"), "otter")).values()
    assert (one.file, one.spec_type) == (None, "ngram-mod")


@pytest.mark.parametrize(
    ("drafts", "told"),
    [
        ('[{spec_type = "draft-eagle3"}]', "drafts[0]: name its file"),
        ("[{}]", "drafts[0]: name its file"),
        ('[{file = "b.gguf", spectype = "x"}]', "spec_type"),
        ("[7]", "drafts[0]"),
    ],
)
def test_a_draft_that_says_too_little_is_an_error_with_its_line(drafts: str, told: str) -> None:
    text = MAP.replace('target = "a.gguf"', f'target = "t.gguf", drafts = {drafts}')
    with pytest.raises(UsageProblem) as caught:
        parse_map(text, name="m")
    assert told in caught.value.what
    assert caught.value.where == f"m:{text[: text.index('drafts')].count(chr(10)) + 1}"


@pytest.mark.parametrize("words", ['"--api-key", "s3cret"', '"--host=0.0.0.0"', '"-md", "x.gguf"', '"-c", "9", "-m"'])
def test_args_that_the_gate_gives_itself_are_wrong_use_and_no_value_is_told(words: str) -> None:
    text = MAP.replace('target = "a.gguf" }', f'target = "t.gguf", draft = "a.gguf", args = [{words}] }}')
    with pytest.raises(UsageProblem, match="cannot be among args") as caught:
        gate_table(parse_map(text, name="m"), "otter")
    assert "s3cret" not in caught.value.what + caught.value.hint


@pytest.mark.parametrize(("one", "other"), [("t", "o/t"), ("t 1", "t_1")])
def test_two_files_of_one_name_are_refused(one: str, other: str) -> None:
    files = f'target = "{one}.gguf", targets = ["{other}.gguf"], draft = "a.gguf" }}'
    text = MAP.replace('target = "a.gguf" }', files)
    with pytest.raises(UsageProblem, match="two target files have the same name"):
        named_targets(gate_table(parse_map(text, name="m"), "otter"))


@pytest.mark.parametrize("arch", ["nobody", "otter"])
def test_an_unknown_arch_or_half_a_pair_is_wrong_use(arch: str) -> None:
    with pytest.raises(UsageProblem):
        gate_table(parse_map(MAP, name="m"), arch)


def test_our_prompts_are_enough_and_differ() -> None:
    assert len(PROMPTS) >= 8
    assert len({prompt.name for prompt in PROMPTS}) == len(PROMPTS)
    assert max(len(prompt.text) for prompt in PROMPTS) > 1000
    assert max(prompt.tokens for prompt in PROMPTS) >= 256


def test_prompts_of_a_file() -> None:
    first, second = read_prompts(
        '[[prompt]]\nname = "a"\ntext = "A?"\n[[prompt]]\nname = "b"\ntext = "B?"\ntokens = 9\n', name="p.toml"
    )
    assert (first.name, first.text, first.tokens, second.tokens) == ("a", "A?", 128, 9)
    (least,) = read_prompts('[[prompt]]\nname = "a"\ntext = "A?"\ntokens = 1\n', name="p.toml")
    assert least.tokens == 1


@pytest.mark.parametrize(
    "bad",
    [
        "", "prompt = 3", "[[prompt]]\nname = 'a'", "[[prompt]]\nname = 'a'\ntext = 'x'\ntokens = 0",
        "[[prompt]]\nname = 'a'\ntext = 'x'\nodd = 1", "[[prompt]]\nname = 'a'\ntext = 'x'\n" * 2, "[[",
    ],
)  # fmt: skip
def test_a_file_without_prompts_is_refused_by_name(bad: str) -> None:
    with pytest.raises(UsageProblem) as error:
        read_prompts(bad, name="p.toml")
    assert error.value.where == "p.toml"
