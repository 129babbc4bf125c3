"""The environment that tests and their children run in."""

from collections.abc import Mapping
from pathlib import Path

KEPT = ("PATH", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "HYPOTHESIS_STORAGE_DIRECTORY")
KEPT_BY_PREFIX = ("PIP_", "PYTEST_", "COV_")
"""What a test process may take over from whoever started it; everything else is set here or gone."""

INSTANT = "2026-09-01T12:00:00+00:00"


def frozen_environment(outer: Mapping[str, str], *, home: Path, cache: Path) -> dict[str, str]:
    """Fixed locale, zone, clock and identity.

    `home` is a place that does not exist, so that a write to it fails; `cache` is a folder of the test run's own.
    """
    kept = {name: value for name, value in outer.items() if name in KEPT or name.startswith(KEPT_BY_PREFIX)}
    return kept | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(cache),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_STATE_HOME": str(home / "state"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
        "SOURCE_DATE_EPOCH": "1788264000",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "A Tester",
        "GIT_AUTHOR_EMAIL": "tester@example.invalid",
        "GIT_AUTHOR_DATE": INSTANT,
        "GIT_COMMITTER_NAME": "A Tester",
        "GIT_COMMITTER_EMAIL": "tester@example.invalid",
        "GIT_COMMITTER_DATE": INSTANT,
    }
