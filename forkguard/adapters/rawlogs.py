"""Upstream's history as `git log --raw` told it, kept by commit: a commit's history never changes."""

import contextlib
import zlib
from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.core.names import CommitHash
from forkguard.errors import CouldNotWork

_KEPT = 4
"""How many histories are kept; each takes some megabytes, and a newer upstream makes the older ones useless."""


class RawLogs:
    """Histories by commit in one folder. What cannot be read or written is as if it were not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, commit: CommitHash) -> bytes | None:
        """The history that was kept for this commit, or None; a damaged file counts as none."""
        try:
            return zlib.decompress(self._path(commit).read_bytes())
        except (OSError, zlib.error):
            return None

    def put(self, commit: CommitHash, log: bytes) -> None:
        """Keep a history, and let go of the oldest beyond the number that is kept."""
        with contextlib.suppress(OSError, CouldNotWork):
            write_atomic(self._path(commit), zlib.compress(log, level=1))
            files = sorted(self._folder.glob("*.z"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
            for path in files[_KEPT:]:
                path.unlink(missing_ok=True)

    def _path(self, commit: CommitHash) -> Path:
        return self._folder / f"{commit}.z"
