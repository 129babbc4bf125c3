"""The demo tells its story on real sources, offline once they are there, and as the documentation shows it.

The whole loop builds two trees in the user's cache, where they stay: a quarter of an hour once, then minutes.
"""

import re
import subprocess
from pathlib import Path

import pytest

from forkguard.cli.main import invoke

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("real_archives")]

GETTING_STARTED = Path(__file__).parents[2] / "docs" / "getting-started.md"
_DIFFERS = (
    (r"\d+ files? compiled, \d+ from the compiler cache, .*", "WORK"),
    (r"it was built before, .*", "WORK"),
    (r"\d{8}T\d{6}Z(-\d+)?-", "WHEN-"),
    (r"\b\d+ of\s+\d+\b", "SOME of ALL"),
)
"""What differs from run to run, or from one instruction set to another: work done, times, accepted tokens."""


def demo(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    capsys.readouterr()
    return invoke(["demo", *options]), capsys.readouterr().out


def settled(text: str) -> str:
    """The story without what differs, and without the line breaks that depend on it."""
    for pattern, word in _DIFFERS:
        text = re.sub(pattern, word, text)
    return re.sub(r"\n {9}(?=\S)", " ", text)


def shown_story() -> str:
    """The output in the documentation."""
    shown = re.search(r"```text\n(.*?)```", GETTING_STARTED.read_text(), re.DOTALL)
    assert shown is not None
    return "\n" + shown[1]


def without_builds(story: str) -> str:
    """The part of the whole story that is told with `--no-build`."""
    return re.sub(r"\n\$ forkguard (build|gate).*\n( .*\n)+", "", story).replace(
        "Red before, green after", "Red before, clean after"
    )


def git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-C", "forkguard-demo/llama.cpp", *words], capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to stand in, the program on the PATH, and nothing to download with."""
    monkeypatch.setattr("forkguard.adapters.archives.find_pip", lambda: pytest.fail("it went online"))
    monkeypatch.setattr("forkguard.cli.demo.program_from", lambda _folder: "forkguard")
    monkeypatch.chdir(tmp_path)


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("build_turn")
def test_the_whole_loop_is_told_as_the_documentation_shows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, story = demo(capsys)
    assert status == 0, story
    assert settled(story) == settled(shown_story())
    receipts = re.findall(r"^  (forkguard-demo/\S+/receipt\.json)$", story, re.MULTILINE)
    assert len(receipts) == 2
    assert all((tmp_path / receipt).is_file() for receipt in receipts)


def test_the_story_without_builds_from_first_run_to_spoiled_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, first = demo(capsys, "--no-build")
    assert status == 0
    assert first.partition("Try next")[0] == without_builds(shown_story()).partition("Try next")[0]
    assert demo(capsys, "--no-build") == (0, first.replace("fork, made in", "fork, kept from before in"))

    monkeypatch.chdir(tmp_path / "forkguard-demo")
    assert invoke(["drift", "--arch", "lfm2"]) == 1
    assert invoke(["stack", "show", "27383"]) == 0
    monkeypatch.chdir(tmp_path)
    assert "27383" in git("log", "--format=%s", "production..forkguard/27383")

    git("merge", "-q", "forkguard/27383")
    status, spoiled = demo(capsys, "--no-build")
    assert status == 1
    assert "drift found no crash of #27383 in the fork before the port" in spoiled
    assert "rm -r forkguard-demo" in spoiled
