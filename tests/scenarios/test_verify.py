"""`forkguard verify`, whole: what it lets through, and each thing that it refuses."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forkguard.adapters.hashing import hash_file
from forkguard.cli import clock as cli_clock
from tests.support.commands import forkguard
from tests.support.receipts import DRAFT_FLAGS, FLAGS, Shelf, arm
from tests.support.verifying import passes, refused, verify

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/verify.json").read_text())


# -- covered ---------------------------------------------------------------------------------------------


def test_a_covered_binary_passes_in_three_lines(shelf: Shelf) -> None:
    path = shelf.gate()
    outcome = verify(shelf, "--model", "target.gguf", "--model", "draft.gguf", "--arch", "heron")
    assert (outcome.status, outcome.err) == (0, "")
    first, second, third = outcome.out.splitlines()
    assert first.startswith(f"verify PASS: {shelf.binary} (sha256 ")
    assert first.endswith("is covered for heron, commit aaaaaaaaaaaa")
    assert second == f"  receipt:  {path}, 1 h old"
    assert third == (
        "  compared: 1 library, environment, 1 log, 2 models; not compared: flags (--flags), "
        "signature (--allowed-signers)"
    )


def test_what_was_compared_and_what_not_is_said(shelf: Shelf) -> None:
    path = shelf.gate(job="heron.cpu.draft-3")
    document = passes(shelf)
    assert document["not_compared"] == ["models (--model)", "flags (--flags)", "signature (--allowed-signers)"]
    (receipt,) = document["receipts"]
    assert receipt["path"] == f"{path.parent.name}/receipt.json"
    assert (receipt["job"], receipt["age_seconds"], receipt["logs"]) == ("heron.cpu.draft-3", 3600, 1)


def test_a_program_and_its_libraries_may_be_deployed_elsewhere(shelf: Shelf) -> None:
    shelf.gate()
    shutil.copytree(shelf.root / "bin", shelf.root / "opt")
    shutil.rmtree(shelf.root / "bin")
    passes(shelf, binary=shelf.root / "opt" / "llama-server")
    (shelf.root / "opt" / "libllama.so.0").write_bytes(b"another library")
    assert refused(shelf, binary=shelf.root / "opt" / "llama-server")["class"] == "changed-library"


def test_the_folder_beside_the_map_is_the_default(shelf: Shelf) -> None:
    shelf.gate()
    (shelf.root / ".forkguard").mkdir()
    shelf.store.root.rename(shelf.root / ".forkguard" / "receipts")
    (shelf.root / "upstream-map.toml").write_text('[upstream]\nremote = "up"\nref = "up/master"\n')
    assert forkguard("verify", "bin/llama-server", cwd=shelf.root).status == 0


def test_a_folder_of_receipts_may_be_a_symbolic_link(shelf: Shelf) -> None:
    shelf.gate()
    shelf.store.root.rename(shelf.root / "big-disk")
    shelf.store.root.symlink_to("big-disk")
    passes(shelf)


def test_old_receipts_may_be_removed(shelf: Shelf) -> None:
    first = shelf.red(tree={**shelf.document()["tree"], "binary_sha256": "0" * 64})
    shelf.gate()
    shutil.rmtree(first.parent)
    document = passes(shelf)
    assert document["notes"] == [f"{first.parent.name}/receipt.json and all before it were removed"]


# -- refused: the binary, and what goes with it ----------------------------------------------------------


def test_an_unknown_binary(shelf: Shelf) -> None:
    shelf.gate()
    shelf.binary.write_text("#!/bin/sh\nexit 1\n")
    refusal = refused(shelf)
    assert (refusal["class"], refusal["hint"]) == (
        "unknown-binary", f"forkguard gate --arch NAME --binary {shelf.binary}",
    )  # fmt: skip


def test_no_receipt_at_all(shelf: Shelf) -> None:
    shelf.store.root.mkdir()
    refusal = refused(shelf)
    assert (refusal["class"], refusal["detail"]) == ("unknown-binary", "there is no receipt yet")


@pytest.mark.parametrize("change", ["changed", "gone", "added"])
def test_a_changed_library(shelf: Shelf, change: str) -> None:
    shelf.gate()
    if change == "changed":
        shelf.library.write_bytes(b"a librarY")
    elif change == "gone":
        shelf.library.unlink()
    else:
        (shelf.library.parent / "libggml-cuda.so").write_bytes(b"a backend that ggml would load")
    refusal = refused(shelf)
    told = {
        "changed": "libllama.so.0 has other bytes than when it was gated",
        "gone": f"{shelf.library} is gone",
        "added": "libggml-cuda.so would be loaded, and was not gated",
    }
    assert (refusal["class"], refusal["detail"]) == ("changed-library", told[change])
    assert refusal["hint"] == f"forkguard gate --arch heron --binary {shelf.binary}"


def test_a_changed_library_elsewhere_on_the_machine(shelf: Shelf) -> None:
    far = shelf.root / "usr" / "libgomp.so.1"
    far.parent.mkdir()
    far.write_bytes(b"gomp")
    tree = shelf.document()["tree"]
    tree["libraries"].append({"path": str(far), "sha256": hash_file(far)})
    shelf.gate(tree=tree)
    passes(shelf)
    far.write_bytes(b"gomp after an upgrade")
    assert refused(shelf)["detail"] == f"{far} has other bytes than when it was gated"


def test_a_changed_model_and_one_that_was_never_gated(shelf: Shelf) -> None:
    shelf.gate()
    shutil.copy(shelf.target, shelf.root / "other.gguf")
    passes(shelf, "--model", "other.gguf")
    with (shelf.root / "other.gguf").open("ab") as file:
        file.write(b"x")
    refusal = refused(shelf, "--model", "other.gguf")
    assert (refusal["class"], refusal["detail"]) == (
        "unlisted-model", "other.gguf was not gated; the receipt lists target.gguf, draft.gguf",
    )  # fmt: skip
    (shelf.root / "other.gguf").rename(shelf.target)
    assert refused(shelf, "--model", "target.gguf")["class"] == "changed-model"


def test_another_arch(shelf: Shelf) -> None:
    shelf.gate()
    refusal = refused(shelf, "--arch", "egret")
    assert (refusal["class"], refusal["detail"]) == ("other-arch", "this binary was gated for heron, not for egret")


@pytest.mark.parametrize(
    ("name", "gated"),
    [("GGML_CUDA_FORCE_MMQ", False), ("HSA_OVERRIDE_GFX_VERSION", False), ("LLAMA_ARG_CTX_SIZE", False),
     ("HIP_VISIBLE_DEVICES", True), ("LD_LIBRARY_PATH", False)],
)  # fmt: skip
def test_another_environment(shelf: Shelf, monkeypatch: pytest.MonkeyPatch, name: str, *, gated: bool) -> None:
    shelf.gate(environment={name: "1"} if gated else {})
    if not gated:
        monkeypatch.setenv(name, "1")
    refusal = refused(shelf)
    assert refusal["class"] == "other-environment"
    assert name in refusal["detail"]


def test_a_file_from_which_the_server_takes_flags_is_another_environment(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.gate()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(shelf.root / "config"))
    passes(shelf)
    (shelf.root / "config" / "llama.cpp").mkdir(parents=True)
    (shelf.root / "config" / "llama.cpp" / "config.ini").write_text("[*]\nctx-size = 8\n")
    refusal = refused(shelf)
    assert refusal["class"] == "other-environment"
    assert refusal["detail"].startswith("config.ini of the user is 'sha256 ")
    assert refusal["detail"].endswith("', and was not set")


def test_a_model_that_the_environment_names_is_compared(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.gate()
    monkeypatch.setenv("LLAMA_ARG_MODEL", str(shelf.root / "target.gguf"))
    assert "models (--model)" not in passes(shelf)["not_compared"]
    (shelf.root / "other.gguf").write_bytes((shelf.root / "target.gguf").read_bytes() + b"x")
    monkeypatch.setenv("LLAMA_ARG_MODEL", str(shelf.root / "other.gguf"))
    assert refused(shelf)["class"] == "unlisted-model"
    assert refused(shelf, "--flags", "-c 8")["class"] == "unlisted-model"


def test_secrets_and_where_it_listens_are_no_other_environment(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.gate(environment={"CUDA_VISIBLE_DEVICES": "0"})
    for name, value in {"LLAMA_API_KEY": "x", "LLAMA_ARG_PORT": "80", "CUDA_VISIBLE_DEVICES": "0"}.items():
        monkeypatch.setenv(name, value)
    passes(shelf)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("-c 8192 -np 1", "--ctx-size: 8192, not 4096"),
        ("-c 4096", "--parallel: without it, not 1"),
        ("-c 4096 -np 1 --no-mmap", "--no-mmap: given, not without it"),
    ],
)
def test_another_flag_set(shelf: Shelf, flags: str, told: str) -> None:
    shelf.gate()
    refusal = refused(shelf, "--flags", flags)
    assert (refusal["class"], refusal["detail"]) == (
        "other-flags", f"no gated server had these flags; the nearest differs in {told}",
    )  # fmt: skip


def test_the_same_flags_in_other_words(shelf: Shelf) -> None:
    shelf.gate()
    passes(shelf, "--flags", "--parallel 1 --ctx-size 4096 --host 0.0.0.0 --port 80 --api-key x --metrics")
    document = passes(shelf, "--flags", " ".join((*DRAFT_FLAGS, "-m", "target.gguf", "-md", "draft.gguf")))
    assert [model["path"] for model in document["models"]] == ["target.gguf", "draft.gguf"]
    assert document["not_compared"] == ["signature (--allowed-signers)"]


def test_the_flags_of_a_server_that_did_not_finish_are_not_covered(shelf: Shelf) -> None:
    shelf.gate(arms=[arm("no-draft-1", FLAGS, complete=False)])
    assert refused(shelf, "--flags", " ".join(FLAGS))["detail"] == "no server of this receipt ran to its end"


# -- refused: the verdict --------------------------------------------------------------------------------


def test_a_red_receipt(shelf: Shelf) -> None:
    shelf.red()
    refusal = refused(shelf)
    assert (refusal["class"], refusal["detail"]) == (
        "red", "its newest receipt for heron is red: crash, it aborted",
    )  # fmt: skip


def test_an_inconclusive_receipt(shelf: Shelf) -> None:
    shelf.gate(
        verdict="inconclusive", checks=[{"name": "liveness", "verdict": "inconclusive", "detail": "no drafts"}]
    )
    assert refused(shelf)["class"] == "inconclusive"


def test_the_newest_receipt_counts(shelf: Shelf) -> None:
    shelf.gate()
    shelf.red()
    assert refused(shelf, "--flags", " ".join(FLAGS))["class"] == "red"
    shelf.gate()
    passes(shelf)


def test_a_red_job_is_not_hidden_by_a_green_one(shelf: Shelf) -> None:
    shelf.red(job="heron.cpu.draft-7")
    shelf.gate(job="heron.cpu.draft-3")
    assert "(job heron.cpu.draft-7)" in refused(shelf)["detail"]
    shelf.gate(job="heron.cpu.draft-7")
    assert len(passes(shelf)["receipts"]) == 2


def test_another_binary_that_was_red_is_no_matter(shelf: Shelf) -> None:
    shelf.gate()
    shelf.red(tree={**shelf.document()["tree"], "binary_sha256": "0" * 64})
    passes(shelf)


def test_a_red_gate_of_other_libraries_is_no_matter(shelf: Shelf) -> None:
    shelf.gate()
    before = shelf.library.read_bytes()
    shelf.library.write_bytes(b"a bad rebuild")
    shelf.red()
    assert refused(shelf)["class"] == "red"
    shelf.library.write_bytes(before)
    passes(shelf)


def test_a_stale_receipt(shelf: Shelf, clock: Callable[[timedelta], None]) -> None:
    shelf.gate()
    clock(timedelta(days=9, hours=2))
    refusal = refused(shelf)
    assert (refusal["class"], refusal["detail"]) == ("stale", "its receipt is 9 d 2 h old, and may be 7 d")
    passes(shelf, "--max-age", "10d")
    assert passes(shelf, "--max-age", "any")["max_age_seconds"] is None


def test_exactly_as_old_as_may_be_is_fresh(shelf: Shelf, clock: Callable[[timedelta], None]) -> None:
    shelf.gate()
    clock(timedelta(days=7))
    passes(shelf)
    clock(timedelta(days=7, seconds=1))
    assert refused(shelf)["class"] == "stale"


def test_a_clock_that_went_backwards(shelf: Shelf, clock: Callable[[timedelta], None]) -> None:
    shelf.gate()
    clock(timedelta(minutes=-4))
    passes(shelf)
    clock(timedelta(minutes=-6))
    refusal = refused(shelf, "--max-age", "any")
    assert (refusal["class"], refusal["detail"]) == (
        "future", "its receipt is of 2026-09-01T12:00:00+00:00, which is yet to come: a clock is wrong",
    )  # fmt: skip


# -- could not look, wrong use ---------------------------------------------------------------------------


def test_what_cannot_be_looked_at_exits_3(shelf: Shelf) -> None:
    for words, told in (
        ((), "there is no folder of receipts"),
        (("--model", "nowhere.gguf"), None),
        (("--allowed-signers", "nowhere"), "the file of allowed signers is not there"),
    ):
        outcome = verify(shelf, *words)
        assert (outcome.status, outcome.out) == (3, "")
        assert told is None or outcome.told()[0] == told
        if not words:
            shelf.gate()
    outcome = verify(shelf, binary=shelf.root / "nowhere")
    assert (outcome.status, outcome.told()[0]) == (3, "there is no program at this path")


@pytest.mark.parametrize("words", [("--max-age", "soon"), ("--flags", "'open"), ("--max-age", "-7d")])
def test_wrong_use_exits_2(shelf: Shelf, words: tuple[str, ...]) -> None:
    shelf.gate()
    outcome = verify(shelf, *words)
    assert (outcome.status, outcome.out) == (2, "")


def test_the_clock_is_the_real_one() -> None:
    assert abs(cli_clock.now() - datetime.now(UTC)) < timedelta(minutes=1)
