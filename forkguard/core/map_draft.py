"""What `forkguard init` found, and the text of the map that says it, with the reasons as comments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import tomlkit
from tomlkit.items import Array, Table

from forkguard.core.archs import Arch, ArchIndex
from forkguard.core.names import TreePath
from forkguard.core.registries import Registry
from forkguard.core.trees import Tree


@dataclass(frozen=True, slots=True)
class ArchDraft:
    """One `[arch.<name>]` table to write; `remark` says why it is there."""

    name: str
    enum: str
    files: tuple[TreePath, ...]
    graph: str | None
    registries: tuple[str, ...]
    remark: str


@dataclass(frozen=True, slots=True)
class MapDraft:
    """A map to write. Exactly one of `remote` and `upstream_path` is not None; each `…_why` is one sentence."""

    fork_path: str
    fork_ref: str
    fork_why: str
    remote: str | None
    upstream_path: str | None
    upstream_ref: str
    upstream_why: str
    archs: tuple[ArchDraft, ...]


def draft_archs(
    names: Mapping[str, str], *, fork: ArchIndex, upstream: ArchIndex, registries: Sequence[Registry]
) -> tuple[ArchDraft, ...]:
    """Tables for archs (`names`: arch to the reason), in the order of the names table.

    The fork's own files count where the fork has the arch, else upstream's; `registries` are those of both
    trees, so that a place which only upstream lists the arch in is watched too.
    """
    order = list(dict.fromkeys((*fork.archs, *upstream.archs)))
    drafts = []
    for name in sorted(names, key=order.index):
        arch = fork.archs.get(name) or upstream.archs[name]
        listing = {place.name for place in registries if arch.enum in place.members}
        drafts.append(
            ArchDraft(name, arch.enum, arch.files, arch.graph_of, tuple(sorted(listing)), _remark(arch, names[name]))
        )
    return tuple(drafts)


def _remark(arch: Arch, reason: str) -> str:
    if arch.graph_of is not None and arch.graph_of not in reason:
        return f"{reason}; its graph is {arch.graph_of}'s"
    if arch.shares and arch.graph_of is None:
        return f"{reason}; its graph is used by {', '.join(arch.shares)} too"
    return reason


def changed_archs(index: ArchIndex, *, base: Tree, fork: Tree) -> dict[str, str]:
    """Archs whose files the fork changed since its base, each with the reason; archs of the same graph too."""
    found: dict[str, str] = {}
    for name, arch in index.archs.items():
        changed = [path for path in arch.files if path in fork and fork[path] != base.get(path)]
        if changed:
            found[name] = f"the fork changed {changed[0]} since its base"
    return with_family(index, found)


def with_family(index: ArchIndex, names: Mapping[str, str]) -> dict[str, str]:
    """The archs, and those that share a graph with one of them."""
    whole = dict(names)
    for name in names:
        for other in index.family(name):
            whole.setdefault(other.name, f"shares its graph with {name}")
    return whole


def render_map(draft: MapDraft) -> str:
    """The text of a new map; it holds a comment for each choice."""
    document = tomlkit.document()
    document.add(tomlkit.comment("What forkguard watches: a production fork of llama.cpp against its upstream."))
    document.add(tomlkit.comment("Written by `forkguard init`; edit it freely, forkguard keeps your comments."))
    document.add(tomlkit.nl())
    fork = tomlkit.table()
    fork.add(tomlkit.comment("Relative to this file. --fork PATH or FORKGUARD_FORK take its place."))
    fork.add("path", draft.fork_path)
    fork.add(tomlkit.comment(_sentence(f"the production branch: {draft.fork_why}")))
    fork.add("ref", draft.fork_ref)
    document.add("fork", fork)
    document.add("upstream", _upstream(draft))
    if draft.archs:
        archs = tomlkit.table(is_super_table=True)
        for arch in draft.archs:
            archs.add(arch.name, _arch(arch))
        document.add("arch", archs)
    else:
        document.add(tomlkit.nl())
        document.add(tomlkit.comment("No arch is watched yet: forkguard init --force --arch NAME writes its table."))
    return tomlkit.dumps(document).rstrip("\n") + "\n"


def _upstream(draft: MapDraft) -> Table:
    table = tomlkit.table()
    table.add(tomlkit.comment(_sentence(draft.upstream_why)))
    if draft.remote is not None:
        table.add("remote", draft.remote)
    else:
        table.add("path", draft.upstream_path or "")
    table.add(tomlkit.comment("What to compare with, as the last fetch left it."))
    table.add("ref", draft.upstream_ref)
    table.add(tomlkit.nl())
    return table


def _arch(arch: ArchDraft) -> Table:
    table = tomlkit.table()
    table.add(tomlkit.comment(_sentence(arch.remark)))
    table.add("enum", arch.enum)
    table.add("files", _lines(arch.files))
    if arch.graph is not None:
        table.add("graph", arch.graph)
    table.add("registries", _lines(arch.registries))
    table.add(tomlkit.nl())
    return table


def _sentence(text: str) -> str:
    """A comment's text; what a comment cannot hold (a remote's URL may have it) becomes a space."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return f"{plain[:1].upper()}{plain[1:]}."


def _lines(items: Sequence[str]) -> Array:
    array = tomlkit.array()
    array.extend(items)
    return array.multiline(len(items) > 1)
