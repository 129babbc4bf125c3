"""Upstream's change in the fork's own terms: its paths, its places for functions, its line ends, its names.

Both of upstream's versions of a file are rewritten alike, so that a merge with the fork sees only what the
change itself does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forkguard.core.hunks import FileChange, FileKind, Hunk, content_of, lines_of, with_hunks
from forkguard.core.names import BlobHash, TreeHash, TreePath
from forkguard.core.own_names import is_cxx, only_unit, own_names, unit_around, with_own_names, words
from forkguard.core.syntax import Unit
from forkguard.core.trees import Tree, TreeEntry
from forkguard.ports import Bench

_MOST_HOLDERS = 12


@dataclass(frozen=True, slots=True)
class Remark:
    """What was rewritten in one file: upstream's path, the fork's place for it, line ends, names in new lines.

    `alien`: the lines around are the fork's own, and line numbers tell nothing about upstream's file.
    """

    origin: TreePath
    moved: str = ""
    alien: bool = False
    crlf: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def details(self, hunk: Hunk | None) -> list[str]:
        """What is to be said of one hunk of the file."""
        said = [self.moved] if self.moved else []
        said += ["in the fork's CRLF line ends"] if self.crlf else []
        added = content_of([line for change in hunk.changes for line in change.added]) if hunk else b""
        here = words(added) if self.names else frozenset()
        said += [f"{old} is called {new} here" for old, new in self.names.items() if new in here]
        return said


@dataclass(frozen=True, slots=True)
class Translated:
    """Both of upstream's trees in the fork's terms, what leads from one to the other, and remarks by path."""

    before: TreeHash
    after: TreeHash
    files: tuple[FileChange, ...]
    remarks: Mapping[TreePath, Remark]


def translate(
    bench: Bench, *, before: TreeHash, after: TreeHash, files: tuple[FileChange, ...], ours: TreeHash,
    identifiers: Mapping[str, str],
) -> Translated:  # fmt: skip
    """Rewrite a change for the tree `ours`; `identifiers` are upstream's names that a person gave other ones."""
    done = Translated(before, after, files, {})
    done = _moved_files(bench, done, ours)
    done = _moved_functions(bench, done, ours)
    done = _line_ends(bench, done, ours)
    return _names(bench, done, ours, identifiers)


_Edits = dict[TreePath, TreeEntry | None]


def _edited(bench: Bench, done: Translated, *, old: _Edits, new: _Edits, remarks: Iterable[tuple[TreePath, Remark]]
            ) -> Translated:  # fmt: skip
    if not old and not new:
        return done
    before, after = bench.edit(done.before, old), bench.edit(done.after, new)
    return Translated(before, after, bench.diff(before, after), {**done.remarks, **dict(remarks)})


def _remark(done: Translated, path: TreePath) -> Remark:
    return done.remarks.get(path, Remark(path))


# -- paths ---------------------------------------------------------------------------------------------


def _moved_files(bench: Bench, done: Translated, ours: TreeHash) -> Translated:
    """Files that the fork keeps under another path."""
    paths = [file.old_path for file in done.files if file.kind is FileKind.MODIFIED and file.hunks]
    there = bench.entries(ours, paths)
    lost = [file for file in done.files if file.old_path in paths and file.old_path not in there]
    renames = bench.renames(done.before, ours) if lost else {}
    old: _Edits = {}
    new: _Edits = {}
    remarks = []
    for file in lost:
        place = renames.get(file.old_path)
        if place is not None:
            old |= {file.old_path: None, place: TreeEntry(file.old_mode, file.old_blob)}
            new |= {file.path: None, place: TreeEntry(file.mode, file.blob)}
            remarks.append((place, Remark(file.path, f"the fork has this file as {place}")))
    return _edited(bench, done, old=old, new=new, remarks=remarks)


@dataclass(frozen=True, slots=True)
class _Move:
    """Functions that the fork has in another file: their hunks, and both of upstream's versions of that file."""

    hunks: tuple[Hunk, ...]
    place: TreePath
    symbol: str
    old: bytes
    new: bytes


