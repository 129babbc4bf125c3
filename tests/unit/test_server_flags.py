"""Flags that a server adds up, models that it takes from its environment, and hidden spellings."""

import pytest

from forkguard.core.server_flags import flag_set, flagged_models, gates_own, steering_variables


@pytest.mark.parametrize(
    "name",
    ["--lora", "--lora-scaled", "--control-vector", "--control-vector-scaled", "--override-kv", "-ot", "-otd",
     "--override-tensor-draft", "--spec-draft-override-tensor", "-l", "--logit-bias", "--dry-sequence-breaker"],
)  # fmt: skip
def test_a_flag_that_a_server_adds_up_is_compared_with_all_its_values(name: str) -> None:
    both, last = flag_set([name, "a", name, "b"]), flag_set([name, "b"])
    assert both != last
    assert both.differences(last)[0].endswith(": a b, not b")
    assert both == flag_set([name, "a", name, "b", "--port", "1"])


def test_of_any_other_flag_the_last_one_counts() -> None:
    assert flag_set(["-c", "8", "-c", "9"]) == flag_set(["-c", "9"])


def test_a_model_that_the_environment_names_is_one_of_the_models() -> None:
    environment = {"LLAMA_ARG_MODEL": "e.gguf", "LLAMA_ARG_SPEC_DRAFT_MODEL": "d.gguf", "LLAMA_ARG_PORT": "1"}
    assert flagged_models([], environment) == ("e.gguf", "d.gguf")
    assert flagged_models(["-m", "t.gguf"], environment) == ("t.gguf", "d.gguf")
    assert flagged_models([], {"LLAMA_ARG_MODEL": "", "LLAMA_ARG_MODEL_DRAFT": "old.gguf"}) == ("old.gguf",)
    assert steering_variables(environment) == ()


@pytest.mark.parametrize(
    "name", ["-hf", "-hfr", "--hf-repo", "-mu", "-hfd", "--hf-repo-draft", "-dr", "--models-dir"]
)
def test_a_model_from_elsewhere_is_the_gates_own_to_name(name: str) -> None:
    assert [found for found, _ in gates_own(["-c", "8", name, "x"])] == [name]
