"""What differs between a fork and upstream: unattributed values, in upstream's order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from forkguard.core.archs import Arch, SourceTree
from forkguard.core.compare import Missing
from forkguard.core.names import TreePath
from forkguard.core.pieces import Piece
from forkguard.core.rules import Rule


class Sort(Enum):
    """What sort of difference it is; kinds and severities are given later, with the history."""

    MISSING = "missing"  # upstream has it, the fork has not
    STALE = "stale"  # base and fork have it, upstream dropped it
    WEAKER = "weaker"  # both have it, the fork's only in a branch or outside the loop
    REWRITTEN = "rewritten"  # both have the function, with hardly a statement in common
    RENAMED = "renamed"  # both have it, with names that upstream has exchanged everywhere since
    LEFT_BEHIND = "left-behind"  # the fork alone has it, as its siblings were before upstream changed them
    HAZARD = "hazard"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    `path` and `line` are the place in the fork to look at (line None: there is none), `ours` at `our_path` the
    fork's piece where it has one. `theirs` at `their_path` is upstream's. `group` and `index` order the
    pieces of one unit.
    """

    sort: Sort
    arch: str
    rule: Rule | None
    symbol: str
    path: TreePath
    line: int | None
    ours: Piece | None = None
    our_path: TreePath | None = None
    theirs: Piece | None = None
    their_path: TreePath | None = None
    group: str = ""
    index: int = 0
    in_base: bool = False
    replaced: bool = False
    other_outcome: bool = False
    both: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trees:
    """The three sides of a comparison."""

    fork: SourceTree
    upstream: SourceTree
    base: SourceTree

    @property
    def sides(self) -> tuple[tuple[str, SourceTree], ...]:
        """Each side's name and tree."""
        return (("fork", self.fork), ("upstream", self.upstream), ("base", self.base))


@dataclass(frozen=True, slots=True)
class Family:
    """An arch and those that share its graph, as each side has them; `name` is the one that owns the graph."""

    name: str
    fork: tuple[Arch, ...]
    upstream: tuple[Arch, ...]
    base: tuple[Arch, ...]

    def sides(self, trees: Trees) -> tuple[tuple[str, SourceTree, tuple[Arch, ...]], ...]:
        """Each side's name, tree and archs."""
        return (
            ("fork", trees.fork, self.fork),
            ("upstream", trees.upstream, self.upstream),
            ("base", trees.base, self.base),
        )


def family(trees: Trees, name: str) -> Family:
    """The family of one arch, the same whichever of its archs is named; a side without the arch gives none."""
    arch = trees.fork.archs.archs.get(name)
    owner = arch.graph_of if arch is not None and arch.graph_of else name
    sides = (trees.fork, trees.upstream, trees.base)
    return Family(owner, *(tree.archs.family(_name_in(tree, name, arch)) for tree in sides))


def _name_in(tree: SourceTree, name: str, arch: Arch | None) -> str:
    """What another tree calls the fork's arch: the same, or whatever name its enum has there."""
    if name in tree.archs.archs or arch is None:
        return name
    return next((other.name for other in tree.archs.archs.values() if other.enum == arch.enum), name)


Place = tuple[TreePath, Piece]
Spot = tuple[TreePath, int]
"""A file and an offset in it: which piece of which file."""


def belongs(
    missing: Missing, where: Mapping[tuple[int, int], TreePath], fork: Sequence[Place], their_path: TreePath
) -> tuple[TreePath, int | None]:
    """The line of the fork at which upstream's missing piece would stand."""
    if missing.after is not None:
        return where[missing.after.start, missing.after.line], missing.after.last + 1
    if fork:
        path, first = fork[0]
        return path, first.line
    return their_path, None


def broken_files(tree: SourceTree, archs: Iterable[Arch]) -> tuple[TreePath, ...]:
    """The archs' files that hold something which the parser could not read."""
    return tuple(path for path in sorted({path for arch in archs for path in arch.files}) if tree.parse(path).broken)
