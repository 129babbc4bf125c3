"""The draft types that upstream has, and the tiny models that serve them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forkguard.core.probes.describe import (
    FEED_FORWARD,
    HEAD,
    HEADS,
    KV_HEADS,
    NARROW,
    RANK,
    WIDTH,
    Entry,
    Fill,
    Size,
    Sparse,
    Spec,
    Table,
    diagonal,
)
from forkguard.core.probes.models import Stored
from forkguard.core.probes.parts import ATTENTION, EMBEDDING, FEED, IN, OUTPUT, OUTPUT_NORM, ZERO, norm
from forkguard.core.probes.tables import CODED, MASK_MARK, TOKEN_MARK


@dataclass(frozen=True, slots=True)
class DraftModel:
    """A draft's metadata and tensors: `head` outside, `block` inside of its one block; `title` is in its name."""

    arch: str
    title: str
    entries: tuple[Entry, ...]
    head: tuple[Spec, ...]
    block: tuple[Spec, ...]
    mix: int = 10


@dataclass(frozen=True, slots=True)
class DraftKind:
    """One draft type: its word here, the server's `--spec-type`, and its model by the target's size.

    `model` is None where the target's own file or the text alone is enough; `own_block` says that the model is the
    target's family, cut down to the block that guesses ahead. `args` are further words for the server.
    """

    word: str
    spec_type: str
    about: str
    model: Callable[[Size], DraftModel] | None = None
    own_block: bool = False
    args: tuple[str, ...] = ()
    max_width: Callable[[Size], int] = lambda _: 64


def _half(name: str, *shape: int, by: Fill | Sparse | Table = IN) -> Spec:
    return Spec(f"{name}.weight", shape, by, half=True)


_READS_GROUPED = (
    Entry("attention.head_count_kv", Stored.U32, KV_HEADS),
    Entry("attention.key_length", Stored.U32, HEAD),
    Entry("attention.value_length", Stored.U32, HEAD),
)
_READS = (Entry("attention.head_count_kv", Stored.U32, HEADS), *_READS_GROUPED[1:])
_FEED = (
    _half("ffn_gate", FEED_FORWARD, WIDTH),
    _half("ffn_up", FEED_FORWARD, WIDTH),
    _half("ffn_down", WIDTH, FEED_FORWARD),
)
_LITTLE_FEED = (*_FEED[:2], _half("ffn_down", WIDTH, FEED_FORWARD, by=Fill(-1, 1, 8)))
_NORMS = (norm("attn_norm"), norm("ffn_norm"))


def _simple(_: Size) -> DraftModel:
    return DraftModel(
        "llama", "plain draft", (Entry("attention.head_count_kv", Stored.U32, KV_HEADS),),
        (EMBEDDING, OUTPUT_NORM, OUTPUT), (*_NORMS, *FEED, *ATTENTION),
    )  # fmt: skip


def _diffusing(size: Size) -> tuple[Entry, ...]:
    return (
        Entry("block_size", Stored.U32, size.block_size),
        Entry("target_layers", Stored.ARRAY, size.target_layers),
    )


def _dspark(size: Size) -> DraftModel:
    return DraftModel(
        "dflash", "DSpark",
        (*_READS_GROUPED, *_diffusing(size), Entry("sample_from_anchor", Stored.BOOL, value=True)),
        (
            _half("fc", WIDTH, WIDTH * len(size.target_layers)),
            norm("enc.output_norm"), norm("output_norm", value=0.25),
            _half("markov_w1", by=Table.MARKOV_CODE), _half("markov_w2", by=Table.MARKOV_FOLLOWER),
            _half("conf_proj", 1, WIDTH + RANK, by=ZERO),
        ),
        (
            *_NORMS, norm("attn_q_norm", HEAD), norm("attn_k_norm", HEAD),
            _half("attn_q", WIDTH, WIDTH), _half("attn_k", NARROW, WIDTH),
            _half("attn_v", NARROW, WIDTH), _half("attn_output", WIDTH, WIDTH), *_FEED,
        ),
    )  # fmt: skip


_SLOW = HEAD // 2 - 1
"""The dimension of a head that the rotation by position turns least."""


