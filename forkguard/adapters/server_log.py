"""A child's output, kept in bounds: the first bytes and the last ones, however much it writes."""

import os
import selectors
import threading
from collections.abc import Iterator
from pathlib import Path

_CHUNK = 1 << 18


class LogCapture:
    """Reads a pipe in a thread of its own and keeps at most `head` + `tail` bytes of it.

    The first `head` bytes go to the file `path` as they come; of what follows, the last `tail` bytes are
    added by `close`, behind a line that says how much was left out. Memory stays below three times `tail`.
    Give `writer` to the child as its output, then call `started`. It reads as fast as a disk writes, so that
    a flood slows nobody but its author. When the file cannot be written (a full disk), `failure` says so, and
    reading goes on, so that the child does not wait for ever.
    """

    def __init__(self, path: Path, *, head: int, tail: int) -> None:
        self.path = path
        self.received = 0
        self._head_left = head
        self._tail_limit = tail
        self._head_size = 0
        self._tail = bytearray()
        self.failure: OSError | None = None
        self._file = path.open("wb", buffering=0)
        self._reader, self.writer = os.pipe()
        self._wake_reader, self._wake_writer = os.pipe()
        self._thread = threading.Thread(target=self._read, name="forkguard-log", daemon=True)
        self._closed = False

    def started(self) -> None:
        """The child holds the pipe now: let go of our end, and begin to read."""
        os.close(self.writer)
        self._thread.start()

    @property
    def left_out(self) -> int:
        """Bytes that were dropped between head and tail; final after `close`."""
        return self.received - self._head_size - len(self._tail)

    def close(self, *, wait: float) -> None:
        """Read on for at most `wait` seconds until the child's end of the pipe closes; complete the file.

        A process that still holds the pipe keeps nobody longer.
        """
        if self._closed:
            return
        self._closed = True
        if self._thread.ident is None:
            os.close(self.writer)
        else:
            self._thread.join(wait)
            os.write(self._wake_writer, b"x")
            self._thread.join()
        for handle in (self._reader, self._wake_reader, self._wake_writer):
            os.close(handle)
        del self._tail[: -self._tail_limit]
        if self.left_out:
            self._write(f"\n[forkguard: {self.left_out} bytes of the log left out here]\n".encode())
        self._write(self._tail)
        self._file.close()

    def kept(self) -> Iterator[bytes]:
        """What the file holds, in pieces; after `close`."""
        with self.path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def _read(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            selector.register(self._wake_reader, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if self._wake_reader in ready:
                    return
                chunk = os.read(self._reader, _CHUNK)
                if not chunk:
                    return
                self._keep(chunk)

    def _write(self, data: bytes | bytearray) -> None:
        rest = memoryview(data)
        try:
            while rest and self.failure is None:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as error:
            self.failure = error

    def _keep(self, chunk: bytes) -> None:
        self.received += len(chunk)
        first = chunk[: self._head_left]
        if first:
            self._head_left -= len(first)
            self._head_size += len(first)
            self._write(first)
        self._tail += chunk[len(first) :]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]
