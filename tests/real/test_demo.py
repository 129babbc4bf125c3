"""The demo tells its story on real sources, offline once they are there, and as the documentation shows it.

One test, since making the histories is what takes time: the story, told again, gone on with, and spoiled.
"""

import re
import subprocess
from pathlib import Path

import pytest

from forkguard.cli.main import invoke

pytestmark = pytest.mark.real

GETTING_STARTED = Path(__file__).parents[2] / "docs" / "getting-started.md"


def demo(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    return invoke(["demo", "--no-build"]), capsys.readouterr().out


def git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-C", "forkguard-demo/llama.cpp", *words], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.usefixtures("real_archives")
def test_the_demo_from_first_run_to_spoiled_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("forkguard.adapters.archives.find_pip", lambda: pytest.fail("it went online"))
    monkeypatch.setattr("shutil.which", lambda _name: "forkguard")
    monkeypatch.chdir(tmp_path)
    status, first = demo(capsys)
    assert status == 0
    shown = re.search(r"```text\n(.*?)```", GETTING_STARTED.read_text(), re.DOTALL)
    assert shown is not None
    assert first == "\n" + shown[1]
    assert demo(capsys) == (0, first.replace("fork, made in", "fork, kept from before in"))

    monkeypatch.chdir(tmp_path / "forkguard-demo")
    assert invoke(["drift", "--arch", "lfm2"]) == 1
    assert invoke(["stack", "show", "27383"]) == 0
    monkeypatch.chdir(tmp_path)
    assert "27383" in git("log", "--format=%s", "production..forkguard/27383")

    git("merge", "-q", "forkguard/27383")
    status, spoiled = demo(capsys)
    assert status == 1
    assert "drift found no crash of #27383 in the fork before the port" in spoiled
    assert "rm -r forkguard-demo" in spoiled
