"""Records on a shelf: one folder each below a root, a record file in it, and what it names beside that."""

import os
import re
import stat
from pathlib import Path

from forkguard.core.history_rows import RecordKind, Source, record_order

SIZE_LIMIT = 64 << 20
"""Bytes of a record; a larger one is refused unread."""

_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class RecordFolder:
    """The records `<root>/<folder>/<file>` of one kind. A folder without the file is a run that was cut off."""

    def __init__(self, root: Path, *, kind: RecordKind, file: str) -> None:
        self.root = root
        self.kind = kind
        self._file = file

    def sources(self) -> tuple[Source, ...]:
        """All records, oldest first; none where the root is not there."""
        found = []
        for name in self._folders():
            try:
                about = (self.root / name / self._file).lstat()
            except OSError:
                continue
            found.append(Source(self.kind, name, about.st_size, about.st_mtime_ns))
        return tuple(found)

    def cut_off(self) -> tuple[str, ...]:
        """The folders without a record, oldest first."""
        return tuple(name for name in self._folders() if not os.path.lexists(self.root / name / self._file))

    def _folders(self) -> tuple[str, ...]:
        try:
            with os.scandir(self.root) as folders:
                names = [one.name for one in folders if one.is_dir() and _FOLDER.fullmatch(one.name)]
        except FileNotFoundError:
            return ()
        return tuple(sorted(names, key=record_order))

    def read(self, name: str) -> bytes | str:
        """A record's bytes; a `str` says why it cannot be read."""
        return self._read(name, self._file, limit=SIZE_LIMIT)

    def beside(self, name: str, file: str, *, limit: int = SIZE_LIMIT) -> bytes | None:
        """A file beside a record; None where it is gone, no file of its own, or larger than `limit` bytes."""
        content = self._read(name, file, limit=limit)
        return None if isinstance(content, str) else content

    def tail(self, name: str, file: str, *, limit: int) -> bytes | None:
        """At most the last `limit` bytes of a file beside a record; None as `beside`."""
        content = self._read(name, file, limit=limit, end=True)
        return None if isinstance(content, str) else content

    def _read(self, name: str, file: str, *, limit: int, end: bool = False) -> bytes | str:
        if not (_FOLDER.fullmatch(name) and "/" not in file and file not in {"", ".", ".."}):
            return "its name leads elsewhere"
        folder = self.root / name
        try:
            if folder.is_symlink():
                return "its folder is a symbolic link"
            handle = os.open(folder / file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            return f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        with os.fdopen(handle, "rb") as opened:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                return "it is no plain file"
            if about.st_size > limit:
                if not end:
                    return f"it is larger than {limit >> 20} MiB"
                opened.seek(about.st_size - limit)
            return opened.read(limit)
