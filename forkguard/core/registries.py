"""Places that enumerate archs or speculative types: switches, chains of comparisons, tables, enumerations."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from forkguard.core.archs import SourceTree
from forkguard.core.names import TreePath
from forkguard.core.pieces import Piece, PieceKind

FORMS = {PieceKind.CASE: "switch", PieceKind.COMPARISON: "comparison", PieceKind.ENTRY: "table"}


@dataclass(frozen=True, slots=True)
class Registry:
    """One enumerating place. `form` is `switch`, `comparison` or `table`; `members` is enum to line (from 1)."""

    path: TreePath
    symbol: str
    form: str
    members: Mapping[str, int]

    @property
    def name(self) -> str:
        """The registry as the map names it: `src/llama-arch.cpp:llm_arch_is_hybrid`."""
        return f"{self.path}:{self.symbol}"


def entries(tree: SourceTree, enums: Iterable[str]) -> Iterator[tuple[TreePath, Piece]]:
    """Every case, comparison and table entry that names one of the enums: by file, in source order."""
    found = {(path, piece.start, piece.end): (path, piece) for enum in enums for path, piece in tree.entries(enum)}
    return (found[spot] for spot in sorted(found))


def find_registries(files: Mapping[TreePath, bytes]) -> tuple[Registry, ...]:
    """Every place in a tree's C++ files that enumerates archs or speculative types."""
    tree = SourceTree(files)
    found: dict[tuple[TreePath, str, str], dict[str, int]] = {}
    for path in tree.mentioning(b"LLM_ARCH_", b"COMMON_SPECULATIVE_TYPE_"):
        for unit in tree.parse(path).units:
            if b"LLM_ARCH_" not in unit.text and b"COMMON_SPECULATIVE_TYPE_" not in unit.text:
                continue
            for piece, _ in unit.entries:
                members = found.setdefault((path, piece.symbol, FORMS[piece.kind]), {})
                for enum in piece.enumerators:
                    members.setdefault(enum, piece.line)
    return tuple(Registry(path, symbol, form, members) for (path, symbol, form), members in sorted(found.items()))
