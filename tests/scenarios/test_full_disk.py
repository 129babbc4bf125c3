"""A disk that fills while the gate runs: it could not work, says so, and the receipts before are as they were."""

import os
import shutil

import pytest

from tests.support.commands import forkguard
from tests.support.receipts import Shelf
from tests.support.scripted_server import Behaviour, write_server
from tests.support.small_disk import fill, small_disk

MAP = """[upstream]
remote = "up"
ref = "up/master"
[arch.heron]
enum = "LLM_ARCH_HERON"
[gate]
widths = [3]
slots = [1]
target = "target.gguf"
draft = "draft.gguf"
prompts = "prompts.toml"
timeout = 20
"""


@pytest.mark.parametrize("free", [0, 24], ids=lambda free: f"{free}k")
def test_a_full_disk_leaves_no_receipt_and_the_chain_whole(shelf: Shelf, free: int) -> None:
    (shelf.root / "upstream-map.toml").write_text(MAP)
    (shelf.root / "prompts.toml").write_text('[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n')
    server = write_server(shelf.root / "server", Behaviour())
    words = ("gate", "--arch", "heron", "--binary", str(server))
    with small_disk(shelf.root / ".forkguard", kilobytes=512) as disk:
        assert forkguard(*words, cwd=shelf.root).status == 0
        before = sorted((disk / "receipts").glob("*/receipt.json"))
        fill(disk)
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - free * 1024)
        (shelf.root / "bin" / "noisy").mkdir()
        noisy = write_server(shelf.root / "bin" / "noisy", Behaviour(flood=300_000))
        outcome = forkguard("gate", "--arch", "heron", "--binary", str(noisy), cwd=shelf.root)
        assert outcome.status == 3, outcome.out + outcome.err
        assert outcome.out == ""
        assert "No space left on device" in outcome.err
        assert sorted((disk / "receipts").glob("*/receipt.json")) == before
        assert forkguard("verify", server, cwd=shelf.root).status == 0
        (disk / "filler").unlink()
        for cut in (disk / "receipts").iterdir():
            if cut.is_dir() and not (cut / "receipt.json").exists():
                shutil.rmtree(cut)
        assert forkguard(*words, cwd=shelf.root).status == 0
        assert forkguard("verify", server, cwd=shelf.root).status == 0
