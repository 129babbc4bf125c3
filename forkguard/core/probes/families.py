"""The archs that have a probe whose memory is attention alone."""

from forkguard.core.probes.describe import (
    EXPERT_WIDTH,
    EXPERTS,
    EXPERTS_USED,
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
    Size,
    Sparse,
    diagonal,
)
from forkguard.core.probes.models import Stored
from forkguard.core.probes.parts import (
    ATTENTION,
    ATTN_NORM,
    EMBEDDING,
    FEED,
    FFN_NORM,
    IN,
    MIXTURE,
    OUT,
    OUTPUT,
    POST_NORM,
    QK_NORMS,
    ROUTER,
    ROUTER_BIAS,
    SHARP_ATTENTION,
    UNGATED_FEED,
    WIDE_IN,
    WIDE_OUT,
    ZERO,
    bias,
    experts,
    layer_norm,
    norm,
    shared_expert,
    weight,
)

MEAN_HEAD = (EMBEDDING, norm("output_norm", value=2.0), bias("output_norm", WIDTH, by=ZERO), OUTPUT)
GROUPED = Entry("attention.head_count_kv", Stored.U32, KV_HEADS)
MIXED = (
    Entry("expert_count", Stored.U32, EXPERTS),
    Entry("expert_used_count", Stored.U32, EXPERTS_USED),
)
EXPERT_SIZE = Entry("expert_feed_forward_length", Stored.U32, EXPERT_WIDTH)
HEAD_SIZE = (
    Entry("attention.key_length", Stored.U32, HEAD),
    Entry("attention.value_length", Stored.U32, HEAD),
)
WINDOW = (
    Entry("attention.sliding_window", Stored.U32, 16),
    Entry("attention.sliding_window_pattern", Stored.U32, 2),
)
MEAN_NORMS = (
    Entry("attention.layer_norm_rms_epsilon", Stored.F32, None),
    Entry("attention.layer_norm_epsilon", Stored.F32, 1e-5),
)
AHEAD = (
    weight("nextn.eh_proj", WIDTH, 2 * WIDTH, by=Sparse(diagonal(), over=Fill(-10, 10, 8))),
    norm("nextn.enorm"),
    norm("nextn.hnorm"),
    norm("nextn.shared_head_norm", value=2.0),
)

NGRAMS = ("ngram-map-k", "ngram-map-k4v", "ngram-mod")
"""One arch of each sort is enough for these: they never look at the model."""

PLAIN = ("simple", "ngram-simple")
READ = ("simple", "dspark", "dflash", "eagle3", "ngram-simple")
"""Drafts for archs whose graphs publish what goes into their layers; `PLAIN` ones read nothing of a graph."""

