"""The probe's weights are exact and the same everywhere; its text wanders; its draft is right part of the time."""

import hashlib
import itertools
import re
from collections.abc import Iterator

import gguf
import numpy as np
import pytest

from forkguard.core.probes.describe import Family, Kind, Size
from forkguard.core.probes.drafts import DRAFTS
from forkguard.core.probes.models import Model, ProbeModels
from forkguard.core.probes.registry import PROBES, build_probe, draft_word, probe_family
from forkguard.core.probes.vocabulary import vocabulary
from forkguard.core.probes.weights import integers, noise, permutation, scaled
from forkguard.errors import UsageProblem
from tests.support.lfm2_forward import Lfm2

PROMPTS = (
    "The tide comes in",
    "fn main() {",
    '{"ok": [1, 2',
    "Dire en anglais : bonjour",
    "a b c d e f g h i j k l m n o p",
    "3 + 4 =",
    "#include <x>",
    "Q: why? A:",
)


@pytest.fixture(scope="module")
def small() -> ProbeModels:
    return build_probe("lfm2")


def tensors(model: Model | None) -> dict[str, np.ndarray]:
    assert model is not None
    return {tensor.name: tensor.data for tensor in model.tensors}


def keys(model: Model | None) -> dict[str, object]:
    assert model is not None
    return {key.name: key.value for key in model.keys}


def draft_followers(probe: ProbeModels) -> dict[int, int]:
    """What the draft's Markov head alone says after each token."""
    parts = tensors(probe.draft)
    first, second = (parts[f"markov_w{number}.weight"].astype(np.float32) for number in (1, 2))
    return dict(enumerate((first @ second.T).argmax(axis=1).tolist()))


def prompt_tokens(text: str) -> list[int]:
    words = vocabulary()
    ids = {piece: number for number, piece in enumerate(words.pieces)}
    return [1, *(ids["\u2581" if letter == " " else letter] for letter in text)]


@pytest.fixture(scope="module")
def texts(small: ProbeModels) -> list[list[int]]:
    """128 greedy tokens after each prompt, by plain numpy."""
    return [Lfm2.of(small.target).greedy(prompt_tokens(prompt), 128) for prompt in PROMPTS]


def test_the_noise_is_pinned() -> None:
    assert [hex(int(word)) for word in noise("a", 2, seed=0)] == ["0x5f29c2aadd9b8527", "0xff84f1bdb6d3884f"]
    assert integers("x", (2, 3), seed=7, top=5).tolist() == [[1, 1, -1], [1, 2, -5]]
    assert permutation("x", 8, seed=7) == [5, 2, 7, 6, 0, 1, 3, 4]


def test_integers_fill_their_range_evenly() -> None:
    values = integers("range", (40_000,), seed=3, top=4)
    counts = np.bincount(values + 4)
    assert len(counts) == 9
    assert counts.min() > 0.9 * 40_000 / 9


@pytest.mark.parametrize("top", [1, 127, 2047])
def test_weights_are_exact_in_half_precision(top: int) -> None:
    values = integers("exact", (1000,), seed=1, top=top)
    weights = scaled(values, shift=10)
    assert (weights.astype(np.float64) * 1024 == values).all()
    assert (weights.astype(np.float16).astype(np.float32) == weights).all()


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
def test_every_seed_is_another_model(small: ProbeModels, seed: int) -> None:
    one, other = tensors(small.target), tensors(build_probe("lfm2", seed=seed).target)
    assert one.keys() == other.keys()
    same = {name for name in one if (one[name] == other[name]).all()}
    assert all("norm" in name for name in same)


def test_no_two_matrices_are_alike(small: ProbeModels) -> None:
    parts = {**tensors(small.target), **{f"draft.{name}": data for name, data in tensors(small.draft).items()}}
    digests = [hashlib.sha256(data.tobytes()).hexdigest() for name, data in parts.items() if "norm" not in name]
    assert len(set(digests)) == len(digests)


EVERY = [
    pytest.param(family, size, id=f"{family.name}-{size.name}") for family in PROBES.values() for size in family.sizes
]
USED = sorted(
    {(family.name, size.name, word) for family in PROBES.values() for size in family.sizes for word in family.drafts}
)


@pytest.mark.parametrize(("family", "size"), EVERY)
def test_only_printable_ascii_can_win(family: Family, size: Size) -> None:
    words, output = vocabulary(), tensors(build_probe(family.name, size=size.name).target)["output.weight"]
    winners = np.abs(output).sum(axis=1) > 0
    assert winners.tolist() == [number >= words.first_text for number in range(words.size)]
    text = "".join(words.pieces[words.first_text :]).replace("\u2581", " ")
    assert text.isascii()
    assert text.isprintable()
    assert set(text) == {chr(code) for code in range(32, 127)}


