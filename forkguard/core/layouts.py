"""Where older llama.cpp trees keep what today's keep in one class per arch, and what today's layout calls it.

Three layouts are known. Today's: `llama_model_x` with `load_arch_hparams`, `load_arch_tensors` and a nested
`graph`. Before (2025): graphs are classes `llm_build_x`, loaders the cases of two switches in `llama_model`.
Before that: graphs are members `llm_build_context::build_x`, loaders the cases of `llm_load_hparams` and
`llm_load_tensors`.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tree_sitter import Node

from forkguard.core.archs import Arch, SourceTree
from forkguard.core.names import TreePath
from forkguard.core.syntax import Unit, parse

LOADERS = {
    "load_hparams": "load_arch_hparams",
    "llm_load_hparams": "load_arch_hparams",
    "load_tensors": "load_arch_tensors",
    "llm_load_tensors": "load_arch_tensors",
}
"""The functions that once held a case per arch, and the member functions that have its statements today."""
_HEADS = {"struct_specifier", "class_specifier", "field_declaration", "declaration", "alias_declaration"}
_MODEL, _BUILD = "llama_model_", "llm_build_"


def is_old(arch: Arch) -> bool:
    """Whether the arch has no model class of its own: its loaders are cases of functions for all archs."""
    return arch.cls is not None and not arch.cls.startswith(_MODEL)


def is_scaffold(unit: Unit) -> bool:
    """Whether a unit only says which layout a tree has: the head of a class, or what picks the graph's class."""
    kind = unit.node.type if unit.node is not None else ""
    return kind in _HEADS or unit.symbol.endswith("::build_arch_graph")


def loader_units(tree: SourceTree, arch: Arch) -> Iterator[tuple[TreePath, Unit]]:
    """The statements for one arch in the functions that load all of them, as units of those functions' names."""
    for path in tree.mentioning(*(name.encode() for name in LOADERS)):
        if arch.enum.encode() in tree.files[path]:
            yield from ((path, unit) for unit in _cases(tree.files[path]).get(arch.enum, ()))


@lru_cache(maxsize=16)
def _cases(source: bytes) -> Mapping[str, tuple[Unit, ...]]:
    """What each enum's case holds, in the loading functions of one file."""
    found: dict[str, tuple[Unit, ...]] = {}
    for unit in parse(source).units:
        if unit.symbol.rsplit("::", 1)[-1] in LOADERS and unit.node is not None:
            for enum, body in _arch_cases(unit.node, source):
                one = Unit(unit.symbol, body, source, body.start_byte, body.end_byte)
                found[enum] = (*found.get(enum, ()), one)
    return found


def _arch_cases(node: Node, source: bytes) -> Iterator[tuple[str, Node]]:
    """Each arch's case in the outermost switches below a node, with the block that it leads to."""
    waiting: list[str] = []
    for child in node.named_children:
        value = child.child_by_field_name("value") if child.type == "case_statement" else None
        label = source[value.start_byte : value.end_byte].decode("utf-8", "replace") if value is not None else ""
        if not label.startswith("LLM_ARCH_"):
            yield from _arch_cases(child, source)
            continue
        waiting.append(label)
        block = next((part for part in child.named_children if part.type == "compound_statement"), None)
        if block is not None:
            yield from ((enum, block) for enum in waiting)
        if child.named_child_count > 1:
            waiting.clear()


def todays_name(symbol: str, arch: Arch, theirs: Arch | None) -> str:
    """What upstream's layout calls a unit of an arch that upstream lays out otherwise, else the same symbol.

    `arch` is the arch in the tree that has the unit, `theirs` the same arch in upstream.
    """
    if theirs is None or theirs.root is None or arch.root is None or not theirs.root.startswith(_MODEL):
        return symbol
    if symbol == arch.root and "::" in symbol:
        return f"{theirs.root}::graph::graph"
    head, _, rest = symbol.partition("::")
    if head.startswith(_BUILD) and head in {arch.root, *arch.makes} and head not in theirs.lineage:
        return "::".join((theirs.root, "graph", *(["graph" if rest == head else rest] if rest else [])))
    loader = LOADERS.get(symbol.rsplit("::", 1)[-1]) if is_old(arch) else None
    return f"{theirs.cls}::{loader}" if loader else symbol
