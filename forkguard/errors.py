"""Everything that forkguard can say went wrong, and the exit code that each kind has.

Only `forkguard.cli` turns these into an exit status. Each error says what happened, where, and what to
type next; the three parts are kept apart so that every report can show them in its own way.
"""

from enum import IntEnum
from typing import Self


class ExitCode(IntEnum):
    """Exit statuses of every command; the numbers are a contract. `meaning` says what each means."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Self:
        code = int.__new__(cls, number)
        code._value_ = number
        code.meaning = meaning
        return code

    CLEAN = 0, "clean, passed"
    FINDING = 1, "a finding, a conflict, a red gate"
    USAGE = 2, "wrong use, or a bad configuration file"
    COULD_NOT = 3, "could not do the work: no upstream, no network, no compiler, time out"
    BUG = 4, "a bug in forkguard"
    INTERRUPTED = 130, "interrupted"


class ForkguardError(Exception):
    """A failure that the user can act on.

    `what` happened, `where` (a path, a ref, a file and line; may be empty), and `hint`: the next command
    to type, or the edit to make.
    """

    exit_code = ExitCode.COULD_NOT

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint


class UsageProblem(ForkguardError):
    """Wrong use of a command, or a bad configuration file."""

    exit_code = ExitCode.USAGE


class CouldNotWork(ForkguardError):
    """The work could not be done here: no upstream, no network, no compiler, time out."""

    exit_code = ExitCode.COULD_NOT


class UnknownRef(CouldNotWork):
    """A revision that the repository does not have."""


class MissingObject(CouldNotWork):
    """The repository lacks an object that it should have: a partial or a shallow clone, or a damaged one."""


class ProcessFailed(CouldNotWork):
    """A child process ended with a status that its caller did not allow."""

    def __init__(self, argv: tuple[str, ...], *, status: int, stderr: str, cwd: str = "") -> None:
        lines = stderr.strip().splitlines() or ["it printed nothing"]
        reason = next((line for line in lines if line.startswith("fatal: ")), lines[-1])  # advice comes behind it
        what = f"{' '.join(argv[:3])} failed with status {status}: {reason}"
        super().__init__(what, where=cwd, hint="forkguard doctor  looks for what is missing or too old")
        self.argv = argv
        self.status = status
        self.stderr = stderr


class TimedOut(CouldNotWork):
    """A child process did not end within its bound."""
