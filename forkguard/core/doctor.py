"""`forkguard doctor`: what each verb needs of a machine and of a project, and how what was found is judged."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from forkguard.core.commits import moment_of

OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 39)
"""Git that can merge trees without a work tree (`merge-tree --write-tree`) as the ports ask it to."""

NEEDED_BYTES = 1 << 30
"""Free space without which no new tree is built: sources and a Release build take about 0.3 GiB."""

AMPLE_BYTES = 5 << 30
"""Free space for several trees and a compiler cache of its usual size."""

STALE = timedelta(days=7)
"""Upstream merges many times a day: a newest commit older than this was not fetched lately."""

FOR_BUILDING = frozenset({"cmake", "ninja", "a C compiler", "a C++ compiler", "disk"})
"""The checks that only matter where something is compiled."""

_DEMO = frozenset({"demo"})
_BUILDING = frozenset({"build", "gate", "nightly", "demo"})
_WITHOUT_GIT = frozenset({"probe", "report", "verify"})
_WITHOUT_FORK = _WITHOUT_GIT | {"demo"}
_WITHOUT_MAP = frozenset({"init", "demo", "probe"})
_WRITING = frozenset({"port", "stack", "gate", "nightly"})
_SIGNING = frozenset({"gate", "verify"})


class Level(StrEnum):
    """How a check came out."""

    OK = "ok"
    NOTE = "note"
    """It can be better, or is worth knowing; every verb works."""
    MISSING = "missing"
    """Not there, or not fit: some verb cannot work."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: `found` says what is there, `needed_for` the verbs that cannot work without it.

    `why` says what it is good for, `where` the file or folder, `fix` the command that mends it; each may be empty.
    """

    name: str
    level: Level
    found: str
    needed_for: tuple[str, ...] = ()
    why: str = ""
    where: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All checks, and the verbs asked for; `unseen` are checks that were not made, each with the one in the way."""

    version: str
    system: str
    checks: tuple[Check, ...]
    verbs: tuple[str, ...]
    unseen: Mapping[str, str] = field(default_factory=dict)

    @property
    def blocked(self) -> dict[str, tuple[str, ...]]:
        """The verbs asked for that cannot work here, with the names of what they lack."""
        bad = [check for check in self.checks if check.level is Level.MISSING]
        found = {verb: tuple(check.name for check in bad if verb in check.needed_for) for verb in self.verbs}
        return {verb: names for verb, names in found.items() if names}

    @property
    def unknown(self) -> dict[str, tuple[str, ...]]:
        """The other verbs that need something that was not looked at, with the names of that."""
        left = [verb for verb in self.verbs if verb not in self.blocked]
        found = {verb: tuple(name for name in self.unseen if verb in needing(name, [verb])) for verb in left}
        return {verb: names for verb, names in found.items() if names}

    @property
    def works(self) -> tuple[str, ...]:
        """The verbs asked for that lack nothing."""
        return tuple(verb for verb in self.verbs if verb not in self.blocked and verb not in self.unknown)


def needing(name: str, verbs: Sequence[str]) -> tuple[str, ...]:
    """The verbs, in their order, that cannot work where this check fails.

    >>> needing("pip", ["drift", "demo"])
    ('demo',)
    """
    if name in FOR_BUILDING:
        return _only(verbs, _BUILDING)
    if name in {"ccache", "token", "upstream's age", "at work"}:
        return ()
    if name == "python":
        return tuple(verbs)
    if name == "git":
        return _all_but(verbs, _WITHOUT_GIT)
    named = {"pip": _DEMO, "ssh-keygen": _SIGNING, "cache folder": _BUILDING | {"port"}, "state folder": _WRITING}
    named["in progress"] = frozenset({"port", "stack", "nightly"})
    if name in named:
        return _only(verbs, named[name])
    return _all_but(verbs, _WITHOUT_MAP if name == "map" else _WITHOUT_FORK)


def _only(verbs: Sequence[str], wanted: Collection[str]) -> tuple[str, ...]:
    return tuple(verb for verb in verbs if verb in wanted)


def _all_but(verbs: Sequence[str], spared: Collection[str]) -> tuple[str, ...]:
    return tuple(verb for verb in verbs if verb not in spared)


def version_in(text: str) -> tuple[int, ...]:
    """The first dotted number in what a program says of its version; empty where there is none.

    >>> version_in("git version 2.39.5 (Apple Git-154)")
    (2, 39, 5)
    >>> version_in("no")
    ()
    """
    found = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def judge_version(name: str, text: str, *, oldest: tuple[int, int], fix: str, needed_for: tuple[str, ...]) -> Check:
    """A program that is there and says `text` of its version: is it new enough?"""
    version = version_in(text)
    shown = ".".join(str(part) for part in version)
    wanted = ".".join(str(part) for part in oldest)
    if not version:
        return Check(name, Level.NOTE, "it does not say its version", needed_for, f"{wanted} or newer is needed")
    if version < oldest:
        found = f"{shown} is too old: {wanted} or newer is needed"
        return Check(name, Level.MISSING, found, needed_for, fix=fix)
    return Check(name, Level.OK, shown, needed_for)


def judge_disk(free: int, *, where: str, needed_for: tuple[str, ...]) -> Check:
    """The disk of trees and caches, by its free bytes."""
    found = f"{gibibytes(free)} free for trees and caches"
    if free >= AMPLE_BYTES:
        return Check("disk", Level.OK, found, needed_for, where=where)
    why = "a tree takes about 0.3 GiB, a full compiler cache 5"
    level = Level.NOTE if free >= NEEDED_BYTES else Level.MISSING
    fix = "forkguard build --prune --keep 2  (or name other folders in [defaults] trees and cache of the map)"
    return Check("disk", level, found, needed_for, why, where, fix)


def gibibytes(size: int) -> str:
    """A size in GiB.

    >>> gibibytes(1610612736)
    '1.5 GiB'
    """
    return f"{size / (1 << 30):.1f} GiB"


def judge_age(tip: str, *, date: str, now: datetime, fix: str) -> Check:
    """Upstream's newest commit that is here: `tip` names the ref, `date` is ISO 8601."""
    age = now - moment_of(date)
    found = f"{tip} ends on {date[:10]}"
    if age < STALE:
        return Check("upstream's age", Level.OK, found)
    why = f"that is {age.days} days ago; forkguard compares with what was fetched last"
    return Check("upstream's age", Level.NOTE, found, why=why, fix=fix)
