"""Whole commands, run in this process as the console script runs them."""

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from forkguard.cli.main import invoke


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit status, and both streams."""

    status: int
    out: str
    err: str

    def told(self) -> tuple[str, str, str]:
        """What happened, where, and what to type next, as the last error says it."""
        lines = self.err.splitlines()
        start = max(number for number, line in enumerate(lines) if line.startswith("forkguard: "))
        parts = {line[:9]: line[9:] for line in lines[start + 1 :]}
        return lines[start].removeprefix("forkguard: "), parts.get("  where: ", ""), parts.get("  next:  ", "")


def forkguard(*words: str | Path, cwd: Path) -> Outcome:
    """Run one command line in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = invoke([str(word) for word in words])
    return Outcome(status, out.getvalue(), err.getvalue())
