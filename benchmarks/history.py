"""A history of 10,000 commits between and before two real source trees, made once and kept in the user's cache.

The first half grows the C++ sources of b10531 chunk by chunk, in random order, so that blame has thousands of
commits to tell apart. The second half leads to b10549: the files that really changed, one commit each, among
many small commits that take a chunk out and put it back, and others that touch files elsewhere.
"""

import hashlib
import random
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import filelock

from forkguard.adapters import archive_members, snapshots
from forkguard.adapters.archive_members import SourceFile, members
from forkguard.adapters.git import GitRepository
from forkguard.adapters.snapshots import (
    NEWER,
    OLDER,
    PRODUCTION_BRANCH,
    PULL_PATHS,
    PULL_SUBJECT,
    UPSTREAM_BRANCH,
    ImportFeed,
    NewCommit,
    Signature,
    append,
    clone,
    production_commits,
)
from forkguard.core.names import TreePath

COMMITS = 10_000
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
_ELSEWHERE = tuple(TreePath(f"docs/notes-{number}.md") for number in range(20))
_REPACK_TIMEOUT = 900.0


def long_history(cache: Path, *, older: Path, newer: Path) -> Path:
    """A fork at b10531 with the long history as its remote `upstream`; returns its path. Only read it."""
    made_by = b"".join(
        Path(str(path)).read_bytes() for path in (__file__, snapshots.__file__, archive_members.__file__)
    )
    place = cache / f"history-{hashlib.sha256(made_by).hexdigest()[:16]}"
    cache.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(cache / "lock", timeout=1800):
        if not (place / "ready").is_file():
            for stale in cache.glob("history-*"):
                shutil.rmtree(stale, ignore_errors=True)
            _make(place, older=older, newer=newer)
            (place / "ready").touch()
    return place / "fork"


def _make(place: Path, *, older: Path, newer: Path) -> None:
    upstream = place / "upstream.git"
    snapshots.init(upstream, bare=True)
    with ImportFeed(upstream) as feed:
        _Writer(feed).write(older=members(older), newer=members(newer))
        feed.import_into(upstream)
    with GitRepository(upstream) as git:
        git.run("repack", "-a", "-d", "-f", "-q", "--depth=50", "--window=10", timeout=_REPACK_TIMEOUT)
    fork = place / "fork"
    clone(fork, upstream)
    with GitRepository(fork) as git:
        append(git, production_commits(git, git.resolve(f"b{OLDER}")))
        git.run("checkout", "--quiet", PRODUCTION_BRANCH)


def _chunks(data: bytes, size: int) -> list[bytes]:
    lines = data.splitlines(keepends=True)
    return [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]


@dataclass
class _Writer:
    """Writes the whole history into one import."""

    feed: ImportFeed
    dice: random.Random = field(default_factory=lambda: random.Random(27383))  # noqa: S311  (no secret)
    made: int = 0

    def write(self, *, older: Iterable[SourceFile], newer: Iterable[SourceFile]) -> None:
        old_sources: dict[TreePath, SourceFile] = {}
        new_sources: dict[TreePath, SourceFile] = {}
        old_tree = self.feed.snapshot(_remembering(older, old_sources))
        new_tree = self.feed.snapshot(_remembering(newer, new_sources))
        self._grow(old_tree, old_sources)
        self._lead_on(old_sources, new_sources)
        self.feed.commit_tree(self._commit(f"b{NEWER}", {}, tag=f"b{NEWER}"), new_tree)

    def _grow(self, tree: Mapping[TreePath, tuple[str, int]], sources: Mapping[TreePath, SourceFile]) -> None:
        lines = sum(file.data.count(b"\n") for file in sources.values())
        chunks = {path: _chunks(file.data, max(1, lines * 2 // COMMITS)) for path, file in sources.items()}
        self.feed.commit_tree(self._commit("begin", {}), {path: tree[path] for path in tree if path not in sources})
        there: dict[TreePath, set[int]] = {path: set() for path in sources}
        order = [(path, index) for path in sorted(chunks) for index in range(len(chunks[path]))]
        self.dice.shuffle(order)
        for path, index in order[: COMMITS // 2 - 2]:
            there[path].add(index)
            data = b"".join(chunk for at, chunk in enumerate(chunks[path]) if at in there[path])
            self._change(f"grow : {path}", {path: SourceFile(path, executable=False, data=data)})
        self.feed.commit_tree(self._commit(f"b{OLDER}", {}, tag=f"b{OLDER}"), tree)

    def _lead_on(
        self, old_sources: Mapping[TreePath, SourceFile], new_sources: Mapping[TreePath, SourceFile]
    ) -> None:
        now = dict(old_sources)
        changed = [path for path in sorted(new_sources) if new_sources[path] != old_sources.get(path)]
        real: list[tuple[TreePath, ...]] = [(path,) for path in changed if path not in PULL_PATHS]
        real.insert(len(real) // 2, PULL_PATHS)
        gap = (COMMITS - self.made - 1) // len(real)
        for paths in real:
            self._small_ones(now, gap - 1)
            subject = PULL_SUBJECT if paths == PULL_PATHS else f"change : {paths[0]} (#{20_000 + self.made})"
            self._change(subject, {path: new_sources[path] for path in paths})
            now |= {path: new_sources[path] for path in paths}
        self._small_ones(now, COMMITS - self.made - 1)

    def _small_ones(self, now: Mapping[TreePath, SourceFile], number: int) -> None:
        paths = sorted(path for path in now if now[path].data.count(b"\n") > 40)
        for pair in range(number // 2):
            path = self.dice.choice(paths)
            chunks = _chunks(now[path].data, 12)
            del chunks[self.dice.randrange(len(chunks))]
            without = SourceFile(path, executable=False, data=b"".join(chunks))
            note = SourceFile(self.dice.choice(_ELSEWHERE), executable=False, data=f"{self.made} {pair}\n".encode())
            self._change(f"take out : {path} (#{20_000 + self.made})", {path: without})
            self._change(f"put back : {path} (#{20_000 + self.made})", {path: now[path], note.path: note})
        if number % 2:
            note = SourceFile(_ELSEWHERE[0], executable=False, data=f"{self.made}\n".encode())
            self._change(f"docs : note (#{20_000 + self.made})", {note.path: note})

    def _change(self, subject: str, changes: Mapping[TreePath, SourceFile]) -> None:
        self.feed.commit(self._commit(subject, changes))

    def _commit(self, subject: str, changes: Mapping[TreePath, SourceFile], *, tag: str | None = None) -> NewCommit:
        self.made += 1
        signature = Signature("Upstream", "upstream@example.invalid", _FIRST_DAY + timedelta(hours=self.made))
        return NewCommit(UPSTREAM_BRANCH, subject, signature, changes, tag=tag)


def _remembering(files: Iterable[SourceFile], kept: dict[TreePath, SourceFile]) -> Iterator[SourceFile]:
    """Pass the files on, and keep the C++ ones below `src/`."""
    for file in files:
        if file.path.startswith("src/") and file.path.endswith((".cpp", ".h")):
            kept[file.path] = file
        yield file
