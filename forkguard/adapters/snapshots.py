"""Makes git histories from source archives: an upstream with a story, and a fork that drifted from it.

One `git fast-import` per repository; dates and identities are fixed, so the commit ids are the same on
every machine. A history is built beside its place and moved in when whole.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Self

from forkguard.adapters import proc
from forkguard.adapters.archive_members import SourceFile
from forkguard.adapters.git import GitRepository
from forkguard.core.names import CommitHash, TreePath
from forkguard.errors import CouldNotWork

SETUP_TIMEOUT = 300.0
"""Seconds that cloning, importing or checking out one llama.cpp tree may take."""

Changes = Mapping[TreePath, SourceFile | None]
"""What one commit does to a tree: the file that each path holds afterwards, None where it goes away."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Who made a commit, and when (an aware time)."""

    name: str
    email: str
    when: datetime

    def raw(self) -> str:
        """As fast-import reads it: seconds since 1970 and the zone, always UTC."""
        return f"{self.name} <{self.email}> {int(self.when.timestamp())} +0000"


@dataclass(frozen=True, slots=True)
class NewCommit:
    """One commit to be made on a branch; `tag` also names it.

    Without a `parent` it follows the last commit of that branch in the same import, or is a first one.
    """

    branch: str
    subject: str
    signature: Signature
    changes: Changes
    tag: str | None = None
    parent: str | None = None


class ImportFeed:
    """The input of one `git fast-import`, written to a temporary file so that no tree has to fit in memory.

    The file is made in `folder` (it can take 200 MB), and is gone when the `with` ends or the process dies.
    """

    def __init__(self, folder: Path) -> None:
        self._file: BinaryIO = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (closed by __exit__)
        self._marks: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def snapshot(self, files: Iterable[SourceFile]) -> dict[TreePath, tuple[str, int]]:
        """Write the contents of a whole tree, once each; return the tree as path to mode and mark."""
        return {file.path: (file.mode, self._blob(file.data)) for file in files}

    def commit(self, commit: NewCommit) -> None:
        """Write one commit that changes what its parent has."""
        self._head(commit)
        for path, file in sorted(commit.changes.items()):
            if file is None:
                self._line(f"D {_quoted(path)}")
            else:
                self._line(f"M {file.mode} inline {_quoted(path)}")
                self._data(file.data)
        self._tail(commit)

    def commit_tree(self, commit: NewCommit, tree: Mapping[TreePath, tuple[str, int]]) -> None:
        """Write one commit whose whole tree is `tree` (as `snapshot` returned it, or parts of several)."""
        self._head(commit)
        self._line("deleteall")
        for path, (mode, mark) in sorted(tree.items()):
            self._line(f"M {mode} :{mark} {_quoted(path)}")
        self._tail(commit)

    def import_into(self, repository: Path) -> None:
        """Run the import. The repository is one that forkguard made."""
        self._line("done")
        self._file.seek(0)
        with GitRepository(repository) as git:
            git.run(
                "-c", "pack.compression=1", "fast-import", "--quiet", "--done", "--date-format=raw",
                stdin=self._file, timeout=SETUP_TIMEOUT,
            )  # fmt: skip

    def _head(self, commit: NewCommit) -> None:
        self._line(f"commit refs/heads/{commit.branch}")
        self._line(f"author {commit.signature.raw()}")
        self._line(f"committer {commit.signature.raw()}")
        self._data(commit.subject.encode() + b"\n")
        if commit.parent is not None:
            self._line(f"from {commit.parent}")

    def _tail(self, commit: NewCommit) -> None:
        if commit.tag:
            self._line(f"reset refs/tags/{commit.tag}")
            self._line(f"from refs/heads/{commit.branch}")
        self._file.write(b"\n")

    def _blob(self, data: bytes) -> int:
        key = hashlib.sha256(data).hexdigest()
        if key not in self._marks:
            self._marks[key] = len(self._marks) + 1
            self._line("blob")
            self._line(f"mark :{self._marks[key]}")
            self._data(data)
        return self._marks[key]

    def _data(self, data: bytes) -> None:
        self._line(f"data {len(data)}")
        self._file.write(data + b"\n")

    def _line(self, text: str) -> None:
        self._file.write(text.encode() + b"\n")


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# -- the story ---------------------------------------------------------------------------------------

PULL = 27383
PULL_SUBJECT = f"spec : support DSpark for LFM2 models (#{PULL})"
PULL_PATHS = (TreePath("src/llama-arch.cpp"), TreePath("src/models/lfm2.cpp"))
"""What pull request 27383 changed; everything else between the two builds came from other requests."""

OLDER, NEWER = 10531, 10549
"""The last packaged build before that request, and the first after it."""

UPSTREAM_BRANCH = "master"
PRODUCTION_BRANCH = "production"


def _signature(name: str, day: datetime) -> Signature:
    return Signature(name, f"{name.split(maxsplit=1)[0].lower()}@example.invalid", day)


