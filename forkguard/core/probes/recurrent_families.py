"""The archs that have a probe and keep a state: recurrent ones, and hybrids with attention."""

from forkguard.core.probes.describe import (
    EXPERT_WIDTH,
    FEED_FORWARD,
    HEAD,
    HEADS,
    KV_HEADS,
    NARROW,
    WIDTH,
    Entry,
    Family,
    Fill,
    Kind,
    PerBlock,
    Size,
    Spec,
)
from forkguard.core.probes.families import (
    AHEAD,
    EXPERT_SIZE,
    GROUPED,
    HEAD_SIZE,
    MEAN_NORMS,
    MIXED,
    NGRAMS,
    PLAIN,
    READ,
)
from forkguard.core.probes.models import Stored
from forkguard.core.probes.parts import (
    ATTENTION,
    ATTN_NORM,
    CONV,
    EMBEDDING,
    FEED,
    FFN_NORM,
    IN,
    INNER,
    MAMBA2,
    MIXTURE,
    OUT,
    OUTPUT,
    POST_NORM,
    QK_NORMS,
    ROUTER,
    ROUTER_BIAS,
    SHARP_ATTENTION,
    SSM_HEADS,
    STATE,
    UNGATED_FEED,
    WIDE_IN,
    WIDE_OUT,
    bias,
    experts,
    flat,
    layer_norm,
    mamba,
    norm,
    shared_expert,
    weight,
)

_ROLLED_BACK = ("dspark", "simple", "dflash", "eagle3", "ngram-simple")
"""States are rolled back with drafts that ask for it; with the others a server makes checkpoints."""
_HEADLESS = (
    Entry("attention.head_count", Stored.U32, 0),
    Entry("rope.freq_base", Stored.F32, None),
)
_RANK = 4
_STATE_SPACE = (
    Entry("ssm.conv_kernel", Stored.U32, CONV),
    Entry("ssm.inner_size", Stored.U32, INNER),
    Entry("ssm.state_size", Stored.U32, STATE),
)
_MAMBA = (*_STATE_SPACE, Entry("ssm.time_step_rank", Stored.U32, _RANK))
_MAMBA2 = (
    *_STATE_SPACE,
    Entry("ssm.time_step_rank", Stored.U32, SSM_HEADS),
    Entry("ssm.group_count", Stored.U32, 1),
)


def _sparse_heads(**heads: int) -> Entry:
    return Entry("attention.head_count_kv", Stored.ARRAY, PerBlock(heads))


_SHORT_CONVOLUTION = (
    weight("shortconv.conv", WIDTH, 3, by=Fill(-127, 127, 7)),
    weight("shortconv.in_proj", 3 * WIDTH, WIDTH, by=IN),
    weight("shortconv.out_proj", WIDTH, WIDTH, by=OUT),
)
_LFM2_HEAD = (EMBEDDING, norm("token_embd_norm", value=2.0), OUTPUT)
_LFM2_CACHE = Entry("shortconv.l_cache", Stored.U32, 3)
_CONV_BLOCK = (ATTN_NORM, FFN_NORM, *FEED, *_SHORT_CONVOLUTION)
LFM2 = Family(
    "lfm2", Kind.HYBRID, ("conv", "conv", "conv", "conv", "conv", "attention"),
    {"conv": _CONV_BLOCK, "attention": (ATTN_NORM, FFN_NORM, *FEED, *QK_NORMS, *ATTENTION)},
    (
        Size("small", 4, 76, (1, 3), 8, ("conv", "attention")),
        Size("deep", 24, 30, (1, 13), 64),
    ),
    (*_ROLLED_BACK, *NGRAMS), head=_LFM2_HEAD,
    entries=(_sparse_heads(conv=0, attention=KV_HEADS), _LFM2_CACHE),
)  # fmt: skip
_SIGMOID_MIXTURE = (*MIXTURE, ROUTER_BIAS)
LFM2MOE = Family(
    "lfm2moe", Kind.HYBRID, ("attention", "conv"),
    {
        "dense": _CONV_BLOCK,
        "conv": (ATTN_NORM, FFN_NORM, *_SIGMOID_MIXTURE, *_SHORT_CONVOLUTION),
        "attention": (ATTN_NORM, FFN_NORM, *_SIGMOID_MIXTURE, *QK_NORMS, *ATTENTION),
    },
    (Size("small", 4, 89),),
    _ROLLED_BACK, lead=("dense",), head=_LFM2_HEAD,
    entries=(
        _sparse_heads(dense=0, conv=0, attention=KV_HEADS), _LFM2_CACHE, *MIXED, EXPERT_SIZE,
        Entry("leading_dense_block_count", Stored.U32, 1), Entry("expert_gating_func", Stored.U32, 2),
    ),
)  # fmt: skip
MAMBA_ = Family(
    "mamba", Kind.RECURRENT, ("all",), {"all": (ATTN_NORM, *mamba(_RANK))},
    (Size("small", 4, 38), Size("deep", 24, 15)), PLAIN,
    entries=(*_HEADLESS, Entry("feed_forward_length", Stored.U32, 0), *_MAMBA),
)  # fmt: skip
MAMBA2_ = Family(
    "mamba2", Kind.RECURRENT, ("all",), {"all": (ATTN_NORM, *MAMBA2)},
    (Size("small", 4, 113), Size("deep", 24, 46)), PLAIN,
    entries=(*_HEADLESS, Entry("feed_forward_length", Stored.U32, 0), *_MAMBA2),
)  # fmt: skip

