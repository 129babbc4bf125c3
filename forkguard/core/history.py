"""Which commit last took a line away (or brought it), read from one `git log -p -U0`."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby

from forkguard.core.names import CommitHash
from forkguard.core.pieces import tokens_of


def line_key(text: str) -> str:
    """A source line as history is searched for it: tokens only.

    >>> line_key("  res->t[ il ]  = cur; // why")
    'res -> t [ il ] = cur ;'
    """
    return " ".join(tokens_of(text.encode()))


@dataclass(frozen=True, slots=True)
class Sought:
    """A line as history is searched for it: its key, and the function or table that it stood in (may be empty).

    Where `paths` are given, a hunk of another file never tells for certain that this line was taken away.
    """

    key: str
    symbol: str
    paths: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The last part of the symbol, as a hunk header would show it."""
        return self.symbol.rsplit("::", 1)[-1]

    def is_home(self, path: str, header: str) -> bool:
        """Whether a hunk of that file with that header lies in the line's function."""
        here = not self.paths or path in self.paths
        return here and bool(self.name) and re.search(rf"\b{re.escape(self.name)}\b", header) is not None


@dataclass(frozen=True, slots=True)
class Removal:
    """The commit that took a line away; `certain` where the hunk's header names the line's function.

    `brought`: a commit of the same log, no merge, had brought the line into the file before.
    """

    commit: CommitHash
    certain: bool
    brought: bool = False


def removals(
    log: str, sought: Iterable[Sought], *, merges: AbstractSet[CommitHash] = frozenset()
) -> Mapping[Sought, Removal]:
    """For each line, the newest commit of the log that took it away without bringing it back.

    Hunks whose header names the line's function come before others: the same `case` stands in many switches.
    A commit that moves a line within its function takes nothing away.
    `log` is what `Repository.patches` gives: newest first, each commit behind a line `commit <hash>`; `merges`
    are those of its commits that are merges.
    """
    by_key: dict[str, list[Sought]] = {}
    for one in sought:
        by_key.setdefault(one.key, []).append(one)
    sure: dict[Sought, Removal] = {}
    likely: dict[Sought, Removal] = {}
    places: dict[Sought, set[str]] = {}
    brought: set[Sought] = set()
    for commit, hunks in groupby(_hunks(log, frozenset(by_key)), key=lambda hunk: hunk.commit):
        here: Counter[Sought] = Counter()
        files: dict[Sought, Counter[str]] = {}
        for hunk in hunks:
            for one in (one for key in hunk.balance for one in by_key[key]):
                count = hunk.balance[one.key]
                files.setdefault(one, Counter())[hunk.path] += count
                here[one] += count if one.is_home(hunk.path, hunk.header) else 0
        for one, counts in files.items():
            if commit not in merges and any(counts[path] > 0 for path in places.get(one, ())):
                brought.add(one)
            taken = {path for path, count in counts.items() if count < 0 and (not one.paths or path in one.paths)}
            if here[one] < 0 and one not in sure:
                sure[one] = Removal(commit, certain=True)
                places[one] = taken
            elif counts.total() < 0 and one not in likely:
                likely[one] = Removal(commit, certain=False)
                places.setdefault(one, taken)
    return {one: replace(removal, brought=one in brought) for one, removal in (likely | sure).items()}


@dataclass(frozen=True, slots=True)
class _Hunk:
    """A hunk that holds a sought line; `balance` is how often it adds or (below 0) removes each."""

    commit: CommitHash
    path: str
    header: str
    balance: Mapping[str, int]


def _hunks(log: str, keys: frozenset[str]) -> Iterator[_Hunk]:
    commit, path, header = CommitHash(""), "", ""
    balance: dict[str, int] = {}
    for line in log.split("\n"):
        if line.startswith(("commit ", "@@ ", "diff --git ")):
            if balance:
                yield _Hunk(commit, path, header, balance)
            balance = {}
            header = line if line.startswith("@@ ") else ""
            path = line.rpartition(" b/")[2] if line.startswith("diff ") else path
            commit = CommitHash(line[7:]) if line.startswith("commit ") else commit
        elif header and line[:1] in {"-", "+"}:
            key = line_key(line[1:])
            if key in keys:
                balance[key] = balance.get(key, 0) + (1 if line[0] == "+" else -1)
    if balance:
        yield _Hunk(commit, path, header, balance)


def parse_blame(porcelain: str) -> dict[int, CommitHash | None]:
    """Read `git blame --porcelain`: final line number to commit, None where the commit is a boundary.

    >>> one = "a" * 40
    >>> parse_blame(f"{one} 3 7 1\\nboundary\\nfilename x.cpp\\n\\tint i;\\n")
    {7: None}
    """
    boundary: set[str] = set()
    rows: list[tuple[int, str]] = []
    current = ""
    for line in porcelain.split("\n"):
        if line.startswith("\t") or not line:
            continue
        words = line.split(" ")
        if len(words[0]) in (40, 64) and len(words) >= 3 and words[1].isdigit():
            current = words[0]
            rows.append((int(words[2]), current))
        elif line == "boundary":
            boundary.add(current)
    return {number: None if commit in boundary else CommitHash(commit) for number, commit in rows}
