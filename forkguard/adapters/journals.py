"""Journals as files in the state folder; each write is whole or not at all."""

from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.core.journal import Journal, dump_journal, parse_journal
from forkguard.errors import CouldNotWork


class JournalFile:
    """The journal of the port in progress: one file, there exactly while a port is in progress."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Journal | None:
        """The journal, or None where no port is in progress. Raises `CouldNotWork` for one that cannot be read."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise CouldNotWork("the journal of a port cannot be read", where=str(self.path)) from error
        return parse_journal(text, name=str(self.path))

    def write(self, journal: Journal) -> None:
        """Record how far the port is."""
        write_atomic(self.path, dump_journal(journal))

    def remove(self) -> None:
        """The port is over."""
        self.path.unlink(missing_ok=True)
