"""Edits of the stack's files as text: the order in `patchsets/series`, and a patchset's state. Comments are kept."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import tomlkit

from forkguard.core.map_lines import key_lines, line_of
from forkguard.core.names import CommitHash
from forkguard.core.patchset import NAME, State, check_name, parse_series
from forkguard.errors import UsageProblem

_NUMBER = re.compile(r"(\d+)[-_.]")
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


class End(Enum):
    """An end of the stack."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a patchset shall stand: before or after another one, or at an end."""

    before: str | None = None
    after: str | None = None
    end: End | None = None


def names_of(text: str, *, file: str) -> tuple[str, ...]:
    """The patchsets that a series lists, in order."""
    return tuple(entry.name for entry in parse_series(text, name=file))


def moved(text: str, name: str, place: Place, *, file: str) -> str:
    r"""A series with one entry at another place; its own line, remark and all, moves as it is.

    >>> moved("a\nb  # why\nc\n", "b", Place(end=End.FIRST), file="series")
    'b  # why\na\nc\n'
    """
    _check_listed(text, name, file=file)
    own = _line_of(text, name, file=file)
    rest = without(text, name, file=file)
    lines = _lines(rest)
    anchor = place.before or place.after
    if anchor == name:
        raise UsageProblem(f"{name} cannot stand beside itself", where=file, hint="forkguard stack list")
    if anchor is not None:
        _check_listed(rest, anchor, file=file)
        at = next(at for at, line in enumerate(lines) if _entry(line, file=file) == anchor)
        at += 0 if place.before else 1
    elif place.end is End.FIRST:
        at = next((at for at, line in enumerate(lines) if _entry(line, file=file)), len(lines))
    else:
        at = len(lines)
    return "".join([*lines[:at], own, *lines[at:]])


def without(text: str, name: str, *, file: str) -> str:
    r"""A series without an entry.

    >>> without("# mine\na\nb\n", "a", file="series")
    '# mine\nb\n'
    """
    return "".join(line for line in _lines(text) if _entry(line, file=file) != name)


def _lines(text: str) -> list[str]:
    return [line if line.endswith("\n") else f"{line}\n" for line in text.splitlines(keepends=True)]


def _entry(line: str, *, file: str) -> str | None:
    found = parse_series(line, name=file)
    return found[0].name if found else None


def _line_of(text: str, name: str, *, file: str) -> str:
    return next(line for line in _lines(text) if _entry(line, file=file) == name)


def _check_listed(text: str, name: str, *, file: str) -> None:
    if name not in names_of(text, file=file):
        raise UsageProblem(f"{name} is not in the stack", where=file, hint="forkguard stack list")


# -- manifests -------------------------------------------------------------------------------------------


def with_state(text: str, state: State, *, reason: str | None) -> str:
    """A manifest in another state; `reason` says why (None: no reason is kept). Everything else stays."""
    document: Any = tomlkit.parse(text)
    document["state"] = state.value
    if reason is None:
        document.pop("reason", None)
    else:
        document.pop("reason", None)
        lines = tomlkit.dumps(document).split("\n")
        lines.insert(line_of(key_lines("\n".join(lines)), ("state",)), f"reason = {tomlkit.item(reason).as_string()}")
        return "\n".join(lines)
    return tomlkit.dumps(document)


def imported_manifest(name: str, *, title: str, base: CommitHash, upstream: Sequence[CommitHash]) -> str:
    """The manifest of a patchset that comes from elsewhere."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment(f"{name}: carried by this fork. `why` and `drop-when` are for people: keep them true.")
    )
    values: Mapping[str, object] = {
        "title": title,
        "upstream": list(upstream),
        "base": base,
        "state": State.CARRIED.value,
        "why": "",
        "drop-when": "",
    }
    for key, value in values.items():
        document.add(key, tomlkit.item(value))
    return tomlkit.dumps(document)


# -- names -----------------------------------------------------------------------------------------------


def number_of(name: str) -> int | None:
    """The number that a patch's or a patchset's name begins with.

    >>> number_of("0007-fix.patch"), number_of("27383")
    (7, None)
    """
    found = _NUMBER.match(name)
    return int(found[1]) if found else None


def name_from(text: str) -> str:
    """A patchset's name made of a file name or a subject.

    >>> name_from("0003-moe: add (x).patch")
    '0003-moe-add-x'
    """
    plain = text.removesuffix(".patch").removesuffix(".diff").removesuffix(".eml")
    name = _UNFIT.sub("-", plain).strip("-._").replace("..", ".")[:64].rstrip("-._")
    name = name.removesuffix(".lock")
    return check_name(name) if NAME.fullmatch(name) else "patch"
