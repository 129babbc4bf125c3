"""The result of a three-way merge as git tells it: the tree, the conflicted files, their marked regions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forkguard.core.commits import Commit
from forkguard.core.hunks import Hunk, lines_of
from forkguard.core.names import BlobHash, TreeHash, TreePath

_MARKER = re.compile(rb"^(?:<<<<<<<|\|\|\|\|\|\|\||>>>>>>>)(?: .*)?\r?$", re.MULTILINE)
_NEXT_SIDE = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
"""What ends each side of a region in diff3 style, by how many sides have begun."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One side of a conflicted file: `number` is git's (1 base, 2 the fork, 3 upstream)."""

    path: TreePath
    number: int
    mode: str
    blob: BlobHash


@dataclass(frozen=True, slots=True)
class Twice:
    """Something that git's merge put into a file once more, though one side had it (`forkguard.core.doubled`).

    `line` (from 1) is that of its marker in the merged file and `twin` where the other one is there, `own` where that
    is in its side's own file; `text` is that line. `bringer` and `holder` are how messages call the two sides.
    """

    path: TreePath
    line: int
    what: str
    name: str
    twin: int
    own: int
    text: str
    bringer: str
    holder: str

    @property
    def said(self) -> str:
        """What it is, which side had it, and where."""
        where = f"line {self.twin}" + (f" (line {self.own} of its own file)" if self.own != self.twin else "")
        return (
            f"this {self.what} would be there twice: {self.bringer} brings it here, {self.holder} has it at {where}: "
            f"{self.name}"
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge: its tree (with markers in conflicted files), the sides of what conflicts, git's messages.

    `twice` are the marked places at which git saw no conflict.
    """

    tree: TreeHash
    stages: tuple[Stage, ...]
    messages: tuple[str, ...]
    twice: tuple[Twice, ...] = ()

    @property
    def conflicted(self) -> tuple[TreePath, ...]:
        """The conflicted files, each once."""
        return tuple(dict.fromkeys(stage.path for stage in self.stages))

    def side(self, path: TreePath, number: int) -> Stage | None:
        """One side of a conflicted file, if it has that side."""
        return next((stage for stage in self.stages if stage.path == path and stage.number == number), None)


@dataclass(frozen=True, slots=True)
class Region:
    """One marked region: the line (from 1) of its first marker, and the lines of the three sides."""

    line: int
    ours: tuple[str, ...]
    base: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """One place that a person must decide: its region, or `reason` where a file conflicts as a whole.

    `twice` is set where git saw no conflict, and `reason` then tells of it.
    `span` are the first and last line (from 1) of upstream's old file `origin` that the hunk changes.
    `upstream_log` are upstream's last commits to those lines, `fork_log` the fork's own to its side.
    """

    path: TreePath
    line: int | None
    header: str = ""
    ours: str = ""
    base: str = ""
    theirs: str = ""
    reason: str = ""
    origin: TreePath | None = None
    span: tuple[int, int] | None = None
    upstream_log: tuple[Commit, ...] = ()
    fork_log: tuple[Commit, ...] = ()
    twice: Twice | None = None


def parse_merge(output: bytes) -> Merged:
    """Read `git merge-tree --write-tree -z`."""
    head, _, tail = output.partition(b"\0\0")
    tree, *entries = head.decode("utf-8", "surrogateescape").split("\0")
    stages = []
    for entry in entries:
        if not entry:
            continue
        meta, path = entry.split("\t", 1)
        mode, blob, number = meta.split(" ")
        stages.append(Stage(TreePath(path), int(number), mode, BlobHash(blob)))
    return Merged(TreeHash(tree.strip()), tuple(stages), _messages(tail.decode("utf-8", "replace").split("\0")))


def _messages(words: Sequence[str]) -> tuple[str, ...]:
    found, at = [], 0
    while at < len(words) and words[at].isdigit():
        at += int(words[at]) + 2
        if at < len(words) and words[at].startswith("CONFLICT"):
            found.append(words[at].strip())
        at += 1
    return tuple(found)


def regions(lines: Sequence[str], *, label: str) -> tuple[Region, ...]:
    """The conflicts of a file merged in diff3 style, whose first marker carries `label`."""
    found: list[Region] = []
    sides: list[list[str]] = []
    began = 0
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if text == f"<<<<<<< {label}":
            sides, began = [[]], number
        elif sides and text.partition(" ")[0] == _NEXT_SIDE[len(sides)]:
            sides.append([])
        elif sides:
            sides[-1].append(line)
        if len(sides) == 4:
            found.append(Region(began, tuple(sides[0]), tuple(sides[1]), tuple(sides[2])))
            sides = []
    return tuple(found)


def markers_left(content: bytes) -> int | None:
    r"""The line (from 1) of the first conflict marker in a file, or None.

    >>> markers_left(b"a\n>>>>>>> upstream\nb\n")
    2
    >>> markers_left(b"Title\n=======\n")
    """
    found = _MARKER.search(content)
    return content.count(b"\n", 0, found.start()) + 1 if found else None


def header_of(region: Region, hunks: Sequence[Hunk]) -> str:
    """The header of the hunk that a region comes from: the one that shares most lines with it."""
    best = hunk_of(region, hunks)
    return best.header if best else ""


def hunk_of(region: Region, hunks: Sequence[Hunk]) -> Hunk | None:
    """The hunk that a region comes from.

    One whose runs of changed lines lie whole in the region goes before one that only shares lines with it: many
    hunks of one change bring the same `case`. The lines around decide between equals.
    """

    def nearness(hunk: Hunk) -> tuple[int, int, int]:
        whole = sum(
            len(change.removed) + len(change.added)
            for change in hunk.changes
            if _holds(region.base, change.removed) and _holds(region.theirs, change.added)
        )
        added = sum(line in change.added for change in hunk.changes for line in region.theirs)
        removed = sum(line in change.removed for change in hunk.changes for line in region.base)
        return whole, added + removed, sum(line in region.theirs for line in hunk.after)

    return max(hunks, key=nearness, default=None)


def conflicts_of(
    merged: Merged,
    path: TreePath,
    content: bytes,
    hunks: Sequence[Hunk],
    *,
    label: str,
    origin: TreePath,
    spans: bool = True,
) -> tuple[Conflict, ...]:
    """What a person must decide in one conflicted file: its marked regions, or the file as a whole.

    `content` is the file as merged, its first markers carrying `label`, and `hunks` what was to be brought to it.
    They are of upstream's file `origin`; without `spans` their lines are not those of that file.
    """
    marked = regions(lines_of(content), label=label)
    if not marked:
        reason = next((text for text in merged.messages if path in text), "both sides changed this file")
        return (Conflict(path, None, reason=reason),)
    found = []
    twice = {each.line: each for each in merged.twice if each.path == path}
    for region in marked:
        hunk = hunk_of(region, hunks)
        double = twice.get(region.line)
        runs = hunk.changes if hunk is not None and spans else ()
        found.append(
            Conflict(
                path,
                region.line,
                hunk.header if hunk else "",
                ours="".join(region.ours),
                base="".join(region.base),
                theirs="".join(region.theirs),
                reason=double.said if double else "",
                twice=double,
                origin=origin,
                span=(runs[0].start + 1, max(runs[-1].end, runs[0].start + 1)) if runs else None,
            )
        )
    return tuple(found)


def _holds(lines: Sequence[str], run: Sequence[str]) -> bool:
    return any(tuple(lines[at : at + len(run)]) == tuple(run) for at in range(len(lines) - len(run) + 1))
