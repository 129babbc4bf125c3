"""Real llama.cpp sources for the tests marked `real`: downloaded and made once, kept in the user's cache."""

import hashlib
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import filelock
import platformdirs
import pytest

from forkguard.adapters import archive_members, archives, snapshots
from forkguard.adapters.archives import ArchiveCache
from forkguard.adapters.snapshots import NEWER, OLDER
from tests.support import real_sources as shapes
from tests.support.programs import BUILDING, need
from tests.support.real_sources import RealSources, make_real_sources

CACHE = platformdirs.user_cache_path("forkguard", appauthor=False)
"""Downloads, sources and builds are kept here from run to run."""
_WEEK = 7 * 24 * 3600


class StderrTalk:
    """Steps and remarks as lines."""

    def step(self, message: str) -> None:
        """A step begins."""
        sys.stderr.write(f"{message}\n")

    def note(self, message: str) -> None:
        """A remark."""
        sys.stderr.write(f"{message}\n")

    def progress(self, done: int, total: int, message: str) -> None:
        """Bars are for people."""


@pytest.fixture(scope="session")
def real_archives() -> tuple[Path, Path]:
    """The source archives of b10531 and b10549."""
    cache = ArchiveCache(CACHE / "archives", talk=StderrTalk())
    return cache.get(OLDER).path, cache.get(NEWER).path


@pytest.fixture(scope="session")
def real_sources(real_archives: tuple[Path, Path]) -> RealSources:
    """Both repositories, shared by all tests and runs: only read them (`real_fork` is there to be changed)."""
    older, newer = real_archives
    place = CACHE / "test-sources" / _content_key()
    place.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(place.parent / "lock", timeout=600):
        ready = place / "ready"
        if not ready.is_file():
            shutil.rmtree(place, ignore_errors=True)
            make_real_sources(place, older=older, newer=newer)
        ready.touch()
        _forget_old(place.parent)
    return RealSources(place / "upstream.git", place / "fork")


@pytest.fixture
def real_fork(real_sources: RealSources, tmp_path: Path) -> Path:
    """A copy of the fork, `production` checked out, that a test may change; its remote is the shared upstream."""
    return shutil.copytree(real_sources.fork, tmp_path / "llama.cpp", symlinks=True)


@pytest.fixture
def build_turn() -> Iterator[None]:
    """One test at a time builds, whatever the number of workers: the second tree profits from the first's cache."""
    need(*BUILDING)
    CACHE.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(CACHE / "test-builds.lock", timeout=3000):
        yield


def _content_key() -> str:
    """What the repositories depend on: the archives' pinned hashes and the code that makes them."""
    made_by = [Path(str(module.__file__)) for module in (archives, archive_members, snapshots, shapes)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in made_by)).hexdigest()[:16]


def _forget_old(folder: Path) -> None:
    for ready in folder.glob("*/ready"):
        if time.time() - ready.stat().st_mtime > _WEEK:
            shutil.rmtree(ready.parent, ignore_errors=True)
