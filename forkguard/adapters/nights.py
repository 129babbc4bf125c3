"""Nightly records: one folder per night below `.forkguard/nightly`, `night.json` in it, what it names beside that.

While a night runs its folder holds `night.part.json` instead, written anew after each step. Folders are in the
order of the nights even where the clock went backwards: a night never gets an id before the one of the last.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.core.night_ids import is_night_id, next_id, night_order
from forkguard.core.nightly import PART_NAME, RECORD_NAME, BadNight, Night, read_night, write_night
from forkguard.errors import CouldNotWork

_SIZE_LIMIT = 64 << 20


class NightFolder:
    """The nights below `root`, whether it is there or not."""

    def __init__(self, root: Path) -> None:
        self.root = root

    # -- reading -------------------------------------------------------------------------------------

    def ids(self) -> tuple[str, ...]:
        """All nights that have a folder, oldest first."""
        try:
            names = [entry.name for entry in os.scandir(self.root) if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return ()
        return tuple(sorted(filter(is_night_id, names), key=night_order))

    def read(self, night: str) -> Night | None:
        """A night's record; None for one that has none. Raises `CouldNotWork` for one that is damaged."""
        return self._read(night, RECORD_NAME)

    def part(self, night: str) -> Night | None:
        """What a night that did not end has written; None where it has ended, or wrote nothing that can be read."""
        with contextlib.suppress(CouldNotWork):
            return self._read(night, PART_NAME)
        return None

    def newest_first(self) -> Iterator[Night]:
        """The nights that ended, as long as their records can be read."""
        for night in reversed(self.ids()):
            with contextlib.suppress(CouldNotWork):
                found = self.read(night)
                if found is not None:
                    yield found

    def last(self) -> tuple[Night | None, tuple[str, ...]]:
        """The newest record that can be read (None: there is none), and what is wrong with those behind it."""
        wrong = []
        for night in reversed(self.ids()):
            try:
                found = self.read(night)
            except CouldNotWork as error:
                wrong.append(f"{error.what} ({error.where})")
            else:
                if found is not None:
                    return found, tuple(wrong)
        return None, tuple(wrong)

    def unfinished(self) -> tuple[str, ...]:
        """The nights whose folder holds no record."""
        return tuple(night for night in self.ids() if not (self.root / night / RECORD_NAME).exists())

    def path(self, night: str, name: str = RECORD_NAME) -> Path:
        """Where a file of a night lies, whether it is there or not."""
        return self.root / night / name

    def _read(self, night: str, name: str) -> Night | None:
        path = self.path(night, name)
        try:
            if path.stat().st_size > _SIZE_LIMIT:
                raise BadNight("it is too large")
            return read_night(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError, BadNight) as error:
            raise CouldNotWork(
                f"the record of a night is damaged: {error}", where=str(path),
                hint="move its folder away; the night after it starts anew",
            ) from error  # fmt: skip

    # -- writing -------------------------------------------------------------------------------------

    def begin(self, now: datetime) -> str:
        """Make the folder of a new night and return its id. Raises `CouldNotWork` where it cannot be made."""
        night = next_id(now, after=self.ids()[-1:])
        try:
            (self.root / night).mkdir(parents=True)
        except OSError as error:
            raise CouldNotWork(
                f"cannot make the folder of the night: {error.strerror or error}", where=str(self.root / night),
                hint="make the map's folder writable, with room on its disk",
            ) from error  # fmt: skip
        return night

    def save(self, night: Night) -> None:
        """Write how far a night is."""
        write_atomic(self.path(night.id, PART_NAME), write_night(night))

    def finish(self, night: Night) -> None:
        """Write the record of a night that ended; written again where it was already."""
        write_atomic(self.path(night.id), write_night(night))
        self.path(night.id, PART_NAME).unlink(missing_ok=True)

    def put(self, night: str, name: str, content: str) -> None:
        """Write a file beside the record."""
        write_atomic(self.path(night, name), content)

    def take_over(self, night: str, name: str, *, source: str) -> None:
        """Give a night a file of another night's, without using the room twice where that can be."""
        here, there = self.path(night, name), self.path(source, name)
        try:
            os.link(there, here)
        except OSError:
            try:
                write_atomic(here, there.read_bytes())
            except OSError as error:
                raise CouldNotWork(f"cannot read this file: {error.strerror}", where=str(there)) from error

    def discard(self, night: str) -> None:
        """Remove the folder of a night that wrote no record."""
        if not self.path(night).exists():
            shutil.rmtree(self.root / night, ignore_errors=True)
