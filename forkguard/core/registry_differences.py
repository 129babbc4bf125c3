"""Differences between registries, and hazards: rules between places that are broken."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from forkguard.core.archs import SourceTree
from forkguard.core.compare import compare
from forkguard.core.differences import Difference, Family, Place, Sort, Trees, belongs
from forkguard.core.names import TreePath
from forkguard.core.pieces import Piece, PieceKind
from forkguard.core.registries import FORMS, entries
from forkguard.core.rules import Breach, Rule, breaches, is_registry, matches

SPECULATIVE = "speculative"
"""The name under which differences in lists of speculative types are told; it is no arch."""


def registry_differences(trees: Trees, families: Sequence[Family], rules: Sequence[Rule]) -> Iterator[Difference]:
    """What differs in the places that list the families' archs; other archs' entries are left alone."""
    enums, aliases = _identities(trees, families)
    types = _spec_types(trees)
    own = {root for its in families for arch in (*its.fork, *its.upstream) for root in arch.lineage}
    registries: dict[str, set[TreePath]] = {}
    for _, tree in trees.sides:
        for path, piece in entries(tree, [*enums, *types, *aliases]):
            if piece.symbol.split("::")[0] not in own:
                registries.setdefault(piece.symbol, set()).add(path)
    places = {side: _registry_places(tree, registries) for side, tree in trees.sides}
    for side in ("upstream", "base") if aliases else ():
        places[side] = {symbol: _under_our_names(found, aliases) for symbol, found in places[side].items()}
    for symbol in sorted(registries):
        yield from _one_registry(
            {side: places[side].get(symbol, []) for side in places}, enums | types,
            next((rule for rule in rules if is_registry(rule, symbol)), None),
        )  # fmt: skip


def _identities(trees: Trees, families: Sequence[Family]) -> tuple[dict[str, str], dict[str, str]]:
    """Each enum of an arch that the fork has, with the arch's name; and upstream's enums that the fork renamed."""
    ours = {arch.name: arch for its in families for arch in its.fork}
    enums = {arch.enum: name for name, arch in ours.items()}
    enums |= {enum: name for _, tree in trees.sides for enum, name in tree.python_names if name in ours}
    aliases = {
        arch.enum: ours[arch.name].enum
        for its in families
        for arch in (*its.upstream, *its.base)
        if arch.name in ours and arch.enum not in enums
    }
    return enums, aliases


def _spec_types(trees: Trees) -> dict[str, str]:
    """The speculative types that the fork knows: a type that it has not at all is no drift of its archs."""
    return {
        name: SPECULATIVE
        for path in trees.fork.mentioning(b"enum common_speculative_type")
        for unit in trees.fork.parse(path).units
        if unit.symbol == "common_speculative_type"
        for name in unit.enumerators
    }


def _under_our_names(places: Iterable[Place], aliases: Mapping[str, str]) -> list[Place]:
    return [
        (path, replace(piece, tokens=tuple(aliases.get(token, token) for token in piece.tokens)))
        for path, piece in places
    ]


def _registry_places(tree: SourceTree, registries: Mapping[str, set[TreePath]]) -> dict[str, list[Place]]:
    """The entries of each registry (symbol to the paths where a side has it): there, else wherever it moved."""
    found: dict[str, list[Place]] = {}
    usual = {path for paths in registries.values() for path in paths if path in tree.files}
    _collect(tree, sorted(usual), frozenset(registries), found)
    moved = frozenset(registries) - found.keys()
    if moved:
        words = {symbol.rsplit("::", 1)[-1].encode() for symbol in moved}
        _collect(tree, [path for path in tree.mentioning(*words) if path not in usual], moved, found)
    return found


def _collect(
    tree: SourceTree, paths: Iterable[TreePath], symbols: frozenset[str], found: dict[str, list[Place]]
) -> None:
    for path in paths:
        for unit in tree.parse(path).units:
            if unit.symbol in symbols:
                places = found.setdefault(unit.symbol, [])
                places += ((path, piece) for piece in unit.pieces if piece.kind in FORMS)


def _one_registry(
    sides: Mapping[str, list[Place]], enums: Mapping[str, str], rule: Rule | None
) -> Iterator[Difference]:
    fork, upstream = sides["fork"], sides["upstream"]
    result = compare(
        upstream=[piece for _, piece in upstream],
        fork=[piece for _, piece in fork],
        base=[piece for _, piece in sides["base"]],
    )
    where = {(piece.start, piece.line): path for path, piece in fork}
    taken = set(result.matched.values())
    labels = {_label(piece) for at, (_, piece) in enumerate(fork) if at not in taken}
    missing_labels = {_label(missing.piece) for missing in result.missing}
    for missing in result.missing:
        their_path, theirs = upstream[missing.index]
        arch = next((enums[enum] for enum in theirs.enumerators if enum in enums), None)
        if arch is not None:
            path, line = belongs(missing, where, fork, their_path)
            yield Difference(
                Sort.MISSING, arch, rule, theirs.symbol, path, line, theirs=theirs, their_path=their_path,
                index=missing.index, in_base=missing.in_base, other_outcome=_label(theirs) in labels,
            )  # fmt: skip
    for stale in result.stale:
        path, ours = fork[stale.index]
        arch = next((enums[enum] for enum in ours.enumerators if enum in enums), None)
        if arch is not None and _label(ours) not in missing_labels:
            their_path = next((p for p, _ in upstream), path)
            yield Difference(
                Sort.STALE, arch, None, ours.symbol, path, ours.line, ours=ours, our_path=path, their_path=their_path,
                index=stale.index,
            )  # fmt: skip


def _label(piece: Piece) -> tuple[str, ...]:
    """What an entry is about, whatever it says of it: its enumerators in a table, its words elsewhere."""
    return (piece.kind, *piece.enumerators) if piece.kind is PieceKind.ENTRY else (piece.kind, piece.text)


# -- hazards -------------------------------------------------------------------------------------------


def hazards(trees: Trees, families: Sequence[Family], rules: Sequence[Rule]) -> Iterator[Difference]:
    """Broken pair rules of the fork, and those of upstream alone, which a port would bring along."""
    known = {rule.id: rule for rule in rules}
    in_fork = {arch.name: arch for its in families for arch in its.fork}
    in_upstream = {arch.name: arch for its in families for arch in its.upstream}
    ours = {(b.rule.id, b.arch.name): b for b in breaches(rules, trees.fork, in_fork.values())}
    theirs = {(b.rule.id, b.arch.name): b for b in breaches(rules, trees.upstream, in_upstream.values())}
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
        their_path=shown.path if shown else None, both=theirs is not None, note=breach.note,
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
