"""Reads the source tree out of a packaged archive, trusting nothing in it.

An archive is never unpacked to disk: its members go straight into a git history (`adapters.snapshots`), so
that no link, owner, mode or file name of a stranger's archive ever meets the file system.
"""

import shlex
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from forkguard.core.names import TreePath
from forkguard.errors import CouldNotWork

SOURCE_FOLDER = "llama.cpp"
"""The folder below the archive's top one that holds upstream's tree; nothing else is used."""

MAX_MEMBERS = 50_000
MAX_BYTES = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One ordinary file of a source tree, with its path below `llama.cpp/`."""

    path: TreePath
    executable: bool
    data: bytes

    @property
    def mode(self) -> str:
        """The mode that git records; every other bit of the archive's is dropped."""
        return "100755" if self.executable else "100644"


def members(archive: Path) -> Iterator[SourceFile]:
    """The files below `<top>/llama.cpp/`, in the archive's order, one in memory at a time.

    The wrapper's own files beside that folder are left out. Anything that no source archive needs is
    refused wherever it stands: a link, a device, an absolute path, `..`, a `.git`, a second top folder, a
    file twice, more than `MAX_BYTES` unpacked. Raises `CouldNotWork` naming the member.
    """
    try:
        with tarfile.open(archive, "r:gz") as tar:
            yield from _checked(tar, archive)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise CouldNotWork(
            f"this source archive cannot be read: {error}",
            where=str(archive),
            hint=f"rm {shlex.quote(str(archive))}  and run it again",
        ) from error


def _checked(tar: tarfile.TarFile, archive: Path) -> Iterator[SourceFile]:
    top: str | None = None
    seen: set[str] = set()
    unpacked = 0
    for member in tar:
        parts = _safe_parts(member, archive)
        top = top or parts[0]
        unpacked += member.size
        if parts[0] != top or len(seen) > MAX_MEMBERS or unpacked > MAX_BYTES:
            raise _refused(archive, member.name, "the archive is larger than, or laid out unlike, a source archive")
        if not member.isreg() or parts[1:2] != (SOURCE_FOLDER,) or len(parts) < 3:
            continue
        path = "/".join(parts[2:])
        if path in seen:
            raise _refused(archive, member.name, "the same file twice")
        seen.add(path)
        content = tar.extractfile(member)
        assert content is not None  # noqa: S101  (a regular file has content)
        yield SourceFile(TreePath(path), bool(member.mode & 0o100), content.read())
    if not seen:
        raise CouldNotWork(f"this archive holds no {SOURCE_FOLDER}/ folder", where=str(archive))


def _safe_parts(member: tarfile.TarInfo, archive: Path) -> tuple[str, ...]:
    if not (member.isreg() or member.isdir()):
        raise _refused(archive, member.name, "neither an ordinary file nor a folder")
    name = member.name.removesuffix("/") if member.isdir() else member.name
    path = PurePosixPath(name)
    strange = str(path) != name or path.is_absolute() or "\\" in name or not name.isprintable()
    if strange or any(part == ".." or part.lower() == ".git" for part in path.parts) or not path.parts:
        raise _refused(archive, member.name, "not a plain path inside the archive")
    return path.parts


def _refused(archive: Path, name: str, reason: str) -> CouldNotWork:
    return CouldNotWork(
        f"this source archive is refused for its member {name!r}: {reason}",
        where=str(archive),
        hint=f"rm {shlex.quote(str(archive))}  and run it again",
    )
