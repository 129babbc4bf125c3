"""Differences in the functions of an arch, and in the statements that rules ask of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from forkguard.core.archs import Arch, Located, SourceTree
from forkguard.core.compare import compare
from forkguard.core.differences import Difference, Family, Place, Sort, Spot, Trees, belongs, broken_files
from forkguard.core.layouts import is_old, is_scaffold, todays_name
from forkguard.core.pieces import Piece, PieceKind, tokens_of
from forkguard.core.rules import Match, Rule, lineage_units, matches, statement_matches

_SMALLEST = 12
"""Functions of fewer statements than these are always compared one by one."""
_LEAST_SHARED = 1 / 3
"""A function that keeps less than this part of upstream's statements is another implementation."""


def graph_differences(trees: Trees, its: Family, rules: Sequence[Rule], *, done: set[str]) -> Iterator[Difference]:
    """What differs in the family's own functions. Units named in `done` were compared before; new ones are added.

    (The functions of a base class belong to all archs below it and are compared with the first of them; see
    `needy_first`.)
    """
    statements = [rule for rule in rules if rule.form == "statement"]
    asked = _asked(trees, its, statements)
    unread = _Unread(trees, its)
    named = _units_by_symbol(trees, its)
    for group, sides in named.units.items():
        if group not in done and not _same_text(sides["fork"], sides["upstream"]):
            pieces = _pieces(sides, headless=group in named.translated)
            for d in _unit_differences(group, pieces, asked, arch=its.name):
                if d.rule or not unread.holds(d):
                    yield d
        done.add(group)
    yield from _weaker(trees, its, statements)


def needy_first(upstream: SourceTree, families: Sequence[Family], rules: Sequence[Rule]) -> list[Family]:
    """The families in order, but first those of which upstream asks what a pair rule needs of their functions.

    What a shared base class lacks is then told of an arch that it matters to.
    """
    known = {rule.id: rule for rule in rules}
    given = [
        known[rule.given]
        for rule in rules
        if rule.form == "pair" and rule.given in known and rule.needs in known
        and known[rule.needs].form == "statement"
    ]  # fmt: skip
    return sorted(
        families, key=lambda its: not any(matches(rule, upstream, arch) for rule in given for arch in its.upstream)
    )


class _Unread:
    """Broken files of the fork as words: names of functions may be lost in them, but the statements are there."""

    def __init__(self, trees: Trees, its: Family) -> None:
        self._upstream = trees.upstream
        self._ours = "".join(
            _spaced(tokens_of(trees.fork.files[path])) for path in broken_files(trees.fork, its.fork)
        )

    def holds(self, d: Difference) -> bool:
        """Whether the fork's broken files have what seems to be missing as often as upstream's file has it."""
        if not self._ours or d.theirs is None or d.their_path is None:
            return False
        text = _spaced(d.theirs.tokens)
        count = self._ours.count(text)
        return count > 0 and count >= _spaced(tokens_of(self._upstream.files[d.their_path])).count(text)


def _spaced(tokens: Iterable[str]) -> str:
    """Tokens so far apart that two stretches side by side are both counted."""
    return f" {'  '.join(tokens)} "


@dataclass(frozen=True, slots=True)
class _Named:
    """Symbol (for directives: the first class of their file, whatever its name) to the units of each side.

    `translated`: those under which some side's units have another name, since it is laid out in another way.
    """

    units: dict[str, dict[str, list[Located]]] = field(default_factory=dict)
    translated: set[str] = field(default_factory=set)


def _units_by_symbol(trees: Trees, its: Family) -> _Named:
    named = _Named()
    theirs = {arch.enum: arch for arch in its.upstream}
    other_layout = any(is_old(a) or a.makes for a in (*its.fork, *its.base) if a.enum in theirs)
    for side, tree, archs in its.sides(trees):
        seen: set[tuple[Spot, str]] = set()
        for arch in archs:
            units = tuple(lineage_units(tree, arch))
            owned = ((path, unit.symbol.split("::")[0]) for path, unit in reversed(units))
            classes = {path: cls for path, cls in owned if cls in arch.lineage}
            for path, unit in units:
                if other_layout and is_scaffold(unit):
                    continue
                name = todays_name(unit.symbol, arch, theirs.get(arch.enum))
                group = name or f"# {todays_name(classes.get(path, path), arch, theirs.get(arch.enum))}"
                if ((path, unit.start), group) not in seen:
                    seen.add(((path, unit.start), group))
                    empty: dict[str, list[Located]] = {"fork": [], "upstream": [], "base": []}
                    named.units.setdefault(group, empty)[side].append((path, unit))
                    if name != unit.symbol:
                        named.translated.add(group)
    return named


