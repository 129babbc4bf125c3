"""The tensors that many archs share, named once."""

from forkguard.core.probes.describe import (
    EXPERT_WIDTH,
    EXPERTS,
    FEED_FORWARD,
    HEAD,
    NARROW,
    WIDTH,
    Fill,
    Spec,
    Table,
    Weights,
)

IN = Fill(-55, 55, 8)
"""A projection of a normed input: its output is about as large as its input."""

WIDE_IN = Fill(-110, 110, 8)
OUT = Fill(-1, 1, 10, mixed=True)
"""A projection back into the residual, as much as the size says."""

WIDE_OUT = Fill(-2, 2, 10, mixed=True)
ZERO = Fill(0, 0, 8)
SMALL = Fill(-20, 20, 8)


def flat(value: float) -> Fill:
    """The same weight everywhere, in steps of 1/256."""
    steps = round(value * 256)
    return Fill(steps, steps, 8)


def weight(name: str, *shape: int, by: Weights) -> Spec:
    """A tensor whose name ends in `.weight`."""
    return Spec(f"{name}.weight", shape, by)


def bias(name: str, *shape: int, by: Weights = SMALL) -> Spec:
    """A tensor whose name ends in `.bias`."""
    return Spec(f"{name}.bias", shape, by)


def norm(name: str, width: int = WIDTH, *, value: float = 1.0) -> Spec:
    """The weights of a norm."""
    return weight(name, width, by=flat(value))


def layer_norm(name: str, width: int = WIDTH, *, value: float = 1.0) -> tuple[Spec, Spec]:
    """The weights and biases of a norm that subtracts the mean."""
    return norm(name, width, value=value), bias(name, width)


ATTN_NORM, FFN_NORM = norm("attn_norm"), norm("ffn_norm")
POST_NORM = norm("post_attention_norm")

FEED = (
    weight("ffn_gate", FEED_FORWARD, WIDTH, by=IN),
    weight("ffn_up", FEED_FORWARD, WIDTH, by=IN),
    weight("ffn_down", WIDTH, FEED_FORWARD, by=WIDE_OUT),
)
UNGATED_FEED = (
    weight("ffn_up", FEED_FORWARD, WIDTH, by=IN),
    weight("ffn_down", WIDTH, FEED_FORWARD, by=WIDE_OUT),
)
ROUTER = weight("ffn_gate_inp", EXPERTS, WIDTH, by=WIDE_IN)
ROUTER_BIAS = bias("exp_probs_b", EXPERTS)


def experts(width: int = EXPERT_WIDTH) -> tuple[Spec, ...]:
    """The experts, `width` neurons each."""
    return (
        weight("ffn_gate_exps", EXPERTS, width, WIDTH, by=IN),
        weight("ffn_down_exps", EXPERTS, WIDTH, width, by=Fill(-4, 4, 10, mixed=True)),
        weight("ffn_up_exps", EXPERTS, width, WIDTH, by=IN),
    )


def shared_expert(width: int = EXPERT_WIDTH) -> tuple[Spec, ...]:
    """The expert that every token asks."""
    return (
        weight("ffn_gate_shexp", width, WIDTH, by=IN),
        weight("ffn_down_shexp", WIDTH, width, by=WIDE_OUT),
        weight("ffn_up_shexp", width, WIDTH, by=IN),
    )


MIXTURE = (ROUTER, *experts())
QK_NORMS = (norm("attn_q_norm", HEAD, value=4.0), norm("attn_k_norm", HEAD))
"""Sharp: the attention looks at few tokens."""

ATTENTION = (
    weight("attn_q", WIDTH, WIDTH, by=IN),
    weight("attn_k", NARROW, WIDTH, by=IN),
    weight("attn_v", NARROW, WIDTH, by=WIDE_IN),
    weight("attn_output", WIDTH, WIDTH, by=OUT),
)
SHARP_ATTENTION = (
    weight("attn_q", WIDTH, WIDTH, by=Fill(-220, 220, 8)),
    weight("attn_k", NARROW, WIDTH, by=IN),
    weight("attn_v", NARROW, WIDTH, by=WIDE_IN),
    weight("attn_output", WIDTH, WIDTH, by=OUT),
)
"""For archs without norms of queries and keys."""

OUTPUT_NORM = norm("output_norm", value=2.0)
OUTPUT = weight("output", by=Table.OUTPUT)
"""Shapes of tables are their own."""

EMBEDDING = Spec("token_embd.weight", (), Table.EMBEDDING, half=True)

CONV, STATE, INNER, SSM_HEADS = 4, 16, 2 * WIDTH, 4
MAMBA2_CONV = INNER + 2 * STATE


def mamba(rank: int = 4) -> tuple[Spec, ...]:
    """A selective state space, each channel with a state of its own."""
    return (
        weight("ssm_in", 2 * INNER, WIDTH, by=IN),
        weight("ssm_conv1d", INNER, CONV, by=Fill(-127, 127, 7)),
        bias("ssm_conv1d", INNER),
        weight("ssm_x", rank + 2 * STATE, INNER, by=IN),
        weight("ssm_dt", INNER, rank, by=Fill(-127, 127, 8)),
        bias("ssm_dt", INNER, by=Fill(-512, 0, 8)),
        Spec("ssm_a", (INNER, STATE), Fill(-512, -32, 8)),
        Spec("ssm_d", (INNER,), flat(1.0)),
        weight("ssm_out", WIDTH, INNER, by=WIDE_OUT),
    )


MAMBA2 = (
    weight("ssm_in", INNER + MAMBA2_CONV + SSM_HEADS, WIDTH, by=IN),
    weight("ssm_conv1d", MAMBA2_CONV, CONV, by=Fill(-127, 127, 7)),
    bias("ssm_conv1d", MAMBA2_CONV),
    bias("ssm_dt", SSM_HEADS, by=Fill(-512, 0, 8)),
    Spec("ssm_a", (SSM_HEADS, 1), Fill(-512, -32, 8)),
    Spec("ssm_d", (SSM_HEADS, 1), flat(1.0)),
    norm("ssm_norm", INNER),
    weight("ssm_out", WIDTH, INNER, by=OUT),
)