_LORA = 8


def _low_rank(name: str) -> tuple[Spec, Spec, Spec]:
    return (
        weight(f"time_mix_{name}0", WIDTH, by=Fill(-256, 256, 8)),
        weight(f"time_mix_{name}1", _LORA, WIDTH, by=IN),
        weight(f"time_mix_{name}2", WIDTH, _LORA, by=Fill(-100, 100, 8)),
    )


RWKV7 = Family(
    "rwkv7", Kind.RECURRENT, ("all",),
    {
        "all": (
            *layer_norm("attn_norm"), *layer_norm("attn_norm_2"),
            *_low_rank("w"), *_low_rank("a"), *_low_rank("v"),
            weight("time_mix_g1", _LORA, WIDTH, by=IN), weight("time_mix_g2", WIDTH, _LORA, by=Fill(-200, 200, 8)),
            weight("time_mix_lerp_fused", 6, 1, 1, WIDTH, by=Fill(0, 256, 8)),
            weight("time_mix_k_k", WIDTH, by=Fill(128, 256, 8)), weight("time_mix_k_a", WIDTH, by=Fill(128, 256, 8)),
            weight("time_mix_r_k", WIDTH, by=Fill(-64, 64, 8)),
            weight("time_mix_key", WIDTH, WIDTH, by=IN), weight("time_mix_value", WIDTH, WIDTH, by=IN),
            weight("time_mix_receptance", WIDTH, WIDTH, by=IN),
            *layer_norm("time_mix_ln"), weight("time_mix_output", WIDTH, WIDTH, by=WIDE_OUT),
            weight("channel_mix_lerp_k", 1, 1, WIDTH, by=Fill(0, 256, 8)),
            weight("channel_mix_key", FEED_FORWARD, WIDTH, by=IN),
            weight("channel_mix_value", WIDTH, FEED_FORWARD, by=OUT),
        )
    },
    (Size("small", 4, 82), Size("deep", 24, 31)), PLAIN,
    head=(
        EMBEDDING, norm("token_embd_norm", value=0.578), bias("token_embd_norm", WIDTH, by=flat(0)),
        norm("output_norm", value=2.0), bias("output_norm", WIDTH, by=flat(0)), OUTPUT,
    ),
    entries=(
        *_HEADLESS, *MEAN_NORMS,
        Entry("wkv.head_size", Stored.U32, WIDTH), Entry("token_shift_count", Stored.U32, 2),
        *(
            Entry(f"attention.{name}_lora_rank", Stored.U32, _LORA)
            for name in ("decay", "iclr", "value_residual_mix", "gate")
        ),
    ),
)  # fmt: skip
JAMBA = Family(
    "jamba", Kind.HYBRID, ("mamba", "attention"),
    {
        "mamba": (
            ATTN_NORM, FFN_NORM, *FEED, *mamba(_RANK),
            norm("ssm_dt_norm", _RANK), norm("ssm_b_norm", STATE), norm("ssm_c_norm", STATE),
        ),
        "attention": (ATTN_NORM, FFN_NORM, ROUTER, *experts(FEED_FORWARD), *SHARP_ATTENTION),
    },
    (Size("small", 4, 43),), PLAIN,
    entries=(_sparse_heads(mamba=0, attention=KV_HEADS), *_MAMBA, *MIXED),
)  # fmt: skip
FALCON_H1 = Family(
    "falcon-h1", Kind.HYBRID, ("all",),
    {"all": (ATTN_NORM, Spec("ffn_norm", (WIDTH,), flat(1.0)), *FEED, *MAMBA2, *SHARP_ATTENTION)},
    (Size("small", 4, 61),), PLAIN, entries=(GROUPED, *_MAMBA2),
)  # fmt: skip
GRANITE_HYBRID = Family(
    "granitehybrid", Kind.HYBRID, ("mamba", "attention"),
    {
        "mamba": (ATTN_NORM, FFN_NORM, *FEED, *MAMBA2),
        "attention": (ATTN_NORM, FFN_NORM, *FEED, *SHARP_ATTENTION),
    },
    (Size("small", 4, 70), Size("deep", 24, 30)), PLAIN,
    entries=(_sparse_heads(mamba=0, attention=KV_HEADS), *_MAMBA2),
)  # fmt: skip
NEMOTRON_H = Family(
    "nemotron_h", Kind.HYBRID, ("mamba", "feed", "attention", "feed"),
    {
        "mamba": (ATTN_NORM, *MAMBA2[:-1], weight("ssm_out", WIDTH, INNER, by=WIDE_OUT)),
        "feed": (ATTN_NORM, UNGATED_FEED[0], weight("ffn_down", WIDTH, FEED_FORWARD, by=OUT)),
        "attention": (ATTN_NORM, *SHARP_ATTENTION[:-1], weight("attn_output", WIDTH, WIDTH, by=WIDE_OUT)),
    },
    (Size("small", 8, 48), Size("deep", 24, 28, (1, 13), 64)), _ROLLED_BACK,
    entries=(
        _sparse_heads(mamba=0, feed=0, attention=KV_HEADS),
        Entry("feed_forward_length", Stored.ARRAY, PerBlock({"mamba": 0, "feed": FEED_FORWARD, "attention": 0})),
        Entry("attention.layer_norm_epsilon", Stored.F32, 1e-5), *_MAMBA2,
    ),
)  # fmt: skip

