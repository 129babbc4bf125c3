"""The fork's own lines that upstream's changes to their siblings passed by: history is asked for those changes."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from forkguard.core.commits import Commit
from forkguard.core.differences import Difference, Family, Trees
from forkguard.core.drift import first_line
from forkguard.core.history import Sought
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.siblings import left_behind, own_lines, sibling_edits
from forkguard.ports import Repository


def passed_by(
    repo: Repository, trees: Trees, families: Sequence[Family], *, fork: CommitHash, upstream: CommitHash
) -> tuple[tuple[Difference, ...], Mapping[Sought, Commit]]:
    """Such lines, and for each the upstream commit that changed its siblings after the fork had written the line."""
    lines = tuple(own_lines(trees, families))
    paths = sorted({own.path for own in lines})
    edits = sibling_edits(repo.patches(None, upstream, paths)) if paths else ()
    suspects = tuple(left_behind(lines, edits, trees))
    known = repo.commits(commit for _, commit in suspects)
    found: list[Difference] = []
    commits: dict[Sought, Commit] = {}
    for difference, commit in suspects:
        piece = difference.ours
        if piece is not None and _written(repo, difference.path, piece.line, fork=fork) < known[commit].moment:
            found.append(difference)
            commits[first_line(trees.fork, difference.path, piece)] = known[commit]
    return tuple(found), commits


def _written(repo: Repository, path: TreePath, line: int, *, fork: CommitHash) -> datetime:
    """When the fork's line was written."""
    blamed = repo.blame(None, fork, path, [(line, line)])
    commits = repo.commits(commit for commit in blamed.values() if commit is not None)
    return max(commit.moment for commit in commits.values())
