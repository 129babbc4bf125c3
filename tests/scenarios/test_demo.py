"""`forkguard demo` before its story begins: what is missing is said at once."""

import shutil
from pathlib import Path

import pytest

from forkguard.cli.demo import how_long
from tests.support.commands import forkguard


def test_without_the_tools_it_says_what_installs_them_and_what_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "git").symlink_to(shutil.which("git") or "/nonexistent")
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = forkguard("demo", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (3, "")
    what, _, hint = outcome.told()
    for tool in ("cmake", "ninja", "a C compiler", "a C++ compiler"):
        assert f"{tool} is not installed" in what
    assert "install" in hint
    assert outcome.err.endswith(" demo --no-build\n")
    assert not (tmp_path / "cache").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_how_long_it_takes_is_said_with_ccache_and_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "about 15 minutes on two cores, and without\n  ccache the second tree as much\n" in how_long()
    (tmp_path / "ccache").symlink_to("/bin/true")
    assert "about 15 minutes on two cores\n" in how_long()


@pytest.mark.parametrize("words", [("demo",), ("demo", "--no-build")], ids=" ".join)
def test_without_git_it_says_so_before_anything_is_downloaded(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    outcome = forkguard(*words, cwd=tmp_path)
    assert (outcome.status, outcome.out) == (3, "")
    what, _, hint = outcome.told()
    assert what.startswith("git is not installed: it is not on PATH")
    assert ("cmake is not installed" in what) == (words == ("demo",))
    assert " git" in hint
    assert "--no-build" not in outcome.err
    assert not list(tmp_path.iterdir())
