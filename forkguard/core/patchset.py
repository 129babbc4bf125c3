"""A patchset as files: `patchset.toml`, quilt's `series`, and the DEP-3 fields of its patches."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tomlkit.items import Array

from forkguard.core.map_lines import NO_TOML, key_lines, line_of
from forkguard.core.names import CommitHash
from forkguard.errors import UsageProblem

MANIFEST = "patchset.toml"
SERIES = "series"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What a patchset may be called: one path component that git takes as the last part of a branch name."""

_PATCH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*)*")
_BEGIN = """\
# {name}: carried by this fork. `why` and `drop-when` are for people: keep them true.
title = {title}
{pull}upstream = []
base = ""
state = "declared"
why = ""
drop-when = ""
"""


class State(StrEnum):
    """Where a patchset stands. `declared` has no patches yet."""

    DECLARED = "declared"
    PROPOSED = "proposed"
    CARRIED = "carried"
    DISABLED = "disabled"
    RETIRED = "retired"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class FollowUp(_Table):
    """A later request or commit that should come along, and why."""

    pull: Annotated[int, Field(gt=0)] | None = None
    commit: str | None = None
    why: str = ""


class Prerequisite(_Table):
    """Something that must be there first."""

    pull: Annotated[int, Field(gt=0)] | None = None
    commit: str | None = None
    symbol: str | None = None
    why: str = ""


class Manifest(_Table):
    """`patchset.toml`."""

    title: Annotated[str, Field(min_length=1)]
    pull: Annotated[int, Field(gt=0)] | None = None
    upstream: tuple[str, ...] = ()
    base: str = ""
    head: str = ""
    state: State
    reason: str = ""
    removes: tuple[str, ...] = ()
    why: str = ""
    drop_when: Annotated[str, Field(alias="drop-when")] = ""
    checks: tuple[str, ...] = ()
    identifiers: Mapping[str, str] = {}
    prerequisites: tuple[Prerequisite, ...] = ()
    follow_ups: Annotated[tuple[FollowUp, ...], Field(alias="follow-ups")] = ()


@dataclass(frozen=True, slots=True)
class SeriesEntry:
    """One line of a quilt series: a patch (or, in the stack's series, a patchset) and its strip level."""

    name: str
    strip: int = 1


def check_name(name: str) -> str:
    """Return `name` as the name of a patchset, or raise `UsageProblem`.

    >>> check_name("27383")
    '27383'
    """
    if not NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
        raise UsageProblem(
            f"{name!r} is not the name of a patchset",
            hint="letters, digits, '.', '_' and '-', beginning with a letter or a digit",
        )
    return name


