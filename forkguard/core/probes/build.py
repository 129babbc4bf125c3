"""Models from descriptions: the same for the same description, size and seed, on every machine."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forkguard.core.probes.describe import (
    CONTEXT,
    EPSILON,
    FEED_FORWARD,
    FREQUENCY,
    HEADS,
    WIDTH,
    Entry,
    Family,
    Fill,
    PerBlock,
    Size,
    Sparse,
    Spec,
    Table,
)
from forkguard.core.probes.drafts import DRAFTS, DraftKind
from forkguard.core.probes.models import Key, Model, ProbeModels, Stored, Tensor
from forkguard.core.probes.parts import EMBEDDING, OUTPUT, OUTPUT_NORM
from forkguard.core.probes.tables import tables
from forkguard.core.probes.vocabulary import Vocabulary, vocabulary
from forkguard.core.probes.weights import between, scaled

_HEAD = (EMBEDDING, OUTPUT_NORM, OUTPUT)


def make_probe(family: Family, size: Size, draft: str, *, seed: int) -> ProbeModels:
    """The target of one size and its draft of the type `draft` (a key of `DRAFTS`)."""
    kind = DRAFTS[draft]
    return ProbeModels(
        target=_target(family, size, seed=seed),
        draft=_draft(family, size, kind, seed=seed),
        spec_type=kind.spec_type,
        max_width=kind.max_width(size),
        args=kind.args,
    )


@dataclass(frozen=True, slots=True)
class _Maker:
    """Fills tensors. `drafts` tells a draft's weights from the target's of the same name."""

    tables: Mapping[Table, npt.NDArray[np.float32]]
    seed: int
    mix: int
    drafts: bool = False

    def tensor(self, spec: Spec, prefix: str = "") -> Tensor:
        name = prefix + spec.name
        label = f"draft.{name.removesuffix('.weight')}" if self.drafts else name
        data = self._data(spec, label)
        return Tensor(name, data.astype(np.float16) if spec.half else data)

    def _data(self, spec: Spec, label: str) -> npt.NDArray[np.float32]:
        if isinstance(spec.weights, Table):
            return self.tables[spec.weights]
        if isinstance(spec.weights, Fill):
            return self._filled(spec.weights, label, spec.shape)
        return self._sparse(spec.weights, label, spec.shape)

    def _filled(self, fill: Fill, label: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        times = self.mix if fill.mixed else 1
        whole = between(label, shape, seed=self.seed, low=fill.low * times, high=fill.high * times)
        return scaled(whole, shift=fill.shift)

    def _sparse(self, sparse: Sparse, label: str, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
        data = np.zeros(shape, dtype=np.float32)
        if sparse.over is not None:
            data = self._filled(sparse.over, label, shape)
        rows = data.reshape(-1, shape[-1])
        for row, column, value in sparse.entries:
            rows[row, column] = value
        return data


def _target(family: Family, size: Size, *, seed: int) -> Model:
    words = vocabulary()
    maker = _Maker(tables(words, seed=seed, embedding_shift=family.embedding_shift), seed, size.mix)
    tensors = [maker.tensor(spec) for spec in family.head or _HEAD]
    for block, word in enumerate(family.words(size)):
        tensors += [maker.tensor(spec, f"blk.{block}.") for spec in family.blocks[word]]
    title = f"forkguard {family.title or family.name.upper()} probe, {size.name}"
    keys = _keys(family.architecture, title, family.entries, blocks=family.words(size), words=words)
    return Model(family.architecture, keys, tuple(tensors))


def _draft(family: Family, size: Size, kind: DraftKind, *, seed: int) -> Model | None:
    if kind.own_block:
        return _ahead(family, size, seed=seed)
    if kind.model is None:
        return None
    words, described = vocabulary(), kind.model(size)
    maker = _Maker(tables(words, seed=seed, embedding_shift=7), seed, described.mix, drafts=True)
    tensors = [maker.tensor(spec) for spec in described.head]
    tensors += [maker.tensor(spec, "blk.0.") for spec in described.block]
    title = f"forkguard {described.title} probe, {size.name}"
    keys = _keys(described.arch, title, described.entries, blocks=("all",), words=words)
    return Model(described.arch, keys, tuple(tensors))


def _ahead(family: Family, size: Size, *, seed: int) -> Model:
    """The target's family with nothing but the block that guesses ahead, which follows its other blocks."""
    words = vocabulary()
    maker = _Maker(tables(words, seed=seed, embedding_shift=family.embedding_shift), seed, mix=10, drafts=True)
    tensors = [maker.tensor(spec) for spec in family.head or _HEAD]
    tensors += [maker.tensor(spec, f"blk.{size.blocks}.") for spec in family.mtp]
    blocks = (*family.words(size), "ahead")
    entries = (*family.entries, Entry("nextn_predict_layers", Stored.U32, 1))
    title = f"forkguard {family.name.upper()} MTP probe, {size.name}"
    return Model(
        family.architecture, _keys(family.architecture, title, entries, blocks=blocks, words=words), tuple(tensors)
    )


def _keys(
    arch: str, title: str, entries: Sequence[Entry], *, blocks: Sequence[str], words: Vocabulary
) -> tuple[Key, ...]:
    common = (
        Entry("context_length", Stored.U32, CONTEXT),
        Entry("embedding_length", Stored.U32, WIDTH),
        Entry("block_count", Stored.U32, len(blocks)),
        Entry("feed_forward_length", Stored.U32, FEED_FORWARD),
        Entry("vocab_size", Stored.U32, words.size),
        Entry("attention.head_count", Stored.U32, HEADS),
        Entry("attention.layer_norm_rms_epsilon", Stored.F32, EPSILON),
        Entry("rope.freq_base", Stored.F32, FREQUENCY),
    )
    own = {entry.key: entry for entry in entries}
    merged = {entry.key: own.get(entry.key, entry) for entry in common} | own
    return (
        Key("general.name", Stored.STRING, title),
        *_written(arch, merged.values(), blocks=blocks),
        *words.keys(),
    )


def _written(arch: str, entries: Iterable[Entry], *, blocks: Sequence[str]) -> Iterator[Key]:
    for entry in entries:
        value = entry.value
        if isinstance(value, PerBlock):
            value = tuple(value.values[word] for word in blocks)
        if value is not None:
            yield Key(f"{arch}.{entry.key}", entry.stored, value)
