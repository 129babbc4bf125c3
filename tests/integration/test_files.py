"""Files are written whole or not at all, and one writer at a time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from forkguard.adapters.files import locked, write_atomic
from forkguard.adapters.mapstore import write_map
from forkguard.errors import CouldNotWork, UsageProblem

HOLD = """
import sys
from pathlib import Path
from forkguard.adapters.files import locked
with locked(Path(sys.argv[1]), purpose="a port of #201"):
    print("held", flush=True)
    sys.stdin.read()
"""


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomic(path, "one\n")
    path.chmod(0o640)
    write_atomic(path, b"two\r\n")
    assert path.read_bytes() == b"two\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(path.parent) == ["file"]


def test_a_failure_leaves_the_old_file_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CouldNotWork, match="No space left on device") as caught:
        write_atomic(path, "new")
    assert caught.value.where == str(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_reader_of_the_old_file_sees_it_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with path.open() as reader:
        write_atomic(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_second_run_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "state" / "port.lock"
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(CouldNotWork) as caught, locked(lock, purpose="status"):
            pass
        assert caught.value.what.startswith(
            f"another forkguard run is at work: a port of #201 (process {other.pid} on "
        )
        assert caught.value.where == str(lock)
        other.kill()
        other.wait()
    with locked(lock, purpose="status"):
        assert json.loads(lock.with_name("port.lock.holder").read_text())["purpose"] == "status"
    assert not lock.with_name("port.lock.holder").exists()


def test_the_lock_is_given_back_after_an_error(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    with pytest.raises(RuntimeError), locked(lock, purpose="a"):
        raise RuntimeError
    with locked(lock, purpose="b"):
        pass


def test_a_map_that_does_not_parse_never_reaches_the_file(tmp_path: Path) -> None:
    path = tmp_path / "upstream-map.toml"
    path.write_text("old")
    with pytest.raises(UsageProblem):
        write_map(path, "[upstream]\nremote = 1\n")
    assert path.read_text() == "old"
