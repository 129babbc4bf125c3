"""The matrix of archs against wiring features, fork beside upstream, and what a draft type needs of each arch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.arch_reports import disarmed_rules, every_arch
from forkguard.core.archs import Arch, SourceTree
from forkguard.core.findings import Side
from forkguard.core.rules import Rule, matches


class Presence(StrEnum):
    """Whether an arch of one tree has a feature."""

    YES = "yes"
    BRANCH = "branch"  # only inside a branch, so not in every run
    NO = "no"
    NOT_NEEDED = "not-needed"  # it has not, and the feature matters to other archs only
    NO_ARCH = "no-arch"  # this tree has no such arch


class ArchPlace(StrEnum):
    """In which of the two trees an arch is."""

    BOTH = "both"
    FORK = "fork"
    UPSTREAM = "upstream"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Cell:
    """One feature of one arch."""

    fork: Presence
    upstream: Presence

    @property
    def differs(self) -> bool:
        """Whether both trees have the arch, and only one the feature, or one only in a branch."""
        return Presence.NO_ARCH not in {self.fork, self.upstream} and self._rank(self.fork) != self._rank(
            self.upstream
        )

    @staticmethod
    def _rank(presence: Presence) -> Presence:
        return Presence.NO if presence is Presence.NOT_NEEDED else presence


@dataclass(frozen=True, slots=True)
class WiringRow:
    """One arch: the trees that have it, whose graph it uses in the fork, and a cell for each feature, by rule id."""

    name: str
    place: ArchPlace
    graph_of: str | None
    cells: Mapping[str, Cell]

    @property
    def differs(self) -> bool:
        """Whether any feature differs."""
        return any(cell.differs for cell in self.cells.values())


@dataclass(frozen=True, slots=True)
class Lack:
    """What an arch of the fork lacks for a draft type; `upstream_ready` where upstream's arch lacks nothing."""

    arch: str
    features: tuple[str, ...]
    upstream_ready: bool


@dataclass(frozen=True, slots=True)
class DraftNeeds:
    """A draft type: the features that it needs, the fork's archs that are ready, and those that lack something."""

    type: str
    features: tuple[str, ...]
    ready: tuple[str, ...]
    lacks: tuple[Lack, ...]


@dataclass(frozen=True, slots=True)
class WiringReport:
    """The whole matrix; `features` are its columns, `warnings` what could not be told."""

    fork: Side
    upstream: Side
    features: tuple[Rule, ...]
    rows: tuple[WiringRow, ...]
    draft: DraftNeeds | None
    warnings: tuple[str, ...]


def draft_types(rules: Iterable[Rule]) -> tuple[str, ...]:
    """Every draft type that a rule speaks of."""
    return tuple(dict.fromkeys(draft for rule in rules for draft in rule.drafts))


def features(
    rules: Sequence[Rule], *, fork: SourceTree, upstream: SourceTree, draft: str | None
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules that make columns (those of one draft type, if it is named), and a remark on each left out."""
    disarmed = disarmed_rules(rules, upstream)
    columns, remarks = [], []
    for rule in rules:
        if rule.form not in {"statement", "registry"} or (draft is not None and draft not in rule.drafts):
            continue
        if any(matches(rule, tree, arch) for tree in (upstream, fork) for arch in tree.archs.archs.values()):
            columns.append(rule)
            if rule.id in disarmed:
                remarks.append(f"rule {rule.id} is disarmed: {disarmed[rule.id]}")
        else:
            remarks.append(f"no column for {rule.id}: {disarmed.get(rule.id, 'it is about no arch')}")
    return tuple(columns), tuple(remarks)


def row(
    name: str, columns: Sequence[Rule], known: Mapping[str, Rule], *, fork: SourceTree, upstream: SourceTree
) -> WiringRow:
    """One arch of the matrix."""
    ours = fork.archs.archs.get(name)
    theirs = _counterpart(name, ours, upstream)
    place = {
        (True, True): ArchPlace.BOTH, (True, False): ArchPlace.FORK, (False, True): ArchPlace.UPSTREAM,
        (False, False): ArchPlace.NEITHER,
    }[ours is not None, theirs is not None]  # fmt: skip
    cells = {
        rule.id: Cell(presence(rule, fork, ours, known), presence(rule, upstream, theirs, known)) for rule in columns
    }
    return WiringRow(name, place, ours.graph_of if ours else theirs.graph_of if theirs else None, cells)


def _counterpart(name: str, ours: Arch | None, upstream: SourceTree) -> Arch | None:
    """Upstream's arch of this name, else the one with the fork's enum."""
    found = upstream.archs.archs.get(name)
    if found is None and ours is not None:
        found = next((arch for arch in upstream.archs.archs.values() if arch.enum == ours.enum), None)
    return found


def presence(rule: Rule, tree: SourceTree, arch: Arch | None, known: Mapping[str, Rule]) -> Presence:
    """Whether one arch has the feature of a `statement` or `registry` rule."""
    if arch is None:
        return Presence.NO_ARCH
    found = matches(rule, tree, arch)
    if found:
        guarded = rule.form == "statement" and not rule.block and all(match.piece.guards for match in found)
        return Presence.BRANCH if guarded else Presence.YES
    among = known.get(rule.among)
    if among is not None and not matches(among, tree, arch):
        return Presence.NOT_NEEDED
    return Presence.NO


def named_archs(fork: SourceTree, upstream: SourceTree) -> tuple[str, ...]:
    """Every arch that either tree makes a model of, the fork's first; one that the fork renamed counts once."""
    ours = every_arch(fork)
    enums = {fork.archs.archs[name].enum for name in ours}
    theirs = (name for name in every_arch(upstream) if upstream.archs.archs[name].enum not in enums)
    return tuple(dict.fromkeys((*ours, *theirs)))


_HAS = (Presence.YES, Presence.NOT_NEEDED)


def draft_needs(draft: str, columns: Sequence[Rule], rows: Sequence[WiringRow]) -> DraftNeeds:
    """Which of the fork's archs are ready for a draft type, and what the others lack."""
    ready: list[str] = []
    lacks: list[Lack] = []
    for one in rows:
        if one.place in {ArchPlace.UPSTREAM, ArchPlace.NEITHER}:
            continue
        missing = tuple(name for name, cell in one.cells.items() if cell.fork not in _HAS)
        if missing:
            lacks.append(Lack(one.name, missing, all(cell.upstream in _HAS for cell in one.cells.values())))
        else:
            ready.append(one.name)
    lacks.sort(key=lambda lack: not lack.upstream_ready)
    return DraftNeeds(draft, tuple(rule.id for rule in columns), tuple(ready), tuple(lacks))
