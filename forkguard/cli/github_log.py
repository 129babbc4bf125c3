"""Commands to GitHub's runner, which reads a step's log for them: ours are heard, those of strangers are not."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextvars import ContextVar

_token: ContextVar[str] = ContextVar("_token", default="")


def is_workflow() -> bool:
    """Whether this is a step of a GitHub workflow."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


@contextlib.contextmanager
def commands_stopped() -> Iterator[None]:
    """While the block runs, the runner takes no line of the log for a command.

    A subject, a file name or a server's log line can begin with `::`; the runner would obey it.
    """
    if not is_workflow():
        yield
        return
    held = _token.set(os.urandom(16).hex())
    _say(_stop())
    try:
        yield
    finally:
        _say(f"::{_token.get()}::")
        _token.reset(held)


def command(lines: Iterable[str]) -> None:
    """Give the runner these commands, in which no text of strangers can begin another."""
    stopped = _token.get()
    for line in (f"::{stopped}::", *lines, _stop()) if stopped else lines:
        _say(line)


def _stop() -> str:
    return f"::stop-commands::{_token.get()}"


def _say(line: str) -> None:
    sys.stdout.flush()
    print(line, file=sys.stderr, flush=True)
