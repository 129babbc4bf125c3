"""Lines that only the fork has, beside lines that upstream changed all in the same way.

A rebase joins such a change without a conflict: upstream gave three tensors a new shape, the fork's own fourth keeps
the old one, and nothing says so before the server aborts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from forkguard.core.differences import Difference, Family, Sort, Trees
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.pieces import Piece, PieceKind, tokens_of
from forkguard.core.rules import lineage_units

Shape = tuple[str, ...]
_NAMED = re.compile(r'".*|LLM_[A-Z0-9_]+', re.DOTALL)
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class OwnLine:
    """A statement that the fork alone has, in a function that upstream has too."""

    arch: str
    path: TreePath
    piece: Piece


@dataclass(frozen=True, slots=True)
class Edit:
    """One way in which a commit changed `count` statements of a file: they had one shape and got another."""

    commit: CommitHash
    path: TreePath
    before: Shape
    after: Shape
    count: int


def shape_of(tokens: Sequence[str]) -> Shape:
    """A statement without what makes it another one than its siblings: what it assigns to, and which tensor it names.

    >>> shape_of(tokens_of(b'layer.wq = create_tensor(tn(LLM_TENSOR_ATTN_Q, "weight", i), {n, 2*n}, 0);'))[:9]
    ('_', '=', 'create_tensor', '(', 'tn', '(', '_', ',', '_')
    """
    at = tokens.index("=") if "=" in tokens else -1
    rest = ("_" if _NAMED.fullmatch(token) else token for token in tokens[at + 1 :])
    return (*(("_", "=") if at >= 0 else ()), *rest)


def own_lines(trees: Trees, families: Iterable[Family]) -> Iterator[OwnLine]:
    """Calls that neither upstream nor the base has, in functions that both fork and upstream have."""
    seen: set[tuple[TreePath, int]] = set()
    for its in families:
        known: set[str] = set()
        functions: set[str] = set()
        for tree, archs in ((trees.upstream, its.upstream), (trees.base, its.base)):
            for arch in archs:
                for _, unit in lineage_units(tree, arch):
                    known.update(piece.text for piece in unit.pieces)
                    functions.update([unit.symbol] if tree is trees.upstream else [])
        for arch in its.fork:
            for path, unit in lineage_units(trees.fork, arch):
                for piece in unit.pieces if unit.symbol in functions and path in trees.upstream.files else ():
                    call = piece.kind is PieceKind.STATEMENT and "(" in piece.tokens
                    if call and piece.text not in known and (path, piece.start) not in seen:
                        seen.add((path, piece.start))
                        yield OwnLine(arch.name, path, piece)


def sibling_edits(log: str) -> tuple[Edit, ...]:
    """The edits that a commit made to several statements of a file alike, from what `Repository.patches` gives."""
    found: Counter[tuple[CommitHash, TreePath, Shape, Shape]] = Counter()
    commit, path = CommitHash(""), TreePath("")
    lost: list[str] = []
    gained: list[str] = []
    for line in [*log.split("\n"), "@@ end"]:
        if line.startswith(("commit ", "@@ ", "diff --git ")):
            for before, after in _pairs(_statements(lost), _statements(gained)):
                found[commit, path, before, after] += 1
            lost, gained = [], []
            commit = CommitHash(line[7:]) if line.startswith("commit ") else commit
            path = TreePath(line.rpartition(" b/")[2]) if line.startswith("diff --git ") else path
        elif line.startswith("-") and not line.startswith("--- "):
            lost.append(line[1:])
        elif line.startswith("+") and not line.startswith("+++ "):
            gained.append(line[1:])
    return tuple(Edit(*key, count) for key, count in found.items() if count >= _FEWEST)


def _statements(lines: Sequence[str]) -> list[tuple[str, ...]]:
    words = tokens_of("\n".join(lines).encode())
    ends = [i for i, word in enumerate(words) if word == ";"]
    starts = [0, *(end + 1 for end in ends)]
    return [words[start : end + 1] for start, end in zip(starts, ends, strict=False)]


def _pairs(lost: list[tuple[str, ...]], gained: list[tuple[str, ...]]) -> Iterator[tuple[Shape, Shape]]:
    """The shapes of statements before and after, for those that still assign to (or call) the same thing."""
    waiting = list(gained)
    for old in lost:
        head = old[: old.index("=")] if "=" in old else old[:2]
        new = next((one for one in waiting if one[: len(head)] == head), None)
        if new is not None:
            waiting.remove(new)
            if shape_of(old) != shape_of(new):
                yield shape_of(old), shape_of(new)


def left_behind(
    lines: Iterable[OwnLine], edits: Sequence[Edit], trees: Trees
) -> Iterator[tuple[Difference, CommitHash]]:
    """The fork's own lines that are still as their siblings were before an edit which the fork has taken."""
    for own in lines:
        shape = shape_of(own.piece.tokens)
        edit = next((one for one in edits if one.path == own.path and one.before == shape), None)
        if edit is not None and _has(trees, own.path, edit.after):
            yield (
                Difference(
                    Sort.LEFT_BEHIND, own.arch, None, own.piece.symbol, own.path, own.piece.line, ours=own.piece,
                    our_path=own.path, their_path=own.path, note=f"{edit.count} siblings",
                ),
                edit.commit,
            )  # fmt: skip


def _has(trees: Trees, path: TreePath, shape: Shape) -> bool:
    units = trees.fork.parse(path).units
    return any(shape_of(piece.tokens) == shape for unit in units for piece in unit.pieces)
