"""Receipts are whole or not there, and hold hashes of what ran and no secrets."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forkguard.adapters.gguf_files import write_model
from forkguard.adapters.host import describe_box, recorded_environment, server_environment
from forkguard.adapters.receipts import ReceiptStore
from forkguard.adapters.server_files import hash_libraries, read_model
from forkguard.errors import CouldNotWork
from forkguard.workflows.probe import write_probe

STARTED = datetime(2026, 9, 1, 12, 0, 5, tzinfo=UTC)


def test_two_runs_in_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    first, second = (store.make_folder(STARTED, name="abc") for _ in range(2))
    assert (first.name, second.name) == ("20260901T120005Z-abc", "20260901T120005Z-abc-2")
    assert store.all() == ()
    path = store.write(second, "{}\n")
    assert store.all() == (path,)
    assert json.loads(path.read_text())["previous"] is None


def test_secrets_and_arguments_do_not_reach_a_server() -> None:
    environment = {
        "PATH": "/bin", "HF_TOKEN": "x", "LLAMA_API_KEY": "x", "LLAMA_ARG_CTX_SIZE": "1", "GIT_DIR": "x",
        "MY_PASSWORD": "x", "CUDA_VISIBLE_DEVICES": "0", "GGML_NO_BACKTRACE": "1",
    }  # fmt: skip
    assert set(server_environment(environment)) == {"PATH", "CUDA_VISIBLE_DEVICES", "GGML_NO_BACKTRACE"}
    assert recorded_environment(environment) == {"CUDA_VISIBLE_DEVICES": "0", "GGML_NO_BACKTRACE": "1"}


def test_files_from_which_a_server_takes_flags_are_recorded_by_what_is_in_them(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/bin"}
    assert recorded_environment(environment, system=tmp_path / "etc") == {}
    for folder, text in (("etc", b"[*]\nctx-size = 1\n"), ("home/.config", b"[*]\n"), ("xdg", b"")):
        (tmp_path / folder / "llama.cpp").mkdir(parents=True)
        (tmp_path / folder / "llama.cpp" / "config.ini").write_bytes(text)
    hashes = {
        text: f"sha256 {hashlib.sha256(text).hexdigest()[:16]}" for text in (b"[*]\nctx-size = 1\n", b"[*]\n", b"")
    }
    assert recorded_environment(environment, system=tmp_path / "etc") == {
        "config.ini of the system": hashes[b"[*]\nctx-size = 1\n"], "config.ini of the user": hashes[b"[*]\n"],
    }  # fmt: skip
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert recorded_environment(environment, system=tmp_path)["config.ini of the user"] == hashes[b""]


def test_the_box_is_described() -> None:
    box = describe_box()
    assert isinstance(box["cpu"], str)
    assert isinstance(box["threads"], int)
    assert box["threads"] > 0
    assert not {"host", "hostname", "user"} & set(box)


def test_libraries_are_hashed_once_whatever_they_are_called(tmp_path: Path) -> None:
    (tmp_path / "libpot.so.0.1").write_bytes(b"pot")
    (tmp_path / "libpot.so").symlink_to("libpot.so.0.1")
    (tmp_path / "llama-server").write_bytes(b"server")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "libc.so.6").write_bytes(b"c")
    found = hash_libraries(tmp_path / "llama-server", (str(tmp_path / "elsewhere" / "libc.so.6"), "/gone.so"))
    assert [(Path(one.path).name, one.sha256) for one in found] == [
        ("libc.so.6", hashlib.sha256(b"c").hexdigest()),
        ("libpot.so.0.1", hashlib.sha256(b"pot").hexdigest()),
    ]


def test_a_model_is_named_with_its_arch_and_hash(tmp_path: Path) -> None:
    pair = write_probe("lfm2", tmp_path, write=write_model)
    model = read_model(Path(pair.target.path))
    assert (model.arch, model.sha256) == ("lfm2", hashlib.sha256(Path(pair.target.path).read_bytes()).hexdigest())


@pytest.mark.parametrize("content", [None, b"", b"GGUF" + b"\xff" * 40, b"text"])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CouldNotWork):
        read_model(path)
