"""Archs read from a tree: names, enums, classes, files, and who shares whose graph."""

from forkguard.core.archs import SourceTree, read_archs
from forkguard.core.differences import Trees, family
from forkguard.core.names import TreePath
from tests.support import mini_llama

FACTORY, TABLE, HEADER = "src/llama-model.cpp", "src/llama-arch.cpp", "src/models/models.h"


def tree(changes: dict[str, str] | None = None) -> dict[TreePath, bytes]:
    """The miniature tree, with some files replaced."""
    files = mini_llama.base_tree() | (changes or {})
    return {TreePath(path): text.encode() for path, text in files.items()}


def test_names_enums_classes_and_files() -> None:
    index = read_archs(tree())
    assert list(index.archs)[:4] == ["otter", "heron", "heronmoe", "sketch"]
    otter = index.archs["otter"]
    assert (otter.enum, otter.cls, otter.files) == (
        "LLM_ARCH_OTTER", "llama_model_otter", ("src/models/otter.cpp",),
    )  # fmt: skip
    assert (otter.shares, otter.graph_of, otter.lineage) == ((), None, ("llama_model_otter",))


def test_a_graph_shared_by_using() -> None:
    index = read_archs(tree())
    assert (index.archs["heron"].shares, index.archs["heron"].graph_of) == (("heronmoe",), None)
    moe = index.archs["heronmoe"]
    assert (moe.shares, moe.graph_of) == (("heron",), "heron")
    assert moe.files == ("src/models/heron.cpp", "src/models/heronmoe.cpp")
    assert moe.lineage == ("llama_model_heronmoe", "llama_model_heron")
    assert {arch.name for arch in index.family("heronmoe")} == {"heron", "heronmoe"}
    assert index.family("kingfisher") == ()


def test_a_family_is_found_under_the_name_that_its_enum_has_on_another_side() -> None:
    renamed = mini_llama.arch_source().replace('"heron"', '"greyheron"')
    fork, upstream = SourceTree(tree()), SourceTree(tree({TABLE: renamed}))
    trees = Trees(fork, upstream, fork)
    herons = family(trees, "heronmoe")
    assert herons.name == "heron"
    assert [arch.name for arch in herons.fork] == ["heronmoe", "heron"]
    assert [arch.name for arch in herons.upstream] == ["heronmoe", "greyheron"]
    assert [arch.name for arch in family(trees, "heron").upstream] == ["greyheron", "heronmoe"]


def test_a_graph_shared_by_inheritance_and_a_base_of_the_graph_alone() -> None:
    header = mini_llama.models_header()
    inherited = header.replace(
        "llama_model_sketch : public llama_model_base", "llama_model_sketch : public llama_model_otter"
    )
    index = read_archs(tree({HEADER: inherited}))
    assert index.archs["sketch"].graph_of == "otter"
    based = header.replace("struct graph : public llm_graph_context", "struct graph : public llm_build_birds")
    assert read_archs(tree({HEADER: based})).archs["otter"].lineage == ("llama_model_otter", "llm_build_birds")


def test_graphs_that_go_round_in_a_circle_end() -> None:
    own = mini_llama.models_header()
    circle = own + "struct llama_model_heron2 : public llama_model_heron2 {\n};\n"
    circle = circle.replace(
        "struct llama_model_heron : public llama_model_base", "struct llama_model_heron : public llama_model_heronmoe"
    )
    assert set(read_archs(tree({HEADER: circle})).archs["heron"].lineage) >= {
        "llama_model_heron",
        "llama_model_heronmoe",
    }


def test_an_arch_without_a_factory_has_no_class_and_no_files() -> None:
    model = mini_llama.model_source().replace("llama_model_sketch(params)", "nothing(params)")
    sketch = read_archs(tree({FACTORY: model})).archs["sketch"]
    assert (sketch.enum, sketch.cls, sketch.files, sketch.lineage) == ("LLM_ARCH_SKETCH", None, (), ())


def test_a_factory_with_make_unique_and_old_builders() -> None:
    files = tree({FACTORY: (
        "llm_graph * make(llm_arch arch) {\n    switch (arch) {\n        case LLM_ARCH_OTTER:\n"
        "            llm = std::make_unique<llm_build_otter<true>>(model, params);\n            break;\n    }\n}\n"
    )})  # fmt: skip
    files[TreePath("src/graphs.cpp")] = b"struct llm_build_otter : public llm_graph_context {\n};\n"
    otter = read_archs(files).archs["otter"]
    assert (otter.cls, otter.files) == ("llm_build_otter", ("src/graphs.cpp",))


def test_tables_of_another_form_and_broken_files_do_not_stop_the_reading() -> None:
    for source in (
        "static const llm_arch LLM_ARCH_NAMES[] = { LLM_ARCH_OTTER, LLM_ARCH_HERON, LLM_ARCH_SKETCH };\n",
        "static const map LLM_ARCH_NAMES = { { LLM_ARCH_OTTER } , { LLM_ARCH_HERON }, { LLM_ARCH_SKETCH } };\n",
        "LLM_ARCH_NAMES = {{{{ LLM_ARCH_",
    ):
        assert read_archs(tree({TABLE: source})).archs == {}


def test_only_sources_are_read() -> None:
    files = SourceTree({TreePath("a.cpp"): b"LLM_ARCH_X", TreePath("b.md"): b"LLM_ARCH_X", TreePath("c.h"): b""})
    assert files.mentioning(b"LLM_ARCH_X") == ("a.cpp",)
