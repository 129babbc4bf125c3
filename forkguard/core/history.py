"""Which commit last took a line away (or brought it), read from one `git log -p -U0`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from forkguard.core.names import CommitHash
from forkguard.core.syntax import tokens_of


def line_key(text: str) -> str:
    """A source line as history is searched for it: tokens only.

    >>> line_key("  res->t[ il ]  = cur; // why")
    'res -> t [ il ] = cur ;'
    """
    return " ".join(tokens_of(text.encode()))


@dataclass(frozen=True, slots=True)
class Sought:
    """A line as history is searched for it: its key, and the function or table that it stood in (may be empty)."""

    key: str
    symbol: str

    @property
    def name(self) -> str:
        """The last part of the symbol, as a hunk header would show it."""
        return self.symbol.rsplit("::", 1)[-1]


@dataclass(frozen=True, slots=True)
class Removal:
    """The commit that took a line away; `certain` where the hunk's header names the line's function."""

    commit: CommitHash
    certain: bool


def removals(log: str, sought: Iterable[Sought]) -> Mapping[Sought, Removal]:
    """For each line, the newest commit of the log that took it away without bringing it back.

    Hunks whose header names the line's function come before others: the same `case` stands in many switches.
    A commit that moves a line within its function takes nothing away.
    `log` is what `Repository.patches` gives: newest first, each commit behind a line `commit <hash>`.
    """
    by_key: dict[str, list[Sought]] = {}
    for one in sought:
        by_key.setdefault(one.key, []).append(one)
    sure: dict[Sought, Removal] = {}
    likely: dict[Sought, Removal] = {}
    for commit, hunks in groupby(_hunks(log, frozenset(by_key)), key=lambda hunk: hunk[0]):
        here: Counter[Sought] = Counter()
        anywhere: Counter[Sought] = Counter()
        for _, header, balance in hunks:
            for key, count in balance.items():
                for one in by_key[key]:
                    anywhere[one] += count
                    here[one] += count if one.name and one.name in header else 0
        for one, count in anywhere.items():
            if here[one] < 0:
                sure.setdefault(one, Removal(commit, certain=True))
            elif count < 0:
                likely.setdefault(one, Removal(commit, certain=False))
    return likely | sure


def _hunks(log: str, keys: frozenset[str]) -> Iterator[tuple[CommitHash, str, dict[str, int]]]:
    """Each hunk that holds one of the keys: its commit, its header, and how often it adds or (below 0) removes it."""
    commit, header = CommitHash(""), ""
    balance: dict[str, int] = {}
    for line in log.split("\n"):
        if line.startswith(("commit ", "@@ ", "diff --git ")):
            if balance:
                yield commit, header, balance
            balance = {}
            header = line if line.startswith("@@ ") else ""
            commit = CommitHash(line[7:]) if line.startswith("commit ") else commit
        elif header and line[:1] in {"-", "+"}:
            key = line_key(line[1:])
            if key in keys:
                balance[key] = balance.get(key, 0) + (1 if line[0] == "+" else -1)
    if balance:
        yield commit, header, balance
