"""Patches that lie in a folder: a quilt series, or mails as `git format-patch` names them."""

import re
from pathlib import Path

from forkguard.core.patchset import parse_series
from forkguard.errors import CouldNotWork, UsageProblem

_MAIL = (".patch", ".eml", ".mail", ".diff")
_LARGEST = 256 * 2**20


def quilt_patches(folder: Path) -> tuple[tuple[str, bytes, int], ...]:
    """The patches of the series in `folder` (or in `patches/` there), in order: name, content, strip level.

    Raises `UsageProblem` where there is none, or it names what is not there.
    """
    home = folder if (folder / "series").is_file() else folder / "patches"
    series = home / "series"
    if not series.is_file():
        raise UsageProblem(
            "there is no quilt series here", where=str(folder), hint="name the folder that has `series`"
        )
    text = _content(series).decode("utf-8", "replace")
    entries = parse_series(text, name=str(series))
    return tuple((entry.name, _content(home / entry.name), entry.strip) for entry in entries)


def mail_patches(folder: Path) -> tuple[tuple[str, bytes], ...]:
    """The mails of a folder in the order of their numbers: name and content."""
    if not folder.is_dir():
        raise UsageProblem("there is no folder at this path", where=str(folder), hint="name a folder of mails")
    files = [file for file in folder.iterdir() if file.suffix in _MAIL and file.is_file()]
    return tuple((file.name, _content(file)) for file in sorted(files, key=_order))


def _order(file: Path) -> tuple[int, str]:
    number = re.match(r"\d+", file.name)
    return (int(number[0]) if number else 10**9, file.name)


def _content(file: Path) -> bytes:
    try:
        if file.is_file() and file.stat().st_size > _LARGEST:
            raise UsageProblem("this file is too large for a patch", where=str(file))
        return file.read_bytes()
    except OSError as error:
        raise CouldNotWork(f"cannot read this patch: {error.strerror or error}", where=str(file)) from error
