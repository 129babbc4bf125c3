"""A writer of pages that is killed by SIGKILL before its n-th step: `python -m tests.support.stopping_site N FOLDER`.

A step is a file written, a folder renamed, or a folder removed. It imports little, since it is started for each step.
"""

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

MARKER = "marker"
OLD = (("index.html", "old"), ("gone.html", "old"), (MARKER, ""))
NEW = (("index.html", "new"), ("nights/one.html", "new"), (MARKER, ""))
_remove = shutil.rmtree


class Countdown:
    """Kills this process when the steps that it was given are used up."""

    left = -1

    @classmethod
    def step(cls) -> None:
        """One more step is about to happen."""
        if cls.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        cls.left -= 1


class StoppingPath(type(Path())):  # type: ignore[misc]
    """Counts files written and folders renamed."""

    def write_bytes(self, data: bytes) -> int:
        Countdown.step()
        return int(super().write_bytes(data))

    def rename(self, target: Any) -> Any:
        Countdown.step()
        return super().rename(target)


def stopping_rmtree(path: Path, **options: Any) -> None:
    """Counts folders removed."""
    Countdown.step()
    _remove(path, **options)


if __name__ == "__main__":
    from forkguard.adapters.site_folder import swap_in

    Countdown.left = int(sys.argv[1])
    setattr(shutil, "rmtree", stopping_rmtree)  # noqa: B010  (the double takes the library's place)
    swap_in(StoppingPath(sys.argv[2]), NEW, marker=MARKER)
