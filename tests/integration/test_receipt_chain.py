"""Receipts hold their logs and the receipt before them by hash, and a write that fails leaves the chain as it was."""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forkguard.adapters import receipts
from forkguard.adapters.files import locked, write_atomic
from forkguard.adapters.receipts import ReceiptStore, read_build
from forkguard.adapters.signing import SshSigner, SshVerifier
from forkguard.core.receipts import BadReceipt, Compiler, digest
from forkguard.errors import CouldNotWork
from tests.support.signers import allow, make_key
from tests.support.small_disk import fill, small_disk

STARTED = datetime(2026, 9, 1, 12, 0, 5, tzinfo=UTC)
DOCUMENT = json.dumps({"schema": "forkguard/gate@1", "arms": [{"name": "one", "command": ["x", "-c", "8"]}]})


def write(store: ReceiptStore, log: bytes = b"log\n", document: str = DOCUMENT) -> Path:
    folder = store.make_folder(STARTED, name="abc")
    (folder / "one.log").write_bytes(log)
    return store.write(folder, document)


def head_of(store: ReceiptStore) -> str:
    return (store.root / "HEAD").read_text()


def test_a_receipt_holds_its_logs_and_the_receipt_before_it(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    first, second = write(store), write(store, b"another log\n")
    one, two = (json.loads(path.read_text()) for path in (first, second))
    assert one["previous"] is None
    assert two["previous"] == {"path": f"{first.parent.name}/receipt.json", "sha256": digest(first.read_bytes())}
    assert two["logs"] == [{"path": "one.log", "sha256": digest(b"another log\n"), "bytes": 12}]
    assert (two["flags"], two["job"], two["build"]) == (
        [{"arm": "one", "flags": ["--ctx-size", "8"]}], None, None,
    )  # fmt: skip
    assert head_of(store) == f"{digest(second.read_bytes())}  {second.parent.name}/receipt.json\n"


def test_sha256sum_alone_checks_a_receipt_and_the_head(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    first, second = write(store), write(store)
    for folder, sums in ((second.parent, "SHA256SUMS"), (tmp_path, "HEAD")):
        subprocess.run(["sha256sum", "--strict", "-c", sums], cwd=folder, check=True, capture_output=True)
    first.write_bytes(first.read_bytes().replace(b"gate", b"Gate"))
    done = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=second.parent, capture_output=True, check=False)
    assert done.returncode == 1
    assert f"../{first.parent.name}/receipt.json: FAILED" in done.stdout.decode()


def test_an_interrupt_behind_the_last_write_leaves_the_receipt_that_the_head_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ReceiptStore(tmp_path)
    first = write(store)

    def interrupted(path: Path, content: bytes | str) -> None:
        write_atomic(path, content)
        if path.name == "HEAD":
            raise KeyboardInterrupt

    monkeypatch.setattr(receipts, "write_atomic", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(store)
    monkeypatch.undo()

    second = store.all()[-1]
    assert second != first
    assert head_of(store) == f"{digest(second.read_bytes())}  {second.parent.name}/receipt.json\n"
    assert json.loads(write(store).read_text())["previous"]["sha256"] == digest(second.read_bytes())


def test_a_run_killed_before_the_head_was_moved_counts(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    write(store)
    before = head_of(store)
    second = write(store)
    third = write(store)
    (tmp_path / "HEAD").write_text(before)
    head = store.head()
    assert head is not None
    assert (head.path, head.sha256) == (f"{third.parent.name}/receipt.json", digest(third.read_bytes()))
    assert json.loads(third.read_text())["previous"]["sha256"] == digest(second.read_bytes())


def test_a_first_run_killed_before_there_was_a_head_counts(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    first = write(store)
    (tmp_path / "HEAD").unlink()
    head = store.head()
    assert head is not None
    assert (head.path, head.sha256) == (f"{first.parent.name}/receipt.json", digest(first.read_bytes()))
    second = write(store)
    assert json.loads(second.read_text())["previous"] == {"path": head.path, "sha256": head.sha256}


def test_a_head_that_is_gone_from_a_longer_chain_or_from_the_rest_of_one_is_damage(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    first = write(store)
    write(store)
    (tmp_path / "HEAD").unlink()
    with pytest.raises(BadReceipt, match="is gone"):
        store.head()
    shutil.rmtree(first.parent)
    with pytest.raises(BadReceipt, match="is gone"):
        store.head()


def test_gates_that_end_at_once_make_one_chain(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda number: write(ReceiptStore(tmp_path), b"%d" % number), range(8)))
    head = ReceiptStore(tmp_path).head()
    assert head is not None
    found: list[Path] = []
    link = {"path": head.path, "sha256": head.sha256}
    while link:
        path = tmp_path / link["path"]
        assert digest(path.read_bytes()) == link["sha256"]
        found.append(path)
        link = json.loads(path.read_text())["previous"]
    assert (len(found), set(found)) == (8, paths)


def test_a_gate_that_begins_while_another_writes_the_first_receipt_waits(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    write(store)
    head = head_of(store)
    with ThreadPoolExecutor(1) as pool:
        with locked(tmp_path / ".lock", purpose="the first receipt"):
            (tmp_path / "HEAD").unlink()
            beginning = pool.submit(store.make_folder, STARTED, name="abc")
            with pytest.raises(TimeoutError):
                beginning.result(timeout=0.5)
            (tmp_path / "HEAD").write_text(head)
        assert beginning.result(timeout=60).is_dir()


@pytest.mark.parametrize("damage", [None, "", "no hash\n", f"{'0' * 64}  ../../x/receipt.json\n"])
def test_a_damaged_head_stops_the_gate_before_it_runs(tmp_path: Path, damage: str | None) -> None:
    store = ReceiptStore(tmp_path)
    write(store)
    write(store)
    (tmp_path / "HEAD").unlink()
    if damage is not None:
        (tmp_path / "HEAD").write_text(damage)
    folders = sorted(tmp_path.iterdir())
    with pytest.raises(CouldNotWork, match="chain of receipts is damaged") as caught:
        store.make_folder(STARTED, name="abc")
    assert "start a new chain" in caught.value.hint
    assert sorted(tmp_path.iterdir()) == folders


def test_a_key_that_does_not_sign_leaves_the_chain_as_it_was(tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path)
    write(store)
    before = head_of(store)
    folder = store.make_folder(STARTED, name="abc")

    def refuse(content: bytes) -> bytes:
        raise CouldNotWork("no key")

    with pytest.raises(CouldNotWork, match="no key"):
        store.write(folder, DOCUMENT, sign=refuse)
    assert list(folder.iterdir()) == []
    assert (head_of(store), len(store.all())) == (before, 1)


@pytest.mark.parametrize("free", range(0, 44, 4), ids=lambda free: f"{free}k")
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, free: int) -> None:
    with small_disk(tmp_path / "disk", kilobytes=256) as disk:
        store = ReceiptStore(disk / "receipts")
        write(store)
        before = head_of(store)
        folder = store.make_folder(STARTED, name="abc")
        fill(disk)
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - free * 1024)
        try:
            path = store.write(folder, json.dumps({"arms": [], "text": "x" * 12000}))
        except CouldNotWork:
            assert list(folder.iterdir()) == []
            assert (head_of(store), len(store.all())) == (before, 1)
            (disk / "filler").unlink()
            path = store.write(folder, DOCUMENT)
        assert head_of(store) == f"{digest(path.read_bytes())}  {folder.name}/receipt.json\n"
        assert json.loads(path.read_text())["previous"]["sha256"] == before.split()[0]
        assert {file.name for file in folder.iterdir()} == {"receipt.json", "SHA256SUMS"}


def test_a_folder_of_receipts_may_be_a_link_and_nothing_in_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    store = ReceiptStore(tmp_path / "link")
    path = write(store)
    name = f"{path.parent.name}/receipt.json"
    assert store.receipt(name) == path.read_bytes()
    moved = path.parent.rename(tmp_path / "elsewhere")
    path.parent.symlink_to(moved)
    with pytest.raises(BadReceipt, match="is a symbolic link"):
        store.receipt(name)
    path.parent.unlink()
    path.parent.mkdir()
    path.symlink_to(moved / "receipt.json")
    with pytest.raises(BadReceipt, match="cannot be read as a file"):
        store.receipt(name)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    os.mkfifo(tmp_path / "one" / "receipt.json")
    with pytest.raises(BadReceipt, match="no file of a receipt's kind"):
        ReceiptStore(tmp_path).receipt("one/receipt.json")
    assert ReceiptStore(tmp_path).hash_log("one/receipt.json", "receipt.json") is None


def test_a_signature_holds_for_these_bytes_and_an_allowed_key(tmp_path: Path) -> None:
    ada, eve = make_key(tmp_path, "ada"), make_key(tmp_path, "eve")
    verifier = SshVerifier(allow(tmp_path, ada=ada))
    signature = SshSigner(ada).sign(b"receipt")
    assert verifier.signer(b"receipt", signature) == "ada@example.org"
    for content, bad in (
        (b"receipT", signature),
        (b"receipt", SshSigner(eve).sign(b"receipt")),
        (b"receipt", b"rubbish"),
        (b"receipt", b""),
    ):
        with pytest.raises(BadReceipt, match="not one of an allowed signer"):
            verifier.signer(content, bad)


def test_a_signature_made_for_something_else_is_none(tmp_path: Path) -> None:
    ada = make_key(tmp_path, "ada")
    done = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-q", "-f", str(ada), "-n", "git"], input=b"receipt", capture_output=True,
        check=True,
    )  # fmt: skip
    with pytest.raises(BadReceipt, match="not one of an allowed signer"):
        SshVerifier(allow(tmp_path, ada=ada)).signer(b"receipt", done.stdout)


def test_a_key_that_is_missing_or_locked_is_told(tmp_path: Path) -> None:
    with pytest.raises(CouldNotWork, match="is not there"):
        SshSigner(tmp_path / "none").check()
    locked = make_key(tmp_path, "locked")
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(locked)], check=True)
    with pytest.raises(CouldNotWork, match="could not be signed") as caught:
        SshSigner(locked).check()
    assert "ssh-agent" in caught.value.hint


