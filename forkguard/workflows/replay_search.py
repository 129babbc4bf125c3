"""Which upstream commit broke a patch, and which commits touched a file."""

import math

from forkguard.core.commits import Commit
from forkguard.core.names import CommitHash
from forkguard.core.replay import Break, find_break
from forkguard.ports import Repository
from forkguard.workflows.replay_stack import Stack

_SHOWN = 8
"""Commits that are named where many touched a file."""


def search_break(stack: Stack, index: int, repo: Repository) -> Break | str:
    """The first upstream commit on which a patch fails; a text where there is none to name.

    Only commits that touch a file of the patch, or of the patches that it stands on, can change the answer: the
    search goes over these. It takes at most twice the logarithm of the number of commits from base to `onto`.
    """
    chain = stack.chain(index)
    paths = {path for each in chain for path in stack.patches[each].mail.paths}
    commits = [touch.commit for touch in stack.touches if paths & touch.paths.keys()]
    if not commits:
        return "upstream has not touched its files: the patch does not fit its own base"
    points = [stack.base, *commits]
    begun = stack.trials
    budget = max(2, math.floor(2 * math.log2(max(len(stack.touches), 2))))
    search = find_break(len(points), lambda at: stack.fails_at(chain, points[at], quick=True), budget=budget - 1)
    if search.at is not None and search.at < len(points) - 1 and not stack.fails_at(chain, points[search.at]):
        search = find_break(len(points), lambda at: stack.fails_at(chain, points[at]), budget=budget - search.tried)
    if search.at is None:
        return "it fails on its own base already"
    known = repo.commits([points[at] for at in (search.at, *search.others)])
    others = tuple(
        f"{'fails before it too, on' if at < search.at else 'applies again on'} "
        f"{points[at][:10]} {known[points[at]].subject if points[at] in known else ''}".rstrip()
        for at in search.others
    )
    parent = _before(stack, points[search.at])
    return Break(known[points[search.at]], parent, search.monotone, others, stack.trials - begun)


def _before(stack: Stack, commit: CommitHash) -> CommitHash:
    line = [stack.base, *(touch.commit for touch in stack.touches)]
    return line[line.index(commit) - 1]


def touching(stack: Stack, index: int, repo: Repository) -> tuple[Commit, ...]:
    """The newest upstream commits since the base that touch a file of a patch, newest first."""
    paths = set(stack.patches[index].mail.paths)
    found = [touch.commit for touch in reversed(stack.touches) if paths & touch.paths.keys()][:_SHOWN]
    known = repo.commits(found)
    return tuple(known[commit] for commit in found)
