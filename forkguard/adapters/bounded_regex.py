"""A user's regular expression held against a model's text in a process of its own, with a bound on its time."""

import json
import sys
from pathlib import Path

from forkguard.adapters import proc
from forkguard.errors import CouldNotWork, TimedOut

TIMEOUT = 5.0
_SEARCH = (
    "import json, re, sys\n"
    "pattern, text = json.load(sys.stdin)\n"
    "sys.exit(0 if re.search(pattern, text) is not None else 10)\n"
)
_FOUND, _NOT_FOUND = 0, 10


def search(pattern: str, text: str, *, timeout: float = TIMEOUT) -> bool:
    """Whether `pattern` is found in `text`.

    Raises `CouldNotWork` where that takes longer than `timeout` seconds: Python's engine goes back over nested
    repetitions, and nothing within a process can stop it.
    """
    words = (sys.executable, "-I", "-S", "-c", _SEARCH)
    try:
        done = proc.run(
            words, cwd=Path.cwd(), timeout=timeout, stdin=json.dumps([pattern, text]).encode(),
            allowed=(_FOUND, _NOT_FOUND),
        )  # fmt: skip
    except TimedOut as error:
        raise CouldNotWork(
            f"the pattern {pattern!r} was not matched within {timeout:g} s",
            hint="write it without a repetition inside of a repetition",
        ) from error
    return done.status == _FOUND
