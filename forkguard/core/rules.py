"""Wiring rules: data about what an arch's graph and its registries must have, and where a tree keeps them.

A rule has one of four forms. `statement`: the arch's functions hold a match of a tree-sitter query
(inside a loop whose header matches `loop`, if that is given). `registry`: a place named by `symbol` lists
the arch. `pair`: an arch that has the feature `if` needs the feature `then`. `consensus`: of the archs that
have the feature `if`, at least the part `share` has the feature `then`, and the others stand out. Rules are
evaluated on any tree; comparing two trees is the work of `forkguard.core.differences` and its neighbours, reading
them from TOML that of `forkguard.core.rulebook`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Query, QueryCursor

from forkguard.core.archs import Arch, Located, SourceTree, facts_of
from forkguard.core.findings import Severity
from forkguard.core.layouts import is_old, loader_units
from forkguard.core.names import PullNumber, TreePath
from forkguard.core.pieces import Piece
from forkguard.core.registries import entries
from forkguard.core.syntax import LANGUAGE, Unit


@dataclass(frozen=True, slots=True)
class Rule:
    """One wiring rule; `docs/rules.md` says what each field means.

    `block`: a match stands for the statements around it that came with it. `exempt`: archs that do the
    same in another way. `among`: the feature (a rule's id) of the archs to which this one matters. `logs`: the
    texts that a violation leaves in the server's log, one of them each time.
    """

    id: str
    form: str
    title: str
    severity: Severity
    why: str
    logs: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    mend: str = ""
    pulls: tuple[PullNumber, ...] = ()
    exempt: frozenset[str] = frozenset()
    query: str = ""
    loop: str = ""
    block: bool = False
    symbol: str = ""
    given: str = ""
    needs: str = ""
    share: float = 1.0
    among: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A place that satisfies a rule."""

    path: TreePath
    piece: Piece


@lru_cache(maxsize=256)
def compiled(query: str) -> Query:
    """The query, compiled. Raises what tree-sitter raises for one that it cannot read."""
    return Query(LANGUAGE, query)


_MOST_GUESTS = 3
"""A file that defines more classes than these beside an arch's own is shared by archs."""

# -- evaluation ----------------------------------------------------------------------------------------


def lineage_units(tree: SourceTree, arch: Arch) -> tuple[Located, ...]:
    """The units that make up an arch: members of its classes, and all else in its own files.

    A file that could not be parsed whole counts as a whole, since names may be lost in it. A file with the
    classes of many archs is none's own.
    """
    return tree.units(arch, lambda: _lineage_units(tree, arch))


def _lineage_units(tree: SourceTree, arch: Arch) -> Iterator[Located]:
    classes = frozenset(arch.lineage)
    for path in tree.mentioning(*(cls.rsplit("::", 1)[-1].encode() for cls in arch.lineage)):
        own = path in arch.files and _is_own(tree.files[path], classes)
        for unit in tree.parse(path).units:
            member = unit.root in classes or unit.symbol in classes
            if member or (own and not unit.root.startswith(("llama_model_", "llm_build_"))):
                yield path, unit
    if is_old(arch):
        yield from loader_units(tree, arch)


def _is_own(source: bytes, classes: frozenset[str]) -> bool:
    others = [cls for cls in facts_of(source).defines if cls not in classes]
    return len(others) <= _MOST_GUESTS


def statement_matches(rule: Rule, tree: SourceTree, arch: Arch) -> tuple[Match, ...]:
    """Where the arch's functions satisfy a `statement` rule, in source order."""
    return tuple(
        Match(path, piece)
        for path, unit in lineage_units(tree, arch)
        for piece in _captured(rule.query, unit)
        if not rule.loop or any(re.search(rule.loop, loop) for loop in piece.loops)
    )


def _captured(query: str, unit: Unit) -> tuple[Piece, ...]:
    """The pieces of a unit that a query captures, each once; asked again, the answer is remembered."""
    found = unit.captured.get(query)
    if found is None:
        found = unit.captured[query] = _capture(query, unit) if _can_match(query, unit) else ()
    return found


def _can_match(query: str, unit: Unit) -> bool:
    """Whether the unit holds the words that the query's `#eq?` predicates ask for; most units do not."""
    return all(word in unit.text for word in asked_words(query))


@lru_cache(maxsize=256)
def asked_words(query: str) -> tuple[bytes, ...]:
    """The words that a query's `#eq?` predicates ask for.

    >>> asked_words('((identifier) @a (#eq? @a "n_rs_seq")) ((string) @b (#match? @b "^x"))')
    (b'n_rs_seq',)
    """
    return tuple(word.encode() for word in re.findall(r'#eq\? @\S+ "([^"\\]+)"', query))


def _capture(query: str, unit: Unit) -> tuple[Piece, ...]:
    nodes = QueryCursor(compiled(query)).captures(unit.node) if unit.node is not None else {}
    offsets = sorted(node.start_byte for group in nodes.values() for node in group)
    pieces = (_piece_at(unit, offset) for offset in offsets)
    return tuple(dict.fromkeys(piece for piece in pieces if piece is not None))


def _piece_at(unit: Unit, offset: int) -> Piece | None:
    around = [piece for piece in unit.pieces if piece.start <= offset < piece.end]
    return min(around, key=lambda piece: piece.end - piece.start, default=None)


def registry_matches(rule: Rule, tree: SourceTree, arch: Arch) -> tuple[Match, ...]:
    """Where the registry of a `registry` rule lists the arch; a case that leads to `return false` does not."""
    return tuple(
        Match(path, piece)
        for path, piece in entries(tree, (arch.enum,))
        if is_registry(rule, piece.symbol) and piece.outcome != "return false ;"
    )


def is_registry(rule: Rule, symbol: str) -> bool:
    """Whether a function or table is the registry that the rule means (its last name is compared)."""
    return rule.form == "registry" and re.fullmatch(rule.symbol, symbol.rsplit("::", 1)[-1]) is not None


def matches(rule: Rule, tree: SourceTree, arch: Arch) -> tuple[Match, ...]:
    """Where a tree satisfies a rule of form `statement` or `registry` for one arch."""
    if rule.form == "statement":
        return statement_matches(rule, tree, arch)
    return registry_matches(rule, tree, arch)


def subject_exists(rule: Rule, tree: SourceTree) -> bool:
    """Whether the place that a `registry` rule talks of is in the tree at all (else it is disarmed there)."""
    if rule.form != "registry":
        return True
    words = re.findall(r"\w{4,}", rule.symbol)
    return any(
        is_registry(rule, unit.symbol)
        for path in tree.mentioning(*(word.encode() for word in words))
        for unit in tree.parse(path).units
    )


def is_dormant(rule: Rule, tree: SourceTree) -> bool:
    """Whether nothing in a tree can feel the lack of what a rule asks for: no such registry, or no such field.

    (A fork from before a feature lacks its lines, but also the code that would abort without them.)
    """
    if rule.form != "statement":
        return not subject_exists(rule, tree)
    return not all(_named_anywhere(word, tree) for word in asked_words(rule.query))


def _named_anywhere(word: bytes, tree: SourceTree) -> bool:
    whole = re.compile(rb"\b" + re.escape(word) + rb"\b")
    return any(whole.search(tree.files[path]) for path in tree.mentioning(word))


def is_armed(rule: Rule, tree: SourceTree) -> bool:
    """Whether anything in a tree is what a `statement` or `registry` rule talks of; else it checks nothing there."""
    if rule.form != "statement":
        return subject_exists(rule, tree)
    return any(statement_matches(rule, tree, arch) for arch in tree.archs.archs.values())


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken `pair` or `consensus` rule: the arch has `have` (where the first feature stands), not the second.

    `note` says how the arch's siblings do it, for a consensus.
    """

    rule: Rule
    arch: Arch
    have: Match
    note: str = ""


_FEWEST_SIBLINGS = 3


def breaches(rules: Iterable[Rule], tree: SourceTree, archs: Iterable[Arch]) -> tuple[Breach, ...]:
    """Every pair or consensus rule that a tree breaks for one of the archs."""
    known = {rule.id: rule for rule in rules}
    asked = {arch.name: arch for arch in archs}
    found: list[Breach] = []
    for rule in known.values():
        if rule.given in known and rule.needs in known:
            given, needs = known[rule.given], known[rule.needs]
            if subject_exists(given, tree) and subject_exists(needs, tree):
                found += (
                    _pair(rule, tree, asked, known) if rule.form == "pair" else _consensus(rule, tree, asked, known)
                )
    return tuple(found)


def _pair(rule: Rule, tree: SourceTree, asked: Mapping[str, Arch], known: Mapping[str, Rule]) -> Iterator[Breach]:
    for arch in asked.values():
        have = matches(known[rule.given], tree, arch) if arch.name not in rule.exempt else ()
        if have and not matches(known[rule.needs], tree, arch):
            yield Breach(rule, arch, have[0])


def _consensus(
    rule: Rule, tree: SourceTree, asked: Mapping[str, Arch], known: Mapping[str, Rule]
) -> Iterator[Breach]:
    if not any(matches(known[rule.given], tree, arch) for arch in asked.values()):
        return
    siblings = {
        name: have[0] for name, arch in tree.archs.archs.items() if (have := matches(known[rule.given], tree, arch))
    }
    keep = {name for name in siblings if matches(known[rule.needs], tree, tree.archs.archs[name])}
    for name in [name for name in siblings if name in asked and name not in keep and name not in rule.exempt]:
        others = len(siblings) - 1
        if others >= _FEWEST_SIBLINGS and len(keep) / others >= rule.share:
            note = f"{len(keep)} of its {others} siblings have it"
            yield Breach(rule, asked[name], siblings[name], note)
