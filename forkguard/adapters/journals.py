"""Journals as files in the state folder; each write is whole or not at all."""

from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.core.journal import Journal, dump_journal, parse_journal
from forkguard.core.replay_journal import ReplayJournal, dump_replay_journal, parse_replay_journal
from forkguard.errors import CouldNotWork


class JournalFile:
    """The journal of the port in progress: one file, there exactly while a port is in progress."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Journal | None:
        """The journal, or None where no port is in progress. Raises `CouldNotWork` for one that cannot be read."""
        text = _text(self.path, of="port")
        return None if text is None else parse_journal(text, name=str(self.path))

    def write(self, journal: Journal) -> None:
        """Record how far the port is."""
        write_atomic(self.path, dump_journal(journal))

    def remove(self) -> None:
        """The port is over."""
        self.path.unlink(missing_ok=True)


class ReplayJournalFile:
    """The journal of the replay in progress: one file, there exactly while a replay is in progress."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> ReplayJournal | None:
        """The journal, or None where no replay is in progress. Raises `CouldNotWork` for one that cannot be read."""
        text = _text(self.path, of="replay")
        return None if text is None else parse_replay_journal(text, name=str(self.path))

    def write(self, journal: ReplayJournal) -> None:
        """Record how far the replay is."""
        write_atomic(self.path, dump_replay_journal(journal))

    def remove(self) -> None:
        """The replay is over."""
        self.path.unlink(missing_ok=True)


def _text(path: Path, *, of: str) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise CouldNotWork(f"the journal of a {of} cannot be read", where=str(path)) from error
