"""Journals as files in the state folder; each write is whole or not at all."""

from pathlib import Path
from typing import Generic, TypeVar

from forkguard.adapters.files import write_atomic
from forkguard.core.journal import Journal, JournalText
from forkguard.core.replay_journal import ReplayJournal
from forkguard.errors import CouldNotWork

Kept = TypeVar("Kept", bound=JournalText)


class _File(Generic[Kept]):
    """The journal of something in progress: one file, there exactly while it is."""

    _kind: type[Kept]

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Kept | None:
        """The journal, or None where nothing is in progress. Raises `CouldNotWork` for one that cannot be read."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise CouldNotWork(f"the journal of a {self._kind.OF} cannot be read", where=str(self.path)) from error
        return self._kind.parse(text, name=str(self.path))

    def write(self, journal: Kept) -> None:
        """Record how far it is."""
        write_atomic(self.path, journal.dump())

    def remove(self) -> None:
        """It is over."""
        self.path.unlink(missing_ok=True)


class JournalFile(_File[Journal]):
    """The journal of the port in progress."""

    _kind = Journal


class ReplayJournalFile(_File[ReplayJournal]):
    """The journal of the replay in progress."""

    _kind = ReplayJournal