def _by_mark(mark: int) -> Sparse:
    return Sparse(tuple((HEAD * head + _SLOW, mark, 1.0) for head in range(HEADS)))


def _dflash(size: Size) -> DraftModel:
    """Every mask looks at the anchor, whatever its distance, and says what follows it on the tour."""
    return DraftModel(
        "dflash", "DFlash", (*_READS, *_diffusing(size)),
        (
            _half("token_embd", by=Table.MARKED_EMBEDDING), _half("output", by=Table.MARKED_OUTPUT),
            _half("fc", WIDTH, WIDTH * len(size.target_layers)),
            Spec("enc.output_norm.weight", (WIDTH,), Sparse(tuple((0, column, 1.0) for column in range(CODED)))),
            norm("output_norm", value=2.0),
        ),
        (
            *_NORMS, norm("attn_q_norm", HEAD, value=2.0), norm("attn_k_norm", HEAD, value=2.0),
            _half("attn_q", WIDTH, WIDTH, by=_by_mark(MASK_MARK)),
            _half("attn_k", WIDTH, WIDTH, by=_by_mark(TOKEN_MARK)),
            _half("attn_v", WIDTH, WIDTH, by=Sparse(diagonal())),
            _half("attn_output", WIDTH, WIDTH, by=Sparse(diagonal())), *_LITTLE_FEED,
        ),
    )  # fmt: skip


def _eagle3(size: Size) -> DraftModel:
    """Each token looks at itself, since rotations by position differ in every dimension, and says its follower."""
    mark = Sparse(tuple((row, TOKEN_MARK, 3.0) for row in range(WIDTH)))
    layers = (1, size.blocks // 2, size.blocks - 1)
    return DraftModel(
        "eagle3", "EAGLE3",
        (
            *_READS, Entry("target_layers", Stored.ARRAY, layers),
            Entry("target_hidden_size", Stored.U32, WIDTH),
            Entry("norm_before_residual", Stored.BOOL, value=True),
            Entry("rope.freq_base", Stored.F32, 10.0),
        ),
        (
            _half("token_embd", by=Table.MARKED_EMBEDDING), _half("output", by=Table.MARKED_OUTPUT),
            _half("fc", WIDTH, WIDTH * len(layers)), norm("output_norm", value=2.0),
        ),
        (
            *_NORMS, norm("attn_norm_2", value=0.25),
            _half("attn_q", WIDTH, 2 * WIDTH, by=mark), _half("attn_k", WIDTH, 2 * WIDTH, by=mark),
            _half("attn_v", WIDTH, 2 * WIDTH, by=Sparse(diagonal(), over=Fill(-5, 5, 8))),
            _half("attn_output", WIDTH, WIDTH, by=Sparse(diagonal())), *_LITTLE_FEED,
        ),
    )  # fmt: skip


def _ngram(word: str, *args: str) -> DraftKind:
    return DraftKind(word, word, "repeats what followed the same tokens before; no model", args=args)


_MOD = (("match", "2"), ("min", "1"), ("max", "4"))

DRAFTS: Mapping[str, DraftKind] = {
    kind.word: kind
    for kind in (
        DraftKind("simple", "draft-simple", "a small model of its own", _simple),
        DraftKind("dspark", "draft-dspark", "diffuses a block, with a Markov head", _dspark,
                  max_width=lambda size: size.block_size),
        DraftKind("dflash", "draft-dflash", "diffuses a block", _dflash, max_width=lambda size: size.block_size - 1),
        DraftKind("eagle3", "draft-eagle3", "continues the target's own features", _eagle3),
        DraftKind("mtp", "draft-mtp", "the target's own block that guesses ahead", own_block=True),
        _ngram("ngram-simple", "--spec-ngram-simple-size-n", "2", "--spec-ngram-simple-size-m", "4"),
        _ngram("ngram-map-k", "--spec-ngram-map-k-size-n", "2", "--spec-ngram-map-k-size-m", "4"),
        _ngram("ngram-map-k4v", "--spec-ngram-map-k4v-size-n", "2", "--spec-ngram-map-k4v-size-m", "4"),
        _ngram("ngram-mod", *(word for key, n in _MOD for word in (f"--spec-ngram-mod-n-{key}", n))),
    )
}  # fmt: skip
