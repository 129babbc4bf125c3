"""What the tools print about GPUs, and what makes a machine busy."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkguard.core.boxes import BoxState, GpuState, Resident, busy_marks, parse_nvidia, parse_rocm, same_box

QUIET = BoxState(
    "before the first run", 0.05, 2.0, (Resident("editor", 3.0, 1 << 28),), clock=3000.0, clock_limit=5000.0,
    temperature=45.0, memory_available=50 << 30, memory_total=64 << 30,
    gpus=(GpuState("card", use=0.0, clock=200.0),),
)  # fmt: skip
NVIDIA = """\
NVIDIA H200, 3, 1024, 143771, 1980, 1980, 121.50, 41
NVIDIA GB10, 0, [N/A], [N/A], 208, 3003, 4.20, 36
"""
APU = {
    "card0": {
        "Temperature (Sensor edge) (C)": "48.0",
        "Current Socket Graphics Package Power (W)": "14.021",
        "sclk clock speed:": "(1100Mhz)",
        "sclk clock level:": "1",
        "GPU use (%)": "12",
        "VRAM Total Memory (B)": "536870912",
        "VRAM Total Used Memory (B)": "268435456",
        "GTT Total Memory (B)": "66571993088",
        "GTT Total Used Memory (B)": "9126805504",
        "Card Series": "AMD Radeon Graphics",
        "GFX Version": "gfx1151",
    },
    "system": {"Driver version": "6.14"},
}
SERVER_CARD = {
    "card1": {
        "Temperature (Sensor junction) (C)": "72",
        "Average Graphics Package Power (W)": "550",
        "GPU use (%)": 88,
        "VRAM Total Memory (B)": 205520896000,
        "VRAM Total Used Memory (B)": 102760448000,
        "Card series": "N/A",
        "Card model": "0x74b5",
    }
}


def test_nvidia() -> None:
    first, second = parse_nvidia(NVIDIA)
    assert first == GpuState("NVIDIA H200", 3.0, 1024 << 20, 143771 << 20, 1980.0, 1980.0, 121.5, 41.0)
    assert (second.name, second.memory_used, second.clock, second.clock_limit) == ("NVIDIA GB10", None, 208.0, 3003.0)
    assert parse_nvidia("No devices were found\n") == ()


def test_rocm_with_unified_memory_and_with_its_own() -> None:
    (apu,) = parse_rocm(json.dumps(APU))
    assert apu == GpuState("AMD Radeon Graphics gfx1151", 12.0, 9126805504, 66571993088, 1100.0, None, 14.021, 48.0)
    (card,) = parse_rocm(json.dumps(SERVER_CARD))
    assert (card.name, card.use, card.memory_total, card.power, card.temperature) == (
        "0x74b5", 88.0, 205520896000, 550.0, 72.0,
    )  # fmt: skip


@given(st.text(max_size=80))
def test_rubbish_gives_no_gpu_and_no_error(text: str) -> None:
    assert parse_rocm(text) == ()
    assert all(gpu.name for gpu in parse_nvidia(text))


def test_rocm_json_of_another_kind() -> None:
    assert parse_rocm("[]") == parse_rocm('{"card0": 3}') == ()
    assert parse_rocm("[" * 100_000) == ()
    assert parse_nvidia(f"x, {'9' * 400}, 1, 1, 1, 1, 1, 1") == (GpuState("x", None, 1 << 20, 1 << 20, 1, 1, 1, 1),)
    assert parse_rocm('{"card0": {}}') == (GpuState("AMD GPU"),)


def test_a_quiet_box_has_no_marks() -> None:
    assert busy_marks(()) == ()
    assert busy_marks((QUIET, replace(QUIET, load=0.9))) == ()


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (replace(QUIET, load=0.8), "the load was 0.80 per thread before the first run"),
        (replace(QUIET, residents=(Resident("vllm", 140.0, 1),)), "others computed: vllm (up to 140 % of a core)"),
        (replace(QUIET, use=55.0), "others used up to 55 % of the processor"),
        (replace(QUIET, memory_available=5 << 30), "only 8% of memory was free (before the first run)"),
        (replace(QUIET, temperature=97.0), "the processor was at 97 degrees Celsius"),
        (replace(QUIET, low_power=True), "the machine saves power"),
        (replace(QUIET, gpus=(GpuState("card", use=60.0),)), "card was in use already (60 %)"),
        (replace(QUIET, gpus=(GpuState("card", use=9.0, temperature=91.0),)), "card was at 91 degrees Celsius"),
    ],
)
def test_what_makes_it_busy(state: BoxState, told: str) -> None:
    (mark,) = busy_marks((state, QUIET))
    assert mark.startswith(told)


def test_a_gpu_that_does_not_reach_its_clock() -> None:
    slow = replace(QUIET, gpus=(GpuState("card", use=99.0, clock=900.0, clock_limit=1980.0),))
    assert busy_marks((slow,)) == ("card ran at 45% of its clock", "card was in use already (99 %)")


def test_the_same_box() -> None:
    box = {"cpu": "x", "cores": 8, "threads": 16, "machine": "x86_64", "memory": 100, "gpus": ["a"]}
    assert same_box(box, {**box, "load": [4], "kernel": "7", "memory": 99})
    for change in ({"cpu": "y"}, {"gpus": ["b"]}, {"memory": 50}, {"memory": None}, {"threads": 8}):
        assert not same_box(box, {**box, **change})
