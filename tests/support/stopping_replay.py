"""As `tests.support.stopping`, for `stack replay`: killed by SIGKILL just before its n-th write."""

import sys

from forkguard.adapters.journals import ReplayJournalFile
from forkguard.adapters.resolutions import ResolutionFolder
from forkguard.cli import compose_replay
from forkguard.cli.main import invoke
from forkguard.core.replay_journal import ReplayJournal
from tests.support.stopping import COUNTDOWN, StoppingWorktrees


class StoppingReplayJournal(ReplayJournalFile):
    """Counts writes of the journal."""

    def write(self, journal: ReplayJournal) -> None:
        COUNTDOWN.write()
        super().write(journal)

    def remove(self) -> None:
        COUNTDOWN.write()
        super().remove()


class StoppingResolutions(ResolutionFolder):
    """Counts files written under `resolutions/`."""

    def put(self, name: str, content: bytes | None) -> None:
        COUNTDOWN.write()
        super().put(name, content)


if __name__ == "__main__":
    COUNTDOWN.left = int(sys.argv[1])
    setattr(compose_replay, "ReplayJournalFile", StoppingReplayJournal)  # noqa: B010  (in the adapters' places)
    setattr(compose_replay, "ResolutionFolder", StoppingResolutions)  # noqa: B010
    setattr(compose_replay, "Worktrees", StoppingWorktrees)  # noqa: B010
    sys.exit(invoke(sys.argv[2:]))
