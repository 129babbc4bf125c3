"""`forkguard verify` on a shelf: the same refusal as text and as JSON, or a pass; at a time of the test's choice."""

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from forkguard.cli import clock as cli_clock
from tests.support.commands import Outcome, forkguard
from tests.support.receipts import FINISHED, Shelf

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/verify.json").read_text())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Says how long after the gate's end it is now; an hour, unless set."""

    def set_to(after: timedelta) -> None:
        monkeypatch.setattr(cli_clock, "now", lambda: FINISHED + after)

    set_to(timedelta(hours=1))
    return set_to


@pytest.fixture
def shelf(tmp_path: Path, clock: Callable[[timedelta], None], monkeypatch: pytest.MonkeyPatch) -> Shelf:
    for name in list(os.environ):
        if name.startswith(("GGML_", "LLAMA_", "CUDA_", "HIP_", "HSA_", "NVIDIA_", "LD_", "OMP_", "MALLOC_")):
            monkeypatch.delenv(name)
    return Shelf(tmp_path / "shelf")


def verify(shelf: Shelf, *words: str | Path, binary: Path | None = None) -> Outcome:
    return forkguard("verify", binary or shelf.binary, "--receipts", shelf.store.root, *words, cwd=shelf.root)


def refused(shelf: Shelf, *words: str | Path, binary: Path | None = None) -> dict[str, Any]:
    """The refusal, which is the same as text and as JSON, and exits 1."""
    outcome = verify(shelf, *words, "--format", "json", binary=binary)
    assert outcome.status == 1, outcome.out + outcome.err
    document = json.loads(outcome.out)
    jsonschema.validate(document, SCHEMA)
    refusal: dict[str, Any] = document["refusal"]
    text = verify(shelf, *words, binary=binary)
    assert text.status == 1
    first, _, last = text.out.splitlines()
    assert first.startswith(f"verify REFUSED [{refusal['class']}]: ")
    assert last == f"  next:  {refusal['hint']}"
    assert (document["verdict"], document["receipts"]) == ("refused", [])
    return refusal


def passes(shelf: Shelf, *words: str | Path, binary: Path | None = None) -> dict[str, Any]:
    outcome = verify(shelf, *words, "--format", "json", binary=binary)
    assert outcome.status == 0, outcome.out + outcome.err
    document: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(document, SCHEMA)
    return document
