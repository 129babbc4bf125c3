"""What differs between a fork and upstream for one family of archs: unattributed, in upstream's order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from forkguard.core.archs import Arch, SourceTree
from forkguard.core.compare import Missing, compare
from forkguard.core.names import TreePath
from forkguard.core.registries import FORMS, entries
from forkguard.core.rules import Breach, Match, Rule, breaches, is_registry, lineage_units, matches, statement_matches
from forkguard.core.syntax import Piece, PieceKind, tokens_of


class Sort(Enum):
    """What sort of difference it is; kinds and severities are given later, with the history."""

    MISSING = "missing"  # upstream has it, the fork has not
    STALE = "stale"  # base and fork have it, upstream dropped it
    WEAKER = "weaker"  # both have it, the fork's only in a branch or outside the loop
    HAZARD = "hazard"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    `path` and `line` are the place in the fork to look at (line None: there is none), `ours` at `our_path` the
    fork's piece where it has one. `theirs` at `their_path` is upstream's. `group` and `index` order the
    pieces of one unit.
    """

    sort: Sort
    arch: str
    rule: Rule | None
    symbol: str
    path: TreePath
    line: int | None
    ours: Piece | None = None
    our_path: TreePath | None = None
    theirs: Piece | None = None
    their_path: TreePath | None = None
    group: str = ""
    index: int = 0
    in_base: bool = False
    replaced: bool = False
    other_outcome: bool = False
    both: bool = False


@dataclass(frozen=True, slots=True)
class Trees:
    """The three sides of a comparison."""

    fork: SourceTree
    upstream: SourceTree
    base: SourceTree


Place = tuple[TreePath, Piece]
Spot = tuple[TreePath, int]


def differences(trees: Trees, name: str, rules: Sequence[Rule]) -> tuple[Difference, ...]:
    """Everything that differs for the arch `name` and those that share its graph."""
    families = {side: tree.archs.family(name) for side, tree in _sides(trees)}
    statements = [rule for rule in rules if rule.form == "statement"]
    ruled, settled, block = _ruled(trees, families, statements)
    found: list[Difference] = []
    unread = _unread_words(trees.fork, families["fork"])
    for group, places in _units_by_symbol(trees, families).items():
        own = _unit_differences(group, places, ruled=ruled, settled=settled, block=block, arch=name)
        found += (d for d in own if d.rule or d.theirs is None or f" {d.theirs.text} " not in unread)
    found += _weaker(trees, families, statements)
    found += _registry_differences(trees, families, rules)
    found += _hazards(trees, families, rules)
    return tuple(found)


def _sides(trees: Trees) -> tuple[tuple[str, SourceTree], ...]:
    return (("fork", trees.fork), ("upstream", trees.upstream), ("base", trees.base))


def broken_files(tree: SourceTree, archs: Iterable[Arch]) -> tuple[TreePath, ...]:
    """The archs' files that hold something which the parser could not read."""
    return tuple(path for path in sorted({path for arch in archs for path in arch.files}) if tree.parse(path).broken)


def _unread_words(tree: SourceTree, archs: Iterable[Arch]) -> str:
    """The words of the fork's broken files: names of functions may be lost in them, but the statements are there."""
    return "".join(f" {' '.join(tokens_of(tree.files[path]))} " for path in broken_files(tree, archs))


# -- the arch's own functions --------------------------------------------------------------------------

Sided = dict[str, list[Place]]


def _units_by_symbol(trees: Trees, families: Mapping[str, tuple[Arch, ...]]) -> dict[str, Sided]:
    """Symbol (file name for directives) to the pieces that each side has under it."""
    found: dict[str, Sided] = {}
    for side, tree in _sides(trees):
        seen: set[Spot] = set()
        for arch in families[side]:
            for path, unit in lineage_units(tree, arch):
                spot = (path, unit.node.start_byte)
                if spot not in seen:
                    seen.add(spot)
                    group = unit.symbol or path.rsplit("/", 1)[-1]
                    sided = found.setdefault(group, {"fork": [], "upstream": [], "base": []})
                    sided[side] += [(path, piece) for piece in unit.pieces]
    return found


