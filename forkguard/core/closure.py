"""What upstream did after a request: reverts, later commits that name it, and those that change its lines."""

import re
from collections.abc import Iterable, Mapping, Sequence

from forkguard.core.commits import Commit, pulls_in
from forkguard.core.fixes import FileChange
from forkguard.core.names import CommitHash, PullNumber, TreePath
from forkguard.core.patchset import FollowUp

_SHORTEST = 4  # tokens; shorter lines are everywhere


def later_commits(
    messages: Iterable[tuple[Commit, str]],
    *,
    pull: PullNumber | None,
    commits: Sequence[CommitHash],
    changes: Mapping[CommitHash, Sequence[FileChange]],
    added: Mapping[TreePath, frozenset[str]],
) -> tuple[FollowUp, ...]:
    """The follow-ups among later commits, oldest first.

    `messages` are commits with the bodies of their messages, newest first; `changes` what each did to the files
    of the request, `added` the keys of the lines that the request brought to each file.
    """
    found = []
    for commit, body in messages:
        why = _named(commit, body, pull, commits) or _rewrites(changes.get(commit.id, ()), added)
        if why:
            found.append(FollowUp(pull=commit.pull, commit=commit.id, why=f"{why}: {commit.subject}"))
    return tuple(reversed(found))


def _named(commit: Commit, body: str, pull: PullNumber | None, commits: Sequence[CommitHash]) -> str:
    """What a message says that it does to the request.

    >>> one = Commit(CommitHash("ab"), "2026-01-01", 'Revert "x (#7)" (#9)')
    >>> _named(one, "", PullNumber(7), [])
    'reverts it'
    """
    if any(f"This reverts commit {id_}" in body for id_ in commits):
        return "reverts it"
    if pull is None or pull in pulls_in(commit.subject):
        return ""
    number = re.compile(rf"#{pull}\b")
    if commit.subject.startswith("Revert") and number.search(commit.subject):
        return "reverts it"
    if number.search(commit.subject) or number.search(body):
        return f"names #{pull}"
    return ""


def _rewrites(changes: Iterable[FileChange], added: Mapping[TreePath, frozenset[str]]) -> str:
    touched = sum(
        key.count(" ") + 1 >= _SHORTEST
        for change in changes
        for key in set(change.removed) & added.get(change.path, frozenset()) - set(change.added)
    )
    return f"changes {touched} of its lines" if touched else ""
