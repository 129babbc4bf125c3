"""What `forkguard stack verify` finds wrong with the stack's files, and the checks that need nothing but them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from forkguard.core.commits import Commit
from forkguard.core.findings import Side
from forkguard.core.fitting import Files, Version
from forkguard.core.hunks import FileKind, lines_of
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.patch_mail import PatchMail
from forkguard.core.patchset import Manifest, State
from forkguard.core.stack_edit import number_of

LARGE = 5
"""Lines by which a place may shrink before that counts as a removal that must be said."""

REQUIRED_FIELDS = ("Origin", "Forwarded")
_TELLING = re.compile(r"[A-Za-z0-9_]")


class Problem(StrEnum):
    """What kind of thing is wrong."""

    SERIES = "series"
    NUMBER = "number"
    FILE = "file"
    MANIFEST = "manifest"
    DEP3 = "dep3"
    EXPORT = "export"
    APPLY = "apply"
    REMOVES = "removes"
    TREE = "tree"
    LOST = "lost"
    UNCOVERED = "uncovered"


@dataclass(frozen=True, slots=True)
class StackFinding:
    """One thing that is wrong: where (a file below patchsets/, or a commit), what, and what mends it."""

    problem: Problem
    where: str
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Everything that `verify` says. `checked` tells how many patches each check looked at."""

    base: Commit
    fork: Side
    patches: int
    findings: tuple[StackFinding, ...]
    uncovered: tuple[Commit, ...]
    tip: CommitHash | None
    same_tree: bool
    checked: Mapping[str, int]
    notes: tuple[str, ...] = ()


# -- the files themselves --------------------------------------------------------------------------------


def check_order(order: Sequence[str], states: Mapping[str, State]) -> list[StackFinding]:
    """`patchsets/series` against the patchsets that are there (`states`)."""
    found = [
        StackFinding(Problem.SERIES, "series", f"{name} is listed {count} times", "keep one of the lines")
        for name, count in Counter(order).items()
        if count > 1
    ]
    for name in dict.fromkeys(order):
        if name not in states:
            what = f"{name} is listed, and there is no such patchset"
            found.append(StackFinding(Problem.SERIES, "series", what, f"take its line out, or restore {name}/"))
        elif states[name] is State.RETIRED:
            what = f"{name} is retired and still listed"
            found.append(
                StackFinding(Problem.SERIES, "series", what, f"forkguard stack retire {name} --force --reason WHY")
            )
    for name, state in states.items():
        if state in (State.CARRIED, State.PROPOSED) and name not in order:
            what = f"{name} is {state.value} and the series does not list it"
            found.append(StackFinding(Problem.SERIES, "series", what, "add its name where it belongs in the order"))
    return found + _same_numbers(sorted(states), "")


def check_patchset(
    name: str, manifest: Manifest, *, listed: Sequence[tuple[str, bytes | None]], files: Sequence[str]
) -> list[StackFinding]:
    """A patchset's series (`listed`: names and contents) against the patch files that are there (`files`)."""
    names = [patch for patch, _ in listed]
    where = f"{name}/series"
    found = [
        StackFinding(Problem.SERIES, where, f"{patch} is listed {count} times", "keep one of the lines")
        for patch, count in Counter(names).items()
        if count > 1
    ]
    for patch, content in listed:
        if content is None:
            what = f"{patch} is listed, and there is no such file"
            found.append(StackFinding(Problem.FILE, where, what, "restore the file, or take the line out"))
    for patch in files:
        if patch not in names:
            what = "the series does not list this patch"
            found.append(StackFinding(Problem.FILE, f"{name}/{patch}", what, f"add it to {where}, or remove it"))
    numbers = [number for number in map(number_of, dict.fromkeys(names)) if number is not None]
    if numbers != sorted(numbers):
        found.append(StackFinding(Problem.NUMBER, where, "the numbers do not follow the order", "rename the patches"))
    found += _same_numbers(sorted({*names, *files}), f"{name}/")
    if manifest.state in (State.CARRIED, State.PROPOSED) and not names:
        what = f"it is {manifest.state.value} and has no patches"
        found.append(StackFinding(Problem.MANIFEST, f"{name}/patchset.toml", what, 'set state = "declared"'))
    if manifest.state is State.DECLARED and names:
        what = "it is declared and has patches"
        found.append(StackFinding(Problem.MANIFEST, f"{name}/patchset.toml", what, 'set state = "carried"'))
    return found


