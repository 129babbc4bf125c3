"""A forkguard that is killed by SIGKILL just before its n-th write: `python -m tests.support.stopping N WORD...`.

The adapters that write are replaced by doubles that count; the product knows nothing of it.
"""

import os
import signal
import sys
from pathlib import Path

from forkguard.adapters.journals import JournalFile
from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.adapters.worktrees import Worktrees
from forkguard.cli import compose_port
from forkguard.cli.compose import Project
from forkguard.cli.main import invoke
from forkguard.core.journal import Journal
from forkguard.core.merges import Merged
from forkguard.core.names import CommitHash


class Countdown:
    """Kills this process when the writes that it was given are used up."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    def write(self) -> None:
        """One more write is about to happen."""
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


COUNTDOWN = Countdown(-1)


class StoppingJournal(JournalFile):
    """Counts writes of the journal."""

    def write(self, journal: Journal) -> None:
        COUNTDOWN.write()
        super().write(journal)

    def remove(self) -> None:
        COUNTDOWN.write()
        super().remove()


class StoppingPatchsets(PatchsetFolder):
    """Counts files written under `patchsets/`."""

    def put(self, name: str, content: bytes | None) -> None:
        COUNTDOWN.write()
        super().put(name, content)


class StoppingWorktrees(Worktrees):
    """Counts refs, checkouts, and each git command of making a checkout."""

    def set_branch(self, name: str, commit: CommitHash, *, before: CommitHash | None) -> None:
        COUNTDOWN.write()
        super().set_branch(name, commit, before=before)

    def drop_branch(self, name: str, commit: CommitHash) -> None:
        COUNTDOWN.write()
        super().drop_branch(name, commit)

    def open(self, place: Path, *, head: CommitHash, merged: Merged) -> None:
        COUNTDOWN.write()
        super().open(place, head=head, merged=merged)

    def close(self, place: Path) -> None:
        COUNTDOWN.write()
        super().close(place)

    def _git(
        self,
        *words: str,
        at: Path | None = None,
        stdin: bytes | None = None,
        allowed: tuple[int, ...] = (0,),  # type: ignore[override]
    ) -> tuple[int, bytes]:
        COUNTDOWN.write()
        return super()._git(*words, at=at, stdin=stdin, allowed=allowed)


def stopping_store(project: Project) -> StoppingPatchsets:
    """In place of `forkguard.cli.compose.patchset_store`."""
    return StoppingPatchsets(project.patchsets)


if __name__ == "__main__":
    COUNTDOWN.left = int(sys.argv[1])
    setattr(compose_port, "JournalFile", StoppingJournal)  # noqa: B010  (the doubles take the adapters' places)
    setattr(compose_port, "Worktrees", StoppingWorktrees)  # noqa: B010
    setattr(compose_port, "patchset_store", stopping_store)  # noqa: B010
    sys.exit(invoke(sys.argv[2:]))
