"""Each mutation finds its subject by syntax and changes that alone; a tree without the subject is left as it is."""

import difflib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.archs import SourceTree
from forkguard.core.mutations import FEWEST, MUTATIONS, Edit, Mutation, Subject, mutated
from forkguard.core.names import TreePath
from tests.support.mini_llama import base_tree, graph_source
from tests.support.mini_runtime import runtime_tree

RULES = {rule.id: rule for rule in bundled_rules()}
BY_NAME = {mutation.name: mutation for mutation in MUTATIONS}
CHANGES = {
    "layer-input-deleted": {("src/models/otter.cpp", "res->t_layer_inp[il] = cur;", ";")},
    "logits-deleted": {("src/models/otter.cpp", "res->t_logits = build_lora_mm(model.output, cur);", ";")},
    "single-state-write": {("src/models/otter.cpp", "}", "break; }")},
    "slot-not-written": {
        (
            "src/models/otter.cpp",
            "for (uint32_t slot = 0; slot <= cparams.n_rs_seq; ++slot) {",
            "for (uint32_t slot = 0; slot <= cparams.n_rs_seq; ++slot) { if (slot == 1) { continue; }",
        )
    },
    "rollback-off-by-one": {
        (
            "src/llama-memory-recurrent.cpp",
            "set_rs_idx(seq, (uint32_t) back);",
            "set_rs_idx(seq, ((uint32_t) back) - 1);",
        )
    },
    "draft-unchecked": {("common/sampling.cpp", "if (draft[at] != best) {", "if (false) {")},
    "draft-never-accepted": {("common/sampling.cpp", "if (draft[at] != best) {", "if (true) {")},
    "name-unregistered": {("src/llama-arch.cpp", '{ LLM_ARCH_OTTER,      "otter" },', "")},
    "hybrid-unregistered": {("src/llama-arch.cpp", "case LLM_ARCH_OTTER:", "")},
    "rollback-unregistered": {("src/llama-arch.cpp", "case LLM_ARCH_OTTER:", "")},
    "node-budget-dropped": {("src/llama-context.cpp", "if (model.arch == LLM_ARCH_OTTER) {", "if (false) {")},
}  # fmt: skip


def subject(files: dict[str, str], arch: str = "otter") -> Subject:
    tree = SourceTree({TreePath(path): text.encode() for path, text in files.items()})
    return Subject(tree, tree.archs.archs[arch], RULES)


def changes(files: dict[str, str], mutation: Mutation, arch: str = "otter") -> set[tuple[str, str, str]]:
    """Path, old line and new line of all that differs; what comes or goes as a whole has an empty other side."""
    found: set[tuple[str, str, str]] = set()
    one = subject(files, arch)
    for path, new in mutated(one.tree.files, mutation.find(one)).items():
        lines = list(difflib.unified_diff(files[path].splitlines(), new.decode().splitlines(), n=0, lineterm=""))[3:]
        removed = [line[1:].strip() for line in lines if line.startswith("-")]
        added = [line[1:].strip() for line in lines if line.startswith("+")]
        found |= {(path, old, now) for old, now in zip(removed, added, strict=True)}
    return found


@pytest.mark.parametrize("name", CHANGES)
def test_a_mutation_changes_its_subject_and_nothing_else(name: str) -> None:
    assert changes(runtime_tree(), BY_NAME[name]) == CHANGES[name]


def test_the_two_places_that_get_a_statement_at_their_head() -> None:
    ((path, old, new),) = changes(runtime_tree(), BY_NAME["null-pointer"])
    assert (path, old) == ("src/llama-context.cpp", "int llama_context::decode(const llama_batch & batch) {")
    assert re.fullmatch(re.escape(old) + r" \{ static int .*> 8\) .*\*nowhere = 1; \} \}", new)
    ((path, old, new),) = changes(runtime_tree(), BY_NAME["second-request-hangs"])
    assert path == "tools/server/server-context.cpp"
    assert old.startswith("bool launch_slot_with_task(")
    assert re.fullmatch(re.escape(old) + r" \{ static int .*> 1; while \(forkguard_waits\) \{\} \}", new)


def test_every_mutation_is_held_and_their_names_differ() -> None:
    assert set(BY_NAME) == {*CHANGES, "null-pointer", "second-request-hangs"}
    assert len(BY_NAME) == len(MUTATIONS) >= FEWEST


def test_the_page_of_the_gate_lists_every_mutation() -> None:
    page = (Path(__file__).parents[2] / "docs/gate.md").read_text()
    assert re.findall(
        r"^\| `([a-z-]+)` \| .* \| `(?:crash|corruption|liveness|fallback)`.* \|$", page, re.MULTILINE
    ) == [mutation.name for mutation in MUTATIONS]


def test_a_tree_without_the_subjects_is_left_alone() -> None:
    """`sketch` is a draft arch: no layer input, no state, no registry but that of names; and no runtime at all."""
    files = base_tree()
    assert {mutation.name for mutation in MUTATIONS if mutation.find(subject(files, "sketch"))} == {
        "logits-deleted", "name-unregistered",
    }  # fmt: skip


def test_a_loop_over_slots_that_writes_no_state_is_no_subject() -> None:
    files = runtime_tree()
    state = "    for (int slot = 0; slot < (int) cparams.n_rs_seq; ++slot) {\n        note(slot);\n    }\n"
    files["src/models/otter.cpp"] = graph_source("otter", layer_input=True, state=state)
    assert changes(files, BY_NAME["single-state-write"]) == set()


def test_an_entry_in_a_chain_of_comparisons_leaves_the_others() -> None:
    files = runtime_tree()
    files["src/llama-context.cpp"] = files["src/llama-context.cpp"].replace(
        "model.arch == LLM_ARCH_OTTER", "model.arch == LLM_ARCH_SKETCH || model.arch == LLM_ARCH_OTTER"
    )
    assert changes(files, BY_NAME["node-budget-dropped"]) == {
        (
            "src/llama-context.cpp",
            "if (model.arch == LLM_ARCH_SKETCH || model.arch == LLM_ARCH_OTTER) {",
            "if (model.arch == LLM_ARCH_SKETCH || false) {",
        )
    }


def test_what_a_mutation_expects_reads_as_a_person_would_say_it() -> None:
    assert str(BY_NAME["layer-input-deleted"].expected) == "crash: abort or signal"


@given(st.binary(max_size=30), st.data())
def test_edits_change_their_own_bytes_alone(source: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(source)), min_size=4, max_size=4)))
    path = TreePath("a.cpp")
    edits = [Edit(path, cuts[0], cuts[1], b"one"), Edit(path, cuts[2], cuts[3], b"two")]
    edits = edits if cuts[0] == cuts[2] else edits[::-1]
    made = mutated({path: source, TreePath("b.cpp"): b""}, edits)
    head, middle, tail = source[: cuts[0]], source[cuts[1] : cuts[2]], source[cuts[3] :]
    assert made == {path: head + b"one" + middle + b"two" + tail}


def test_edits_that_overlap_are_refused() -> None:
    path = TreePath("a.cpp")
    with pytest.raises(ValueError, match="overlap"):
        mutated({path: b"abcdef"}, [Edit(path, 0, 3, b""), Edit(path, 2, 4, b"")])
