"""Probe files on disk: the same bytes always, small, readable, and written whole or not at all."""

import os
from pathlib import Path

import gguf
import pytest

from forkguard.adapters.gguf_files import read_header, write_model
from forkguard.core.probes.models import ProbeFile
from forkguard.errors import CouldNotWork
from forkguard.workflows.probe import write_probe

PINNED = {
    ("small", "target"): "e0a2dce76ff6f7430ac536881fd0e2772798d3a4cba98c804085cfb0929b1568",
    ("small", "draft"): "07c076b340d04cd104b40a20ef38d5d15e4e35e6276d3d691f4d18545a393f4b",
    ("deep", "target"): "4cf78f9c7ce905a9adf16cf9eae93cd4ff0294ba9c917b39880c17add01b16c2",
    ("deep", "draft"): "5d08afbbcf9f3f6002fd5e285e5a24f98d7ecba46c7bf40ebe5859c4243e37f1",
}
"""The default seed's files. When the models are changed on purpose, these change, and docs/trials.md is run anew."""


def lfm2(folder: Path, *, size: str = "small", seed: int = 1) -> tuple[ProbeFile, ProbeFile]:
    pair = write_probe("lfm2", folder, write=write_model, size=size, seed=seed)
    assert pair.draft is not None
    return pair.target, pair.draft


@pytest.mark.parametrize(("size", "most"), [("small", 1_000_000), ("deep", 4_500_000)])
def test_the_same_bytes_on_every_run_and_machine(tmp_path: Path, size: str, most: int) -> None:
    one, two = lfm2(tmp_path / "one", size=size), lfm2(tmp_path / "two", size=size)
    for role, first, second in zip(("target", "draft"), one, two, strict=True):
        assert first.sha256 == second.sha256 == PINNED[size, role]
        assert Path(first.path).read_bytes() == Path(second.path).read_bytes()
        assert first.size == Path(first.path).stat().st_size
    assert sum(file.size for file in one) < most


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    target, draft = lfm2(tmp_path, seed=5)
    assert target.sha256 != PINNED["small", "target"]
    assert draft.sha256 != PINNED["small", "draft"]


def test_the_header_reads_back(tmp_path: Path) -> None:
    target, draft = (read_header(Path(file.path)) for file in lfm2(tmp_path))
    assert (target.arch, target.name) == ("lfm2", "forkguard LFM2 probe, small")
    assert (draft.arch, draft.name) == ("dflash", "forkguard DSpark probe, small")
    assert {"token_embd.weight", "blk.0.shortconv.conv.weight", "blk.3.attn_q_norm.weight"} <= set(target.tensors)
    assert {"fc.weight", "markov_w1.weight", "markov_w2.weight", "conf_proj.weight"} <= set(draft.tensors)


def test_the_header_is_the_one_that_the_gguf_package_reads(tmp_path: Path) -> None:
    for file in lfm2(tmp_path):
        reader = gguf.GGUFReader(file.path)
        assert read_header(Path(file.path)).tensors == tuple(tensor.name for tensor in reader.tensors)


@pytest.mark.parametrize("kept", [0, 3, 40, 2_000])
def test_what_is_no_whole_model_file_is_said(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "cut.gguf"
    whole = Path(lfm2(tmp_path)[1].path).read_bytes()
    path.write_bytes(whole[:kept])
    with pytest.raises(CouldNotWork, match="not a whole GGUF model file") as caught:
        read_header(path)
    assert caught.value.where == str(path)


def test_a_pipe_in_the_place_of_a_model_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(CouldNotWork, match="it is no file"):
        read_header(tmp_path / "pipe.gguf")


def test_a_missing_model_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(CouldNotWork, match="cannot be read"):
        read_header(tmp_path / "none.gguf")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, _ = lfm2(tmp_path)
    before = Path(target.path).read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(CouldNotWork):
        write_probe("lfm2", tmp_path, write=write_model, seed=9)
    assert Path(target.path).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lfm2-small-dspark.gguf", "lfm2-small-target.gguf"]
