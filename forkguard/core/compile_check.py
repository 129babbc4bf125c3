"""A fast look whether ported files compile: the words of a build's compiler, without making anything."""

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.names import TreePath

MOST_FILES = 12
_LAUNCHERS = re.compile(r"(?:.*/)?(?:ccache|sccache|distcc)(?:\.exe)?")
_MADE = frozenset({"-MD", "-MMD", "-MP", "-c"})
_MADE_WITH_WORD = frozenset({"-MF", "-MT", "-MQ", "-o"})
_ERROR = re.compile(r"\b(?:fatal )?error:")


@dataclass(frozen=True, slots=True)
class CompileReport:
    """What became of the check: files that were looked at, those that do not compile with the first error, and
    why it was not made or not made for all."""

    checked: tuple[TreePath, ...] = ()
    failed: tuple[tuple[TreePath, str], ...] = ()
    note: str = ""


def commands_of(compdb: str, *, sources: str) -> Mapping[TreePath, tuple[str, tuple[str, ...]]]:
    """The folder and words that compile each file below `sources`, from `ninja -t compdb`."""
    found: dict[TreePath, tuple[str, tuple[str, ...]]] = {}
    for entry in json.loads(compdb):
        file, command = str(entry["file"]), str(entry["command"])
        if file.startswith(f"{sources}/") and " -c " in command:
            found.setdefault(TreePath(file.removeprefix(f"{sources}/")), (str(entry["directory"]), _words(command)))
    return found


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


def syntax_only(words: Sequence[str], *, sources: str, checkout: str) -> tuple[str, ...]:
    """The words that read a file of another checkout of the sources and write nothing.

    >>> syntax_only(["ccache", "g++", "-I/t/src/inc", "-MD", "-MF", "x.d", "-o", "x.o", "-c", "/t/src/a.cpp"],
    ...     sources="/t/src", checkout="/new")
    ('g++', '-I/new/inc', '/new/a.cpp', '-fsyntax-only')
    """
    kept: list[str] = []
    waiting = iter(words[1:] if words and _LAUNCHERS.fullmatch(words[0]) else words)
    for word in waiting:
        if word in _MADE_WITH_WORD:
            next(waiting, None)
        elif word not in _MADE:
            kept.append(re.sub(re.escape(sources) + r"(?=/|$)", lambda _: checkout, word))
    return (*kept, "-fsyntax-only")


def first_error(text: str, *, checkout: str) -> str:
    """The first error that a compiler tells, with the path as it is in the tree."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = next((line for line in lines if _ERROR.search(line)), lines[0] if lines else "the compiler failed")
    return found.replace(f"{checkout}/", "")


def to_check(paths: Collection[TreePath]) -> tuple[TreePath, ...]:
    """The sources among the touched files, in order.

    >>> to_check([TreePath(name) for name in ("b.cxx", "a.cc", "a.h", "c.cpp", "x.c", "y.cu")])
    ('a.cc', 'b.cxx', 'c.cpp', 'x.c')
    """
    return tuple(sorted(path for path in paths if path.endswith((".c", ".cc", ".cpp", ".cxx"))))
