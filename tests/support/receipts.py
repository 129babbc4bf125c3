"""Gate documents of our own making, and a desk with a program, a model and receipts that cover them."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forkguard.adapters.gguf_files import write_model
from forkguard.adapters.hashing import hash_file
from forkguard.adapters.receipts import ReceiptStore
from forkguard.adapters.server_files import hash_libraries, read_model
from forkguard.workflows.probe import write_probe

FINISHED = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
FLAGS = ("-c", "4096", "-np", "1")
DRAFT_FLAGS = (*FLAGS, "--spec-type", "draft-odd", "--spec-draft-n-max", "3")


def arm(name: str, words: tuple[str, ...], *, complete: bool = True) -> dict[str, Any]:
    """As much of an arm as is read again."""
    command = ["/build/llama-server", "--host", "127.0.0.1", "--port", "4242", "-m", "/build/target.gguf", *words]
    return {"name": name, "command": command, "complete": complete, "verbose": False}


@dataclass
class Shelf:
    """A program with a library beside it, two models, and a folder of receipts."""

    root: Path
    store: ReceiptStore = field(init=False)

    def __post_init__(self) -> None:
        folder = self.root / "bin"
        folder.mkdir(parents=True)
        (folder / "llama-server").write_text("#!/bin/sh\nexit 0\n")
        (folder / "llama-server").chmod(0o755)
        (folder / "libllama.so.0").write_bytes(b"a library")
        pair = write_probe("lfm2", self.root, write=write_model)
        assert pair.draft is not None
        Path(pair.target.path).rename(self.root / "target.gguf")
        Path(pair.draft.path).rename(self.root / "draft.gguf")
        self.store = ReceiptStore(self.root / "receipts")

    @property
    def binary(self) -> Path:
        """The program."""
        return self.root / "bin" / "llama-server"

    @property
    def library(self) -> Path:
        """The library beside it."""
        return self.root / "bin" / "libllama.so.0"

    @property
    def target(self) -> Path:
        """The target model."""
        return self.root / "target.gguf"

    def document(self, **changes: Any) -> dict[str, Any]:
        """A passing gate of the program as it is now, with these fields instead."""
        models = [read_model(self.root / name) for name in ("target.gguf", "draft.gguf")]
        return {
            "schema": "forkguard/gate@1",
            "forkguard": "0",
            "verdict": "pass",
            "arch": "heron",
            "checks": [{"name": "crash", "verdict": "pass", "class": None, "detail": "none"}],
            "arms": [arm("no-draft-1", FLAGS), arm("draft-3", (*DRAFT_FLAGS, "-md", "/build/draft.gguf"))],
            "tree": {
                "commit": "a" * 40,
                "binary": str(self.binary),
                "binary_sha256": hash_file(self.binary),
                "libraries": [{"path": one.path, "sha256": one.sha256} for one in hash_libraries(self.binary, ())],
            },
            "models": [{"name": one.name, "sha256": one.sha256, "arch": one.arch} for one in models],
            "environment": {},
            "started": "2026-09-01T11:59:00+00:00",
            "finished": FINISHED.isoformat(),
            **changes,
        }

    def gate(self, *, key: Any = None, job: str | None = None, log: bytes = b"log\n", **changes: Any) -> Path:
        """Write a receipt as a gate does, with these fields instead of those of a pass."""
        folder = self.store.make_folder(FINISHED, name="abc")
        (folder / "draft-3.log").write_bytes(log)
        sign = key.sign if key is not None else None
        return self.store.write(folder, json.dumps(self.document(**changes)), job=job, sign=sign)

    def red(self, **changes: Any) -> Path:
        """Write a red receipt."""
        checks = [{"name": "crash", "verdict": "fail", "class": "abort", "detail": "it aborted"}]
        return self.gate(**{"verdict": "fail", "checks": checks, **changes})
