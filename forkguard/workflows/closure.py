"""What belongs to a change besides itself: later upstream commits, and what it needs from earlier ones."""

from collections.abc import Mapping, Sequence

from forkguard.core.closure import later_commits
from forkguard.core.fixes import changes_by_commit
from forkguard.core.history import line_key
from forkguard.core.hunks import FileChange, lines_of
from forkguard.core.names import CommitHash, TreeHash, TreePath
from forkguard.core.own_names import is_cxx
from forkguard.core.patchset import FollowUp
from forkguard.core.porting import MissingName, PullState, Source
from forkguard.core.prerequisites import brought_by, used_names
from forkguard.ports import Bench, Repository

_MOST_NAMES = 60
"""Names that are looked up in history; a change that misses more belongs to another time."""


def find_follow_ups(
    source: Source, files: Sequence[FileChange], *, repo: Repository, tip: CommitHash, onto: CommitHash
) -> tuple[FollowUp, ...]:
    """Upstream's commits after a merged request that concern it, as far as `onto` does not have them."""
    last = source.picks[-1].commit
    if source.state is not PullState.MERGED or not repo.is_ancestor(last, tip):
        return ()
    span = [f"{last}..{tip}", f"^{onto}"]
    added: dict[TreePath, frozenset[str]] = {
        file.path: frozenset(
            line_key(line) for hunk in file.hunks for change in hunk.changes for line in change.added
        )
        for file in files
    }
    paths = sorted(path for path in added if is_cxx(path))
    changes = dict(changes_by_commit(repo.patches(last, tip, paths)))
    picked = [pick.commit for pick in source.picks]
    return later_commits(repo.messages(span), pull=source.pull, commits=picked, changes=changes, added=added)


def find_prerequisites(
    source: Source,
    files: Sequence[FileChange],
    *,
    repo: Repository,
    bench: Bench,
    ours: TreeHash,
    base: CommitHash,
    identifiers: Mapping[str, str],
) -> tuple[MissingName, ...]:
    """Names that the change uses, that upstream had before it and that the fork's tree has nowhere.

    Each with upstream's commit since the base that brought it, in upstream's order; those that nobody brought
    since then come last.
    """
    before = source.picks[0].before
    used = used_names(files)
    entries = bench.entries(ours, sorted({path for paths in used.values() for path in paths}))
    contents = bench.blobs(entry.blob for entry in entries.values() if entry.is_file)
    near = frozenset(word for content in contents.values() for word in _words(content))
    asked = sorted(name for name in used if name not in near and name not in identifiers)
    there = bench.words(ours, asked)
    lacking = [name for name in asked if name not in there]
    wanted = sorted(bench.words(bench.commit(before).tree, lacking))[:_MOST_NAMES]
    if not wanted:
        return ()
    found = brought_by(repo.introductions(wanted, base, before), wanted)
    known = repo.commits(found.values())
    named = [MissingName(name, used[name][0], known[commit]) for name, commit in found.items()]
    return (*named, *(MissingName(name, used[name][0]) for name in wanted if name not in found))


def _words(content: bytes) -> frozenset[str]:
    return frozenset(word for line in lines_of(content) for word in _key(line).split(" "))


def _key(line: str) -> str:
    return line_key(line.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