def _unit_differences(
    group: str, sides: Sided, *, ruled: Mapping[Spot, Rule], settled: set[Spot], block: Mapping[Spot, Rule], arch: str
) -> Iterator[Difference]:
    fork, upstream = sides["fork"], sides["upstream"]
    if [piece.key for _, piece in fork] == [piece.key for _, piece in upstream]:
        return
    result = compare(
        upstream=[piece for _, piece in upstream],
        fork=[piece for _, piece in fork],
        base=[piece for _, piece in sides["base"]],
    )
    where = {(piece.start, piece.line): path for path, piece in fork}
    for missing in result.missing:
        their_path, theirs = upstream[missing.index]
        spot = (their_path, theirs.start)
        if spot in settled:
            continue
        rule = ruled.get(spot) or block.get(spot)
        path, line = _belongs(missing, where, fork, their_path)
        yield Difference(
            Sort.MISSING, arch, rule, theirs.symbol, path, line, theirs=theirs, their_path=their_path, group=group,
            index=missing.index, in_base=missing.in_base, replaced=missing.replaced,
        )  # fmt: skip
    for stale in result.stale:
        path, ours = fork[stale.index]
        if (path, ours.start) not in settled:
            their_path = next((p for p, _ in upstream), path)
            yield Difference(
                Sort.STALE, arch, None, ours.symbol, path, ours.line, ours=ours, our_path=path,
                their_path=their_path, group=group, index=stale.index,
            )  # fmt: skip


def _belongs(
    missing: Missing, where: Mapping[tuple[int, int], TreePath], fork: Sequence[Place], their_path: TreePath
) -> tuple[TreePath, int | None]:
    """The line of the fork at which upstream's missing piece would stand."""
    if missing.after is not None:
        return where[missing.after.start, missing.after.line], missing.after.last + 1
    if fork:
        path, first = fork[0]
        return path, first.line
    return their_path, None


# -- statement rules -----------------------------------------------------------------------------------


def _ruled(
    trees: Trees, families: Mapping[str, tuple[Arch, ...]], rules: Iterable[Rule]
) -> tuple[dict[Spot, Rule], set[Spot], dict[Spot, Rule]]:
    """Which upstream pieces a rule asks for, which pieces of both sides are settled, and the block rules' pieces."""
    ruled: dict[Spot, Rule] = {}
    settled: set[Spot] = set()
    block: dict[Spot, Rule] = {}
    for rule in rules:
        theirs = _all_matches(rule, trees.upstream, families["upstream"])
        ours = _all_matches(rule, trees.fork, families["fork"])
        if rule.block:
            if not ours:
                block |= {(match.path, match.piece.start): rule for match in theirs}
            continue
        pairs, rest = _paired(theirs, ours)
        ruled |= {(match.path, match.piece.start): rule for match in rest}
        settled |= {(match.path, match.piece.start) for match, _ in pairs}
        settled |= {(match.path, match.piece.start) for match in ours}
    return ruled, settled, block


def _all_matches(rule: Rule, tree: SourceTree, archs: Iterable[Arch]) -> list[Match]:
    found: dict[Spot, Match] = {}
    for arch in archs:
        for match in statement_matches(rule, tree, arch):
            found.setdefault((match.path, match.piece.start), match)
    return [found[spot] for spot in sorted(found)]


def _paired(theirs: list[Match], ours: list[Match]) -> tuple[list[tuple[Match, Match]], list[Match]]:
    """Upstream's matches with the fork's: equal ones first, then those that differ in what they say.

    A fork that says the same thing with another variable has it; what is left over has no partner.
    """
    free = list(ours)
    pairs: list[tuple[Match, Match]] = []
    rest: list[Match] = []
    for exact in (True, False):
        rest = []
        for match in theirs:
            partner = next((other for other in free if _same(match, other, exact=exact)), None)
            if partner is None:
                rest.append(match)
            else:
                free.remove(partner)
                pairs.append((match, partner))
        theirs = rest
    return pairs, rest


def _same(one: Match, other: Match, *, exact: bool) -> bool:
    return one.piece.key == other.piece.key if exact else one.piece.symbol == other.piece.symbol


def _weaker(trees: Trees, families: Mapping[str, tuple[Arch, ...]], rules: Iterable[Rule]) -> Iterator[Difference]:
    for rule in rules:
        if rule.block:
            continue
        theirs = _all_matches(rule, trees.upstream, families["upstream"])
        ours = _all_matches(rule, trees.fork, families["fork"])
        for match, partner in _paired(theirs, ours)[0]:
            if len(partner.piece.guards) > len(match.piece.guards):
                ours_at = partner.piece
                yield Difference(
                    Sort.WEAKER, families["fork"][0].name, rule, ours_at.symbol, partner.path, ours_at.line,
                    ours=ours_at, our_path=partner.path, theirs=match.piece, their_path=match.path,
                )  # fmt: skip


# -- registries ----------------------------------------------------------------------------------------


