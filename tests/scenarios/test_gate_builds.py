"""`forkguard gate --asserts` and `--upstream-tests`: builds of the same fork beside the one that is gated."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.commands import Outcome, forkguard
from tests.support.programs import BUILDING
from tests.support.scripted_fork import scripted_fork
from tests.support.scripted_server import Behaviour

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/gate.json").read_text())
MAP = """[fork]
path = "fork"
[upstream]
path = "fork"
ref = "master"
[defaults]
trees = "trees"
cache = "cache"
[arch.lfm2]
enum = "LLM_ARCH_LFM2"
[gate]
widths = [2]
slots = [1]
prompts = "prompts.toml"
"""
PROMPTS = '[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n'
ASSERTION = "llama-server: cup.cpp:7: void fill(): Assertion `cup.open()' failed."


def gate(folder: Path, *words: str) -> Outcome:
    (folder / "upstream-map.toml").write_text(MAP)
    (folder / "prompts.toml").write_text(PROMPTS)
    return forkguard("gate", "--arch", "lfm2", *words, cwd=folder)


def document(outcome: Outcome) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(result, SCHEMA)
    return result


def check(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in result["checks"] if one["name"] == name)


@pytest.mark.needs(*BUILDING)
def test_a_fault_that_only_libcs_asserts_show_is_red_and_only_that_arm_runs_the_other_build(tmp_path: Path) -> None:
    asserting = Behaviour(answers=("abort",), only_drafting=True, abort_line=ASSERTION)
    scripted_fork(tmp_path / "fork", plain=Behaviour(), asserting=asserting)
    plain = gate(tmp_path, "--format", "json")
    assert plain.status == 0, plain.err + plain.out
    told = document(plain)
    assert told["asserts"] == {"compiled_in": False, "tree": None}
    assert any(one["name"] == "asserts" and "compiled out" in one["reason"] for one in told["not_run"])
    outcome = gate(tmp_path, "--asserts", "--format", "json")
    result = document(outcome)
    crash = check(result, "crash")
    assert (outcome.status, crash["class"], crash["culprit"]) == (1, "abort", None)
    assert crash["trigger"] == "only with libc's asserts, which the Release build leaves out; only with the draft"
    assert "cup.open()" in crash["evidence"][0]["text"]
    assert check(result, "determinism")["verdict"] == "pass"
    programs = {arm["name"]: arm["command"][0] for arm in result["arms"]}
    own = result["asserts"]["tree"]["binary"]
    assert own != result["tree"]["binary"]
    assert [name for name, program in programs.items() if program == own] == [
        "asserts-no-draft-1", "asserts-draft-2",
    ]  # fmt: skip
    assert {arm["side"] for arm in result["arms"] if arm["command"][0] == own} == {"asserts"}


@pytest.mark.needs(*BUILDING)
def test_upstreams_own_tests_run_as_the_tree_declares_them_and_one_that_fails_is_red(tmp_path: Path) -> None:
    rollback = '#!/bin/sh\ncase "$2" in *lfm2*) echo "main : replay logits mismatch"; exit 1;; esac\ntest -f "$2"\n'
    scripted_fork(tmp_path / "fork", plain=Behaviour(), asserting=Behaviour(), rollback=rollback)
    outcome = gate(tmp_path, "--upstream-tests", "--format", "json")
    result = document(outcome)
    tests = check(result, "upstream-tests")
    assert (outcome.status, tests["verdict"], tests["class"]) == (1, "fail", "test-failed"), outcome.err
    assert [(run["name"], run["outcome"]) for run in result["upstream_tests"]["runs"]] == [
        ("test-generate-models", "passed"), ("test-llama-archs", "passed"),
        ("test-recurrent-state-rollback", "passed"), ("test-recurrent-state-rollback-lfm2-dense", "failed"),
    ]  # fmt: skip
    assert tests["evidence"][0]["lines"] == ["main : replay logits mismatch"]
    (receipt,) = (tmp_path / ".forkguard/receipts").glob("*/receipt.json")
    log = receipt.with_name("upstream-test-recurrent-state-rollback-lfm2-dense.log")
    assert log.read_text() == "main : replay logits mismatch\n"
    assert log.name in {one["path"] for one in result["logs"]}
    assert all(one["verdict"] == "pass" for one in result["checks"] if one["name"] != "upstream-tests")


@pytest.mark.needs(*BUILDING)
def test_a_test_that_the_tree_does_not_have_is_said_and_none_at_all_is_inconclusive(tmp_path: Path) -> None:
    scripted_fork(tmp_path / "fork", plain=Behaviour(), asserting=Behaviour(), rollback=None)
    outcome = gate(tmp_path, "--upstream-tests", "--format", "json")
    result = document(outcome)
    assert (outcome.status, check(result, "upstream-tests")["verdict"]) == (0, "pass"), outcome.err
    reasons = {one["name"]: one["reason"] for one in result["not_run"]}
    assert reasons["test-recurrent-state-rollback"] == (
        "the fork's tree has no tests/test-recurrent-state-rollback.cpp"
    )  # fmt: skip
    fork = scripted_fork(tmp_path / "none/fork", plain=Behaviour(), asserting=Behaviour(), archs=None, rollback=None)
    assert fork.path.is_dir()
    bare = gate(tmp_path / "none", "--upstream-tests", "--format", "json")
    assert (bare.status, check(document(bare), "upstream-tests")["class"]) == (3, "no-tests")
