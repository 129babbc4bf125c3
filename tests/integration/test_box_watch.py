"""The machine's state from the real system, and from tools that are small scripts of ours."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from forkguard.adapters.box_watch import BoxWatch
from forkguard.adapters.gguf_files import write_model
from forkguard.adapters.gpu import GpuTools
from forkguard.adapters.memory_speed import measure_bandwidth, model_bytes_per_token
from forkguard.core.boxes import GpuState
from forkguard.core.ceiling import Source
from forkguard.core.probes.models import Key, Model, Stored, Tensor
from forkguard.errors import CouldNotWork


def tool(folder: Path, name: str, body: str) -> None:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)


def test_both_tools_are_asked_and_a_broken_one_is_said(tmp_path: Path) -> None:
    assert GpuTools(str(tmp_path)).read().gpus == ()
    tool(tmp_path, "nvidia-smi", "echo 'Some Card, 7, 100, 200, 900, 1800, 55.5, 44'")
    tool(tmp_path, "rocm-smi", "echo no >&2; exit 1")
    reading = GpuTools(str(tmp_path)).read()
    assert reading.gpus == (GpuState("Some Card", 7.0, 100 << 20, 200 << 20, 900.0, 1800.0, 55.5, 44.0),)
    (remark,) = reading.remarks
    assert remark.startswith("rocm-smi does not tell: ")
    tool(tmp_path, "rocm-smi", 'echo \'{"card0": {"Card Series": "Other Card"}}\'')
    assert [gpu.name for gpu in GpuTools(str(tmp_path)).read().gpus] == ["Some Card", "Other Card"]
    tool(tmp_path, "nvidia-smi", "echo No devices were found")
    assert GpuTools(str(tmp_path)).read().remarks == ("nvidia-smi names no GPU",)


def test_a_machine_that_says_nothing_of_its_batteries_saves_no_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_folder() -> None:
        raise FileNotFoundError("/sys/class/power_supply")

    monkeypatch.setattr("psutil.sensors_battery", no_folder)
    monkeypatch.setattr("forkguard.adapters.box_watch._PREFERENCE", tmp_path / "none")
    assert BoxWatch(GpuTools(str(tmp_path)), window=0.0).look("now").low_power is False


def test_the_real_machine_is_looked_at_and_our_own_children_are_not_residents(tmp_path: Path) -> None:
    ours = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        state = BoxWatch(GpuTools(str(tmp_path)), window=0.2).look("now")
    finally:
        ours.kill()
        ours.wait()
    assert (state.when, state.gpus, state.remarks) == ("now", (), ())
    assert state.load >= 0.0
    assert state.memory_total is not None
    assert state.memory_available is not None
    assert 0 < state.memory_available <= state.memory_total
    assert all(resident.name for resident in state.residents)


def test_a_measured_bandwidth_is_that_of_memory_and_not_of_a_disk() -> None:
    found = measure_bandwidth(piece=8 << 20, tries=2)
    assert found.source is Source.MEASURED
    assert found.bytes_per_second > 1e8


def model(path: Path, *tensors: tuple[str, int]) -> None:
    keys = (Key("moe.expert_count", Stored.U32, 8), Key("moe.expert_used_count", Stored.U32, 2))
    data = tuple(Tensor(name, np.zeros(size, dtype=np.float32)) for name, size in tensors)
    write_model(path, Model("moe", keys, data))


def test_bytes_per_token_come_from_the_file_and_its_shards(tmp_path: Path) -> None:
    one = tmp_path / "m.gguf"
    model(one, ("token_embd.weight", 100), ("output.weight", 100), ("blk.0.ffn_up_exps.weight", 80))
    assert model_bytes_per_token(one) == 4 * (100 + 20)
    model(tmp_path / "s-00001-of-00002.gguf", ("token_embd.weight", 100), ("output.weight", 100))
    model(tmp_path / "s-00002-of-00002.gguf", ("blk.0.ffn_up_exps.weight", 80))
    assert model_bytes_per_token(tmp_path / "s-00001-of-00002.gguf") == 4 * (100 + 20)
    one.write_bytes(b"GGUF")
    with pytest.raises(CouldNotWork, match="not a whole GGUF"):
        model_bytes_per_token(one)
    with pytest.raises(CouldNotWork, match="cannot be read"):
        model_bytes_per_token(tmp_path / "none.gguf")