def _moved_functions(bench: Bench, done: Translated, ours: TreeHash) -> Translated:
    """Functions that the fork keeps in another file."""
    modified = [file for file in done.files if file.kind is FileKind.MODIFIED and file.hunks and is_cxx(file.path)]
    entries = bench.entries(ours, [file.path for file in modified])
    changed = [file for file in modified if file.path not in entries or entries[file.path].blob != file.old_blob]
    mine = {file.path: entries[file.path].blob for file in changed if file.path in entries}
    contents = bench.blobs([*mine.values(), *(blob for file in changed for blob in (file.old_blob, file.blob))])
    old: _Edits = {}
    new: _Edits = {}
    remarks = []
    taken = {file.path for file in done.files}
    for file in changed:
        here = contents[mine[file.path]] if file.path in mine else b""
        versions = contents[file.old_blob], contents[file.blob]
        moves = [
            move for move in _moves(bench, file, versions=versions, here=here, ours=ours) if move.place not in taken
        ]
        for move in moves:
            if move.place not in old:
                mode = bench.entries(ours, [move.place])[move.place].mode
                old[move.place] = TreeEntry(mode, bench.put_blob(move.old))
                new[move.place] = TreeEntry(mode, bench.put_blob(move.new))
                said = f"the fork has {move.symbol} in {move.place}"
                remarks.append((move.place, Remark(file.path, said, alien=True)))
        gone = {hunk for move in moves if move.place in old for hunk in move.hunks}
        rest = [hunk for hunk in file.hunks if hunk not in gone]
        if gone and (rest or file.path in mine):
            kept = content_of(with_hunks(lines_of(versions[0]), rest))
            new[file.path] = TreeEntry(file.mode, bench.put_blob(kept))
        elif gone:
            old[file.path] = new[file.path] = None
    return _edited(bench, done, old=old, new=new, remarks=remarks)


def _moves(
    bench: Bench, file: FileChange, *, versions: tuple[bytes, bytes], here: bytes, ours: TreeHash
) -> list[_Move]:
    before, after = versions
    by_symbol: dict[str, list[Hunk]] = {}
    for hunk in file.hunks:
        unit = unit_around(before, hunk.changes[0].start, hunk.changes[-1].end)
        if unit is not None and only_unit(before, unit.symbol) and not only_unit(here, unit.symbol):
            by_symbol.setdefault(unit.symbol, []).append(hunk)
    found: dict[TreePath, list[tuple[str, Unit, Unit, Unit]]] = {}
    sources: dict[TreePath, bytes] = {}
    for symbol in by_symbol:
        old, new = only_unit(before, symbol), only_unit(after, symbol)
        place = _home(bench, symbol, ours)
        if old is None or new is None or place is None:
            continue
        path, sources[path] = place
        mine = only_unit(sources[path], symbol)
        assert mine is not None  # noqa: S101  (it is its home)
        found.setdefault(path, []).append((symbol, mine, old, new))
    return [
        _Move(
            tuple(hunk for symbol, *_ in units for hunk in by_symbol[symbol]),
            path,
            ", ".join(symbol for symbol, *_ in units),
            _exchanged(sources[path], [(mine, old) for _, mine, old, _ in units]),
            _exchanged(sources[path], [(mine, new) for _, mine, _, new in units]),
        )
        for path, units in found.items()
    ]


def _exchanged(source: bytes, pairs: Sequence[tuple[Unit, Unit]]) -> bytes:
    """A source with the text of other units in the places of its own."""
    for mine, other in sorted(pairs, key=lambda pair: pair[0].start, reverse=True):
        source = source[: mine.start] + other.text + source[mine.end :]
    return source


