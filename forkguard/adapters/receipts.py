"""The folder of receipts: one folder per gate run, raw logs beside `receipt.json`, each chained to the one before.

`HEAD` names the newest. Beside a receipt lie `SHA256SUMS` and, where a key is configured, `receipt.json.sig`.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from forkguard.adapters.files import locked, write_atomic
from forkguard.adapters.hashing import hash_file
from forkguard.core.receipts import (
    HEAD_NAME,
    RECEIPT_NAME,
    SIGNATURE_NAME,
    SUMS_NAME,
    BadReceipt,
    BuildFacts,
    Compiler,
    Link,
    LogHash,
    check_path,
    claimed_previous,
    digest,
    head_text,
    read_compiler,
    read_head,
    read_options,
    read_sums,
    seal,
    sums,
)
from forkguard.errors import CouldNotWork

SIZE_LIMIT = 64 << 20
"""Bytes of a receipt, or of what lies beside it; a larger one is refused unread."""

_TRIES = 1000
_LOCK_WAIT = 60.0
_LOG_SUFFIX = ".log"


class ReceiptStore:
    """Receipts under `root` (`.forkguard/receipts`). A folder without `receipt.json` is a run that was cut off.

    `root` may be a symbolic link, for people who keep receipts on another disk; nothing below it may be one.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    # -- writing -------------------------------------------------------------------------------------

    def make_folder(self, started: datetime, *, name: str) -> Path:
        """A new folder `<utc>-<name>`; a second run in the same second gets a number behind it.

        Raises `CouldNotWork` where it cannot be made, or where the chain to add to is damaged.
        """
        if self.exists():
            self._check_chain()
        stem = f"{started.astimezone(UTC):%Y%m%dT%H%M%SZ}-{name}"
        for number in range(1, _TRIES):
            folder = self.root / (stem if number == 1 else f"{stem}-{number}")
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise CouldNotWork(
                    f"cannot make the receipt's folder: {error.strerror}", where=str(folder),
                    hint="make the map's folder writable",
                ) from error  # fmt: skip
            return folder
        raise CouldNotWork("too many receipts of the same second", where=str(self.root), hint="remove old ones")

    def write(
        self,
        folder: Path,
        text: str,
        *,
        build: BuildFacts | None = None,
        job: str | None = None,
        sign: Callable[[bytes], bytes] | None = None,
    ) -> Path:
        """Seal the gate's document and put it into its folder, whole or not at all; the path of the file.

        The hashes of the logs (`*.log` in the folder) and of the receipt before it become part of it. Whatever
        stops this (a full disk, a key that does not sign) leaves the chain as it was.
        """
        path = folder / RECEIPT_NAME
        with self._writing():
            try:
                previous = self.head()
                logs = _hash_logs(folder)
                content = seal(text, previous=previous, logs=logs, build=build, job=job).encode()
                if sign is not None:
                    write_atomic(folder / SIGNATURE_NAME, sign(content))
                write_atomic(folder / SUMS_NAME, sums(content, previous=previous, logs=logs))
                write_atomic(path, content)
                write_atomic(self.root / HEAD_NAME, head_text(Link(f"{folder.name}/{RECEIPT_NAME}", digest(content))))
            except BaseException as error:
                self._take_back(folder)
                if isinstance(error, BadReceipt):
                    raise CouldNotWork(f"the chain of receipts is damaged: {error}", where=str(self.root)) from error
                raise
        return path

    def _take_back(self, folder: Path) -> None:
        """Remove what was written of a receipt, unless `HEAD` names it: then it is whole, and in the chain."""
        head = self._read(HEAD_NAME)
        if head is not None and read_head(head.decode("utf-8", "replace")).path == f"{folder.name}/{RECEIPT_NAME}":
            return
        for name in (RECEIPT_NAME, SUMS_NAME, SIGNATURE_NAME):
            with contextlib.suppress(OSError):
                (folder / name).unlink(missing_ok=True)

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        return locked(self.root / ".lock", purpose="forkguard gate, writing its receipt", wait=_LOCK_WAIT)

    def _check_chain(self) -> None:
        """Locked: between a receipt and `HEAD` another gate's first receipt looks like a chain without its head."""
        try:
            with self._writing():
                self.head()
        except BadReceipt as error:
            raise CouldNotWork(
                f"the chain of receipts is damaged: {error}", where=str(self.root / HEAD_NAME),
                hint="restore the folder of receipts, or move it away and start a new chain",
            ) from error  # fmt: skip

    # -- reading -------------------------------------------------------------------------------------

    def all(self) -> tuple[Path, ...]:
        """The files of all complete receipts, oldest first."""
        return tuple(sorted(self.root.glob(f"*/{RECEIPT_NAME}")))

    def exists(self) -> bool:
        """Whether there is a folder of receipts at all."""
        return self.root.is_dir()

    def head(self) -> Link | None:
        """The newest receipt; None before the first. Raises `BadReceipt` where `HEAD` is damaged, or lost.

        A run that was killed between its receipt and `HEAD` is counted in, the very first one too.
        """
        content = self._read(HEAD_NAME)
        if content is None:
            return self._without_head()
        head = read_head(content.decode("utf-8", "replace"))
        after = self._successors()
        while (newer := after.pop(head, None)) is not None:
            written = self.receipt(newer)
            if written is None:
                break
            head = Link(newer, digest(written))
        return head

    def _without_head(self) -> Link | None:
        """The one receipt of a first run that was killed; a chain of several, or the rest of one, has lost `HEAD`."""
        sealed = [f"{path.parent.name}/{RECEIPT_NAME}" for path in self.all() if (path.parent / SUMS_NAME).exists()]
        if not sealed:
            return None
        listed = read_sums((self.beside(sealed[0], SUMS_NAME) or b"").decode("utf-8", "replace"))
        begins = RECEIPT_NAME in listed and not any(name.startswith("../") for name in listed)
        if len(sealed) > 1 or not begins:
            raise BadReceipt(f"there are receipts, and {HEAD_NAME}, which names the newest, is gone")
        return Link(check_path(sealed[0]), listed[RECEIPT_NAME])

    def receipt(self, path: str) -> bytes | None:
        """A receipt's bytes, None where it is gone. Raises `BadReceipt` where it is no file of its own."""
        return self._read(check_path(path))

    def beside(self, path: str, name: str) -> bytes | None:
        """The bytes of a file beside a receipt, None where it is gone. Raises `BadReceipt` as `receipt` does."""
        return self._read(f"{check_path(path).partition('/')[0]}/{name}")

    def hash_log(self, path: str, name: str) -> str | None:
        """The hash of a log beside a receipt, None where it is gone or no file of its own."""
        log = self.root / check_path(path).partition("/")[0] / name
        try:
            return hash_file(log) if stat.S_ISREG(log.lstat().st_mode) else None
        except OSError:
            return None

    def _successors(self) -> dict[Link, str]:
        """Which receipt's `SHA256SUMS` says that it comes next after which."""
        found = {}
        for path in self.all():
            name = f"{path.parent.name}/{RECEIPT_NAME}"
            try:
                listed = self.beside(name, SUMS_NAME)
            except BadReceipt:
                continue
            before = claimed_previous(listed.decode("utf-8", "replace")) if listed is not None else None
            if before is not None:
                found[before] = name
        return found

    def _read(self, name: str) -> bytes | None:
        path = self.root / name
        try:
            if "/" in name and path.parent.is_symlink():
                raise BadReceipt(f"{path.parent} is a symbolic link")
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise CouldNotWork(
                "this file may not be read by this user", where=str(path), hint="run this as a user who may read it"
            ) from error
        except OSError as error:
            raise BadReceipt(f"{path} cannot be read as a file: {error.strerror}") from error
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_size > SIZE_LIMIT:
                raise BadReceipt(f"{path} is no file of a receipt's kind and size")
            return file.read(SIZE_LIMIT + 1)


def read_build(binary: Path, *, profile: str | None) -> BuildFacts | None:
    """What cmake noted of the build that made a program (`<build>/bin/<program>`); None where there is nothing."""
    build = binary.resolve().parent.parent
    try:
        options = read_options((build / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace"))
        texts = [path.read_text(encoding="utf-8", errors="replace")
                 for path in sorted(build.glob("CMakeFiles/[0-9]*/CMake*Compiler.cmake"))]  # fmt: skip
    except OSError:
        return None
    compilers: Mapping[str, Compiler] = {one.language: one for text in texts if (one := read_compiler(text))}
    return BuildFacts(profile, tuple(compilers.values()), options)


def _hash_logs(folder: Path) -> tuple[LogHash, ...]:
    logs = sorted(path for path in folder.iterdir() if path.suffix == _LOG_SUFFIX and path.is_file())
    return tuple(LogHash(path.name, hash_file(path), path.stat().st_size) for path in logs)
