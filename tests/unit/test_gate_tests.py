"""Upstream's own tests: what a tree declares, what a run said, and what the check makes of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.gate import NotRun, Verdict
from forkguard.core.gatetests import (
    Outcome,
    PlannedTest,
    UpstreamRun,
    UpstreamTests,
    also_for,
    has_result_of,
    model_folder,
    read_listing,
    read_run,
)

ROLLBACK = PlannedTest(
    "test-recurrent-state-rollback", ("/b/test-recurrent-state-rollback", "-m", "/m//a.gguf"), "/b"
)
MODELS = PlannedTest("test-generate-models", ("/b/test-llama-archs", "-o", "/m/"), "/b", first=True)
TABLE = "|  heron|   CPU| Dense|\x1b[1;31mFAIL\x1b[0m (3.1e-01)|\x1b[1;32mOK\x1b[0m|\n| egret| CPU| MoE|SKIP|SKIP|\n"


def run(outcome: Outcome, *lines: str) -> UpstreamRun:
    return UpstreamRun("test-llama-archs", ("x",), outcome, 0, None, 1.0, "a.log", lines)


def test_a_listing_gives_the_two_tests_with_those_first_that_others_need() -> None:
    def declared(name: str, *command: str, **properties: object) -> dict[str, object]:
        listed = [{"name": key, "value": value} for key, value in properties.items()]
        return {"name": name, "command": list(command), "properties": listed}

    text = json.dumps(
        {
            "tests": [
                declared("test-recurrent-state-rollback", *ROLLBACK.command, WORKING_DIRECTORY="/b"),
                declared("test-chat", "/b/test-chat"),
                {"name": "not-built"},
                declared("test-generate-models", *MODELS.command, WORKING_DIRECTORY="/b", FIXTURES_SETUP=["g"]),
            ]
        }
    )
    assert read_listing(text) == (MODELS, ROLLBACK)
    assert model_folder((MODELS, ROLLBACK)) == "/m/"


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.just("/b/test-llama-archs"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "command", "properties", "value", "tests"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.fixed_dictionaries({"tests": st.lists(JSON, max_size=2)}) | JSON)
def test_any_listing_is_read_or_refused(value: object) -> None:
    try:
        planned = read_listing(json.dumps(value))
    except ValueError:
        return
    assert all(one.command[0].endswith("test-llama-archs") for one in planned)


@pytest.mark.parametrize("text", ["", "[]", '{"tests": 1}', "{"])
def test_what_is_no_listing_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (any of json's or our own)
        read_listing(text)


def test_the_rollback_test_also_takes_the_gated_archs_models() -> None:
    found = also_for("heron", ["/m/a.gguf", "/m/heron-dense.gguf", "/m/heronmoe-dense.gguf"], (MODELS, ROLLBACK))
    assert [(one.name, one.command[1:]) for one in found] == [
        ("test-recurrent-state-rollback-heron-dense", ("-m", "/m/heron-dense.gguf"))
    ]
    assert also_for("a", ["/m/a-dense.gguf"], (MODELS,)) == ()


def test_a_failing_run_is_told_by_its_lines_without_their_colours() -> None:
    told = read_run(MODELS, f"seed 1\n{TABLE}", status=1, seconds=2.0, log="x.log")
    assert (told.outcome, told.exit_code, told.signal) == (Outcome.FAILED, 1, None)
    assert told.lines == ("|  heron|   CPU| Dense|FAIL (3.1e-01)|OK|",)
    aborted = read_run(MODELS, "a.cpp:1: GGML_ASSERT(x) failed\n", status=-6, seconds=2.0, log="x.log")
    assert (aborted.exit_code, aborted.signal, aborted.lines) == (
        None,
        "SIGABRT",
        ("a.cpp:1: GGML_ASSERT(x) failed",),
    )


def test_a_run_that_says_that_it_skips_did_not_pass() -> None:
    told = read_run(ROLLBACK, "main : skipping because n_rs_seq is disabled\n", status=0, seconds=1, log="x.log")
    assert (told.outcome, told.lines) == (Outcome.SKIPPED, ("main : skipping because n_rs_seq is disabled",))


def test_a_table_without_a_result_of_the_arch_tests_nothing_of_it() -> None:
    assert has_result_of("heron", TABLE)
    assert not has_result_of("egret", TABLE)
    assert not has_result_of("CPU", TABLE)


def test_the_verdict() -> None:
    def verdict(*runs: UpstreamRun, problem: str = "") -> tuple[Verdict, str | None]:
        check = UpstreamTests("c", "cpu", runs, (NotRun("x", "gone"),), problem).check
        return check.verdict, check.kind

    failed = UpstreamTests("c", "cpu", (run(Outcome.PASSED), run(Outcome.FAILED, "one", "two"))).check
    assert failed.evidence == (
        {"arm": "test-llama-archs", "class": "failed", "log": "a.log", "lines": ["one", "two"]},
    )
    assert verdict(run(Outcome.PASSED), run(Outcome.SKIPPED)) == (Verdict.PASS, None)
    assert verdict(run(Outcome.PASSED), run(Outcome.FAILED)) == (Verdict.FAIL, "test-failed")
    assert verdict(run(Outcome.HUNG)) == (Verdict.FAIL, "test-hung")
    assert verdict(run(Outcome.SKIPPED)) == (Verdict.INCONCLUSIVE, "no-tests")
    assert verdict() == (Verdict.INCONCLUSIVE, "no-tests")
    assert verdict(problem="it does not compile") == (Verdict.INCONCLUSIVE, "not-built")
