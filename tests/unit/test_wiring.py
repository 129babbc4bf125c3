"""The wiring matrix on the miniature tree: what a cell says, what differs, and what a draft type needs."""

import pytest

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.archs import SourceTree
from forkguard.core.names import TreePath
from forkguard.core.wiring import (
    ArchPlace,
    Cell,
    Lack,
    Presence,
    WiringRow,
    draft_needs,
    draft_types,
    features,
    named_archs,
    row,
)
from tests.support import mini_llama

RULES = bundled_rules()
KNOWN = {rule.id: rule for rule in RULES}
HERON = "src/models/heron.cpp"


def tree(**files: str) -> SourceTree:
    """The miniature tree as the fork has it, with files by their last names replaced."""
    base = mini_llama.base_tree()
    named = {
        path: files.get(path.rsplit("/", 1)[-1].split(".")[0].replace("-", "_"), text) for path, text in base.items()
    }
    return SourceTree({TreePath(path): text.encode() for path, text in named.items()})


UPSTREAM = SourceTree(
    {TreePath(path): text.encode() for path, text in (mini_llama.base_tree() | mini_llama.draft_support()).items()}
)


def cells(name: str, fork: SourceTree, upstream: SourceTree = UPSTREAM) -> WiringRow:
    columns, _ = features(RULES, fork=fork, upstream=upstream, draft=None)
    return row(name, columns, KNOWN, fork=fork, upstream=upstream)


def test_columns_are_the_rules_that_speak_of_archs_and_the_rest_is_said() -> None:
    columns, remarks = features(RULES, fork=tree(), upstream=UPSTREAM, draft=None)
    assert {rule.id for rule in columns} == {
        "arch-name", "model-factory", "rollback-registry", "node-budget-registry", "hybrid-registry",
        "layer-input", "snapshot-writes", "embeddings-output", "logits-output",
    }  # fmt: skip
    assert remarks == (
        "no column for rope-type: upstream has no llama_model_rope_type",
        "no column for speculative-state: upstream has no need_n_rs_seq",
    )


def test_a_cell_says_what_each_side_has() -> None:
    heron = cells("heron", tree())
    assert heron.place is ArchPlace.BOTH
    assert heron.cells["layer-input"] == Cell(Presence.NO, Presence.YES)
    assert heron.cells["rollback-registry"] == Cell(Presence.NO, Presence.YES)
    assert heron.cells["logits-output"] == Cell(Presence.YES, Presence.YES)
    assert heron.cells["node-budget-registry"] == Cell(Presence.NOT_NEEDED, Presence.NO)
    assert {name for name, cell in heron.cells.items() if cell.differs} == {
        "layer-input", "rollback-registry", "snapshot-writes",
    }  # fmt: skip
    sketch = cells("sketch", tree())
    assert sketch.cells["rollback-registry"] == Cell(Presence.NOT_NEEDED, Presence.NOT_NEEDED)
    assert not sketch.differs
    assert cells("heronmoe", tree()).graph_of == "heron"


def test_a_line_in_a_branch_alone_stands_out() -> None:
    text = mini_llama.graph_source("heron", layer_input=True, state=mini_llama.SNAPSHOT_WRITES)
    branch = text.replace(mini_llama.LAYER_INPUT, f"        if (il > 0) {{\n    {mini_llama.LAYER_INPUT}        }}\n")
    cell = cells("heron", tree(heron=branch)).cells["layer-input"]
    assert cell == Cell(Presence.BRANCH, Presence.YES)
    assert cell.differs
    writes = cells("heron", tree(heron=branch)).cells["snapshot-writes"]
    assert writes.fork is Presence.YES, "a block is in a branch by its nature"


def test_an_arch_that_one_side_lacks_is_no_difference_of_cells() -> None:
    fork = tree(llama_arch=mini_llama.arch_source(names=("otter", "heron", "heronmoe")))
    one = cells("sketch", fork)
    assert (one.place, one.differs) == (ArchPlace.UPSTREAM, False)
    assert one.cells["logits-output"] == Cell(Presence.NO_ARCH, Presence.YES)
    assert cells("sketch", UPSTREAM, fork).place is ArchPlace.FORK
    assert cells("crane", fork).place is ArchPlace.NEITHER
    assert named_archs(fork, UPSTREAM) == ("otter", "heron", "heronmoe", "sketch")


def test_an_arch_that_the_fork_renamed_is_compared_by_its_enum() -> None:
    fork = tree(llama_arch=mini_llama.arch_source().replace('"heron"', '"grey-heron"'))
    assert named_archs(fork, UPSTREAM) == ("otter", "grey-heron", "heronmoe", "sketch")
    assert cells("grey-heron", fork).cells["layer-input"] == Cell(Presence.NO, Presence.YES)


def test_a_draft_type_says_who_is_ready_and_who_lacks_what() -> None:
    columns, _ = features(RULES, fork=tree(), upstream=UPSTREAM, draft="draft-dspark")
    assert [rule.id for rule in columns] == [
        "rollback-registry", "node-budget-registry", "layer-input", "snapshot-writes",
    ]  # fmt: skip
    budget = tree(llama_context=mini_llama.context_source(large=("otter", "heron", "heronmoe"))).files
    upstream = SourceTree(
        {**UPSTREAM.files, TreePath("src/llama-context.cpp"): budget[TreePath("src/llama-context.cpp")]}
    )
    rows = [row(name, columns, KNOWN, fork=tree(), upstream=upstream) for name in reversed(mini_llama.ARCHS)]
    needs = draft_needs("draft-dspark", columns, rows)
    assert needs.ready == ("otter",)
    all_of_it = ("rollback-registry", "layer-input", "snapshot-writes")
    assert needs.lacks == (
        Lack("heronmoe", all_of_it, upstream_ready=True),
        Lack("heron", all_of_it, upstream_ready=True),
        Lack("sketch", ("layer-input",), upstream_ready=False),
    )


def test_the_types_are_those_that_rules_speak_of() -> None:
    assert {"draft-dflash", "draft-dspark", "draft-eagle3", "draft-mtp"} <= set(draft_types(RULES))


@pytest.mark.parametrize("presence", list(Presence))
def test_no_presence_differs_from_itself(presence: Presence) -> None:
    assert not Cell(presence, presence).differs
