"""The hunks of a change, and how each of them fits the fork's own version of the file.

Diffs are read as `git diff-tree -r -z --raw -p` writes them. Contents are lists of lines that keep their
line ends, as text with surrogate escapes, so that every byte comes back as it was.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from unidiff.patch import Hunk as UnidiffHunk
from unidiff.patch import PatchSet

from forkguard.core.declared import declared
from forkguard.core.names import BlobHash, TreePath
from forkguard.core.pieces import tokens_of

_NAME = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]*\b")
_TELLING = 4
"""Words, with those of the lines around, from which on a run of words stands for a place."""


class Outcome(StrEnum):
    """What became of one hunk (the contract of port@1)."""

    CLEAN = "clean"
    OFFSET = "offset"
    THREE_WAY = "three-way"
    ADDITIVE = "additive"
    MOVED = "moved"
    ALREADY_PRESENT = "already-present"
    CONFLICT = "conflict"


class FileKind(StrEnum):
    """What a change does to one file as a whole; the values are git's status letters."""

    ADDED = "A"
    DELETED = "D"
    MODIFIED = "M"
    RENAMED = "R"
    TYPE = "T"


@dataclass(frozen=True, slots=True)
class Change:
    """One run of lines: `removed` begins at line `start` (from 0) of the old file, `added` takes its place."""

    start: int
    removed: tuple[str, ...]
    added: tuple[str, ...]

    @property
    def end(self) -> int:
        """The first old line behind the run."""
        return self.start + len(self.removed)

    @property
    def growth(self) -> int:
        """How many lines the file has more with it; below 0, fewer."""
        return len(self.added) - len(self.removed)


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: its `@@` line, the old lines it covers from `start` (from 0), the lines they become."""

    header: str
    start: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def end(self) -> int:
        """The first old line behind the hunk."""
        return self.start + len(self.before)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a change. `old_path` differs from `path` when the file was renamed.

    A binary file, a change of mode alone and a submodule have no hunks.
    """

    kind: FileKind
    old_path: TreePath
    path: TreePath
    old_mode: str
    mode: str
    old_blob: BlobHash
    blob: BlobHash
    hunks: tuple[Hunk, ...]

    @property
    def whole(self) -> str:
        """What stands in for a hunk's header where the file changes as a whole."""
        names = {
            FileKind.ADDED: "new file",
            FileKind.DELETED: "deleted file",
            FileKind.RENAMED: f"renamed from {self.old_path}",
            FileKind.TYPE: "changed type",
        }
        if self.kind in names:
            return names[self.kind]
        if "160000" in (self.old_mode, self.mode):
            return "submodule"
        return f"mode {self.old_mode} to {self.mode}" if self.old_blob == self.blob else "binary file"

    @property
    def added(self) -> int:
        """Lines that the file gains."""
        return sum(len(change.added) for hunk in self.hunks for change in hunk.changes)

    @property
    def removed(self) -> int:
        """Lines that the file loses."""
        return sum(len(change.removed) for hunk in self.hunks for change in hunk.changes)


def lines_of(content: bytes) -> list[str]:
    r"""The lines of a file with their ends; only a line feed ends one.

    >>> lines_of(b"a\r\nb\x0c\n\xff")
    ['a\r\n', 'b\x0c\n', '\udcff']
    """
    return list(io.StringIO(content.decode("utf-8", "surrogateescape"), newline="\n"))


def content_of(lines: Sequence[str]) -> bytes:
    """The file that the lines make; the inverse of `lines_of`."""
    return "".join(lines).encode("utf-8", "surrogateescape")


def parse_diff(output: bytes) -> tuple[FileChange, ...]:
    """Read raw entries and patch sections of one `git diff-tree -r -z --raw -p`."""
    raw, _, patch = output.partition(b"\0\0")
    words = raw.decode("utf-8", "surrogateescape").split("\0")
    sections = _sections(patch.decode("utf-8", "surrogateescape"))
    found: list[FileChange] = []
    at = 0
    while at < len(words) and words[at].startswith(":"):
        old_mode, mode, old_blob, blob, status = words[at].removeprefix(":").split(" ")
        kind = FileKind(status[0])
        paths = words[at + 1 : at + (3 if kind is FileKind.RENAMED else 2)]
        mine = [next(sections, "") for _ in range(2 if kind is FileKind.TYPE else 1)]
        hunks = () if kind is FileKind.TYPE else _hunks(mine[0])
        found.append(
            FileChange(
                kind,
                TreePath(paths[0]),
                TreePath(paths[-1]),
                old_mode,
                mode,
                BlobHash(old_blob),
                BlobHash(blob),
                hunks,
            )
        )
        at += 1 + len(paths)
    return tuple(found)


