"""What changed from night to night: patches that stopped or began to apply, spells of one status, streaks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from forkguard.core.history_rows import History, NightRow, PatchRow
from forkguard.core.nightly import NightVerdict

NOT_LOOKED_AT = "not looked at"
"""The status of a patchset in a night whose replay did not run, or whose stack does not hold it."""

_WORST_FIRST = ("conflict", "missing-blob", "untested", "landed", "additive", "applies")


@dataclass(frozen=True, slots=True)
class Turn:
    """A patch whose status is another than the night before; `before` is empty for one that is new in the stack."""

    label: str
    patchset: str
    before: str
    after: str
    breaking_commit: str | None


@dataclass(frozen=True, slots=True)
class Spell:
    """Nights in a row with one status, the first and the last of them, and how many."""

    status: str
    first: NightRow
    last: NightRow
    nights: int
    breaking_commit: str | None = None


@dataclass(frozen=True, slots=True)
class PatchsetStory:
    """One patchset over all nights.

    `bars` covers every night; `spells` leaves out those that did not look at it, so that they interrupt nothing.
    `newest` are its patches in the last night that did.
    """

    name: str
    bars: tuple[Spell, ...]
    spells: tuple[Spell, ...]
    newest: tuple[PatchRow, ...]

    @property
    def status(self) -> str:
        """What it is now: the worst of its patches in the last night that looked at it."""
        return worst_of(self.newest)

    @property
    def since(self) -> Spell | None:
        """The spell of that status."""
        return self.spells[-1] if self.spells else None


def worst_of(patches: Iterable[PatchRow]) -> str:
    """The worst status of some patches.

    >>> worst_of([PatchRow("a", "1", "applies", None, None), PatchRow("a", "2", "conflict", None, None)])
    'conflict'
    """
    statuses = {one.status for one in patches}
    return next((one for one in _WORST_FIRST if one in statuses), NOT_LOOKED_AT)


def turns(before: NightRow | None, after: NightRow) -> tuple[Turn, ...]:
    """The patches of a night that changed since an earlier one, and those that are new; gone ones are told too."""
    if before is None:
        return ()
    old = {(one.patchset, one.patch): one for one in before.patches}
    new = {(one.patchset, one.patch): one for one in after.patches}
    changed = [
        Turn(f"{one.patchset}/{one.patch}", one.patchset, old[key].status if key in old else "", one.status,
             one.breaking_commit)
        for key, one in new.items()
        if key not in old or old[key].status != one.status
    ]  # fmt: skip
    gone = [Turn(f"{key[0]}/{key[1]}", key[0], one.status, "", None) for key, one in old.items() if key not in new]
    return (*changed, *gone)


def replayed_before(history: History, name: str) -> NightRow | None:
    """The last night before that one whose replay ran."""
    earlier = tuple(takewhile(lambda row: row.name != name, history.nights))
    return next((row for row in reversed(earlier) if row.patches), None)


def patchset_stories(nights: Sequence[NightRow]) -> tuple[PatchsetStory, ...]:
    """Every patchset that any night looked at, in the order of the newest stack, gone ones last."""
    names = dict.fromkeys(one.patchset for row in reversed(nights) for one in row.patches)
    by_night = [(row, _by_patchset(row)) for row in nights]
    return tuple(_story(name, by_night) for name in names)


def _by_patchset(row: NightRow) -> dict[str, tuple[PatchRow, ...]]:
    found: dict[str, list[PatchRow]] = {}
    for one in row.patches:
        found.setdefault(one.patchset, []).append(one)
    return {name: tuple(patches) for name, patches in found.items()}


def _story(name: str, by_night: Sequence[tuple[NightRow, dict[str, tuple[PatchRow, ...]]]]) -> PatchsetStory:
    keyed: list[tuple[tuple[str, str | None], NightRow]] = []
    newest: tuple[PatchRow, ...] = ()
    for row, stacks in by_night:
        patches = stacks.get(name, ())
        newest = patches or newest
        breaking = next((one.breaking_commit for one in patches if one.breaking_commit), None)
        keyed.append(((worst_of(patches), breaking), row))
    looked = [one for one in keyed if one[0][0] != NOT_LOOKED_AT]
    return PatchsetStory(name, _spells(keyed), _spells(looked), newest)


def _spells(keyed: Iterable[tuple[tuple[str, str | None], NightRow]]) -> tuple[Spell, ...]:
    spells = []
    for (status, breaking), group in groupby(keyed, key=lambda one: one[0]):
        rows = [row for _, row in group]
        spells.append(Spell(status, rows[0], rows[-1], len(rows), breaking))
    return tuple(spells)


def verdict_spells(nights: Sequence[NightRow]) -> tuple[Spell, ...]:
    """Nights in a row with one verdict."""
    return _spells(((row.verdict, None), row) for row in nights)


def days_green(nights: Sequence[NightRow]) -> int:
    """On how many days (UTC) the nights since the last one that was not green ran."""
    days = set()
    for row in reversed(nights):
        if row.verdict != NightVerdict.GREEN:
            break
        days.add(row.day)
    return len(days)
