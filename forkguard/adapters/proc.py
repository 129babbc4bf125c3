"""The one door for child processes other than git: argv lists, an explicit folder, a bound on every wait."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forkguard.errors import CouldNotWork, ProcessFailed, TimedOut


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
        raise CouldNotWork(f"{words[0]} is not installed, or {cwd} is not there", hint="forkguard doctor") from error
    try:
        stdout, stderr = child.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise TimedOut(f"{' '.join(words[:3])} did not end within {timeout:g} s", where=str(cwd)) from error
    finally:
        kill_group(child)
    done = Completed(words, child.returncode, stdout, stderr)
    if done.status not in allowed:
        raise ProcessFailed(words, status=done.status, stderr=stderr.decode("utf-8", "replace"), cwd=str(cwd))
    return done


def kill_group(child: "subprocess.Popen[bytes]") -> None:
    """End what is left of a child's process group, and reap the child."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