def _sections(patch: str) -> Iterator[str]:
    """The parts of a patch, one per `diff --git` line (no content line can begin with that)."""
    return iter(f"\n{patch}".split("\ndiff --git ")[1:])


def _hunks(section: str) -> tuple[Hunk, ...]:
    _, mark, body = section.partition("\n@@ ")
    if not mark:
        return ()
    body = body if body.endswith("\n") else body + "\n"
    files = PatchSet(io.StringIO(f"--- a/f\n+++ b/f\n@@ {body}", newline="\n"))
    return tuple(_hunk(hunk) for hunk in files[0])


def _hunk(hunk: UnidiffHunk) -> Hunk:
    start = hunk.source_start - (1 if hunk.source_length else 0)
    rows: list[tuple[str, str]] = []
    for line in hunk:
        if line.line_type == "\\":
            kind, text = rows[-1]
            rows[-1] = (kind, text.removesuffix("\n"))
        else:
            rows.append((line.line_type, line.value))
    section = f" {hunk.section_header}" if hunk.section_header else ""
    spans = f"-{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length}"
    return Hunk(
        header=f"@@ {spans} @@{section}",
        start=start,
        before=tuple(text for kind, text in rows if kind != "+"),
        after=tuple(text for kind, text in rows if kind != "-"),
        changes=changes_of(start, rows),
    )


def new_starts(changes: Iterable[Change]) -> Iterator[tuple[Change, int]]:
    r"""The changes of one file in their order, each with the line (from 0) of the new file at which it begins.

    >>> [at for _, at in new_starts([Change(2, (), ("a\n", "b\n")), Change(5, ("c\n",), ())])]
    [2, 7]
    """
    grown = 0
    for change in changes:
        yield change, change.start + grown
        grown += change.growth


def changes_of(start: int, rows: Sequence[tuple[str, str]]) -> tuple[Change, ...]:
    """The runs of removed and added lines among a hunk's rows (mark and text) from line `start` (from 0) on."""
    found: list[Change] = []
    at = start
    removed: list[str] = []
    added: list[str] = []
    for kind, text in [*rows, (" ", "")]:
        if kind == "-":
            removed.append(text)
        elif kind == "+":
            added.append(text)
        else:
            if removed or added:
                found.append(Change(at, tuple(removed), tuple(added)))
            at += len(removed) + 1
            removed, added = [], []
    return tuple(found)


# -- how a hunk fits ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fit:
    """How one hunk fits the fork's file; `outcome` is None where only a three-way merge can tell."""

    outcome: Outcome | None
    detail: str = ""


def fit(hunk: Hunk, *, ours: Sequence[str], local: Sequence[Change], loose: bool = False) -> Fit:
    """Compare a hunk with the fork's file: `ours` are its lines, `local` the fork's changes to the old file.

    A hunk that the fork made too is `already-present`, where `loose` also one that it laid out otherwise; one
    whose surroundings the fork left alone is `clean`, or `offset` where they moved up or down.
    """
    mine = [change for change in hunk.changes if change in local]
    if len(mine) == len(hunk.changes):
        return Fit(Outcome.ALREADY_PRESENT, "the fork made the same change")
    touching = [change for change in local if _touches(change, hunk)]
    shift = sum(change.growth for change in local if change.end <= hunk.start and change not in touching)
    if not touching:
        if shift == 0:
            return Fit(Outcome.CLEAN)
        return Fit(Outcome.OFFSET, f"{shift:+d} lines, at line {hunk.start + shift + 1} of the fork's file")
    near = hunk.start + shift
    first = min(hunk.start, touching[0].start) + shift
    last = max(hunk.end, touching[-1].end) + shift + sum(change.growth for change in touching)
    found = _nearest(hunk.after, ours[first:last], near - first)
    if found is not None and any(change.added for change in hunk.changes):
        waiting = _nearest(hunk.before, ours[first:last], near - first)
        if waiting in (None, found) or abs(found + first - near) < abs(waiting + first - near):
            return Fit(Outcome.ALREADY_PRESENT, f"at line {first + found + 1} of the fork's file")
    if loose and (line := _laid_out_otherwise(hunk, ours[first:last])) is not None:
        return Fit(Outcome.ALREADY_PRESENT, f"at line {first + line + 1} of the fork's file, laid out otherwise")
    known = f"; {len(mine)} of its {len(hunk.changes)} changes were there already" if mine else ""
    return Fit(None, f"the fork changed lines here as well{known}")


