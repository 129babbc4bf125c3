"""Nights that are killed by SIGKILL just before their n-th write, for every n.

Run as `python -m tests.support.stopping_night DESK`.

For each n it prints a line of JSON: the status of the killed night, what was left, and the status and record of the
night after it. The adapters that write are replaced by doubles that count; the product knows nothing of it.
"""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from forkguard.adapters.fetching import UpstreamFetch
from forkguard.adapters.nights import NightFolder
from forkguard.cli import compose_nightly, compose_nights
from forkguard.cli.main import invoke
from forkguard.core.nightly import Night
from tests.support.stopping import COUNTDOWN, StoppingWorktrees

_MOST = 60


class StoppingNights(NightFolder):
    """Counts everything that is written of a night."""

    def begin(self, now: datetime) -> str:
        COUNTDOWN.write()
        return super().begin(now)

    def save(self, night: Night) -> None:
        COUNTDOWN.write()
        super().save(night)

    def finish(self, night: Night) -> None:
        COUNTDOWN.write()
        super().finish(night)

    def put(self, night: str, name: str, content: str) -> None:
        COUNTDOWN.write()
        super().put(night, name, content)


class StoppingFetch(UpstreamFetch):
    """Counts fetches."""

    def _fetch(self, refspecs: Sequence[str]) -> None:
        COUNTDOWN.write()
        super()._fetch(refspecs)


def _night(writes: int) -> int:
    """The status of a night in a process of its own; -9 where it was killed."""
    child = os.fork()
    if child == 0:
        COUNTDOWN.left = writes
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            os._exit(invoke(["nightly", "--fresh"]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _refs(fork: Path) -> dict[str, str]:
    words = [
        "git",
        "-C",
        str(fork),
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/heads",
        "refs/forkguard",
    ]
    listed = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    return dict(line.split(" ") for line in listed.splitlines())


def _forget(desk: Path, fork: Path) -> None:
    shutil.rmtree(desk / ".forkguard", ignore_errors=True)
    for ref in _refs(fork):
        if ref.startswith(("refs/heads/forkguard/", "refs/forkguard/")):
            subprocess.run(["git", "-C", str(fork), "update-ref", "-d", ref], check=True, timeout=60)


def main(desk: Path) -> None:
    """Kill at every write until a night is not killed any more."""
    fork, folder = desk.parent / "fork", desk / ".forkguard" / "nightly"
    os.chdir(desk)
    for writes in range(_MOST):
        _forget(desk, fork)
        killed = _night(writes)
        records = [path.name for path in sorted(folder.glob("*/night*.json"))]
        left = _refs(fork)
        after = _night(-1)
        nights = [json.loads(path.read_text()) for path in sorted(folder.glob("*/night.json"))]
        parts = [path.name for path in folder.glob("*/night.part.json")]
        found = {"killed": killed, "records": records, "refs": left, "after": after, "nights": nights, "parts": parts}
        sys.stdout.write(json.dumps(found | {"end": _refs(fork)}) + "\n")
        sys.stdout.flush()
        if killed >= 0:
            return


if __name__ == "__main__":
    setattr(compose_nightly, "NightFolder", StoppingNights)  # noqa: B010  (the doubles take the adapters' places)
    setattr(compose_nights, "NightFolder", StoppingNights)  # noqa: B010
    setattr(compose_nightly, "Worktrees", StoppingWorktrees)  # noqa: B010
    setattr(compose_nightly, "UpstreamFetch", StoppingFetch)  # noqa: B010
    main(Path(sys.argv[1]))