def _same_numbers(names: Sequence[str], prefix: str) -> list[StackFinding]:
    by_number: dict[int, list[str]] = {}
    for name in names:
        number = number_of(name)
        if number is not None:
            by_number.setdefault(number, []).append(name)
    return [
        StackFinding(
            Problem.NUMBER, f"{prefix}{each[0]}", f"number {number} is used {len(each)} times: {', '.join(each)}",
            "renumber one of them",
        )
        for number, each in sorted(by_number.items())
        if len(each) > 1
    ]  # fmt: skip


def check_fields(label: str, mail: PatchMail) -> list[StackFinding]:
    """The DEP-3 fields that every patch must have."""
    missing = [name for name in REQUIRED_FIELDS if not mail.headers.get(name)]
    if not missing:
        return []
    what = f"without the DEP-3 field{'s' if len(missing) > 1 else ''} {' and '.join(missing)}"
    fix = "write them below Subject:, as in  Origin: vendor  and  Forwarded: no"
    return [StackFinding(Problem.DEP3, label, what, fix)]


# -- what a patch takes away -----------------------------------------------------------------------------


def unsaid_removals(mail: PatchMail, manifest: Manifest, upstream: Files) -> list[tuple[TreePath, int]]:
    """The files, with line counts, from which a patch takes lines of upstream's without saying so.

    What counts: a deleted file, lines removed with nothing in their place, and a place that shrinks by `LARGE`
    lines or more; lines that an earlier patch brought do not. It is said where the manifest's `removes` (glob
    patterns), a `Removes:` field or line of the message, or the message at all names the file. A patch that is
    upstream's own (`Origin: upstream`) says what upstream says.
    """
    if mail.headers.get("Origin", "").lower().startswith(("upstream", "backport")):
        return []
    text = mail.message.decode("utf-8", "replace")
    patterns = [*manifest.removes, *_named(mail.headers.get("Removes", ""))]
    for line in text.split("\n"):
        patterns += _named(line.removeprefix("Removes:")) if line.startswith("Removes:") else []
    found = []
    for file in mail.files:
        path = file.old_path
        version = upstream.get(path)
        said = any(fnmatchcase(path, pattern) for pattern in patterns) or _mentions(f"{text}\n{manifest.why}", path)
        if said or version is None or version.content is None or file.kind is FileKind.ADDED:
            continue
        there = set(lines_of(version.content))
        removed = 0
        for change in (change for hunk in file.hunks for change in hunk.changes):
            if change.added and len(change.removed) - len(change.added) < LARGE:
                continue
            removed += sum(line in there and bool(_TELLING.search(line)) for line in change.removed)
        if removed:
            found.append((path, removed))
    return found


def lines_gone(mail: PatchMail, *, whole: Files, ours: Files) -> list[tuple[TreePath, int]]:
    """The files, with line counts, in which lines of a patch are missing.

    `whole` is what the stack makes of its files: lines that a later patch took away again are not asked for.
    """
    found = []
    for file in mail.files:
        wanted, there = (_telling_lines(side.get(file.path)) for side in (whole, ours))
        added = {line for hunk in file.hunks for change in hunk.changes for line in map(_key, change.added)}
        gone = sum(wanted[line] > there[line] for line in added)
        if gone:
            found.append((file.path, gone))
    return found


def _key(line: str) -> str:
    return " ".join(line.split())


def _telling_lines(version: Version | None) -> Counter[str]:
    lines = lines_of(version.content) if version and version.content else []
    return Counter(key for key in map(_key, lines) if _TELLING.search(key))


def _named(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]


def _mentions(text: str, path: str) -> bool:
    name = re.escape(path.rpartition("/")[2])
    return path in text or re.search(rf"(?<![\w.-]){name}(?![\w-])", text) is not None
