"""A replay in memory that is stopped just before its n-th question to git: `... stopping_memory N SIGNAL WORD...`."""

import os
import signal
import sys
from collections.abc import Sequence

from forkguard.adapters.replay_store import ReplayStore
from forkguard.cli import compose_stack
from forkguard.cli.main import invoke

LEFT = [int(sys.argv[1])]
SIGNAL = signal.Signals[sys.argv[2]]


class StoppingStore(ReplayStore):
    """Counts what the store asks of git, the making of the commits included."""

    def _git(self, *words: str, stdin: bytes | None = None, allowed: Sequence[int] = (0,)) -> tuple[int, bytes]:
        if LEFT[0] == 0:
            os.kill(os.getpid(), SIGNAL)
        LEFT[0] -= 1
        return super()._git(*words, stdin=stdin, allowed=allowed)


if __name__ == "__main__":
    setattr(compose_stack, "ReplayStore", StoppingStore)  # noqa: B010  (in the adapter's place)
    sys.exit(invoke(sys.argv[3:]))
