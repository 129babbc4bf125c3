"""What a stranger's change does besides changing text: paths that no checkout may hold, things to be looked at."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.hunks import FileChange, FileKind
from forkguard.core.names import TreePath

MANY_FILES = 1000
_SYMLINK, _SUBMODULE = "120000", "160000"
_IGNORED_BY_FILE_SYSTEMS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_WORKFLOWS = re.compile(r"\.github/(workflows|actions)(/|$)", re.IGNORECASE)
_SHOWN = 5


class Doing(StrEnum):
    """What a change may do only when a person allows it; the values are what `--allow` takes."""

    WORKFLOWS = "workflows"
    SYMLINKS = "symlinks"
    SUBMODULES = "submodules"
    MODES = "modes"
    BINARY = "binary"
    MANY_FILES = "many-files"


_WORDS = {
    Doing.WORKFLOWS: "changes what CI runs",
    Doing.SYMLINKS: "makes symbolic links",
    Doing.SUBMODULES: "changes submodules",
    Doing.MODES: "changes the modes of files",
    Doing.BINARY: "changes binary files",
    Doing.MANY_FILES: f"changes more than {MANY_FILES} files",
}


@dataclass(frozen=True, slots=True)
class Found:
    """One such doing, and the files in which it is done."""

    doing: Doing
    paths: tuple[TreePath, ...]

    @property
    def said(self) -> str:
        """In words, with the first few files."""
        names = ", ".join(repr(path) for path in self.paths[:_SHOWN])
        more = f" and {len(self.paths) - _SHOWN} more" if len(self.paths) > _SHOWN else ""
        return f"it {_WORDS[self.doing]}: {names}{more}"


def why_not(path: str) -> str | None:
    """Why no checkout may hold a path, or None.

    >>> why_not("src/a.cpp")
    >>> why_not("a/../b"), why_not("sub/.GIT/config")
    ('it leaves the tree', 'it is a place of git')
    """
    if not path or path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[/\\]", path) or "\0" in path:
        return "it is outside of the tree"
    for part in re.split(r"[/\\]", path):
        if part in ("", ".", ".."):
            return "it leaves the tree"
        plain = _IGNORED_BY_FILE_SYSTEMS.sub("", part).split(":")[0].casefold().rstrip(". ")
        if plain in (".git", "git~1"):
            return "it is a place of git"
    return None


def parents(paths: Iterable[TreePath]) -> tuple[TreePath, ...]:
    """Every folder above the paths."""
    found = {TreePath(path[:at]) for path in paths for at in range(len(path)) if path[at] == "/"}
    return tuple(sorted(found))


def doings(files: Sequence[FileChange]) -> tuple[Found, ...]:
    """What a change does that a person should have seen."""
    by_doing: dict[Doing, list[TreePath]] = {}
    for file in files:
        for doing in _of(file):
            by_doing.setdefault(doing, []).append(file.path)
    if len(files) > MANY_FILES:
        by_doing[Doing.MANY_FILES] = [file.path for file in files]
    return tuple(Found(doing, tuple(by_doing[doing])) for doing in Doing if doing in by_doing)


def _of(file: FileChange) -> Collection[Doing]:
    found = []
    modes = (file.old_mode, file.mode)
    if _WORKFLOWS.match(file.path) or _WORKFLOWS.match(file.old_path):
        found.append(Doing.WORKFLOWS)
    if file.mode == _SYMLINK:
        found.append(Doing.SYMLINKS)
    if _SUBMODULE in modes or file.path.rpartition("/")[2].casefold() == ".gitmodules":
        found.append(Doing.SUBMODULES)
    both = file.kind in (FileKind.MODIFIED, FileKind.RENAMED, FileKind.TYPE)
    if both and file.old_mode != file.mode and _SUBMODULE not in modes and file.mode != _SYMLINK:
        found.append(Doing.MODES)
    there = file.kind in (FileKind.MODIFIED, FileKind.RENAMED)
    if there and not file.hunks and file.old_blob != file.blob and _SUBMODULE not in modes:
        found.append(Doing.BINARY)
    return found