def _registry_differences(
    trees: Trees, families: Mapping[str, tuple[Arch, ...]], rules: Sequence[Rule]
) -> Iterator[Difference]:
    enums = {arch.enum: arch.name for side in ("fork", "upstream") for arch in families[side]}
    own = {root for side in families.values() for arch in side for root in arch.lineage}
    listed = {piece.symbol for _, tree in _sides(trees) for _, piece in entries(tree, enums)}
    registries = {symbol for symbol in listed if symbol.split("::")[0] not in own}
    places = {side: _registry_places(tree, registries) for side, tree in _sides(trees)}
    for symbol in sorted(registries):
        yield from _one_registry(
            {side: places[side].get(symbol, []) for side in places}, enums,
            next((rule for rule in rules if is_registry(rule, symbol)), None),
        )  # fmt: skip


def _registry_places(tree: SourceTree, symbols: set[str]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    words = {symbol.rsplit("::", 1)[-1].encode() for symbol in symbols}
    for path in tree.mentioning(*words) if words else ():
        for unit in tree.parse(path).units:
            if unit.symbol in symbols:
                found.setdefault(unit.symbol, []).extend(
                    (path, piece) for piece in unit.pieces if piece.kind in FORMS
                )
    return found


def _one_registry(sides: Sided, enums: Mapping[str, str], rule: Rule | None) -> Iterator[Difference]:
    fork, upstream = sides["fork"], sides["upstream"]
    result = compare(
        upstream=[piece for _, piece in upstream],
        fork=[piece for _, piece in fork],
        base=[piece for _, piece in sides["base"]],
    )
    where = {(piece.start, piece.line): path for path, piece in fork}
    labels = {(piece.kind, piece.text) for _, piece in fork}
    missing_labels = {(missing.piece.kind, missing.piece.text) for missing in result.missing}
    for missing in result.missing:
        their_path, theirs = upstream[missing.index]
        arch = next((enums[enum] for enum in theirs.enumerators if enum in enums), None)
        if arch is not None:
            path, line = _belongs(missing, where, fork, their_path)
            yield Difference(
                Sort.MISSING, arch, rule, theirs.symbol, path, line, theirs=theirs, their_path=their_path,
                index=missing.index, in_base=missing.in_base, other_outcome=(theirs.kind, theirs.text) in labels,
            )  # fmt: skip
    for stale in result.stale:
        path, ours = fork[stale.index]
        arch = next((enums[enum] for enum in ours.enumerators if enum in enums), None)
        if arch is not None and (ours.kind, ours.text) not in missing_labels:
            their_path = next((p for p, _ in upstream), path)
            yield Difference(
                Sort.STALE, arch, None, ours.symbol, path, ours.line, ours=ours, our_path=path, their_path=their_path,
                index=stale.index,
            )  # fmt: skip


# -- hazards -------------------------------------------------------------------------------------------


def _hazards(trees: Trees, families: Mapping[str, tuple[Arch, ...]], rules: Sequence[Rule]) -> Iterator[Difference]:
    known = {rule.id: rule for rule in rules}
    ours = {(b.rule.id, b.arch.name): b for b in breaches(rules, trees.fork, families["fork"])}
    theirs = {(b.rule.id, b.arch.name): b for b in breaches(rules, trees.upstream, families["upstream"])}
    in_fork = {arch.name for arch in families["fork"]}
    for key in [*ours, *(key for key in theirs if key not in ours and key[1] in in_fork)]:
        yield _hazard(trees, known, ours.get(key), theirs.get(key))


def _hazard(trees: Trees, known: Mapping[str, Rule], ours: Breach | None, theirs: Breach | None) -> Difference:
    breach = ours or theirs
    assert breach is not None  # noqa: S101  (each key comes from one of the two)
    needs = known[breach.rule.needs]
    place = _registry_end(needs, trees.fork) if needs.form == "registry" else None
    if place is None:
        place = (breach.have.path, breach.have.piece) if ours else None
    cure = None
    if theirs is None:
        upstream_arch = trees.upstream.archs.archs.get(breach.arch.name)
        cure = next(iter(matches(needs, trees.upstream, upstream_arch)), None) if upstream_arch else None
    shown = theirs.have if theirs else cure
    return Difference(
        Sort.HAZARD, breach.arch.name, breach.rule, place[1].symbol if place else breach.have.piece.symbol,
        place[0] if place else breach.have.path, place[1].line if place else None,
        ours=ours.have.piece if ours else None, our_path=ours.have.path if ours else None,
        theirs=shown.piece if shown else None,
        their_path=shown.path if shown else None, both=theirs is not None,
    )  # fmt: skip


def _registry_end(rule: Rule, tree: SourceTree) -> Place | None:
    """The last entry of a registry: where another one would be added."""
    found: Place | None = None
    for path in tree.mentioning(*(word.encode() for word in rule.symbol.split("|"))):
        for unit in tree.parse(path).units:
            if is_registry(rule, unit.symbol):
                listed = [p for p in unit.pieces if p.enumerators and p.kind is not PieceKind.STATEMENT]
                found = (path, listed[-1]) if listed else found
    return found
