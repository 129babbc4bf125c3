"""The LFM2 probe: a random-weight target and a DSpark draft that it accepts part of the time.

How the text is made to wander, and the draft to be right part of the time:

- The text tokens are put on one closed tour by a seeded permutation. The output row of each token is the embedding
  of the token before it on the tour. So the target's last embedding alone would make it walk the tour, through
  every text token, and never repeat a short loop.
- The blocks add, to that embedding, random functions of the context that are about as large. Where they win (once in
  three or four tokens), the text leaves the tour and goes on elsewhere: that depends on every earlier token, through
  the short convolutions' state and a sharp attention, so a wrong state shows within a few tokens, and no loop lasts.
- The draft's Markov head is the tour: row `t` of `markov_w1` is a random code, and the row of `t`'s follower in
  `markov_w2` the same code. Its own hidden state, made from the target's layer inputs, adds a little. So it is
  right whenever the target stays on the tour, and wrong whenever the context wins.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forkguard.core.probes.models import Key, Model, ProbeModels, Stored, Tensor, flag
from forkguard.core.probes.vocabulary import Vocabulary, vocabulary
from forkguard.core.probes.weights import integers, permutation, scaled, uniform

_Matrix = npt.NDArray[np.float32]

_WIDTH, _FEED_FORWARD, _HEADS, _KV_HEADS, _CACHE, _RANK = 64, 128, 4, 2, 3, 32
_HEAD = _WIDTH // _HEADS
_EPSILON, _FREQUENCY, _CONTEXT = 1e-5, 10000.0, 32768


@dataclass(frozen=True, slots=True)
class Lfm2Size:
    """One size of the probe.

    `attention_every`: each block whose number, from 1, it divides is an attention block, the others are short
    convolutions. `mix` is how much of the context each block adds, in 1/1024.
    """

    name: str
    blocks: int
    attention_every: int
    target_layers: tuple[int, ...]
    block_size: int
    mix: int


SIZES = {
    size.name: size
    for size in (
        Lfm2Size("small", blocks=4, attention_every=2, target_layers=(1, 3), block_size=8, mix=76),
        Lfm2Size("deep", blocks=24, attention_every=6, target_layers=(1, 13), block_size=64, mix=30),
    )
}
"""The small size runs everywhere in a second; the deep one shows limits that grow with depth (graph nodes)."""


def lfm2_probe(size: Lfm2Size, *, seed: int) -> ProbeModels:
    """The pair for one size and seed."""
    words = vocabulary()
    tour = _tour(words, seed=seed)
    return ProbeModels(
        target=_target(size, words, tour, seed=seed),
        draft=_draft(size, words, tour, seed=seed),
        spec_type="draft-dspark",
        max_width=size.block_size,
    )


def _tour(words: Vocabulary, *, seed: int) -> dict[int, int]:
    """Each token's follower; the text tokens form one cycle, every other token leads to one of them."""
    count = words.size - words.first_text
    order = [words.first_text + place for place in permutation("tour", count, seed=seed)]
    follower = {token: order[(place + 1) % count] for place, token in enumerate(order)}
    return {token: follower.get(token, order[token % count]) for token in range(words.size)}


def _target(size: Lfm2Size, words: Vocabulary, tour: dict[int, int], *, seed: int) -> Model:
    embedding = integers("token_embd", (words.size, _WIDTH), seed=seed, top=127)
    output = np.zeros_like(embedding)
    for token in range(words.first_text, words.size):
        output[tour[token]] = embedding[token]
    tensors = [
        Tensor("token_embd.weight", scaled(embedding, shift=7).astype(np.float16)),
        _norm("token_embd_norm", value=2.0),
        Tensor("output.weight", scaled(output, shift=7)),
    ]
    for block in range(size.blocks):
        tensors += _target_block(size, block, seed=seed)
    return Model("lfm2", (*_target_keys(size, words), *words.keys()), tuple(tensors))


def _is_attention(size: Lfm2Size, block: int) -> bool:
    return (block + 1) % size.attention_every == 0


def _target_keys(size: Lfm2Size, words: Vocabulary) -> tuple[Key, ...]:
    kv_heads = [_KV_HEADS if _is_attention(size, block) else 0 for block in range(size.blocks)]
    return (
        *_common_keys("lfm2", f"forkguard LFM2 probe, {size.name}", blocks=size.blocks, words=words),
        Key("lfm2.attention.head_count_kv", Stored.ARRAY, kv_heads),
        Key("lfm2.shortconv.l_cache", Stored.U32, _CACHE),
    )


def _common_keys(arch: str, name: str, *, blocks: int, words: Vocabulary) -> tuple[Key, ...]:
    return (
        Key("general.name", Stored.STRING, name),
        Key(f"{arch}.context_length", Stored.U32, _CONTEXT),
        Key(f"{arch}.embedding_length", Stored.U32, _WIDTH),
        Key(f"{arch}.block_count", Stored.U32, blocks),
        Key(f"{arch}.feed_forward_length", Stored.U32, _FEED_FORWARD),
        Key(f"{arch}.vocab_size", Stored.U32, words.size),
        Key(f"{arch}.attention.head_count", Stored.U32, _HEADS),
        Key(f"{arch}.attention.layer_norm_rms_epsilon", Stored.F32, _EPSILON),
        Key(f"{arch}.rope.freq_base", Stored.F32, _FREQUENCY),
    )


