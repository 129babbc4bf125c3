"""The patch stack as `forkguard stack` reports it."""

from dataclasses import dataclass

from forkguard.core.patch_mail import NotAPatch, parse_mail
from forkguard.core.patchset import Manifest


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
    try:
        mail = parse_mail(content)
    except NotAPatch as problem:
        return PatchInfo(name, "", (), 0, 0, problem=f"this is no patch: {problem.what}")
    kept = tuple((key, mail.headers[key]) for key in _DEP3 if key in mail.headers)
    added, removed = sum(file.added for file in mail.files), sum(file.removed for file in mail.files)
    return PatchInfo(name, mail.subject, tuple(file.path for file in mail.files), added, removed, kept)
