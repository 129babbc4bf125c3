"""Places that enumerate archs or speculative types."""

from forkguard.core.archs import SourceTree
from forkguard.core.names import TreePath
from forkguard.core.registries import entries, find_registries
from tests.support import mini_llama

FILES = {TreePath(path): text.encode() for path, text in mini_llama.base_tree().items()}
CHAIN = b"""
bool needs(int type) {
    return type == COMMON_SPECULATIVE_TYPE_A ||
           type == COMMON_SPECULATIVE_TYPE_B;
}
"""


def test_switches_chains_tables_and_enumerations_are_found_with_lines() -> None:
    found = {registry.name: registry for registry in find_registries(FILES | {TreePath("common/common.h"): CHAIN})}
    assert {name: registry.form for name, registry in found.items()} == {
        "common/common.h:needs": "comparison",
        "src/llama-arch.cpp:LLM_ARCH_NAMES": "table",
        "src/llama-arch.cpp:llm_arch_is_recurrent": "switch",
        "src/llama-arch.cpp:llm_arch_supports_rs_rollback": "switch",
        "src/llama-arch.h:llm_arch": "table",
        "src/llama-context.cpp:llama_context::graph_max_nodes": "comparison",
        "src/llama-model.cpp:llama_model_mapping": "switch",
    }
    assert found["src/llama-arch.cpp:llm_arch_is_recurrent"].members == {
        "LLM_ARCH_HERON": 15,
        "LLM_ARCH_HERONMOE": 16,
    }
    assert found["common/common.h:needs"].members == {
        "COMMON_SPECULATIVE_TYPE_A": 3, "COMMON_SPECULATIVE_TYPE_B": 4,
    }  # fmt: skip


def test_entries_of_one_arch_are_not_those_of_a_longer_name() -> None:
    found = [(path, piece.symbol) for path, piece in entries(SourceTree(FILES), ["LLM_ARCH_HERON"])]
    assert found == [
        ("src/llama-arch.cpp", "LLM_ARCH_NAMES"),
        ("src/llama-arch.cpp", "llm_arch_is_recurrent"),
        ("src/llama-arch.h", "llm_arch"),
        ("src/llama-model.cpp", "llama_model_mapping"),
    ]


def test_a_statement_that_only_mentions_an_arch_is_no_entry() -> None:
    source = SourceTree({TreePath("a.cpp"): b"void f() { log(LLM_ARCH_HERON); }"})
    assert list(entries(source, ["LLM_ARCH_HERON"])) == []
