"""Three-way comparison of one unit's pieces: what upstream has and the fork lacks, and what upstream dropped.

Order, white space, comments and the fork's own names for local variables make no difference.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from forkguard.core.pieces import Piece, PieceKind

Key = tuple[str, str, str]
_KEYWORDS = frozenset({
    "auto", "bool", "break", "case", "const", "constexpr", "continue", "default", "do", "double", "else", "float",
    "for", "if", "int", "int32_t", "int64_t", "nullptr", "return", "size_t", "static", "struct", "switch", "this",
    "true", "false", "uint32_t", "uint64_t", "using", "void", "while", "NULL",
})  # fmt: skip
_EVIDENCE = 2


@dataclass(frozen=True, slots=True)
class Missing:
    """A piece of upstream that the fork has not.

    `after` is the fork's piece behind which it belongs (None: at the head of the unit). `in_base` tells
    that the base had it, so that the fork took it away; `replaced` that the fork has lines of its own in
    that place.
    """

    piece: Piece
    index: int
    after: Piece | None
    in_base: bool
    replaced: bool


@dataclass(frozen=True, slots=True)
class Stale:
    """A piece that base and fork have and upstream dropped; `index` is its position in the fork's unit."""

    piece: Piece
    index: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one unit differs in, and what it shares.

    `matched` is index in upstream to index in the fork, for equal pieces wherever they stand. `renames` maps
    upstream's local names to the fork's.
    """

    missing: tuple[Missing, ...]
    stale: tuple[Stale, ...]
    matched: Mapping[int, int]
    renames: Mapping[str, str]


def compare(*, upstream: Sequence[Piece], fork: Sequence[Piece], base: Sequence[Piece]) -> Comparison:
    """Compare the pieces of one unit (by symbol) on three sides; a side without the unit gives no pieces."""
    renames = infer_renames(ours=fork, theirs=base or upstream)
    known = {piece.key for piece in (*upstream, *base)}
    back = {after: before for before, after in renames.items()}
    keys = [piece.key if piece.key in known else renamed(piece, back).key for piece in fork]
    pairs = _matched([piece.key for piece in upstream], keys)
    in_base = Counter(piece.key for piece in base)
    spare = in_base - Counter(keys[i] for i in pairs.values())
    gone = Counter(spare)
    taken = set(pairs.values())
    free = [i for i in range(len(fork)) if i not in taken]
    stale: list[int] = []
    own: list[int] = []
    for i in free:
        (stale if spare[keys[i]] > 0 else own).append(i)
        spare[keys[i]] -= 1
    missing = []
    for index, piece in enumerate(upstream):
        if index not in pairs:
            before, behind = _gap(index, pairs, end=len(fork))
            after = fork[before] if before >= 0 else None
            replaced = any(before < i < behind for i in own)
            missing.append(Missing(piece, index, after, in_base=gone[piece.key] > 0, replaced=replaced))
            gone[piece.key] -= 1
    return Comparison(tuple(missing), tuple(Stale(fork[i], i) for i in stale), pairs, renames)


def _gap(index: int, pairs: Mapping[int, int], *, end: int) -> tuple[int, int]:
    """The fork's pieces between which upstream's piece `index` belongs (-1 and `end` are the unit's ends)."""
    before = next((pairs[i] for i in range(index - 1, -1, -1) if i in pairs), -1)
    behind = next((pairs[i] for i in sorted(pairs) if i > index and pairs[i] > before), end)
    return before, behind


def _matched(upstream: Sequence[Key], fork: Sequence[Key]) -> dict[int, int]:
    """Index in upstream to index in the fork, for equal pieces, in order.

    Where one side has a piece more often, those pair up that stand in the same surroundings.
    """
    here, there = Counter(upstream), Counter(fork)
    uneven = {key for key, count in here.items() if 0 != there[key] != count}
    pairs = _aligned(upstream, fork, uneven) if uneven else {}
    taken = set(pairs.values())
    waiting: dict[Key, list[int]] = defaultdict(list)
    for i, key in enumerate(fork):
        if i not in taken:
            waiting[key].append(i)
    for i, key in enumerate(upstream):
        places = waiting.get(key)
        if places and i not in pairs:
            pairs[i] = places.pop(0)
    return dict(sorted(pairs.items()))


def _aligned(upstream: Sequence[Key], fork: Sequence[Key], keys: AbstractSet[Key]) -> dict[int, int]:
    """The pairs of these keys in the runs of pieces that both sides share."""
    runs = SequenceMatcher(None, upstream, fork, autojunk=False).get_matching_blocks()
    pairs = {run.a + i: run.b + i for run in runs for i in range(run.size) if upstream[run.a + i] in keys}
    for i, key in enumerate(upstream):
        behind = i + 1
        while behind < len(upstream) and behind not in pairs and upstream[behind] in keys:
            behind += 1
        if i not in pairs and behind in pairs and upstream[behind] == key:
            pairs[i] = pairs.pop(behind)  # of equal neighbours the later is the new one, as git blame has it
    return pairs


# -- the fork's own names ------------------------------------------------------------------------------


def infer_renames(*, ours: Sequence[Piece], theirs: Sequence[Piece]) -> dict[str, str]:
    """Which local names of `theirs` the fork writes differently, from pieces that differ in names alone.

    A pair of names counts only with more than one witness, without a strong rival, and when the fork's name
    is new: an exchange of two names that both sides use is a change, not a renaming. Where one side has more
    pieces of a form than the other, which belong together is not known: they are asked where no others suffice.
    """
    our_keys, their_keys = Counter(p.key for p in ours), Counter(p.key for p in theirs)
    if our_keys == their_keys:
        return {}
    mine, yours = _by_shape(ours, their_keys), _by_shape(theirs, our_keys)
    sure, every = _Votes(Counter), _Votes(Counter)
    for shape, pieces in yours.items():
        same = mine.get(shape, [])
        for old, new in zip(pieces, same, strict=False):
            for before, after in set(zip(_names(old), _names(new), strict=False)):
                every[before][after] += 1
                sure[before][after] += len(pieces) == len(same)
    used = {name for piece in theirs for name in _names(piece)}
    found = _elected(sure, used)
    more = _elected(every, used)
    return found | {a: b for a, b in more.items() if a not in found and b not in found.values()}


_Votes = defaultdict[str, Counter[str]]


def _elected(votes: _Votes, used: AbstractSet[str]) -> dict[str, str]:
    """The names that enough votes agree on, but for those that would take a name in use, or the same one."""
    found = {}
    for before, counted in votes.items():
        (after, count), *rivals = counted.most_common(2)
        clear = not rivals or count > 2 * rivals[0][1]
        if before != after and count >= _EVIDENCE and clear and after not in used:
            found[before] = after
    doubled = {name for name, times in Counter(found.values()).items() if times > 1}
    return {before: after for before, after in found.items() if after not in doubled}


def renamed(piece: Piece, renames: Mapping[str, str]) -> Piece:
    """The piece with local names exchanged."""
    local = _local_flags(piece.tokens)
    tokens = tuple(renames.get(t, t) if flag else t for t, flag in zip(piece.tokens, local, strict=True))
    return replace(piece, tokens=tokens)


def _by_shape(pieces: Iterable[Piece], others: Counter[Key]) -> dict[tuple[str, ...], list[Piece]]:
    """The pieces that the other side has not, by their tokens without local names."""
    spare = Counter(others)
    shapes: dict[tuple[str, ...], list[Piece]] = defaultdict(list)
    for piece in pieces:
        if spare[piece.key] > 0:
            spare[piece.key] -= 1
        elif piece.kind in {PieceKind.STATEMENT, PieceKind.HEADER}:
            local = _local_flags(piece.tokens)
            shapes[tuple("_" if flag else t for t, flag in zip(piece.tokens, local, strict=True))].append(piece)
    return shapes


def _names(piece: Piece) -> list[str]:
    return [token for token, flag in zip(piece.tokens, _local_flags(piece.tokens), strict=True) if flag]


def _local_flags(tokens: Sequence[str]) -> list[bool]:
    """Which tokens can be local variables: lower-case names that are no member, call, type or scope."""
    flags = []
    for i, token in enumerate(tokens):
        before = tokens[i - 1] if i else ""
        behind = tokens[i + 1] if i + 1 < len(tokens) else ""
        name = (token[0].islower() or token[0] == "_") and token not in _KEYWORDS
        flags.append(name and before not in {".", "->", "::"} and behind not in {"(", "::", "<"})
    return flags
