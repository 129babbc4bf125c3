"""How an arch's probe is described: which metadata and which tensors it has, and what fills them.

A description is data. Shapes are numpy's (rows first, the axis that is contiguous in the file last), names are the
files' own. `build.py` makes models of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from forkguard.core.probes.models import Stored, Value

WIDTH, FEED_FORWARD, HEADS, KV_HEADS = 64, 128, 4, 2
HEAD = WIDTH // HEADS
NARROW = KV_HEADS * HEAD
EXPERTS, EXPERTS_USED, EXPERT_WIDTH = 4, 2, 32
RANK = 32
EPSILON, FREQUENCY, CONTEXT = 1e-5, 10000.0, 32768


class Kind(StrEnum):
    """What sort of memory and feed-forward an arch has."""

    DENSE = "dense"
    MOE = "MoE"
    SLIDING = "sliding window"
    RECURRENT = "recurrent"
    HYBRID = "hybrid"
    MLA = "MLA"


class Table(StrEnum):
    """Weights that hold the tour of the text (see `tables.py`)."""

    EMBEDDING = "embedding"
    OUTPUT = "output"
    MARKOV_CODE = "markov code"
    MARKOV_FOLLOWER = "markov follower"
    MARKED_EMBEDDING = "marked embedding"
    MARKED_OUTPUT = "marked output"


@dataclass(frozen=True, slots=True)
class Fill:
    """Weights k / 2**shift, k uniform on low..high; with `mixed`, low and high are in the size's `mix`."""

    low: int
    high: int
    shift: int
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class Sparse:
    """`over` (zeros without it), with these entries (row, column, value) set. A vector is one row."""

    entries: tuple[tuple[int, int, float], ...]
    over: Fill | None = None


def diagonal(count: int = WIDTH, *, value: float = 1.0) -> tuple[tuple[int, int, float], ...]:
    """The first `count` entries of the identity, times `value`."""
    return tuple((place, place, value) for place in range(count))


Weights: TypeAlias = Fill | Sparse | Table


@dataclass(frozen=True, slots=True)
class Spec:
    """One tensor: name (that of a block's tensor without `blk.N.`), shape and weights, in `half` precision or single.

    A table has its own shape.
    """

    name: str
    shape: tuple[int, ...]
    weights: Weights
    half: bool = False


@dataclass(frozen=True, slots=True)
class PerBlock:
    """A metadata array with one element per block, by the block's word in the pattern."""

    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """One metadata entry; `key` lacks the arch's prefix. It replaces the common one of its key; None drops that."""

    key: str
    stored: Stored
    value: Value | PerBlock | None


@dataclass(frozen=True, slots=True)
class Size:
    """One size of a probe: `blocks` of the target, how much of the context each adds (`mix`, in 1/1024 of a weight).

    `target_layers` are those whose input a draft reads, `block_size` is the widest draft of a diffusing draft.
    `pattern` is this size's own, where it has one.
    """

    name: str
    blocks: int
    mix: int
    target_layers: tuple[int, ...] = (1, 3)
    block_size: int = 8
    pattern: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """The probes of one arch.

    `name` is the probe's, `arch` what its file says. The blocks are `lead`, then `pattern` over and over; each word
    stands for the tensors in `blocks`. `drafts` are the draft types that are proven to work, the usual one first.
    `mtp` are the tensors of the block that guesses ahead, where the arch has one. `embedding_shift` is how far the
    embedding is scaled down (an arch may scale it up again).
    `title` is what the files call it, where the name will not do: some names of models change how they are read.
    """

    name: str
    kind: Kind
    pattern: tuple[str, ...]
    blocks: Mapping[str, tuple[Spec, ...]]
    sizes: tuple[Size, ...]
    drafts: tuple[str, ...]
    arch: str = ""
    lead: tuple[str, ...] = ()
    head: tuple[Spec, ...] = ()
    entries: tuple[Entry, ...] = ()
    mtp: tuple[Spec, ...] = ()
    embedding_shift: int = 7
    title: str = ""

    @property
    def architecture(self) -> str:
        """The arch as the files say it."""
        return self.arch or self.name

    def words(self, size: Size) -> tuple[str, ...]:
        """The word of each block."""
        pattern = size.pattern or self.pattern
        rest = size.blocks - len(self.lead)
        return (*self.lead, *(pattern[place % len(pattern)] for place in range(rest)))