def test_the_draft_walks_one_tour_through_all_text_tokens(small: ProbeModels) -> None:
    words, follower = vocabulary(), draft_followers(small)

    def walk(start: int) -> Iterator[int]:
        token = start
        while True:
            token = follower[token]
            yield token
            if token == start:
                return

    assert sorted(walk(words.first_text)) == list(range(words.first_text, words.size))
    assert all(follower[token] >= words.first_text for token in range(words.first_text))


def test_the_text_wanders(texts: list[list[int]]) -> None:
    assert all(len(set(text)) >= 40 for text in texts), [len(set(text)) for text in texts]
    assert len({tuple(text[-20:]) for text in texts}) == len(texts)


def test_the_target_follows_the_draft_part_of_the_time(small: ProbeModels, texts: list[list[int]]) -> None:
    follower = draft_followers(small)
    for text in texts:
        kept = sum(follower[before] == after for before, after in itertools.pairwise(text))
        assert 0.5 < kept / 127 < 0.9


def test_the_text_depends_on_more_than_the_last_token(small: ProbeModels) -> None:
    tail = prompt_tokens("so it goes")[1:]
    ends = {tuple(Lfm2.of(small.target).greedy([1, 300 + number, *tail], 12)) for number in range(4)}
    assert len(ends) == 4


@pytest.mark.parametrize(
    ("size", "kv_heads", "layers", "block_size"),
    [("small", [0, 2] * 2, (1, 3), 8), ("deep", [0, 0, 0, 0, 0, 2] * 4, (1, 13), 64)],
)
def test_shapes(size: str, kv_heads: list[int], layers: tuple[int, ...], block_size: int) -> None:
    probe = build_probe("lfm2", size=size)
    target, draft = keys(probe.target), keys(probe.draft)
    assert target["lfm2.attention.head_count_kv"] == tuple(kv_heads)
    assert target["lfm2.block_count"] == len(kv_heads)
    assert (draft["dflash.target_layers"], draft["dflash.block_size"]) == (layers, block_size)
    assert draft["tokenizer.ggml.mask_token_id"] == vocabulary().mask
    assert tensors(probe.draft)["fc.weight"].shape == (64, 64 * len(layers))
    assert probe.max_width == block_size
    names = {name.split(".")[2] for name in tensors(probe.target) if name.startswith("blk.0.")}
    assert "shortconv" in names
    assert "attn_q" not in names


@pytest.mark.parametrize(
    ("arch", "size", "seed", "what"),
    [
        ("bert", "small", 1, f"there is no probe for the arch 'bert'; there is one for: {', '.join(PROBES)}"),
        ("lfm2", "huge", 1, "the probe for lfm2 has no size 'huge'; it has: small, deep"),
        ("lfm2", "small", -1, "the seed -1 is out of range"),
        ("lfm2", "small", 2**63, f"the seed {2**63} is out of range"),
    ],
)
def test_what_there_is_not(arch: str, size: str, seed: int, what: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        build_probe(arch, size=size, seed=seed)
    assert caught.value.what == what
    assert caught.value.hint


def test_a_draft_type_that_an_arch_has_not() -> None:
    with pytest.raises(UsageProblem) as caught:
        build_probe("mamba", draft="draft-eagle3")
    assert caught.value.what == (
        "the probe for mamba has no draft of the type 'draft-eagle3'; it has: simple, ngram-simple"
    )
    assert caught.value.hint == "forkguard probe mamba --draft simple"


@pytest.mark.parametrize(
    ("asked", "given"),
    [(None, "mtp"), ("draft-dspark", "dspark"), ("simple", "simple"), ("ngram-simple", "ngram-simple")],
)
def test_draft_types_by_either_name(asked: str | None, given: str) -> None:
    assert draft_word(probe_family("qwen35"), asked) == given
    assert build_probe("qwen35", draft=asked).spec_type == DRAFTS[given].spec_type


def test_there_are_probes_of_every_kind_and_draft_type() -> None:
    assert {family.kind for family in PROBES.values()} == set(Kind)
    assert {word for family in PROBES.values() for word in family.drafts} == set(DRAFTS)
    assert len(PROBES) >= 12
    assert all(family.sizes[0].name == "small" and family.drafts for family in PROBES.values())


NAMES = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}
AHEAD = {name.replace("{bid}", "N") for tensor, name in gguf.TENSOR_NAMES.items() if "NEXTN" in tensor.name}


@pytest.mark.parametrize(("family", "size"), EVERY)
def test_tensors_have_names_that_the_arch_knows(family: Family, size: Size) -> None:
    known = {gguf.TENSOR_NAMES[tensor] for tensor in gguf.MODEL_TENSORS[NAMES[family.architecture]]}
    wanted = {name.replace("{bid}", "N") for name in known} | AHEAD
    for model in (build_probe(family.name, size=size.name).target, *ahead(family, size)):
        plain = [re.sub(r"^blk\.\d+\.", "blk.N.", re.sub(r"\.(weight|bias)$", "", name)) for name in tensors(model)]
        assert {name for name in plain if name not in wanted} <= MISSING_IN_TABLE.get(family.name, set())
        assert len(tensors(model)) == len(model.tensors)
        assert all(data.size for data in tensors(model).values())


