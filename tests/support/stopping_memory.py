"""A replay in memory that is stopped just before its n-th question to git: `... stopping_memory N SIGNAL WORD...`."""

import os
import signal
import sys
from collections.abc import Sequence

from forkguard.adapters.replay_store import ReplayStore
from forkguard.cli import compose_stack
from forkguard.cli.main import invoke


class StoppingStore(ReplayStore):
    """Counts what the store asks of git, the making of the commits included."""

    left = 0
    signal = signal.SIGKILL

    def _git(self, *words: str, stdin: bytes | None = None, allowed: Sequence[int] = (0,)) -> tuple[int, bytes]:
        if StoppingStore.left == 0:
            os.kill(os.getpid(), StoppingStore.signal)
        StoppingStore.left -= 1
        return super()._git(*words, stdin=stdin, allowed=allowed)


if __name__ == "__main__":
    StoppingStore.left = int(sys.argv[1])
    StoppingStore.signal = signal.Signals[sys.argv[2]]
    setattr(compose_stack, "ReplayStore", StoppingStore)  # noqa: B010  (in the adapter's place)
    sys.exit(invoke(sys.argv[3:]))