def _same_text(ours: Sequence[Located], theirs: Sequence[Located]) -> bool:
    return [unit.text for _, unit in ours] == [unit.text for _, unit in theirs]


def _pieces(sides: Mapping[str, list[Located]], *, headless: bool) -> dict[str, list[Place]]:
    """The pieces of each side; the heads of functions that one side names otherwise are left out."""
    return {
        side: [
            (path, piece)
            for path, unit in units
            for piece in unit.pieces
            if not (headless and piece.kind is PieceKind.HEADER and piece.start == unit.start)
        ]
        for side, units in sides.items()
    }


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the statement rules say of single pieces.

    `ruled`: upstream's pieces that a rule asks for and the fork lacks. `settled`: pieces of either side that
    are right as they are. `block`: upstream's pieces of block rules that the fork does not keep at all.
    `unmet`: the rules of which the fork has no match anywhere.
    """

    ruled: dict[Spot, Rule] = field(default_factory=dict)
    settled: set[Spot] = field(default_factory=set)
    block: dict[Spot, Rule] = field(default_factory=dict)
    unmet: set[str] = field(default_factory=set)

    def rule(self, spot: Spot) -> Rule | None:
        """The rule that upstream's piece at this spot is about."""
        return self.ruled.get(spot) or self.block.get(spot)


def _unit_differences(
    group: str, sides: Mapping[str, list[Place]], asked: _Asked, *, arch: str
) -> Iterator[Difference]:
    fork, upstream = sides["fork"], sides["upstream"]
    if upstream and not fork:
        yield from _whole_unit(group, sides, asked, arch=arch)
        return
    result = compare(
        upstream=[piece for _, piece in upstream],
        fork=[piece for _, piece in fork],
        base=[piece for _, piece in sides["base"]],
    )
    if _is_rewritten(len(upstream), len(fork), shared=len(result.matched)):
        yield _rewritten(group, sides, shared=len(result.matched), arch=arch)
        yield from _unmet(group, sides, asked, arch=arch)
        return
    where = {(piece.start, piece.line): path for path, piece in fork}
    for missing in result.missing:
        their_path, theirs = upstream[missing.index]
        spot = (their_path, theirs.start)
        if spot not in asked.settled:
            path, line = belongs(missing, where, fork, their_path)
            yield Difference(
                Sort.MISSING, arch, asked.rule(spot), theirs.symbol, path, line, theirs=theirs, their_path=their_path,
                group=group, index=missing.index, in_base=missing.in_base, replaced=missing.replaced,
            )  # fmt: skip
    for index, at in result.matched.items():
        (their_path, theirs), (path, ours) = upstream[index], fork[at]
        rule = asked.ruled.get((their_path, theirs.start))
        if rule is not None and (path, ours.start) not in asked.settled:
            yield Difference(
                Sort.WEAKER, arch, rule, ours.symbol, path, ours.line, ours=ours, our_path=path,
                theirs=theirs, their_path=their_path, group=group, index=index,
            )  # fmt: skip
    for stale in result.stale:
        path, ours = fork[stale.index]
        if (path, ours.start) not in asked.settled:
            their_path = next((p for p, _ in upstream), path)
            yield Difference(
                Sort.STALE, arch, None, ours.symbol, path, ours.line, ours=ours, our_path=path,
                their_path=their_path, group=group, index=stale.index,
            )  # fmt: skip


def _is_rewritten(theirs: int, ours: int, *, shared: int) -> bool:
    """Whether two functions have so little in common that comparing their statements one by one tells nothing."""
    return min(theirs, ours) >= _SMALLEST and shared < _LEAST_SHARED * theirs


def _rewritten(group: str, sides: Mapping[str, list[Place]], *, shared: int, arch: str) -> Difference:
    """Both sides of a function as wholes. `in_base` tells that upstream rewrote it, not the fork."""
    (path, _), (their_path, theirs) = sides["fork"][0], sides["upstream"][0]
    old = Counter(piece.key for _, piece in sides["base"])
    kept = (old & Counter(piece.key for _, piece in sides["fork"])).total()
    ours = _as_one([piece for at, piece in sides["fork"] if at == path])
    whole = _as_one([piece for at, piece in sides["upstream"] if at == their_path])
    return Difference(
        Sort.REWRITTEN, arch, None, theirs.symbol, path, ours.line, ours=ours, our_path=path, theirs=whole,
        their_path=their_path, group=group, in_base=2 * kept > len(sides["fork"]),
        note=f"{shared} of its {len(sides['upstream'])} statements are the same",
    )  # fmt: skip


