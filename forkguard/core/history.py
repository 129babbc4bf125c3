"""Which commit last took a line away (or brought it), read from one `git log -p -U0`."""

from collections.abc import Iterable, Mapping

from forkguard.core.names import CommitHash
from forkguard.core.syntax import tokens_of


def line_key(text: str) -> str:
    """A source line as history is searched for it: tokens only.

    >>> line_key("  res->t[ il ]  = cur; // why")
    'res -> t [ il ] = cur ;'
    """
    return " ".join(tokens_of(text.encode()))


def removals(log: str, wanted: Iterable[str]) -> Mapping[str, CommitHash]:
    """For each wanted line key, the newest commit of the log that removed it more often than it added it.

    `log` is what `Repository.patches` gives: newest first, each commit behind a line `commit <hash>`.
    """
    keys = frozenset(wanted)
    found: dict[str, CommitHash] = {}
    commit = CommitHash("")
    balance: dict[str, int] = {}

    def settle() -> None:
        for key, count in balance.items():
            if count < 0:
                found.setdefault(key, commit)
        balance.clear()

    for line in log.split("\n"):
        if line.startswith("commit ") and len(line) in (47, 71):
            settle()
            commit = CommitHash(line[7:])
        elif line[:1] in {"-", "+"} and not line.startswith(("--- ", "+++ ")):
            key = line_key(line[1:])
            if key in keys:
                balance[key] = balance.get(key, 0) + (1 if line[0] == "+" else -1)
    settle()
    return found