def _target_block(size: Lfm2Size, block: int, *, seed: int) -> list[Tensor]:
    def matrix(name: str, rows: int, columns: int, *, top: int, shift: int) -> Tensor:
        full = f"blk.{block}.{name}.weight"
        return Tensor(full, uniform(full, (rows, columns), seed=seed, top=top, shift=shift))

    tensors = [
        _norm(f"blk.{block}.attn_norm"),
        _norm(f"blk.{block}.ffn_norm"),
        matrix("ffn_gate", _FEED_FORWARD, _WIDTH, top=55, shift=8),
        matrix("ffn_up", _FEED_FORWARD, _WIDTH, top=55, shift=8),
        matrix("ffn_down", _WIDTH, _FEED_FORWARD, top=2 * size.mix, shift=10),
    ]
    if _is_attention(size, block):
        narrow = _KV_HEADS * _HEAD
        return [
            *tensors,
            _norm(f"blk.{block}.attn_q_norm", _HEAD, value=4.0),
            _norm(f"blk.{block}.attn_k_norm", _HEAD),
            matrix("attn_q", _WIDTH, _WIDTH, top=55, shift=8),
            matrix("attn_k", narrow, _WIDTH, top=55, shift=8),
            matrix("attn_v", narrow, _WIDTH, top=110, shift=8),
            matrix("attn_output", _WIDTH, _WIDTH, top=size.mix, shift=10),
        ]
    return [
        *tensors,
        matrix("shortconv.conv", _WIDTH, _CACHE, top=127, shift=7),
        matrix("shortconv.in_proj", 3 * _WIDTH, _WIDTH, top=55, shift=8),
        matrix("shortconv.out_proj", _WIDTH, _WIDTH, top=size.mix, shift=10),
    ]


def _norm(name: str, width: int = _WIDTH, *, value: float = 1.0) -> Tensor:
    return Tensor(f"{name}.weight", np.full(width, value, dtype=np.float32))


def _draft(size: Lfm2Size, words: Vocabulary, tour: dict[int, int], *, seed: int) -> Model:
    first = integers("markov", (words.size, _RANK), seed=seed, top=127)
    second = np.zeros_like(first)
    for token in range(words.first_text, words.size):
        second[tour[token]] = first[token]
    for token in range(words.first_text):
        first[token] = second[tour[token]]
    tensors = (
        _half("fc", _WIDTH, _WIDTH * len(size.target_layers), seed=seed),
        _norm("enc.output_norm"),
        _norm("output_norm", value=0.25),
        Tensor("markov_w1.weight", scaled(first, shift=7).astype(np.float16)),
        Tensor("markov_w2.weight", scaled(second, shift=5).astype(np.float16)),
        Tensor("conf_proj.weight", np.zeros((1, _WIDTH + _RANK), dtype=np.float16)),
        *_draft_block(seed=seed),
    )
    return Model("dflash", (*_draft_keys(size, words), *words.keys()), tensors)


def _draft_keys(size: Lfm2Size, words: Vocabulary) -> tuple[Key, ...]:
    return (
        *_common_keys("dflash", f"forkguard DSpark probe, {size.name}", blocks=1, words=words),
        Key("dflash.attention.head_count_kv", Stored.U32, _KV_HEADS),
        Key("dflash.attention.key_length", Stored.U32, _HEAD),
        Key("dflash.attention.value_length", Stored.U32, _HEAD),
        Key("dflash.block_size", Stored.U32, size.block_size),
        Key("dflash.target_layers", Stored.ARRAY, size.target_layers),
        flag("dflash.sample_from_anchor", on=True),
    )


def _half(name: str, rows: int, columns: int, *, seed: int) -> Tensor:
    data: _Matrix = uniform(f"draft.{name}", (rows, columns), seed=seed, top=55, shift=8)
    return Tensor(f"{name}.weight", data.astype(np.float16))


def _draft_block(*, seed: int) -> tuple[Tensor, ...]:
    narrow = _KV_HEADS * _HEAD
    return (
        _norm("blk.0.attn_norm"),
        _norm("blk.0.ffn_norm"),
        _norm("blk.0.attn_q_norm", _HEAD),
        _norm("blk.0.attn_k_norm", _HEAD),
        _half("blk.0.attn_q", _WIDTH, _WIDTH, seed=seed),
        _half("blk.0.attn_k", narrow, _WIDTH, seed=seed),
        _half("blk.0.attn_v", narrow, _WIDTH, seed=seed),
        _half("blk.0.attn_output", _WIDTH, _WIDTH, seed=seed),
        _half("blk.0.ffn_gate", _FEED_FORWARD, _WIDTH, seed=seed),
        _half("blk.0.ffn_up", _FEED_FORWARD, _WIDTH, seed=seed),
        _half("blk.0.ffn_down", _WIDTH, _FEED_FORWARD, seed=seed),
    )
