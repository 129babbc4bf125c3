"""The map that `init` writes reads back as what was found."""

from collections.abc import Mapping

import pytest

from forkguard.core.archs import ArchIndex, read_archs
from forkguard.core.map_draft import MapDraft, changed_archs, draft_archs, render_map, with_family
from forkguard.core.mapfile import parse_map
from forkguard.core.names import BlobHash, TreePath
from forkguard.core.registries import find_registries
from forkguard.core.trees import Tree, TreeEntry
from tests.support import mini_llama


def as_bytes(files: Mapping[str, str]) -> dict[TreePath, bytes]:
    return {TreePath(path): text.encode() for path, text in files.items()}


def as_tree(files: Mapping[str, str]) -> Tree:
    return {TreePath(path): TreeEntry("100644", BlobHash(str(hash(text)))) for path, text in files.items()}


BASE = mini_llama.base_tree()
UPSTREAM = BASE | mini_llama.draft_support()


@pytest.fixture
def index() -> ArchIndex:
    return read_archs(as_bytes(BASE))


def test_archs_are_those_whose_files_changed(index: ArchIndex) -> None:
    fork = BASE | {"src/models/otter.cpp": "// ours\n", "src/llama-model.cpp": "// ours\n"}
    changed = changed_archs(index, base=as_tree(BASE), fork=as_tree(fork))
    assert changed == {"otter": "the fork changed src/models/otter.cpp since its base"}


def test_archs_of_one_graph_come_together(index: ArchIndex) -> None:
    assert with_family(index, {"heronmoe": "asked"}) == {
        "heronmoe": "asked",
        "heron": "shares its graph with heronmoe",
    }


def test_the_text_reads_back_as_what_was_found(index: ArchIndex) -> None:
    upstream = read_archs(as_bytes(UPSTREAM))
    registries = (*find_registries(as_bytes(BASE)), *find_registries(as_bytes(UPSTREAM)))
    archs = draft_archs({"heronmoe": "b", "heron": "a"}, fork=index, upstream=upstream, registries=registries)
    text = render_map(
        MapDraft("../fork", "production", "checked out", "upstream", None, "upstream/master", "its name", archs)
    )
    read = parse_map(text, name="m.toml")
    assert (read.fork.path, read.fork.ref) == ("../fork", "production")
    assert (read.upstream.remote, read.upstream.path, read.upstream.ref) == ("upstream", None, "upstream/master")
    assert list(read.arch) == ["heron", "heronmoe"]
    heron, moe = read.arch["heron"], read.arch["heronmoe"]
    assert (heron.enum, heron.files, heron.graph) == ("LLM_ARCH_HERON", ("src/models/heron.cpp",), None)
    assert (moe.enum, moe.graph) == ("LLM_ARCH_HERONMOE", "heron")
    assert "src/models/heronmoe.cpp" in moe.files
    assert "src/llama-arch.cpp:llm_arch_is_recurrent" in heron.registries
    assert "src/llama-arch.cpp:llm_arch_supports_rs_rollback" in heron.registries, "upstream alone lists it there"
    assert "src/llama-context.cpp:llama_context::graph_max_nodes" not in heron.registries
    assert "# The production branch: checked out.\n" in text
    assert 'files = ["src/models/heron.cpp"]\n' in text
    assert len(moe.files) == 2
    assert f'files = [\n    "{moe.files[0]}",\n    "{moe.files[1]}",\n]\n' in text
    assert text.endswith("]\n")


def test_names_from_strangers_cannot_break_the_text() -> None:
    draft = MapDraft('a "b"\n', "x", "why\nnot", None, "c:\\d", "m", "be\rcause", ())
    read = parse_map(render_map(draft), name="m.toml")
    assert (read.fork.path, read.upstream.path) == ('a "b"\n', "c:\\d")
    assert not read.arch
