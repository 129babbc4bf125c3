"""Whether two sides of a merge can have brought the same thing, told from words alone: no parser is loaded."""

import re
from collections import Counter
from collections.abc import Iterable

from forkguard.core.hunks import lines_of

_WORD = re.compile(r"[A-Za-z_]\w*")


def may_share(added: Iterable[str], *, before: bytes, ours: bytes) -> bool:
    r"""False where none of the lines that a change adds can have come to the file `ours` as well.

    `ours` differs from `before` by new lines. One of the added lines must be made of their words alone, or bring a
    word that is new on both sides.

    >>> may_share(["keep(cur);\n"], before=b"int cur;\n", ours=b"int cur;\nkeep( cur );\n")
    True
    >>> may_share(["drop(cur);\n"], before=b"int cur;\n", ours=b"int cur;\nkeep( cur );\n")
    False
    """
    if before == ours:
        return False
    new = Counter(lines_of(ours)) - Counter(lines_of(before))
    words = {word for line in new for word in _words(line)}
    known: set[str] | None = None
    for line in added:
        its = _words(line)
        both = its & words
        if both and both == its:
            return True
        if both:
            known = _words(before.decode("utf-8", "replace")) if known is None else known
            if not both <= known:
                return True
    return False


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))
