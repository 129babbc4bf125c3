"""A folder of pages, written beside its place and then swapped in: a reader sees the old report or the new one."""

import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from forkguard.errors import CouldNotWork, UsageProblem


def swap_in(folder: Path, pages: Iterable[tuple[str, str]], *, marker: str) -> int:
    """Write all pages (paths below the folder, and their text) and put them at `folder`; how many bytes they are.
    Whoever calls sees to it that no other run writes there.

    What was there is removed, whole. Raises `UsageProblem` where that is no report (a folder that is not empty and
    lacks the file `marker`) and `CouldNotWork` where it cannot be written; both leave the old folder as it was.
    """
    place = folder.absolute()
    _check(place, marker)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        _finish_swaps(place, marker)
        new = place.with_name(f".{place.name}.new-{os.getpid()}-{secrets.token_hex(4)}")
        try:
            size = _write(new, pages)
            _exchange(place, new)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise CouldNotWork(
            f"cannot write the report: {error.strerror or error}", where=str(folder),
            hint="name a folder that you can write to: --output FOLDER",
        ) from error  # fmt: skip
    return size


def _check(place: Path, marker: str) -> None:
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise UsageProblem(
            "this is no folder", where=str(place), hint="name a folder that is not there yet: --output FOLDER"
        )
    if place.is_dir() and any(place.iterdir()) and not (place / marker).is_file():
        raise UsageProblem(
            "this folder is no report of forkguard's, so it is not replaced", where=str(place),
            hint="name an empty folder, or one that is not there yet: --output FOLDER",
        )  # fmt: skip


def _write(new: Path, pages: Iterable[tuple[str, str]]) -> int:
    size = 0
    for path, text in pages:
        content = text.encode("utf-8", "replace")
        (new / path).parent.mkdir(parents=True, exist_ok=True)
        (new / path).write_bytes(content)
        size += len(content)
    return size


def _exchange(place: Path, new: Path) -> None:
    """No rename exchanges two folders, so for a moment there is none; the next run mends a kill in that moment."""
    old = place.with_name(f".{place.name}.old")
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _finish_swaps(place: Path, marker: str) -> None:
    """Undo or end what a run that was killed left."""
    old = place.with_name(f".{place.name}.old")
    if (old / marker).is_file():
        if not place.exists():
            old.rename(place)
        shutil.rmtree(old, ignore_errors=True)
    for left in place.parent.glob(f".{place.name}.new-*"):
        shutil.rmtree(left, ignore_errors=True)
