"""The patch stack as files: `patchsets/series` and one folder per patchset."""

from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.core.patchset import MANIFEST, SERIES, Manifest, SeriesEntry, check_name, parse_manifest, parse_series
from forkguard.errors import CouldNotWork, UsageProblem


class PatchsetFolder:
    """The folder `patchsets/`; file names are relative to it and use `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> tuple[str, ...]:
        """The patchsets that have a manifest, sorted by name."""
        if not self.root.is_dir():
            return ()
        folders = (path for path in self.root.iterdir() if (path / MANIFEST).is_file())
        return tuple(sorted(check_name(path.name) for path in folders))

    def order(self) -> tuple[SeriesEntry, ...]:
        """The stack: the lines of `patchsets/series`."""
        return parse_series(self._text(SERIES) or "", name=str(self.root / SERIES))

    def manifest(self, name: str) -> Manifest:
        """One patchset's manifest. Raises `UsageProblem` where it is not there or is a bad one."""
        where = f"{check_name(name)}/{MANIFEST}"
        text = self._text(where)
        if text is None:
            raise UsageProblem(
                f"there is no patchset {name}", where=str(self.root / where), hint="forkguard stack list"
            )
        return parse_manifest(text, name=str(self.root / where))

    def patches(self, name: str) -> tuple[tuple[str, bytes | None], ...]:
        """The patches that a patchset's series names, in order, with their content (None: the file is missing)."""
        folder = self.root / check_name(name)
        entries = parse_series(self._text(f"{name}/{SERIES}") or "", name=str(folder / SERIES))
        return tuple((entry.name, self._bytes(folder / entry.name)) for entry in entries)

    def files(self, name: str) -> tuple[str, ...]:
        """The patch files that lie in a patchset's folder, listed or not."""
        folder = self.root / check_name(name)
        return tuple(sorted(f"{name}/{path.name}" for path in folder.glob("*.patch"))) if folder.is_dir() else ()

    def content(self, name: str) -> bytes | None:
        """A file's content; None where it is not there."""
        return self._bytes(self.root / name)

    def put(self, name: str, content: bytes | None) -> None:
        """Write a file, whole or not at all; None removes it, and its folder when that is empty then."""
        path = self.root / name
        if content is not None:
            write_atomic(path, content)
            return
        path.unlink(missing_ok=True)
        for folder in (path.parent, self.root):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _text(self, name: str) -> str | None:
        content = self._bytes(self.root / name)
        try:
            return None if content is None else content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageProblem("this file is no UTF-8 text", where=str(self.root / name)) from error

    def _bytes(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CouldNotWork(f"cannot read this file: {error.strerror or error}", where=str(path)) from error
