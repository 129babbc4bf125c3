"""How long a person waits for `forkguard --help`."""

import sys
from pathlib import Path

from benchmarks.timing import Measured, median_seconds


def help_against_python() -> Measured:
    """`forkguard --help` against the start of the same Python."""
    here = Path.cwd()
    ours = median_seconds([[sys.executable, "-m", "forkguard", "--help"]], cwd=here)
    bare = median_seconds([[sys.executable, "-c", "pass"]], cwd=here)
    return Measured("forkguard --help", ours, "python -c pass", bare, aim="under 0.2 s", met=ours < 0.2)
