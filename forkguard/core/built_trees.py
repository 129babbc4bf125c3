"""What is known of the trees on disk, and which of them may go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.names import CommitHash
from forkguard.errors import UsageProblem

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGE = re.compile(r"^(\d{1,6})\s*([mhdw])$")


class Checkout(StrEnum):
    """How a tree's sources hang together with their repository."""

    ATTACHED = "attached"
    DETACHED = "re-attachable"
    """The repository has moved or is gone; the next build from a clone that has the commit re-attaches it."""

    MISSING = "no checkout"


class Origin(StrEnum):
    """What a build found in place."""

    NEW = "new"
    KEPT = "kept"
    REATTACHED = "re-attached"


@dataclass(frozen=True, slots=True)
class TreeInfo:
    """One tree on disk: `size` in bytes, `used` the time of its last build in seconds since 1970.

    `commit` and `profile` are empty where the tree's record cannot be read (a run killed at its very start).
    `holder` says who is building in it now, and is empty otherwise.
    """

    id: str
    path: str
    commit: str
    profile: str
    repository: str
    size: int
    used: float
    checkout: Checkout
    built: bool
    holder: str = ""


@dataclass(frozen=True, slots=True)
class BuildResult:
    """One finished build. `steps` ninja ran; `cached` and `compiled` are ccache's counts (None without ccache)."""

    tree: str
    path: str
    commit: CommitHash
    profile: str
    targets: tuple[str, ...]
    binaries: tuple[str, ...]
    log: str
    origin: Origin
    seconds: float
    steps: int
    cached: int | None = None
    compiled: int | None = None


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What a prune removed (or, with `dry_run`, would remove), and what it left because someone uses it."""

    removed: tuple[TreeInfo, ...]
    busy: tuple[TreeInfo, ...]
    kept: int
    dry_run: bool


def parse_age(text: str) -> float:
    """Seconds of an age such as `14d`, `12h`, `30m`, `2w`. Raises `UsageProblem`.

    >>> parse_age("14d")
    1209600.0
    """
    match = _AGE.match(text.strip())
    if match is None:
        raise UsageProblem(f"{text!r} is no age", hint="write it like 14d, 12h, 30m or 2w")
    return float(match[1]) * _UNITS[match[2]]


def prunable(
    trees: Sequence[TreeInfo], *, now: float, keep: int | None, older_than: float | None
) -> tuple[TreeInfo, ...]:
    """The trees to remove: beyond the `keep` last used, and not used for `older_than` seconds.

    With both, a tree goes only when both say so.
    """
    newest_first = sorted(trees, key=lambda tree: (-tree.used, tree.id))
    beyond = newest_first[keep or 0 :]
    return tuple(tree for tree in beyond if older_than is None or now - tree.used > older_than)


def human_size(size: int) -> str:
    """Bytes as a person reads them.

    >>> human_size(512), human_size(3 * 2**20), human_size(5 * 2**30)
    ('512 B', '3.0 MiB', '5.0 GiB')
    """
    value = float(size)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"