def parse_manifest(text: str, *, name: str) -> Manifest:
    """Read a manifest; `name` is how errors call the file. Raises `UsageProblem` naming file, line and key."""
    try:
        return Manifest.model_validate(tomllib.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        line = line_of(key_lines(text), first["loc"])
        key = ".".join(str(part) for part in first["loc"])
        raise UsageProblem(f"{key}: {first['msg']}", where=f"{name}:{line}", hint=f"edit {name}") from error
    except NO_TOML as error:
        raise UsageProblem(f"this is no valid TOML: {error}", where=name, hint=f"edit {name}") from error


def new_manifest(name: str, *, title: str, pull: int | None) -> str:
    """The text of a manifest for a change that nobody has declared yet."""
    line = f"pull = {pull}\n" if pull else ""
    return _BEGIN.format(name=name, title=tomlkit.string(title).as_string(), pull=line)


def fresh_manifest(text: str) -> str:
    """A manifest as another stack begins with it: what a port set in it is taken back, the rest is kept.

    >>> print(fresh_manifest('title = "a"  # ours\\nhead = "ab"\\nstate = "carried"\\nwhy = "b"\\n'), end="")
    title = "a"  # ours
    state = "declared"
    why = "b"
    """
    document: Any = tomlkit.parse(text)
    document.pop("head", None)
    for key, value in (("upstream", []), ("base", ""), ("state", State.DECLARED.value)):
        if key in document:
            document[key] = value
    return tomlkit.dumps(document)


def carried_manifest(
    text: str,
    *,
    upstream: Sequence[CommitHash],
    base: CommitHash,
    head: CommitHash | None = None,
    follow_ups: Sequence[FollowUp] = (),
    prerequisites: Sequence[Prerequisite] = (),
) -> str:
    """The manifest after a port: state, commits and base set; everything else, comments included, kept.

    `head` pins a request that was not merged when it was ported. Of `follow_ups` and `prerequisites`, those are
    added that are not there yet.
    """
    document: Any = tomlkit.parse(text)
    document["upstream"] = list(upstream)
    document["base"] = base
    if head is not None:
        document["head"] = head
    document["state"] = State.CARRIED.value
    for key, found in (("prerequisites", prerequisites), ("follow-ups", follow_ups)):
        known = document.get(key, [])
        fresh = [entry for entry in found if not any(_same(entry, table) for table in known)]
        if fresh and not known:
            document[key] = tomlkit.aot()
        for entry in fresh:
            document[key].append(_table(entry, inline=isinstance(document[key], Array)))
    return tomlkit.dumps(document)


def _same(entry: FollowUp | Prerequisite, table: Mapping[str, Any]) -> bool:
    if entry.commit is not None and entry.commit == table.get("commit"):
        return getattr(entry, "symbol", None) == table.get("symbol")
    return entry.pull is not None and table.get("commit") is None and entry.pull == table.get("pull")


def _table(entry: FollowUp | Prerequisite, *, inline: bool) -> Any:
    table = tomlkit.inline_table() if inline else tomlkit.table()
    for key, value in entry.model_dump(exclude_none=True).items():
        table.add(key, value)
    return table


def parse_series(text: str, *, name: str) -> tuple[SeriesEntry, ...]:
    """Read a quilt series: one patch a line, `-pN` behind it, comments after `#`.

    >>> parse_series("# stack\\n0001-a.patch -p0  # why\\n\\nb.patch\\n", name="series")
    (SeriesEntry(name='0001-a.patch', strip=0), SeriesEntry(name='b.patch', strip=1))
    """
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        words = re.sub(r"(^|\s)#.*", "", line).split()
        if not words:
            continue
        strips = [int(word[2:]) for word in words[1:] if re.fullmatch(r"-p\d", word)]
        if len(strips) != len(words) - 1 or not _PATCH_NAME.fullmatch(words[0]) or ".." in words[0]:
            raise UsageProblem(
                f"{line.strip()!r} is no line of a series", where=f"{name}:{number}", hint="write NAME or NAME -pN"
            )
        entries.append(SeriesEntry(words[0], strips[0] if strips else 1))
    return tuple(entries)


def format_series(entries: Sequence[SeriesEntry]) -> str:
    """A quilt series; the inverse of `parse_series`, without comments."""
    return "".join(f"{entry.name}{'' if entry.strip == 1 else f' -p{entry.strip}'}\n" for entry in entries)


def series_with(text: str, entry: str, *, name: str) -> str:
    """A series text with `entry` at its end; unchanged where it is listed already."""
    if entry in {known.name for known in parse_series(text, name=name)}:
        return text
    return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{entry}\n"


def dep3_fields(*, origin: CommitHash, merged: bool, landed: CommitHash | None = None) -> tuple[str, ...]:
    """The DEP-3 fields of a patch taken from upstream, as mail header lines; `git am` passes over them.

    `landed` is the upstream commit by which it was merged, where that is another than `origin`.

    >>> dep3_fields(origin=CommitHash("ab"), merged=False)
    ('Origin: upstream, commit:ab', 'Forwarded: yes')
    """
    start = f"Origin: upstream, commit:{origin}"
    if not merged:
        return (start, "Forwarded: yes")
    return (start, "Forwarded: not-needed", f"Applied-Upstream: commit:{landed or origin}")
