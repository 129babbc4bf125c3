"""The text of `git range-diff`, cut into one section for each patch."""

import re
from collections.abc import Collection
from dataclasses import dataclass

_HEAD = re.compile(r"^ *(?:\d+|-): +[0-9a-f-]+ ([=!<>]) +(?:\d+|-): +[0-9a-f-]+ (.*)$")


@dataclass(frozen=True, slots=True)
class Section:
    """One patch on both sides: `mark` is `=` (the same), `!` (changed), `<` (gone) or `>` (new)."""

    subject: str
    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class RangeDiff:
    """How the patches changed between the candidates of two nights, which are named."""

    since: str
    until: str
    sections: tuple[Section, ...]

    def of(self, subjects: Collection[str]) -> tuple[Section, ...]:
        """The sections of the patches with these subjects."""
        return tuple(one for one in self.sections if one.subject in subjects)


def sections(text: str) -> tuple[Section, ...]:
    """The sections of a range-diff, in its order.

    >>> found = sections("1:  aaaaaaa = 1:  bbbbbbb one\\n2:  ccccccc ! 2:  ddddddd two\\n    @@ x\\n    -y\\n")
    >>> [(one.mark, one.subject) for one in found], found[1].text.count("\\n")
    ([('=', 'one'), ('!', 'two')], 2)
    """
    found: list[tuple[str, str, list[str]]] = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is not None:
            found.append((head[2], head[1], [line]))
        elif found:
            found[-1][2].append(line)
    return tuple(Section(subject, mark, "\n".join(lines)) for subject, mark, lines in found)