LLAMA = Family(
    "llama", Kind.DENSE, ("all",),
    {"all": (ATTN_NORM, FFN_NORM, *FEED, *SHARP_ATTENTION)},
    (Size("small", 4, 73), Size("deep", 24, 29, (1, 13), 64)), (*READ, *NGRAMS), entries=(GROUPED,),
)  # fmt: skip
MIXTRAL = Family(
    "mixtral", Kind.MOE, ("all",),
    {"all": (ATTN_NORM, FFN_NORM, ROUTER, *experts(FEED_FORWARD), *SHARP_ATTENTION)},
    (Size("small", 4, 49),), READ, arch="llama", entries=(GROUPED, *MIXED),
)  # fmt: skip
QWEN3 = Family(
    "qwen3", Kind.DENSE, ("all",),
    {"all": (ATTN_NORM, FFN_NORM, *FEED, *QK_NORMS, *ATTENTION)},
    (Size("small", 4, 72), Size("deep", 24, 30, (1, 13), 64)), READ, entries=(GROUPED, *HEAD_SIZE),
)  # fmt: skip
QWEN3MOE = Family(
    "qwen3moe", Kind.MOE, ("all",),
    {"all": (ATTN_NORM, FFN_NORM, *MIXTURE, *QK_NORMS, *ATTENTION)},
    (Size("small", 4, 81),), READ, entries=(GROUPED, *HEAD_SIZE, *MIXED, EXPERT_SIZE),
)  # fmt: skip
GEMMA3 = Family(
    "gemma3", Kind.SLIDING, ("all",),
    {
        "all": (
            ATTN_NORM, FFN_NORM, *FEED, *QK_NORMS, *ATTENTION,
            weight("post_attention_norm", WIDTH, by=Fill(5, 5, 10, mixed=True)),
            weight("post_ffw_norm", WIDTH, by=Fill(5, 5, 10, mixed=True)),
        )
    },
    (Size("small", 4, 105), Size("deep", 24, 42)), PLAIN, entries=(GROUPED, *HEAD_SIZE, *WINDOW), embedding_shift=10,
)  # fmt: skip
PHI3 = Family(
    "phi3", Kind.DENSE, ("all",),
    {
        "all": (
            ATTN_NORM, FFN_NORM,
            weight("ffn_up", 2 * FEED_FORWARD, WIDTH, by=IN),
            weight("ffn_down", WIDTH, FEED_FORWARD, by=Fill(-2, 2, 10, mixed=True)),
            weight("attn_qkv", WIDTH + 2 * NARROW, WIDTH, by=WIDE_IN),
            weight("attn_output", WIDTH, WIDTH, by=OUT),
        )
    },
    (Size("small", 4, 70),), PLAIN, entries=(GROUPED,), title="PHI-THREE",
)  # fmt: skip
GPT_OSS = Family(
    "gpt-oss", Kind.SLIDING, ("all",),
    {
        "all": (
            ATTN_NORM, POST_NORM, *SHARP_ATTENTION, bias("attn_output", WIDTH, by=ZERO),
            weight("attn_sinks", HEADS, by=Fill(-128, 128, 8)),
            ROUTER, *experts(), bias("ffn_gate_inp", EXPERTS),
            bias("ffn_gate_exps", EXPERTS, EXPERT_WIDTH), bias("ffn_up_exps", EXPERTS, EXPERT_WIDTH),
            bias("ffn_down_exps", EXPERTS, WIDTH, by=ZERO),
        )
    },
    (Size("small", 4, 62),), READ,
    entries=(GROUPED, *HEAD_SIZE, *MIXED, EXPERT_SIZE, *WINDOW),
)  # fmt: skip
STARCODER2 = Family(
    "starcoder2", Kind.DENSE, ("all",),
    {
        "all": (
            *layer_norm("attn_norm"), *layer_norm("ffn_norm"), UNGATED_FEED[0], bias("ffn_up", FEED_FORWARD),
            weight("ffn_down", WIDTH, FEED_FORWARD, by=OUT), bias("ffn_down", WIDTH, by=ZERO),
            *SHARP_ATTENTION[:-1], weight("attn_output", WIDTH, WIDTH, by=WIDE_OUT),
            bias("attn_output", WIDTH, by=ZERO),
            bias("attn_q", WIDTH), bias("attn_k", NARROW), bias("attn_v", NARROW),
        )
    },
    (Size("small", 4, 48),), PLAIN, entries=(GROUPED, *MEAN_NORMS), head=MEAN_HEAD,
)  # fmt: skip

_LATENT, _NOPE, _ROPE = 32, 16, 8
_LATENT_ATTENTION = (
    ATTN_NORM, FFN_NORM,
    norm("attn_q_a_norm", _LATENT), norm("attn_kv_a_norm", _LATENT),
    weight("attn_q_a", _LATENT, WIDTH, by=IN),
    weight("attn_q_b", HEADS * (_NOPE + _ROPE), _LATENT, by=Fill(-300, 300, 8)),
    weight("attn_kv_a_mqa", _LATENT + _ROPE, WIDTH, by=IN),
    weight("attn_k_b", HEADS, _LATENT, _NOPE, by=WIDE_IN),
    weight("attn_v_b", HEADS, HEAD, _LATENT, by=Fill(-160, 160, 8)),
    weight("attn_output", WIDTH, WIDTH, by=OUT),
)  # fmt: skip
_LATENT_MOE = (*_LATENT_ATTENTION, *MIXTURE, ROUTER_BIAS, *shared_expert())
DEEPSEEK2 = Family(
    "deepseek2", Kind.MLA, ("moe",),
    {"dense": (*_LATENT_ATTENTION, *FEED), "moe": _LATENT_MOE},
    (Size("small", 4, 60),), ("mtp", *PLAIN), lead=("dense",),
    entries=(
        Entry("attention.head_count_kv", Stored.U32, 1),
        Entry("attention.q_lora_rank", Stored.U32, _LATENT),
        Entry("attention.kv_lora_rank", Stored.U32, _LATENT),
        Entry("attention.key_length_mla", Stored.U32, _NOPE + _ROPE),
        Entry("attention.value_length_mla", Stored.U32, HEAD),
        Entry("attention.key_length", Stored.U32, _LATENT + _ROPE),
        Entry("attention.value_length", Stored.U32, _LATENT),
        Entry("rope.dimension_count", Stored.U32, _ROPE),
        Entry("leading_dense_block_count", Stored.U32, 1),
        *MIXED, EXPERT_SIZE,
        Entry("expert_shared_count", Stored.U32, 1),
        Entry("expert_weights_scale", Stored.F32, 1.0),
        Entry("expert_weights_norm", Stored.BOOL, value=True),
        Entry("expert_gating_func", Stored.U32, 2),
    ),
    mtp=(*_LATENT_MOE, *AHEAD),
)  # fmt: skip

ATTENTIVE: tuple[Family, ...] = (
    LLAMA, MIXTRAL, QWEN3, QWEN3MOE, GEMMA3, PHI3, GPT_OSS, STARCODER2, DEEPSEEK2,
)  # fmt: skip
