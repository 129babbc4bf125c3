"""What happened to a request after it was merged, and which builds a snapshot's change lies between."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from forkguard.core.commits import Commit
from forkguard.core.names import CommitHash, PullNumber

_NUMBER = re.compile(r"#(\d{1,9})\b")
_BUILD = re.compile(r"b\d{4,}")


def follow_ups(
    messages: Iterable[tuple[Commit, str]], merged: Mapping[PullNumber, CommitHash]
) -> dict[PullNumber, tuple[Commit, ...]]:
    """The later commits whose message names a request, oldest first.

    `messages` are commits with the bodies of their messages, newest first. `merged` tells by which commit each
    request came; that commit itself, and those before it, are no follow-ups.

    >>> one, two = Commit(CommitHash("1"), "2026-08-01", "x (#7)"), Commit(CommitHash("2"), "2026-08-02", "fix")
    >>> [commit.id for commit in follow_ups([(two, "after #7"), (one, "")], {PullNumber(7): CommitHash("1")})[7]]
    ['2']
    """
    found: dict[PullNumber, list[Commit]] = {}
    open_ = set(merged)
    for commit, body in messages:
        for number in {PullNumber(int(text)) for text in _NUMBER.findall(f"{commit.subject}\n{body}")} & open_:
            if merged[number] == commit.id:
                open_.discard(number)
            else:
                found.setdefault(number, []).append(commit)
        open_ -= {number for number, id_ in merged.items() if id_ == commit.id}
    return {number: tuple(reversed(commits)) for number, commits in found.items()}


def is_build(commit: Commit) -> bool:
    """Whether the commit is a snapshot of a build: its subject is a build's tag and nothing else."""
    return _BUILD.fullmatch(commit.subject) is not None


def build_pairs(history: Sequence[Commit]) -> dict[CommitHash, tuple[str, str]]:
    """For each snapshot in a history (newest first): the build before it, and itself.

    >>> old, new = Commit(CommitHash("1"), "2026-08-01", "b10531"), Commit(CommitHash("2"), "2026-08-02", "b10549")
    >>> build_pairs([new, old])
    {'2': ('b10531', 'b10549')}
    """
    builds = [commit for commit in history if is_build(commit)]
    return {new.id: (old.subject, new.subject) for new, old in pairwise(builds)}
