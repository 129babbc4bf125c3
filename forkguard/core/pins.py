"""A list of pinned pull requests: one a line, with the exact commit that is wanted of it; and what became of it."""

import re
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import PortReport
from forkguard.errors import UsageProblem

FORM = "NUMBER COMMIT"
_LINE = re.compile(r"([1-9]\d{0,8})(?:[ \t]+|@)([0-9a-f]{64}|[0-9a-f]{40})")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")


@dataclass(frozen=True, slots=True)
class Pin:
    """One request at one commit: the head that it had, or the commit by which upstream merged it."""

    pull: PullNumber
    commit: CommitHash


class PinStatus(StrEnum):
    """What became of one pinned request."""

    APPLIED = "applied"
    ALREADY_PRESENT = "already-present"
    CONFLICT = "conflict"
    BLOCKED = "blocked"
    MOVED = "moved"
    """Its pinned commit is not to be had any more."""
    REFUSED = "refused"
    """It could not be ported at all; `why` says what is in the way."""


@dataclass(frozen=True, slots=True)
class PinnedPort:
    """One request of the list: `onto` is the branch or commit that it was tried on, `patches` its patch files."""

    pin: Pin
    status: PinStatus
    onto: str
    report: PortReport | None = None
    patches: tuple[str, ...] = ()
    head: CommitHash | None = None
    why: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class PinsImport:
    """What became of a whole list."""

    base: CommitHash
    ports: tuple[PinnedPort, ...]
    notes: tuple[str, ...]
    dry_run: bool = False


def parse_pins(text: str, *, name: str) -> tuple[Pin, ...]:
    r"""Read a list of pins: `NUMBER COMMIT` or `NUMBER@COMMIT` a line, the commit in full, comments behind `#`.

    Raises `UsageProblem` naming file and line for anything else, a request listed twice, and an empty list.

    >>> parse_pins(f"# ours\n201 {'a' * 40}  # drafts\n", name="pins.txt")[0].pull
    201
    """
    found: dict[PullNumber, Pin] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = _COMMENT.sub("", line).strip()
        if not words:
            continue
        where = f"{name}:{number}"
        match = _LINE.fullmatch(words)
        if match is None:
            hint = f"write {FORM}, the commit with all its digits; comments begin with #"
            raise UsageProblem(f"{words!r} is no pinned request", where=where, hint=hint)
        pin = Pin(PullNumber(int(match[1])), CommitHash(match[2]))
        if pin.pull in found:
            raise UsageProblem(f"{pin.pull} is listed twice", where=where, hint=f"edit {name}")
        found[pin.pull] = pin
    if not found:
        raise UsageProblem("no request is listed", where=name, hint=f"write one a line: {FORM}")
    return tuple(found.values())
