"""Resolutions of conflicts as files in `resolutions/` beside the map."""

from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.errors import CouldNotWork


class ResolutionFolder:
    """The folder `resolutions/`; it is made with the first file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def content(self, name: str) -> bytes | None:
        """A file's content; None where it is not there."""
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            problem = f"cannot read this resolution: {error.strerror or error}"
            raise CouldNotWork(problem, where=str(self.root / name)) from error

    def put(self, name: str, content: bytes | None) -> None:
        """Write a file, whole or not at all; None removes it."""
        if content is None:
            (self.root / name).unlink(missing_ok=True)
        else:
            write_atomic(self.root / name, content)
