"""Older layouts: what a member function or a case of a loader held is told under today's name."""

from forkguard.core.archs import SourceTree
from forkguard.core.differences import Trees, family
from forkguard.core.graph_differences import graph_differences
from forkguard.core.layouts import is_old, loader_units, todays_name
from forkguard.core.names import TreePath

ENTRIES = "".join(f'    {{ LLM_ARCH_{name.upper()}, "{name}" }},\n' for name in ("newt", "eft", "toad", "frog"))
NAMES = f"static const std::map<llm_arch, const char *> LLM_ARCH_NAMES = {{\n{ENTRIES}}};\n"
STEPS = "".join(f"    cur = step_{letter}(cur, il);\n" for letter in "abcdefghijklmn")
HPARAMS = "    ml.get_key(LLM_KV_LEGS, hparams.n_legs);\n    ml.get_key(LLM_KV_EYES, hparams.n_eyes);\n"


def tree(**files: str) -> SourceTree:
    return SourceTree({TreePath(f"src/{name}.cpp"): text.encode() for name, text in files.items()})


def todays(steps: str = STEPS, hparams: str = HPARAMS) -> SourceTree:
    factory = "switch (arch) {\n    case LLM_ARCH_NEWT:\n        return new llama_model_newt(params);\n}"
    graph = f"llama_model_newt::graph::graph(const llama_model & model) {{\n{steps}}}\n"
    loader = f"void llama_model_newt::load_arch_hparams(llama_model_loader & ml) {{\n{hparams}}}\n"
    head = (
        "struct llama_model_newt : public llama_model_base {\n    struct graph : public llm_graph_context { };\n};\n"
    )
    return tree(
        names=NAMES, make=f"llama_model * make(llm_arch arch) {{\n{factory}\n}}\n", newt=head + loader + graph
    )


def classes_of_2025(steps: str = STEPS, hparams: str = HPARAMS) -> SourceTree:
    factory = "    case LLM_ARCH_NEWT:\n        { llm = std::make_unique<llm_build_newt>(*this, params); } break;\n"
    cases = f"    case LLM_ARCH_EFT:\n    case LLM_ARCH_NEWT:\n        {{\n{hparams}        }} break;\n"
    return tree(
        names=NAMES,
        model=f"void llama_model::load_hparams(llama_model_loader & ml) {{\n    switch (arch) {{\n{cases}    }}\n}}\n"
        f"llm_graph llama_model::build(int n) {{\n    switch (arch) {{\n{factory}    }}\n}}\n",
        newt=f"llm_build_newt::llm_build_newt(const llama_model & model) {{\n{steps}}}\n",
    )


def members_of_2024(steps: str = STEPS) -> SourceTree:
    factory = "    case LLM_ARCH_NEWT:\n        {\n            result = llm.build_newt();\n        } break;\n"
    return tree(
        names=NAMES,
        make=f"ggml_cgraph * build(llm_build_context llm) {{\n    switch (arch) {{\n{factory}    }}\n}}\n",
        newt=f"ggml_cgraph * llm_build_context::build_newt() {{\n{steps}}}\n",
    )


def found(fork: SourceTree, upstream: SourceTree) -> list[tuple[str, str]]:
    trees = Trees(fork=fork, upstream=upstream, base=fork)
    different = graph_differences(trees, family(trees, "newt"), [], done=set())
    return sorted((d.sort.value, piece.text) for d in different if (piece := d.theirs or d.ours) is not None)


def test_the_same_statements_in_another_layout_are_no_drift() -> None:
    assert found(classes_of_2025(), todays()) == []


def test_a_statement_missing_in_another_layout_is_found_where_it_belongs() -> None:
    less = STEPS.replace("    cur = step_d(cur, il);\n", "")
    assert found(classes_of_2025(steps=less), todays()) == [("missing", "cur = step_d ( cur , il ) ;")]
    short = HPARAMS.splitlines(keepends=True)[0]
    assert found(classes_of_2025(hparams=short), todays()) == [
        ("missing", "ml . get_key ( LLM_KV_EYES , hparams . n_eyes ) ;")
    ]


def test_a_case_of_a_loader_is_a_unit_of_each_arch_that_leads_to_it() -> None:
    old = classes_of_2025()
    arch = old.archs.archs["newt"]
    ((path, unit),) = loader_units(old, arch)
    assert (path, unit.symbol, len(unit.pieces)) == ("src/model.cpp", "llama_model::load_hparams", 2)
    assert is_old(arch)
    assert not is_old(todays().archs.archs["newt"])


def test_todays_names() -> None:
    theirs = todays().archs.archs["newt"]
    old = classes_of_2025().archs.archs["newt"]
    assert todays_name("llm_build_newt::llm_build_newt", old, theirs) == "llama_model_newt::graph::graph"
    assert todays_name("llm_build_newt::build_tail", old, theirs) == "llama_model_newt::graph::build_tail"
    assert todays_name("llama_model::load_hparams", old, theirs) == "llama_model_newt::load_arch_hparams"
    oldest = members_of_2024().archs.archs["newt"]
    assert oldest.cls == "llm_build_context::build_newt"
    assert todays_name("llm_build_context::build_newt", oldest, theirs) == "llama_model_newt::graph::graph"
    assert todays_name("llama_model_newt::graph::graph", theirs, theirs) == "llama_model_newt::graph::graph"


def test_another_implementation_is_one_difference() -> None:
    own = "".join(f"    ours_{letter}(cur);\n" for letter in "abcdefghijklmn")
    (one,) = [sort for sort, _ in found(members_of_2024(steps=own), todays(hparams="")) if sort != "missing"]
    assert one == "rewritten"
