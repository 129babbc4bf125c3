"""Files that forkguard writes: whole or not at all, and one writer at a time."""

import contextlib
import json
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import filelock
import psutil

from forkguard.errors import CouldNotWork


def write_atomic(path: Path, content: bytes | str) -> None:
    """Put `content` at `path`, folders included; a reader, or a kill, sees the old file or the new one.

    Text is written as UTF-8 without changing its line ends. Permissions of an existing file are kept.
    Raises `CouldNotWork` where the folder cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> CouldNotWork:
    return CouldNotWork(
        f"cannot write this file: {error.strerror or error}",
        where=str(path),
        hint="name a place that you can write to",
    )


@contextlib.contextmanager
def locked(path: Path, *, purpose: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock file `path` while the block runs; `purpose` says to others what for.

    Waits at most `wait` seconds, then raises `CouldNotWork` saying who holds it. The lock is the kernel's:
    it ends with its process, whatever ends that.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    holder = path.with_name(path.name + ".holder")
    lock = filelock.FileLock(path, timeout=wait)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise CouldNotWork(
            f"another forkguard run is at work: {_describe(holder)}", where=str(path), hint="wait for it, or end it"
        ) from error
    try:
        started = psutil.Process().create_time()
        about = {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "started": started}
        write_atomic(holder, json.dumps(about) + "\n")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _describe(holder: Path) -> str:
    try:
        about = json.loads(holder.read_text(encoding="utf-8"))
        return f"{about['purpose']} (process {int(about['pid'])} on {about['host']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "it has not said which yet"
