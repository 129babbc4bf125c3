"""Ceilings: which bytes count, which bandwidth is believed, and that uncertainty never refuses an honest run."""

import pytest

from forkguard.core.ceiling import Bandwidth, Source, TensorSize, bytes_per_token, ceiling, known_bandwidth

BIG = 17_500_000_000
MEASURED = Bandwidth(20e9, Source.MEASURED, "memory")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["NVIDIA GB10"], 273e9),
        (["NVIDIA L4"], 300e9),
        (["NVIDIA L40S"], 864e9),
        (["NVIDIA H100 PCIe"], 2039e9),
        (["NVIDIA H100 80GB HBM3"], 3352e9),
        (["AMD Instinct MI250X"], 3277e9),
        (["AMD Instinct MI300X VF", "AMD Instinct MI300X VF"], 10650e9),
        (["AMD RYZEN AI MAX+ 395 w/ Radeon 8060S"], 256e9),
        (["NVIDIA A100-SXM4-80GB"], 2039e9),
        (["NVIDIA L400"], None),
        (["NVIDIA L4X"], None),
        (["NVIDIA GB10", "something else"], None),
        ([], None),
    ],
)
def test_known_devices(names: list[str], expected: float | None) -> None:
    found = known_bandwidth(names)
    assert (found.bytes_per_second if found else None) == expected


def test_of_experts_only_those_in_use_are_read_and_of_an_embedding_one_row() -> None:
    tensors = [
        TensorSize("token_embd.weight", 1000),
        TensorSize("output.weight", 1000),
        TensorSize("blk.0.ffn_gate_exps.weight", 800),
        TensorSize("blk.0.attn_q.weight", 10),
    ]
    assert bytes_per_token(tensors, experts=8, experts_used=2) == 1000 + 200 + 10
    assert bytes_per_token(tensors) == 1000 + 800 + 10
    assert bytes_per_token([tensors[0], tensors[3]]) == 1010


def test_the_maps_bandwidth_comes_first_else_the_larger_and_a_measured_one_has_slack() -> None:
    known = known_bandwidth(["NVIDIA GB10"])
    given = ceiling(BIG, given=350.0, known=known, measured=MEASURED)
    sheet = ceiling(BIG, given=None, known=known, measured=MEASURED)
    copied = ceiling(BIG, given=None, known=None, measured=MEASURED)
    assert given
    assert sheet
    assert copied
    assert (given.rate, sheet.rate, copied.rate) == pytest.approx((20.0, 15.6, 1.5 * 20 / 17.5))
    assert sheet.told() == (
        "15.6 passes of the target per second (273 GB/s of NVIDIA GB10, by its data sheet, over 17.5 GB a token)"
    )
    assert "as measured, times 1.5" in copied.told()
    fast = ceiling(BIG, given=None, known=known, measured=Bandwidth(400e9, Source.MEASURED, "memory"))
    assert fast
    assert fast.rate == pytest.approx(1.5 * 400 / 17.5)


def test_small_weights_have_no_ceiling_unless_the_map_gives_one() -> None:
    assert ceiling(1 << 20, given=None, known=None, measured=MEASURED) is None
    small = ceiling(1 << 20, given=1.0, known=None, measured=MEASURED)
    assert small
    assert small.bandwidth.source is Source.MAP
    assert ceiling(None, given=1.0, known=None, measured=MEASURED) is None
    assert ceiling(BIG, given=None, known=None, measured=None) is None
