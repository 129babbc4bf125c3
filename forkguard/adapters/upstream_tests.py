"""ctest and the test programs of a built tree: what is declared, and one run of it, bounded in time and log."""

import os
import shlex
import time
from collections.abc import Mapping
from pathlib import Path

from forkguard.adapters import proc
from forkguard.adapters.trees import BUILD
from forkguard.core.gatetests import PlannedTest, UpstreamRun, log_name, read_listing, read_run
from forkguard.errors import CouldNotWork, TimedOut

TIMEOUT = 1800.0
LOG_LIMIT = 64 << 20
_LISTING_TIMEOUT = 120.0


class _TooMuch(Exception):
    """A test wrote more than its log may hold."""


class UpstreamPrograms:
    """`forkguard.ports.UpstreamBench`. `env` is what the programs get; `timeout` is for one run, in seconds."""

    def __init__(self, env: Mapping[str, str], *, timeout: float = TIMEOUT, log_limit: int = LOG_LIMIT) -> None:
        self._env = dict(env)
        self._timeout = timeout
        self._log_limit = log_limit

    def listing(self, tree: Path) -> tuple[PlannedTest, ...]:
        """The runs that the tree's build declares. Raises `CouldNotWork` where ctest does not tell."""
        done = proc.run(("ctest", "--show-only=json-v1"), cwd=tree / BUILD, timeout=_LISTING_TIMEOUT)
        try:
            return read_listing(done.text())
        except ValueError as error:
            raise CouldNotWork(
                f"ctest's list of tests cannot be read: {error}", where=str(tree / BUILD),
                hint=f"ctest --test-dir {shlex.quote(str(tree / BUILD))} --show-only",
            ) from error  # fmt: skip

    def run(self, planned: PlannedTest, *, logs: Path) -> UpstreamRun:
        """Run one test to its end, or to the end of its time or its log; what it wrote is kept in `logs`."""
        log = logs / log_name(planned.name)
        size = 0
        lines: list[str] = []

        def keep(line: str) -> None:
            nonlocal size
            size += len(line) + 1
            if size > self._log_limit:
                raise _TooMuch
            lines.append(line)

        begun = time.monotonic()
        status: int | None
        try:
            status = proc.stream(
                planned.command, cwd=Path(planned.folder or logs), env=self._env, timeout=self._timeout, log=log,
                on_line=keep,
            )  # fmt: skip
        except TimedOut:
            status = None
            lines.append(f"did not end within {self._timeout:g} s")
        except _TooMuch:
            status = None
            lines.append(f"wrote more than {self._log_limit} bytes")
        seconds = time.monotonic() - begun
        return read_run(planned, "\n".join(lines), status=status, seconds=seconds, log=log.name)

    def models(self, folder: Path) -> tuple[str, ...]:
        """The GGUF files of a folder, by path; none where it is not there."""
        return tuple(str(path) for path in sorted(folder.glob("*.gguf")) if os.access(path, os.R_OK))

    def text(self, logs: Path, run: UpstreamRun) -> str:
        """What a run wrote."""
        return (logs / run.log).read_text(encoding="utf-8", errors="replace")
