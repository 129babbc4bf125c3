"""The history in SQLite: one file beside the records that it is made from, WAL, made anew whenever it is no good.

Nothing is in it that the records do not hold, so a file that is lost, damaged or of another layout is replaced, and
`PRAGMA user_version` tells the layout. Another layout needs no migration of rows: the records are read again.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forkguard.adapters.files import locked
from forkguard.core.history_rows import (
    CheckRow,
    History,
    NightRow,
    PatchRow,
    ReceiptRow,
    RecordKind,
    Skipped,
    Source,
    SpeedRow,
    columns,
    record_order,
)
from forkguard.core.history_update import Entry, Known
from forkguard.errors import CouldNotWork

LAYOUT = 1
WAIT = 10.0
"""Seconds that a locked file is waited for."""

_TABLES = """
CREATE TABLE source (
  kind TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  sha256 TEXT NOT NULL, problem TEXT, PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE night (
  name TEXT PRIMARY KEY, started TEXT NOT NULL, finished TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL,
  story TEXT NOT NULL, repeats INTEGER NOT NULL, days_red INTEGER NOT NULL, fork TEXT, base TEXT, upstream TEXT,
  commits INTEGER, behind INTEGER, ahead INTEGER, uncovered INTEGER NOT NULL, candidate TEXT, drift TEXT,
  archs TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE night_patch (
  night TEXT NOT NULL REFERENCES night ON DELETE CASCADE, position INTEGER NOT NULL, patchset TEXT NOT NULL,
  patch TEXT NOT NULL, status TEXT NOT NULL, breaking_commit TEXT, landed_in TEXT, PRIMARY KEY (night, position)
) WITHOUT ROWID;
CREATE TABLE receipt (
  name TEXT PRIMARY KEY, started TEXT NOT NULL, finished TEXT NOT NULL, verdict TEXT NOT NULL, arch TEXT NOT NULL,
  probe INTEGER NOT NULL, "commit" TEXT, binary_sha256 TEXT NOT NULL, job TEXT, reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE receipt_check (
  receipt TEXT NOT NULL REFERENCES receipt ON DELETE CASCADE, position INTEGER NOT NULL, name TEXT NOT NULL,
  verdict TEXT NOT NULL, kind TEXT, PRIMARY KEY (receipt, position)
) WITHOUT ROWID;
CREATE TABLE receipt_speed (
  receipt TEXT NOT NULL REFERENCES receipt ON DELETE CASCADE, position INTEGER NOT NULL, arm TEXT NOT NULL,
  task TEXT NOT NULL, asked INTEGER NOT NULL, runs TEXT NOT NULL, median REAL NOT NULL, spread REAL NOT NULL,
  wide INTEGER NOT NULL, acceptance REAL, PRIMARY KEY (receipt, position)
) WITHOUT ROWID;
"""
_UNUSABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class HistoryBook:
    """An open history; `remark` says where its file could not be used."""

    def __init__(self, base: sqlite3.Connection, remark: str = "") -> None:
        self._base = base
        self.remark = remark

    def known(self) -> dict[tuple[RecordKind, str], Known]:
        """The records that the history holds, readable or not."""
        rows = self._base.execute("SELECT kind, name, size, mtime_ns, sha256 FROM source")
        return {(RecordKind(kind), name): Known(*rest) for kind, name, *rest in rows}

    def write(
        self, entries: Sequence[Entry], *, touched: Sequence[Source], gone: Sequence[tuple[RecordKind, str]]
    ) -> None:
        """Take records in, note the new time of those whose content is the same, forget others: all or nothing."""
        with self._base:
            for kind, name in (*gone, *((entry.source.kind, entry.source.name) for entry in entries)):
                self._base.execute("DELETE FROM source WHERE kind = ? AND name = ?", (kind.value, name))
                self._base.execute(f"DELETE FROM {kind.value} WHERE name = ?", (name,))  # noqa: S608 (an enum's value)
            self._base.executemany(
                "UPDATE source SET size = ?, mtime_ns = ? WHERE kind = ? AND name = ?",
                [(one.size, one.mtime_ns, one.kind.value, one.name) for one in touched],
            )
            for entry in entries:
                self._insert(entry)

    def _insert(self, entry: Entry) -> None:
        source, row = entry.source, entry.content
        problem = row if isinstance(row, str) else None
        about = {"kind": source.kind.value, "name": source.name, "size": source.size, "mtime_ns": source.mtime_ns}
        self._put("source", [{**about, "sha256": entry.sha256, "problem": problem}])
        if isinstance(row, NightRow):
            own, patches = columns(row), [columns(one) for one in row.patches]
            del own["patches"]
            own["drift"] = json.dumps(row.drift) if row.drift is not None else None
            self._put("night", [own | {"archs": json.dumps(dict(row.archs))}])
            self._put("night_patch", [{"night": row.name, "position": at} | one for at, one in enumerate(patches)])
        elif isinstance(row, ReceiptRow):
            own = columns(row)
            checks = [columns(one) for one in own.pop("checks")]
            speeds = [columns(one) for one in own.pop("speeds")]
            key = {"receipt": row.name}
            self._put("receipt", [own])
            self._put("receipt_check", [key | {"position": at} | one for at, one in enumerate(checks)])
            self._put(
                "receipt_speed",
                [key | {"position": at} | one | {"runs": json.dumps(one["runs"])} for at, one in enumerate(speeds)],
            )

    def _put(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            names, marks = ", ".join(f'"{name}"' for name in rows[0]), ", ".join(f":{name}" for name in rows[0])
            self._base.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608 (our names)

    def read(self) -> History:
        """Everything, oldest first."""
        skipped = self._base.execute("SELECT kind, name, problem FROM source WHERE problem IS NOT NULL")
        return History(
            nights=tuple(sorted(self._nights(), key=lambda row: record_order(row.name))),
            receipts=tuple(sorted(self._receipts(), key=lambda row: record_order(row.name))),
            skipped=tuple(
                sorted((Skipped(RecordKind(kind), *rest) for kind, *rest in skipped), key=lambda one: one.name)
            ),
        )

    def _nights(self) -> Iterator[NightRow]:
        patches = self._parts("night", "night_patch")
        for row in self._rows("SELECT * FROM night"):
            drift = row.pop("drift")
            yield NightRow(
                **row | {"archs": json.loads(row["archs"])},
                drift=json.loads(drift) if drift is not None else None,
                patches=tuple(PatchRow(**one) for one in patches.get(row["name"], ())),
            )

    def _receipts(self) -> Iterator[ReceiptRow]:
        checks, speeds = self._parts("receipt", "receipt_check"), self._parts("receipt", "receipt_speed")
        for row in self._rows("SELECT * FROM receipt"):
            yield ReceiptRow(
                **row | {"probe": bool(row["probe"])},
                checks=tuple(CheckRow(**one) for one in checks.get(row["name"], ())),
                speeds=tuple(
                    SpeedRow(**one | {"runs": tuple(json.loads(one["runs"])), "wide": bool(one["wide"])})
                    for one in speeds.get(row["name"], ())
                ),
            )

    def _parts(self, whole: str, table: str) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._rows(f"SELECT * FROM {table} ORDER BY position"):  # noqa: S608 (our names)
            del row["position"]
            found.setdefault(row.pop(whole), []).append(row)
        return found

    def _rows(self, query: str) -> Iterator[dict[str, Any]]:
        cursor = self._base.execute(query)
        names = [column[0] for column in cursor.description]
        return (dict(zip(names, row, strict=True)) for row in cursor)


@contextlib.contextmanager
def open_history(path: Path, *, wait: float = WAIT) -> Iterator[HistoryBook]:
    """The history at `path`, for one process at a time; made anew where it is lost, damaged or of another layout.

    Where the folder cannot be written the history is held in memory, which `remark` says. Raises `CouldNotWork` where
    another process holds it longer than `wait` seconds, or the disk is full.
    """
    try:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(path.with_name(f"{path.name}.lock"), purpose="the history", wait=wait))
                base = stack.enter_context(contextlib.closing(_connect(path, wait=wait)))
                book = HistoryBook(base)
            except OSError as error:
                book = _in_memory(stack, error.strerror or str(error))
            except sqlite3.Error as error:
                if _code(error) not in _UNUSABLE:
                    raise
                book = _in_memory(stack, str(error))
            yield book
    except sqlite3.Error as error:
        raise _told(error, path) from error


def _in_memory(stack: contextlib.ExitStack, why: str) -> HistoryBook:
    base = stack.enter_context(contextlib.closing(sqlite3.connect(":memory:")))
    _prepare(base)
    return HistoryBook(base, f"the history's file cannot be written ({why}), so every record was read anew")


def _connect(path: Path, *, wait: float) -> sqlite3.Connection:
    """An open file that is whole and of this layout. Whoever calls holds the lock."""
    try:
        base = sqlite3.connect(path, timeout=wait)
        try:
            if _usable(base):
                return base
        except BaseException:
            base.close()
            raise
        base.close()
    except sqlite3.DatabaseError as error:
        if _code(error) not in _DAMAGED:
            raise
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    base = sqlite3.connect(path, timeout=wait)
    _prepare(base)
    return base


def _usable(base: sqlite3.Connection) -> bool:
    (layout,) = base.execute("PRAGMA user_version").fetchone()
    if layout != LAYOUT:
        return False
    base.execute("PRAGMA foreign_keys = ON")
    return bool(base.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))


def _prepare(base: sqlite3.Connection) -> None:
    base.execute("PRAGMA journal_mode = WAL")
    base.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {LAYOUT}; COMMIT;")
    base.execute("PRAGMA foreign_keys = ON")


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _told(error: sqlite3.Error, path: Path) -> CouldNotWork:
    if _code(error) in _BUSY:
        return CouldNotWork(
            "the history is locked by another program", where=str(path), hint="close that program, then try again"
        )
    return CouldNotWork(
        f"the history cannot be used: {error}", where=str(path),
        hint=f"see that the disk has room; {path.name} may be removed at any time, it is made anew",
    )  # fmt: skip