def test_the_compiler_and_the_options_are_read_beside_the_program(tmp_path: Path) -> None:
    build = tmp_path / "build"
    (build / "bin").mkdir(parents=True)
    (build / "CMakeFiles" / "3.25.1").mkdir(parents=True)
    assert read_build(build / "bin" / "llama-server", profile="cpu") is None
    (build / "CMakeCache.txt").write_text(
        "//a remark\nGGML_CUDA:BOOL=OFF\nCMAKE_BUILD_TYPE:STRING=Release\nMINE:STRING=1\nLLAMA_CURL:BOOL=OFF\n"
    )
    (build / "CMakeFiles" / "3.25.1" / "CMakeCXXCompiler.cmake").write_text(
        'set(CMAKE_CXX_COMPILER "/usr/bin/c++")\nset(CMAKE_CXX_COMPILER_ARG1 "")\n'
        'set(CMAKE_CXX_COMPILER_ID "GNU")\nset(CMAKE_CXX_COMPILER_VERSION "12.2.0")\n'
    )
    facts = read_build(build / "bin" / "llama-server", profile="cpu")
    assert facts is not None
    assert facts.compilers == (Compiler("CXX", "/usr/bin/c++", "GNU", "12.2.0"),)
    assert facts.options == {"CMAKE_BUILD_TYPE": "Release", "GGML_CUDA": "OFF", "LLAMA_CURL": "OFF"}
