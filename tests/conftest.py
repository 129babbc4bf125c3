"""A frozen world for every test: no git configuration of the user's, one identity, clock, language and time zone."""

import os
import signal
from pathlib import Path

import platformdirs
import pytest

from tests.support.programs import need
from tests.support.repos import MiniHistory, copy_of, mini_history

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

_STEERING = ("GIT_", "FORKGUARD_", "XDG_")
_USERS_CACHE = platformdirs.user_cache_path()
_INSTANT = "2026-09-01T12:00:00+00:00"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """See `tests.support.programs.need`."""
    for mark in item.iter_markers("needs"):
        need(*mark.args)


@pytest.fixture(autouse=True)
def _frozen_world(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tests marked `real` share the user's cache, for the archives, and nothing else of the user's."""
    for name in list(os.environ):
        if name.startswith(_STEERING):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    real = request.node.get_closest_marker("real") is not None
    frozen = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(_USERS_CACHE if real else home / "cache"),
        "LC_ALL": "C",
        "TZ": "UTC",
        "TERM": "dumb",
        "COLUMNS": "100",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A Tester",
        "GIT_AUTHOR_EMAIL": "tester@example.org",
        "GIT_AUTHOR_DATE": _INSTANT,
        "GIT_COMMITTER_NAME": "A Tester",
        "GIT_COMMITTER_EMAIL": "tester@example.org",
        "GIT_COMMITTER_DATE": _INSTANT,
    }
    for name, value in frozen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(scope="session")
def _first_history(tmp_path_factory: pytest.TempPathFactory) -> MiniHistory:
    return mini_history(tmp_path_factory.mktemp("history"))


@pytest.fixture
def history(_first_history: MiniHistory, tmp_path: Path) -> MiniHistory:
    """A miniature upstream and a fork of it, the test's own; see `tests.support.repos.MiniHistory`."""
    return copy_of(_first_history, tmp_path)
