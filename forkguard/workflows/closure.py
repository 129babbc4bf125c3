"""What belongs to a change besides itself: later upstream commits, and what it needs from earlier ones."""

import re
from collections.abc import Mapping, Sequence

from forkguard.core.closure import later_commits
from forkguard.core.fixes import changes_by_commit
from forkguard.core.history import line_key
from forkguard.core.hunks import FileChange, lines_of
from forkguard.core.names import BlobHash, CommitHash, PullNumber, TreeHash, TreePath
from forkguard.core.open_pulls import change_lines, near
from forkguard.core.own_names import is_cxx
from forkguard.core.patchset import FollowUp
from forkguard.core.porting import MissingName, PullState, Source
from forkguard.core.prerequisites import brought_by, used_names
from forkguard.errors import CouldNotWork
from forkguard.ports import Bench, OpenRequests, Repository

_AT_ONCE = 200
"""Files that are held in memory together."""

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


def open_follow_ups(
    pull: int | None, files: Sequence[FileChange], requests: OpenRequests | None
) -> tuple[tuple[FollowUp, ...], tuple[str, ...]]:
    """The open requests that work on the same lines, and what was not looked at; `pull` is the change's own."""
    if requests is None:
        return (), ()
    change = change_lines(files)
    found = requests.touching(sorted(change))
    return near(change, found, own=PullNumber(pull) if pull else None), found.notes


def new_follow_ups(known: Sequence[FollowUp], found: Sequence[FollowUp]) -> tuple[FollowUp, ...]:
    """Those of `found` that are not among `known`, by commit or by request."""
    commits = {item.commit for item in known if item.commit}
    pulls = {item.pull for item in known if item.commit is None}
    fresh = [item for item in found if item.commit not in commits and item.pull not in pulls]
    merged = {item.pull for item in fresh if item.commit}
    return tuple(item for item in fresh if item.commit or item.pull not in merged)


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
    asked = frozenset(name for name in used if name not in near and name not in identifiers)
    mine = _sources(bench, ours)
    lacking = asked - _standing_in(bench, mine, asked)
    theirs = _sources(bench, bench.commit(before).tree)
    wanted = sorted(_standing_in(bench, theirs - mine, lacking))[:_MOST_NAMES]
    if not wanted:
        return ()
    try:
        found = brought_by(repo.introductions(wanted, base, before), wanted)
    except CouldNotWork:  # a history too long to be read in time: the names are told without who brought them
        found = {}
    known = repo.commits(found.values())
    named = [MissingName(name, used[name][0], known[commit]) for name, commit in found.items()]
    return (*named, *(MissingName(name, used[name][0]) for name in wanted if name not in found))


def _sources(bench: Bench, tree: TreeHash) -> frozenset[BlobHash]:
    return frozenset(entry.blob for path, entry in bench.files(tree).items() if entry.is_file and is_cxx(path))


def _standing_in(bench: Bench, blobs: frozenset[BlobHash], names: frozenset[str]) -> frozenset[str]:
    """Those of the names that stand in any of the files; git grep takes minutes for a few hundred words."""
    left = {name: name.encode() for name in names}
    waiting = sorted(blobs)
    for at in range(0, len(waiting), _AT_ONCE):
        if not left:
            break
        for content in bench.blobs(waiting[at : at + _AT_ONCE]).values():
            here = [name for name, word in left.items() if word in content]
            for name in here:
                if re.search(rb"\b" + left[name] + rb"\b", content):
                    del left[name]
    return names - left.keys()


def _words(content: bytes) -> frozenset[str]:
    return frozenset(word for line in lines_of(content) for word in _key(line).split(" "))


def _key(line: str) -> str:
    return line_key(line.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
