"""Names that upstream exchanged everywhere: a statement that differs in them alone is a note, not drift.

`hparams.is_recurrent(il)` became `hparams.is_recr(il)` in a hundred places, `hparams.n_layer` became a call. A fork
from before that lacks none of those hundred statements.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from forkguard.core.archs import SourceTree
from forkguard.core.differences import Difference, Sort, Trees

_FEWEST = 5
_REST = 0.1
"""A name is exchanged everywhere when not more than this part of its uses is left."""
Word = tuple[str, bool]
"""A member or function name, and whether it is called."""


@dataclass
class _Uses:
    """How often a tree uses a name as a member or a function; each name is counted once."""

    tree: SourceTree
    known: dict[Word, int] = field(default_factory=dict)

    def count(self, word: Word) -> int:
        if word not in self.known:
            name, called = word[0].encode(), word[1]
            shape = re.compile(rb"(?:\.|->)" + re.escape(name) + rb"\b" + (rb"\s*\(" if called else rb"(?!\s*\()"))
            self.known[word] = sum(
                len(shape.findall(source)) for path, source in self.tree.files.items() if path.startswith("src/")
            )
        return self.known[word]


def fold_exchanged_names(found: Sequence[Difference], trees: Trees) -> tuple[Difference, ...]:
    """Each pair of a dropped and a missing statement that differ in such names alone becomes one difference."""
    stale: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    for i, d in enumerate(found):
        if d.sort is Sort.STALE and d.group and d.ours is not None:
            stale.setdefault((d.arch, d.group, _outline(d.ours.tokens)), []).append(i)
    base, upstream = _Uses(trees.base), _Uses(trees.upstream)
    gone: set[int] = set()
    exchanged: dict[int, Difference] = {}
    for i, d in enumerate(found):
        if d.sort is not Sort.MISSING or d.rule is not None or d.theirs is None:
            continue
        for at in stale.get((d.arch, d.group, _outline(d.theirs.tokens)), ()):
            ours = found[at].ours
            names = set(_exchanges(ours.tokens, d.theirs.tokens)) if ours is not None and at not in gone else set()
            if names and all(_is_swept(old, new, base, upstream) for old, new in names):
                gone.add(at)
                note = ", ".join(sorted(f"{old[0]} is {new[0]}{'()' * new[1]}" for old, new in names))
                exchanged[i] = replace(
                    d, sort=Sort.RENAMED, path=found[at].path, line=found[at].line, ours=ours,
                    our_path=found[at].our_path, note=note,
                )  # fmt: skip
                break
    return tuple(exchanged.get(i, d) for i, d in enumerate(found) if i not in gone)


def _is_swept(old: Word, new: Word, base: _Uses, upstream: _Uses) -> bool:
    before, after = base.count(old), upstream.count(new)
    left, early = upstream.count(old), base.count(new)
    return before >= _FEWEST and after >= _FEWEST and left <= _REST * before and early <= _REST * after


def _outline(tokens: Sequence[str]) -> tuple[str, ...]:
    """The tokens without the names of members, and without the brackets of calls that pass nothing."""
    return tuple("_" if word is not None else token for token, word in _words(tokens))


def _exchanges(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[Word, Word]]:
    pairs = zip(_words(ours), _words(theirs), strict=True)
    return ((old, new) for (_, old), (_, new) in pairs if old is not None and new is not None and old != new)


def _words(tokens: Sequence[str]) -> Iterator[tuple[str, Word | None]]:
    """Each token, with the word that it is if it names a member; `( )` behind a member is a part of that."""
    skip = 0
    for i, token in enumerate(tokens):
        if skip:
            skip -= 1
            continue
        member = i > 0 and tokens[i - 1] in {".", "->"} and (token[0].isalpha() or token[0] == "_")
        if member:
            skip = 2 if tuple(tokens[i + 1 : i + 3]) == ("(", ")") else 0
        yield token, ((token, tuple(tokens[i + 1 : i + 2]) == ("(",)) if member else None)