MISSING_IN_TABLE = {"lfm2moe": {"output"}}
"""Names that upstream's loader wants and gguf's own tables lack."""


def ahead(family: Family, size: Size) -> list[Model]:
    if not family.mtp:
        return []
    draft = build_probe(family.name, size=size.name, draft="mtp").draft
    assert draft is not None
    return [draft]


@pytest.mark.parametrize(("family", "size"), EVERY)
def test_the_head_that_guesses_ahead_is_the_block_after_the_last(family: Family, size: Size) -> None:
    for model in ahead(family, size):
        assert {name.split(".")[1] for name in tensors(model) if name.startswith("blk.")} == {str(size.blocks)}
        assert keys(model)[f"{family.architecture}.block_count"] == size.blocks + 1
        assert keys(model)[f"{family.architecture}.nextn_predict_layers"] == 1


@pytest.mark.parametrize(("arch", "size", "word"), USED)
def test_every_draft_speaks_the_targets_tokens_and_fits_its_width(arch: str, size: str, word: str) -> None:
    probe = build_probe(arch, size=size, draft=word)
    if probe.draft is None:
        assert probe.args
        return
    target, draft = keys(probe.target), keys(probe.draft)
    assert draft["tokenizer.ggml.tokens"] == target["tokenizer.ggml.tokens"]
    assert draft[f"{probe.draft.arch}.embedding_length"] == target[f"{probe.target.arch}.embedding_length"]
    blocks = target[f"{probe.target.arch}.block_count"]
    layers = draft.get(f"{probe.draft.arch}.target_layers", (0,))
    assert isinstance(layers, tuple)
    assert isinstance(blocks, int)
    assert max(layers) < blocks
    if "fc.weight" in tensors(probe.draft):
        assert tensors(probe.draft)["fc.weight"].shape == (64, 64 * len(layers))


def test_a_marked_draft_tells_tokens_from_the_mask() -> None:
    words, parts = vocabulary(), tensors(build_probe("llama", draft="dflash").draft)
    marks = parts["token_embd.weight"][:, 62:]
    assert marks[words.mask].tolist() == [1.0, 0.0]
    assert {tuple(row) for number, row in enumerate(marks.tolist()) if number != words.mask} == {(0.0, 1.0)}
    assert not parts["output.weight"][:, 62:].any()


def test_a_plain_draft_says_the_follower_of_each_token() -> None:
    follower = draft_followers(build_probe("lfm2"))
    parts = tensors(build_probe("llama", draft="simple").draft)
    said = (parts["token_embd.weight"].astype(np.float32) @ parts["output.weight"].T).argmax(axis=1)
    first = vocabulary().first_text
    assert said[first:].tolist() == [follower[token] for token in range(first, len(said))]


PINNED = {
    "deepseek2": "c44c484a706a",
    "falcon-h1": "bd43f452f066",
    "gemma3": "969130934ec8",
    "gpt-oss": "9a7681182c16",
    "granitehybrid": "4754bf34e972",
    "jamba": "a72a38b904ac",
    "lfm2": "d6ed10e727a9",
    "lfm2moe": "cc04cf9d6a9e",
    "llama": "490c4d24477c",
    "mamba": "5e35a1a2a531",
    "mamba2": "7620546fceaa",
    "mixtral": "4c09cb74a30e",
    "nemotron_h": "389a1aa698e4",
    "phi3": "da1125e90ac4",
    "qwen3": "320e4ed92837",
    "qwen35": "7da02c06aac1",
    "qwen3moe": "09728098f3b0",
    "qwen3next": "8f2ef600dcfb",
    "rwkv7": "11823fb961e3",
    "starcoder2": "61b0f32095a9",
}
"""What all files of an arch hold, with the default seed. What changes on purpose is proven anew on a real build."""


def fingerprint(family: Family) -> str:
    digest = hashlib.sha256()
    for size in family.sizes:
        for word in family.drafts:
            probe = build_probe(family.name, size=size.name, draft=word)
            for model in (probe.target, probe.draft):
                if model is not None:
                    digest.update(repr((model.arch, model.keys)).encode())
                    for tensor in model.tensors:
                        digest.update(f"{tensor.name} {tensor.data.dtype} {tensor.data.shape}".encode())
                        digest.update(tensor.data.tobytes())
    return digest.hexdigest()[:12]


@pytest.mark.parametrize("family", [pytest.param(family, id=family.name) for family in PROBES.values()])
def test_every_probe_is_the_same_everywhere(family: Family) -> None:
    assert fingerprint(family) == PINNED[family.name]
