"""The patch stack as `forkguard stack` reports it."""

import io
from dataclasses import dataclass

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from forkguard.core.patchset import Manifest, parse_dep3


@dataclass(frozen=True, slots=True)
class PatchInfo:
    """One patch of a patchset. `problem` says why there are no figures (a missing file, no patch)."""

    name: str
    subject: str
    files: tuple[str, ...]
    added: int
    removed: int
    fields: tuple[tuple[str, str], ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PatchsetInfo:
    """One patchset; `position` is its place in the stack from 1, None where `patchsets/series` does not list it."""

    name: str
    position: int | None
    manifest: Manifest
    patches: tuple[PatchInfo, ...]


_DEP3 = ("Origin", "Forwarded", "Applied-Upstream")


def read_patch(name: str, content: bytes | None) -> PatchInfo:
    """What a patch in mail form says of itself, and its size.

    >>> read_patch("0001-a.patch", None).problem
    'the file is missing'
    """
    if content is None:
        return PatchInfo(name, "", (), 0, 0, problem="the file is missing")
    text = content.decode("utf-8", "replace")
    fields = parse_dep3(text)
    subject = fields.get("Subject", "").removeprefix("[PATCH] ")
    try:
        files = PatchSet(io.StringIO(text, newline="\n"))
    except UnidiffParseError as error:
        return PatchInfo(name, subject, (), 0, 0, problem=f"this is no patch: {error}")
    kept = tuple((key, fields[key]) for key in _DEP3 if key in fields)
    return PatchInfo(name, subject, tuple(file.path for file in files), files.added, files.removed, kept)
