"""A frozen world for every test: no home, no user's git configuration, one language, one time zone."""

import os
from pathlib import Path

import pytest

from tests.support.repos import MiniHistory, mini_history

_STEERING = ("GIT_", "FORKGUARD_", "XDG_")


@pytest.fixture(autouse=True)
def _frozen_world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tests marked `real` keep their home: they download through the user's package index."""
    for name in list(os.environ):
        if name.startswith(_STEERING) and not (name.startswith("XDG_") and request.node.get_closest_marker("real")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    if not request.node.get_closest_marker("real"):
        home = tmp_path_factory.mktemp("home")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))


@pytest.fixture
def history(tmp_path: Path) -> MiniHistory:
    """A miniature upstream and a fork of it; see `tests.support.repos.MiniHistory`."""
    return mini_history(tmp_path)
