"""The demo tells its story on real sources, offline once they are there."""

import re
import subprocess
from pathlib import Path

import pytest

from forkguard.cli.main import invoke

pytestmark = pytest.mark.real


@pytest.mark.usefixtures("real_archives")
def test_the_story_goes_as_told_twice_and_its_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("forkguard.adapters.archives.find_pip", lambda: pytest.fail("it went online"))
    monkeypatch.chdir(tmp_path)
    assert invoke(["demo", "--no-build"]) == 0
    first = capsys.readouterr().out
    assert re.search(r"production lacks \d+ pieces of #27383: 1 crash", first)
    assert "+ res->t_layer_inp[il] = cur;" in first
    assert "nothing of #27383 is missing any more" in first
    assert "from the cache" in first
    assert invoke(["demo", "--no-build"]) == 0
    second = capsys.readouterr().out
    assert second == first.replace("fork, made in", "fork, kept from before in")

    monkeypatch.chdir(tmp_path / "forkguard-demo")
    assert invoke(["drift", "--arch", "lfm2"]) == 1
    assert invoke(["stack", "show", "27383"]) == 0
    log = ["git", "-C", "llama.cpp", "log", "--format=%s", "production..forkguard/27383"]
    assert "27383" in subprocess.run(log, capture_output=True, text=True, check=True).stdout


def test_a_story_spoiled_by_the_user_is_said_to_be_one(
    tmp_path: Path, real_archives: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    assert real_archives
    assert invoke(["demo", "--no-build", "--keep", str(kept)]) == 0
    subprocess.run(["git", "-C", str(kept / "llama.cpp"), "merge", "-q", "forkguard/27383"], check=True)
    capsys.readouterr()
    assert invoke(["demo", "--no-build", "--keep", str(kept)]) == 1
    told = capsys.readouterr().out
    assert "drift found no crash of #27383 in the fork before the port" in told
    assert f"rm -r {kept}" in told