def _as_one(pieces: Sequence[Piece]) -> Piece:
    """From the first piece to the last, as one."""
    first = pieces[0]
    tokens = tuple(token for piece in pieces for token in piece.tokens)
    end, last = max(piece.end for piece in pieces), max(piece.last for piece in pieces)
    return Piece(PieceKind.STATEMENT, first.symbol, tokens, "", first.start, end, first.line, last)


def _whole_unit(group: str, sides: Mapping[str, list[Place]], asked: _Asked, *, arch: str) -> Iterator[Difference]:
    """A function or type that the fork has not: one difference, and one for each rule that it alone would keep."""
    path, piece = sides["upstream"][0]
    known = {piece.key for _, piece in sides["base"]}
    if (rule := asked.rule((path, piece.start))) is None or rule.id not in asked.unmet:
        yield Difference(
            Sort.MISSING, arch, None, piece.symbol, path, None, theirs=piece, their_path=path, group=group,
            in_base=piece.key in known,
        )  # fmt: skip
    yield from _unmet(group, sides, asked, arch=arch)


def _unmet(group: str, sides: Mapping[str, list[Place]], asked: _Asked, *, arch: str) -> Iterator[Difference]:
    """The statements of upstream's function that rules ask for, where the fork has no match of the rule at all."""
    known = {piece.key for _, piece in sides["base"]}
    for index, (path, piece) in enumerate(sides["upstream"]):
        rule = asked.rule((path, piece.start))
        if rule is not None and rule.id in asked.unmet:
            yield Difference(
                Sort.MISSING, arch, rule, piece.symbol, path, None, theirs=piece, their_path=path, group=group,
                index=index, in_base=piece.key in known,
            )  # fmt: skip


# -- statement rules -----------------------------------------------------------------------------------


def _asked(trees: Trees, its: Family, rules: Iterable[Rule]) -> _Asked:
    asked = _Asked()
    for rule in rules:
        theirs = _all_matches(rule, trees.upstream, its.upstream)
        ours = _all_matches(rule, trees.fork, its.fork)
        if not ours:
            asked.unmet.add(rule.id)
        if rule.block:
            if not ours:
                asked.block.update({_spot(match): rule for match in theirs})
            continue
        pairs, rest = _paired(theirs, ours)
        asked.ruled.update({_spot(match): rule for match in rest})
        asked.settled.update(_spot(match) for match, _ in pairs)
        asked.settled.update(map(_spot, ours))
    return asked


def _spot(match: Match) -> Spot:
    return match.path, match.piece.start


def _all_matches(rule: Rule, tree: SourceTree, archs: Iterable[Arch]) -> list[Match]:
    found: dict[Spot, Match] = {}
    for arch in archs:
        for match in statement_matches(rule, tree, arch):
            found.setdefault(_spot(match), match)
    return [found[spot] for spot in sorted(found)]


def _paired(theirs: list[Match], ours: list[Match]) -> tuple[list[tuple[Match, Match]], list[Match]]:
    """Upstream's matches with the fork's: equal ones first, then those that differ in what they say.

    A fork that says the same thing with another variable has it; what is left over has no partner.
    """
    free = list(ours)
    pairs: list[tuple[Match, Match]] = []
    rest: list[Match] = []
    for same in (_same_place, _same_words, _same_symbol):
        rest = []
        for match in theirs:
            partner = next((other for other in free if same(match, other)), None)
            if partner is None:
                rest.append(match)
            else:
                free.remove(partner)
                pairs.append((match, partner))
        theirs = rest
    return pairs, rest


def _same_place(one: Match, other: Match) -> bool:
    return _same_words(one, other) and _same_symbol(one, other)


def _same_words(one: Match, other: Match) -> bool:
    return one.piece.key == other.piece.key


def _same_symbol(one: Match, other: Match) -> bool:
    return one.piece.symbol == other.piece.symbol


def _weaker(trees: Trees, its: Family, rules: Iterable[Rule]) -> Iterator[Difference]:
    """Statements that the fork has only under a condition which upstream does not make."""
    for rule in rules:
        if rule.block:
            continue
        theirs = _all_matches(rule, trees.upstream, its.upstream)
        ours = _all_matches(rule, trees.fork, its.fork)
        for match, partner in _paired(theirs, ours)[0]:
            at = partner.piece
            if len(at.guards) > len(match.piece.guards):
                yield Difference(
                    Sort.WEAKER, its.name, rule, at.symbol, partner.path, at.line, ours=at, our_path=partner.path,
                    theirs=match.piece, their_path=match.path,
                )  # fmt: skip
