"""Which names a change uses, and which commit of a log brought each of them first."""

import re
from collections.abc import Iterable, Sequence

from forkguard.core.hunks import FileChange, content_of, own_declarations
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.own_names import is_cxx, words

_SHORTEST = 3


def used_names(files: Iterable[FileChange]) -> dict[str, tuple[TreePath, ...]]:
    """The identifiers of the lines that a change adds to C and C++ files, with the files that use them.

    What the change declares in the same file is none: another of that name elsewhere is not needed for it.
    """
    found: dict[str, dict[TreePath, None]] = {}
    for file in files:
        if not is_cxx(file.path):
            continue
        added = content_of([line for hunk in file.hunks for change in hunk.changes for line in change.added])
        for name in sorted(words(added) - own_declarations(file.hunks)):
            if len(name) >= _SHORTEST:
                found.setdefault(name, {})[file.path] = None
    return {name: tuple(paths) for name, paths in found.items()}


def brought_by(log: str, names: Sequence[str]) -> dict[str, CommitHash]:
    r"""The first commit of a log (oldest first) that adds each name; in the log's order.

    >>> brought_by("commit ab\n@@ -1 +1 @@\n-x();\n+f(x);\ncommit cd\n+f();\n+g();\n", ["g", "f"])
    {'f': 'ab', 'g': 'cd'}
    """
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")
    found: dict[str, CommitHash] = {}
    gone: set[str] = set()
    commit = CommitHash("")
    for line in log.split("\n"):
        if line.startswith("commit "):
            commit, gone = CommitHash(line[7:]), set()
        elif line.startswith("-") and not line.startswith("---"):
            gone.update(pattern.findall(line))
        elif line.startswith("+") and not line.startswith("+++"):
            for name in pattern.findall(line):
                if name not in gone:
                    found.setdefault(name, commit)
    return found
