"""Whether upstream has what a patch does, by its lines, wherever they stand."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from forkguard.core.fitting import Files, Version
from forkguard.core.hunks import FileChange, lines_of
from forkguard.core.names import TreePath
from forkguard.core.own_names import is_cxx
from forkguard.core.pysource import parse_python
from forkguard.core.replay import TELLING
from forkguard.core.syntax import parse

_Key = TypeVar("_Key", str, tuple[str, str])


def landed_by_lines(changes: Sequence[FileChange], *, before: Files, after: Files, ours: Files) -> bool:
    """Whether upstream brought every line that a patch adds, and took away every line that it removes.

    `before` and `after` are the patch's own two sides, `ours` is upstream's present state. Lines are counted: what
    was there as often before does not count as brought. A line that stands elsewhere in the file too (the same `case`
    is in many switches) is counted in its function. A patch whose lines all say nothing (braces) never counts.
    """
    telling = False
    for path in {path for change in changes for path in (change.old_path, change.path)}:
        versions = [files.get(path) for files in (before, after, ours)]
        sides = [_counted(version) for version in versions]
        if any(side is None for side in sides):
            return False
        old, new, now = (side or Counter() for side in sides)
        told = {line for line in set(old) | set(new) if new[line] != old[line] and TELLING.search(line)}
        telling = telling or bool(told)
        if not _came(old, new, now):
            return False
        twins = {line for line in told if old[line] and new[line]}
        if twins and not _came(*(_by_function(path, version, twins) for version in versions)):
            return False
    return telling


def _came(old: Counter[_Key], new: Counter[_Key], now: Counter[_Key]) -> bool:
    """Whether `now` has at least what `new` has beyond `old`, and lacks at least what `new` lacks."""
    for line in set(old) | set(new):
        wanted, got = new[line] - old[line], now[line] - old[line]
        if (wanted > 0 and got < wanted) or (wanted < 0 and got > wanted):
            return False
    return True


def _by_function(path: TreePath, version: Version | None, lines: AbstractSet[str]) -> Counter[tuple[str, str]]:
    """How often each of some lines stands in each function (or other unit) of a file; "" is the file itself."""
    content = version.content or b"" if version is not None else b""
    units = parse_python(content).units if path.endswith(".py") else parse(content).units if is_cxx(path) else ()
    found: Counter[tuple[str, str]] = Counter()
    start = 0
    for raw in content.split(b"\n"):
        line = _plain(raw.decode("utf-8", "surrogateescape"))
        if line in lines:
            at = start + len(raw) - len(raw.lstrip())
            around = [(unit.end - unit.start, unit.symbol) for unit in units if unit.start <= at < unit.end]
            found[min(around, default=(0, ""))[1], line] += 1
        start += len(raw) + 1
    return found


def might_have_come(changes: Sequence[FileChange], *, before: Files, ours: Files) -> bool:
    """A quick look before `landed_by_lines`: false where a line that a patch adds stands there no more often now."""
    for change in changes:
        old, now = before.get(change.old_path), ours.get(change.path)
        added = (line for hunk in change.hunks for each in hunk.changes for line in each.added)
        line = next((line for line in added if TELLING.search(line)), None)
        if line is not None:
            text = line.strip().encode("utf-8", "surrogateescape")
            times = [side.content.count(text) if side and side.content else 0 for side in (old, now)]
            if times[1] <= times[0]:
                return False
    return True


def _counted(version: Version | None) -> "Counter[str] | None":
    if version is None:
        return Counter()
    if version.content is None:
        return None
    return Counter(_plain(line) for line in lines_of(version.content))


def _plain(line: str) -> str:
    return " ".join(line.split())