_KEYS, _VALUES, _DELTA_STATE = 2 * HEAD, 4 * HEAD, HEAD
_DELTA_NET = (
    weight("attn_qkv", 2 * _KEYS + _VALUES, WIDTH, by=IN),
    weight("attn_gate", _VALUES, WIDTH, by=WIDE_IN),
    weight("ssm_conv1d", 2 * _KEYS + _VALUES, CONV, by=Fill(-127, 127, 7)),
    bias("ssm_dt", HEADS, by=Fill(-512, 0, 8)),
    Spec("ssm_a", (HEADS,), Fill(-512, -32, 8)),
    norm("ssm_norm", _DELTA_STATE),
    weight("ssm_out", WIDTH, _VALUES, by=WIDE_OUT),
)
_GATED_ATTENTION = (
    *QK_NORMS,
    weight("attn_q", 2 * WIDTH, WIDTH, by=IN),
    weight("attn_k", NARROW, WIDTH, by=IN),
    weight("attn_v", NARROW, WIDTH, by=WIDE_IN),
    weight("attn_output", WIDTH, WIDTH, by=WIDE_OUT),
)
_DELTA_ENTRIES = (
    GROUPED, *HEAD_SIZE,
    Entry("ssm.conv_kernel", Stored.U32, CONV),
    Entry("ssm.inner_size", Stored.U32, _VALUES),
    Entry("ssm.state_size", Stored.U32, _DELTA_STATE),
    Entry("ssm.time_step_rank", Stored.U32, HEADS),
    Entry("ssm.group_count", Stored.U32, 2),
    Entry("full_attention_interval", Stored.U32, 2),
)  # fmt: skip
_QWEN35_ATTENTION = (ATTN_NORM, POST_NORM, *FEED, *_GATED_ATTENTION)
QWEN35 = Family(
    "qwen35", Kind.HYBRID, ("delta", "attention"),
    {
        "delta": (
            ATTN_NORM, POST_NORM, *FEED, *_DELTA_NET,
            weight("ssm_beta", HEADS, WIDTH, by=IN), weight("ssm_alpha", HEADS, WIDTH, by=IN),
        ),
        "attention": _QWEN35_ATTENTION,
    },
    (Size("small", 4, 61), Size("deep", 24, 23, (1, 13), 64)), ("mtp", *READ),
    entries=(*_DELTA_ENTRIES, Entry("rope.dimension_sections", Stored.ARRAY, (4, 2, 2, 0))),
    mtp=(*_QWEN35_ATTENTION, *AHEAD),
)  # fmt: skip
_NEXT_FEED = (ATTN_NORM, POST_NORM, *MIXTURE, *shared_expert(), weight("ffn_gate_inp_shexp", WIDTH, by=IN))
_NEXT_ATTENTION = (*_NEXT_FEED, *_GATED_ATTENTION)
QWEN3NEXT = Family(
    "qwen3next", Kind.HYBRID, ("delta", "attention"),
    {
        "delta": (*_NEXT_FEED, *_DELTA_NET, weight("ssm_ba", 2 * HEADS, WIDTH, by=IN)),
        "attention": _NEXT_ATTENTION,
    },
    (Size("small", 4, 62),), ("mtp", *READ),
    entries=(
        *_DELTA_ENTRIES, *MIXED, EXPERT_SIZE,
        Entry("expert_shared_feed_forward_length", Stored.U32, EXPERT_WIDTH),
    ),
    mtp=(*_NEXT_ATTENTION, *AHEAD),
)  # fmt: skip

STATEFUL: tuple[Family, ...] = (
    LFM2, LFM2MOE, MAMBA_, MAMBA2_, RWKV7, JAMBA, FALCON_H1, GRANITE_HYBRID, NEMOTRON_H, QWEN35, QWEN3NEXT,
)  # fmt: skip