_OLDER_DAY = datetime(2026, 8, 20, 12, tzinfo=UTC)
_PULL_DAY = datetime(2026, 8, 21, 9, tzinfo=UTC)
_NEWER_DAY = datetime(2026, 8, 21, 12, tzinfo=UTC)
_FORK_DAYS = (datetime(2026, 8, 24, 9, tzinfo=UTC), datetime(2026, 8, 25, 9, tzinfo=UTC))


def make_upstream(place: Path, *, older: Iterable[SourceFile], newer: Iterable[SourceFile]) -> None:
    """Make the bare repository `place`: b10531, then the pull request's two files, then the rest of b10549.

    The branch is `master`; both builds are tagged. `older` and `newer` are the files of the two archives.
    """
    with _in_place(place) as half_made, ImportFeed(half_made.parent) as feed:
        init(half_made, bare=True)
        before = feed.snapshot(older)
        after = feed.snapshot(newer)
        pull = before | {path: after[path] for path in PULL_PATHS}
        upstream = "Upstream snapshot"
        feed.commit_tree(_upstream_commit(f"b{OLDER}", _signature(upstream, _OLDER_DAY), tag=f"b{OLDER}"), before)
        feed.commit_tree(_upstream_commit(PULL_SUBJECT, _signature(upstream, _PULL_DAY)), pull)
        feed.commit_tree(_upstream_commit(f"b{NEWER}", _signature(upstream, _NEWER_DAY), tag=f"b{NEWER}"), after)
        feed.import_into(half_made)


def _upstream_commit(subject: str, signature: Signature, *, tag: str | None = None) -> NewCommit:
    return NewCommit(UPSTREAM_BRANCH, subject, signature, changes={}, tag=tag)


def make_fork(place: Path, upstream: Path) -> None:
    """Make the drifted production fork: a clone of b10531 with two small commits of its own on `production`.

    Its remote `upstream` is the given repository, fetched; the branch is checked out.
    """
    with _in_place(place) as half_made:
        clone(half_made, upstream)
        with GitRepository(half_made) as git:
            base = git.resolve(f"b{OLDER}")
            append(git, production_commits(git, base))
            git.run("checkout", "--quiet", PRODUCTION_BRANCH, timeout=SETUP_TIMEOUT)


def production_commits(git: GitRepository, base: CommitHash) -> tuple[NewCommit, ...]:
    """What the fork's owners committed on top of `base`: nothing that touches a model's graph."""
    authors = [_signature("Fork owner", day) for day in _FORK_DAYS]
    readme = read_file(git, base, TreePath("README.md"))
    note = b"# This fork serves production\n\nChanges go through review; see FORK.md.\n\n"
    return (
        NewCommit(
            PRODUCTION_BRANCH,
            "docs : say that this fork serves production",
            authors[0],
            {TreePath("README.md"): SourceFile(readme.path, readme.executable, note + readme.data)},
            parent=base,
        ),
        NewCommit(
            PRODUCTION_BRANCH,
            "ops : keep the production server's settings beside the code",
            authors[1],
            {TreePath("FORK.md"): _text_file("FORK.md", "The production server runs with --parallel 2.\n")},
        ),
    )


def _text_file(path: str, text: str) -> SourceFile:
    return SourceFile(TreePath(path), executable=False, data=text.encode())


# -- repositories of our own -------------------------------------------------------------------------


def init(place: Path, *, bare: bool) -> None:
    """Make an empty repository whose layout does not depend on the user's git settings."""
    place.parent.mkdir(parents=True, exist_ok=True)
    words = ["git", "init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={UPSTREAM_BRANCH}"]
    proc.run([*words, *(["--bare"] if bare else []), place], cwd=place.parent, timeout=SETUP_TIMEOUT)


def clone(place: Path, upstream: Path) -> None:
    """Clone with the remote named `upstream`, without a branch and without a checkout."""
    init(place, bare=False)
    with GitRepository(place) as git:
        git.run("remote", "add", "upstream", str(upstream.resolve()))
        git.run("fetch", "--quiet", "--tags", "upstream", timeout=SETUP_TIMEOUT)


def append(git: GitRepository, commits: Sequence[NewCommit]) -> None:
    """Add commits to the repository's branches, without touching a work tree."""
    with ImportFeed(git.git_dir) as feed:
        for commit in commits:
            feed.commit(commit)
        feed.import_into(git.path)


def read_file(git: GitRepository, commit: CommitHash, path: TreePath) -> SourceFile:
    """One file of a commit. Raises `KeyError` where it has no such file."""
    entry = git.tree(commit, under=(path,))[path]
    return SourceFile(path, entry.mode == "100755", git.blobs([entry.blob])[entry.blob])


class _in_place:  # noqa: N801  (used like a function, in a `with`)
    """A folder beside `place` to work in, moved there at the end, removed on any failure."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __enter__(self) -> Path:
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._work = Path(tempfile.mkdtemp(prefix=f".{self._place.name}-", dir=self._place.parent))
        return self._work / self._place.name

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                (self._work / self._place.name).rename(self._place)
        finally:
            shutil.rmtree(self._work, ignore_errors=True)
        if isinstance(error, OSError):
            raise CouldNotWork(
                f"the repository cannot be made: {error.strerror or error}",
                where=str(self._place),
                hint="it needs about 600 MB of space here; the same command again when there is room",
            ) from error
