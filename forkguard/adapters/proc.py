"""The one door for child processes other than git: argv lists, an explicit folder, a bound on every wait."""

import contextlib
import io
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from forkguard.errors import CouldNotWork, ProcessFailed, TimedOut

_CHUNK = 1 << 16
_POLL = 0.2
_LOOKS = 5
_GRACE = 5.0
"""Seconds that a child which was asked to stop has, before it is killed."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a finished process left: its status and both streams, undecoded."""

    argv: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes

    def text(self) -> str:
        """Standard output as UTF-8; bytes that are none become U+FFFD."""
        return self.stdout.decode("utf-8", "replace")


def inherited_environment() -> dict[str, str]:
    """The environment for children: ours without `GIT_*`, so that a hook's variables steer nothing."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    timeout: float,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    allowed: Sequence[int] = (0,),
) -> Completed:
    """Run `argv` in its own process group and wait at most `timeout` seconds.

    Raises `ProcessFailed` for a status that is not `allowed`, `TimedOut` after killing the whole group,
    and `CouldNotWork` when the program is not there.
    """
    words = tuple(str(word) for word in argv)
    try:
        child = subprocess.Popen(  # noqa: S603  (argv lists only, never a shell)
            words,
            cwd=cwd,
            env=dict(env) if env is not None else inherited_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise CouldNotWork(
            f"{words[0]} is not installed, or {cwd} is not there",
            hint=f"command -v {words[0]}  says whether it is in PATH",
        ) from error
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise TimedOut(f"{' '.join(words[:3])} did not end within {timeout:g} s", where=str(cwd)) from error
    finally:
        kill_group(child)
        _close_pipes(child)
    done = Completed(words, child.returncode, stdout, stderr)
    if done.status not in allowed:
        raise ProcessFailed(words, status=done.status, stderr=stderr.decode("utf-8", "replace"), cwd=str(cwd))
    return done


_TETHER = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)
    if os.getppid() != int(sys.argv[1]):
        os.kill(os.getpid(), 9)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Becomes the wanted program, without core dumps and (on Linux) killed by the kernel when forkguard dies."""


def start(argv: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], output: int) -> "subprocess.Popen[bytes]":
    """Start `argv` and return at once; the caller owes it a bounded wait and an end (`kill_group`).

    It leads a session and a process group of its own, reads nothing, and writes both streams to the file
    descriptor `output`. `argv[0]` must be a path.
    """
    words = [str(word) for word in argv]
    return subprocess.Popen(  # noqa: S603  (argv lists only, never a shell)
        [sys.executable, "-I", "-S", "-c", _TETHER, str(os.getpid()), *words],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def stream(
    argv: Sequence[str | Path],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    log: Path,
    on_line: Callable[[str], None],
    on_start: Callable[[int], None] = lambda _: None,
) -> int:
    """Run `argv` and give each line of its output (both streams, in order) to `on_line` as it comes.

    The whole output is appended to the file `log`; memory stays bounded, so a line is cut at 64 KiB for
    `on_line`. `on_start` gets the id of the session that the child leads. Returns the status, whatever it is.
    Whatever ends the wait (`TimedOut`, an interrupt, an error in a callback) ends the whole session first: it
    is asked to stop, so that ninja removes half-written files, and killed a little later.
    """
    words = [str(word) for word in argv]
    deadline = time.monotonic() + timeout
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as output, log.open("ab", buffering=0) as copy:
        try:
            child = start(words, cwd=cwd, env=env, output=writing)
        finally:
            os.close(writing)
        try:
            on_start(child.pid)
            for line in _lines(output, copy, child, deadline):
                on_line(line)
            return child.wait(max(deadline - time.monotonic(), _GRACE))
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise TimedOut(f"{' '.join(words[:3])} did not end within {timeout:g} s", where=str(log)) from error
        finally:
            end_session(child)


def _lines(output: io.FileIO, copy: io.FileIO, child: "subprocess.Popen[bytes]", deadline: float) -> Iterator[str]:
    """The lines of a pipe until its writers are gone, or a moment after the child is. Raises `TimeoutError`."""
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while True:
            if time.monotonic() > deadline:
                raise TimeoutError
            if not selector.select(_POLL):
                if child.poll() is not None:
                    break
                continue
            chunk = output.read(_CHUNK)
            if not chunk:
                break
            copy.write(chunk)
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line[:_CHUNK].decode("utf-8", "replace")
            rest = rest[:_CHUNK]
    if rest:
        yield rest.decode("utf-8", "replace")


def end_session(child: "subprocess.Popen[bytes]") -> None:
    """Ask a child that is still at work to stop, then kill everything in its session, and reap the child."""
    try:
        end(child)
    finally:
        kill_session(child.pid)
        kill_group(child)


def end(child: "subprocess.Popen[bytes]") -> None:
    """Ask a child that is still at work to stop, kill it a little later (at once where that wait is interrupted)."""
    if child.poll() is not None:
        return
    try:
        child.terminate()
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        child.kill()
        child.wait()


def kill_session(session: int, *, inside: Path | None = None) -> int:
    """Kill the processes of a session (only those whose folder lies `inside`, if given); return how many.

    A group is not enough: ninja puts every compiler into a group of its own. One look is not enough either: a
    process that is being started while we look is seen by the next look, which comes when the others are gone.
    """
    killed: set[int] = set()
    for _ in range(_LOOKS):
        found = [process for pid in psutil.pids() if (process := _of_session(pid, session, inside)) is not None]
        if not found:
            break
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
                killed.add(process.pid)
        psutil.wait_procs(found, timeout=_GRACE)
    return len(killed)


def _of_session(pid: int, session: int, inside: Path | None) -> psutil.Process | None:
    """A live process of the session that is not our own, else None."""
    with contextlib.suppress(OSError, psutil.Error):
        if pid != os.getpid() and os.getsid(pid) == session:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            return process if inside is None or Path(process.cwd()).is_relative_to(inside) else None
    return None


def _close_pipes(child: "subprocess.Popen[bytes]") -> None:
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def kill_group(child: "subprocess.Popen[bytes]") -> None:
    """End what is left of a child's process group, and reap the child."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