def _touches(local: Change, hunk: Hunk) -> bool:
    """Whether the fork's change reaches into the hunk, or up to a change that has no context on that side."""
    first, last = hunk.changes[0].start, hunk.changes[-1].end
    low = hunk.start - (1 if first == hunk.start else 0)
    high = hunk.end + (1 if last == hunk.end else 0)
    return local.start < high and local.end > low


def _nearest(wanted: Sequence[str], lines: Sequence[str], near: int) -> int | None:
    """Where `wanted` stands in `lines` as a block, nearest to the line `near`."""
    size = len(wanted)
    if not size:
        return None
    places = (at for at in range(len(lines) - size + 1) if lines[at] == wanted[0])
    matches = [at for at in places if tuple(lines[at : at + size]) == tuple(wanted)]
    return min(matches, key=lambda at: abs(at - near), default=None)


def _laid_out_otherwise(hunk: Hunk, lines: Sequence[str]) -> int | None:
    """The line (from 0) at which every change of the hunk stands among `lines` already, word by word."""
    spans = [(token, number) for number, line in enumerate(lines) for token in tokens_of(_encoded(line))]
    mine = [token for token, _ in spans]
    first: int | None = None
    for change in hunk.changes:
        here = change.start - hunk.start
        above, below = _neighbour(hunk.before[:here][::-1]), _neighbour(hunk.before[here + len(change.removed) :])
        added = _tokens(change.added)
        wanted, old = (*above, *added, *below), (*above, *_tokens(change.removed), *below)
        at = _block(wanted, mine)
        if not added or len(wanted) < _TELLING or at is None or (change.removed and _block(old, mine) is not None):
            return None
        first = spans[at + len(above)][1] if first is None else first
    return first


def _neighbour(lines: Iterable[str]) -> tuple[str, ...]:
    return next((tokens for line in lines if (tokens := tokens_of(_encoded(line)))), ())


def _tokens(lines: Sequence[str]) -> tuple[str, ...]:
    return tokens_of(_encoded("".join(lines)))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _block(wanted: Sequence[str], tokens: Sequence[str]) -> int | None:
    size = len(wanted)
    places = (at for at in range(len(tokens) - size + 1) if tokens[at : at + size] == list(wanted))
    return next(places, None)


def missing_names(hunk: Hunk, *, old: Sequence[str], ours: Sequence[str]) -> tuple[str, ...]:
    """Names that the hunk's new lines take from upstream's file and that the fork's file does not have.

    A fork that calls a variable otherwise gets such a line without any conflict. What the lines declare
    is not missing.

    >>> new = Hunk("@@", 0, ("f();\\n",), ("f();\\n", "use(cur);\\n"), (Change(1, (), ("use(cur);\\n",)),))
    >>> missing_names(new, old=["int cur;\\n", "use(0);\\n"], ours=["int inp;\\n", "use(0);\\n"])
    ('cur',)
    """
    used = dict.fromkeys(name for change in hunk.changes for name in _names(change.added))
    known, there = set(_names(old)), set(_names(ours)) | own_declarations([hunk])
    return tuple(name for name in used if name in known and name not in there)


def own_declarations(hunks: Iterable[Hunk]) -> frozenset[str]:
    """The names that hunks declare in the lines that they add."""
    runs = [_tokens(change.added) for hunk in hunks for change in hunk.changes]
    return frozenset(name for run in runs for name in declared((*run, ";")))


def _names(lines: Sequence[str]) -> Iterator[str]:
    """The names in code: words in comments and strings are none."""
    words = tokens_of("".join(lines).encode("utf-8", "surrogateescape"))
    return (word for word in words if _NAME.fullmatch(word))


def with_hunks(lines: Sequence[str], hunks: Sequence[Hunk]) -> list[str]:
    """The old file's lines with only the given hunks applied."""
    result = list(lines)
    for hunk in sorted(hunks, key=lambda hunk: hunk.start, reverse=True):
        result[hunk.start : hunk.end] = hunk.after
    return result