def _home(bench: Bench, symbol: str, ours: TreeHash) -> tuple[TreePath, bytes] | None:
    """The one file of the fork that defines a function, with its content."""
    paths = [path for path in bench.holding(ours, symbol.rsplit("::", 1)[-1]) if is_cxx(path)]
    if len(paths) > _MOST_HOLDERS:
        return None
    entries = bench.entries(ours, paths)
    contents = bench.blobs(entry.blob for entry in entries.values())
    homes = [
        (path, contents[entry.blob])
        for path, entry in entries.items()
        if (unit := only_unit(contents[entry.blob], symbol)) is not None and b"{" in unit.text
    ]
    return homes[0] if len(homes) == 1 else None


# -- bytes ---------------------------------------------------------------------------------------------


def _versions(
    bench: Bench, done: Translated, ours: TreeHash, *, kept: bool = False
) -> list[tuple[FileChange, tuple[bytes, bytes, bytes]]]:
    """The files that fork and upstream changed (and those `kept` by the fork): its content, the old, the new one."""
    entries: Tree = bench.entries(ours, [file.path for file in done.files])
    changed = [
        (file, entries[file.path])
        for file in done.files
        if file.kind is FileKind.MODIFIED and file.hunks and file.path in entries
        if entries[file.path].is_file and entries[file.path].blob != file.blob
        if kept or entries[file.path].blob != file.old_blob
    ]
    contents = bench.blobs(blob for file, entry in changed for blob in (entry.blob, file.old_blob, file.blob))
    return [(file, (contents[entry.blob], contents[file.old_blob], contents[file.blob])) for file, entry in changed]


def _line_ends(bench: Bench, done: Translated, ours: TreeHash) -> Translated:
    """Files that the fork turned to CRLF."""
    old: _Edits = {}
    new: _Edits = {}
    for file, (mine, was, becomes) in _versions(bench, done, ours):
        if b"\n" in mine and mine.count(b"\r\n") == mine.count(b"\n") and b"\r\n" not in was + becomes:
            sides = [bench.put_blob(side.replace(b"\n", b"\r\n")) for side in (was, becomes)]
            old[file.path] = TreeEntry(file.old_mode, sides[0])
            new[file.path] = TreeEntry(file.mode, sides[1])
    remarks = [(path, replace(_remark(done, path), crlf=True)) for path in old]
    return _edited(bench, done, old=old, new=new, remarks=remarks)


def _names(bench: Bench, done: Translated, ours: TreeHash, identifiers: Mapping[str, str]) -> Translated:
    """Names that the fork writes otherwise."""
    old: _Edits = {}
    new: _Edits = {}
    remarks = []
    for file, (mine, was, becomes) in _versions(bench, done, ours, kept=bool(identifiers)):
        names = own_names(before=was, after=becomes, ours=mine, known=identifiers) if is_cxx(file.path) else None
        if not names:
            continue
        sides: list[BlobHash] = [bench.put_blob(with_own_names(side, names)) for side in (was, becomes)]
        old[file.path] = TreeEntry(file.old_mode, sides[0])
        new[file.path] = TreeEntry(file.mode, sides[1])
        said = dict(names.everywhere) | {a: b for local in names.local.values() for a, b in local.items()}
        remarks.append((file.path, replace(_remark(done, file.path), names=said)))
    return _in_new_files(bench, _edited(bench, done, old=old, new=new, remarks=remarks), identifiers)


def _in_new_files(bench: Bench, done: Translated, identifiers: Mapping[str, str]) -> Translated:
    """Files that the change adds, with the names that a person gave."""
    touched: Sequence[FileChange] = [
        file
        for file in done.files
        if identifiers and file.kind is FileKind.ADDED and file.hunks and is_cxx(file.path)
    ]
    contents = bench.blobs(file.blob for file in touched)
    new: _Edits = {}
    remarks = []
    for file in touched:
        names = own_names(before=b"", after=contents[file.blob], ours=None, known=identifiers)
        if names:
            new[file.path] = TreeEntry(file.mode, bench.put_blob(with_own_names(contents[file.blob], names)))
            remarks.append((file.path, replace(_remark(done, file.path), names=names.everywhere)))
    return _edited(bench, done, old={}, new=new, remarks=remarks)
