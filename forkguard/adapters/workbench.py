"""Work on the fork's objects without its index, work tree, refs or configuration.

A bare repository of forkguard's own lends its (empty) configuration; objects are read from and written to
the fork's store. So no filter, merge driver or hook of anybody runs, and results depend on objects alone.
"""

import contextlib
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from forkguard.adapters.git import GitRepository
from forkguard.core.commit_objects import RawCommit, commit_bytes, parse_commit
from forkguard.core.hunks import FileChange, parse_diff
from forkguard.core.mails import Mail, Refusal, read_mail
from forkguard.core.merges import Merged, parse_merge
from forkguard.core.names import BlobHash, CommitHash, TreeHash, TreePath
from forkguard.core.trees import Tree, TreeEntry, listed
from forkguard.errors import CouldNotWork

_MAIL = re.compile(rb"\A(?:From [0-9a-f]+ |From:|Subject:|Date:)")
_NOBODY = b"forkguard <forkguard@localhost> 0 +0000"
_MARKER = re.compile(rb"^(<<<<<<<|\|\|\|\|\|\|\||>>>>>>>) ([0-9a-f]{4,64})(?=[:\r\n])", re.MULTILINE)


class Workbench:
    """The fork's objects, with a bare repository under `folder` as the place to stand.

    New objects go to the fork's store, or to `objects`; then `alternates` are where all others are read. `exchanged`
    tells whether the sides of a merge are (see `forkguard.adapters.replay_bench`).
    """

    exchanged = False

    def __init__(
        self, fork: GitRepository, folder: Path, *, objects: Path | None = None, alternates: Sequence[Path] = ()
    ) -> None:
        self._fork = fork
        form = fork.run("rev-parse", "--show-object-format")[1].decode().strip()
        self._home = folder / f"bench-{form}.git"
        self._env = {
            "GIT_DIR": str(self._home),
            "GIT_OBJECT_DIRECTORY": str(objects or fork.objects),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
        }
        if alternates:
            self._env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.pathsep.join(map(str, alternates))
        shallow = fork.git_dir / "shallow"
        if shallow.exists():
            self._env["GIT_SHALLOW_FILE"] = str(shallow)
        self._make(folder, form)

    def _make(self, folder: Path, form: str) -> None:
        """Make the bare repository where it is not there: beside its place, then moved in when whole.

        `git init` in place would be simpler, but of two at once one fails on the other's lock, and a lock that a
        killed one left would stop every later run.
        """
        if (self._home / "HEAD").is_file():
            return
        folder.mkdir(parents=True, exist_ok=True)
        own = {key: value for key, value in self._env.items() if key.startswith(("GIT_CONFIG", "GIT_ATTR"))}
        with tempfile.TemporaryDirectory(prefix=f".{self._home.name}-", dir=folder) as work:
            made = Path(work) / self._home.name
            words = ("init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(made))
            self._fork.run(*words, cwd=folder, env=own)
            with contextlib.suppress(OSError):  # another run may have been quicker
                made.rename(self._home)
        if not (self._home / "HEAD").is_file():
            raise CouldNotWork(
                "forkguard's own repository cannot be made: something else is in its place",
                where=str(self._home),
                hint=f"rm -r {shlex.quote(str(self._home))}  (nothing of yours is in it)",
            )

    def _git(
        self, *words: str, stdin: bytes | None = None, allowed: Sequence[int] = (0,), index: Path | None = None
    ) -> tuple[int, bytes]:
        env = self._env | ({"GIT_INDEX_FILE": str(index)} if index else {})
        status, out, _ = self._fork.run(*words, stdin=stdin, allowed=allowed, env=env, cwd=self._home)
        return status, out

    @property
    def place(self) -> tuple[Path, Mapping[str, str]]:
        """The folder and the environment in which git works here, for `forkguard.adapters.replay_store`."""
        return self._home, self._env

    # -- reading -------------------------------------------------------------------------------------

    def commit(self, commit: CommitHash) -> RawCommit:
        """A commit's parts."""
        return parse_commit(self._git("cat-file", "commit", commit)[1])

    def lineage(self, since: CommitHash, until: CommitHash) -> tuple[CommitHash, ...]:
        """The commits that `until` has and `since` has not, oldest first."""
        _, out = self._git("rev-list", "--topo-order", "--reverse", f"{since}..{until}")
        return tuple(CommitHash(word) for word in out.decode().split())

    def first_merge(self, head: CommitHash, tip: CommitHash) -> CommitHash | None:
        """The merge by which `tip` took in `head`, if there was one."""
        words = ("rev-list", "--merges", "--ancestry-path", "--topo-order", "--reverse", f"{head}..{tip}")
        merges = self._git(*words)[1].decode().split()
        return CommitHash(merges[0]) if merges else None

    def merge_base(self, one: CommitHash, other: CommitHash) -> CommitHash | None:
        """The best common ancestor, or None."""
        status, out = self._git("merge-base", one, other, allowed=(0, 1))
        return CommitHash(out.decode().split()[0]) if status == 0 else None

    def diff(
        self,
        before: TreeHash,
        after: TreeHash,
        *,
        context: int = 3,
        renames: bool = True,
        paths: Sequence[TreePath] = (),
    ) -> tuple[FileChange, ...]:
        """What leads from one tree to the other, file by file (of `paths`, if any)."""
        words = ["diff-tree", "-r", "-z", "--raw", "-p", f"-U{context}", "--full-index", "--no-color"]
        words += ["--inter-hunk-context=0", "-M" if renames else "--no-renames"]
        return parse_diff(self._git(*words, before, after, "--", *paths)[1])

    def renames(self, before: TreeHash, after: TreeHash) -> dict[TreePath, TreePath]:
        """The files that one tree has under another path than the other, as git finds them by content."""
        words = ("diff-tree", "-r", "-z", "-M", "-l0", "--name-status", "--diff-filter=R", before, after)
        fields = self._git(*words)[1].decode("utf-8", "surrogateescape").split("\0")[:-1]
        return {TreePath(old): TreePath(new) for old, new in zip(fields[1::3], fields[2::3], strict=True)}

    def holding(self, tree: TreeHash, word: str) -> tuple[TreePath, ...]:
        """The text files of a tree in which the word stands."""
        words = ("grep", "-I", "-l", "-z", "-w", "-F", "-e", word, tree)
        status, out = self._git(*words, allowed=(0, 1))
        found = out.decode("utf-8", "surrogateescape").split("\0")[:-1] if status == 0 else []
        return tuple(TreePath(name.partition(":")[2]) for name in found)

    def files(self, tree: TreeHash) -> Tree:
        """Every file of a tree."""
        _, out = self._git("ls-tree", "-r", "-z", "--full-tree", tree)
        return dict(listed(out))

    def entries(self, tree: TreeHash, paths: Sequence[TreePath]) -> Tree:
        """The files at `paths`, as far as the tree has them."""
        if not paths:
            return {}
        wanted = set(paths)
        _, out = self._git("ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths)
        return {path: entry for path, entry in listed(out) if path in wanted}

    def blobs(self, ids: Iterable[BlobHash]) -> dict[BlobHash, bytes]:
        """The contents of blobs, in one question."""
        return self._fork.blobs(ids)

    # -- making objects ------------------------------------------------------------------------------

    def put_blob(self, content: bytes) -> BlobHash:
        """Store a file's content."""
        return BlobHash(self._git("hash-object", "-t", "blob", "-w", "--stdin", stdin=content)[1].decode().strip())

    def put_commit(self, content: bytes) -> CommitHash:
        """Store a commit object; git checks its form."""
        return CommitHash(
            self._git("hash-object", "-t", "commit", "-w", "--stdin", stdin=content)[1].decode().strip()
        )

    def edit(self, tree: TreeHash, entries: Mapping[TreePath, TreeEntry | None]) -> TreeHash:
        """The tree with some files replaced, or removed (None)."""
        if not entries:
            return tree
        gone = "0" * len(tree)
        rows = (f"{e.mode} {e.blob}\t{path}" if e else f"0 {gone}\t{path}" for path, e in entries.items())
        feed = "".join(f"{row}\0" for row in rows).encode("utf-8", "surrogateescape")
        with tempfile.TemporaryDirectory(prefix="forkguard-index-") as folder:
            index = Path(folder) / "index"
            self._git("read-tree", tree, index=index)
            self._git("update-index", "-z", "--index-info", stdin=feed, index=index)
            # A partial clone may lack files beside those that change; the tree names them all the same.
            return TreeHash(self._git("write-tree", "--missing-ok", index=index)[1].decode().strip())

    # -- strangers' patches --------------------------------------------------------------------------

    def mails(self, content: bytes) -> tuple[Mail, ...]:
        """The patches of a mailbox, as `git am` reads them; a plain diff is one of nobody's."""
        if not _MAIL.match(content):
            return (Mail(b"", b"", b"", content),)
        found = []
        with tempfile.TemporaryDirectory(prefix="forkguard-mail-") as folder:
            place = Path(folder)
            (place / "box").write_bytes(content)
            (place / "split").mkdir()
            self._git("mailsplit", "-b", "--keep-cr", f"-o{place / 'split'}", str(place / "box"))
            for file in sorted((place / "split").iterdir()):
                message, diff = place / "message", place / "diff"
                words = ("mailinfo", "-b", "--encoding=UTF-8", str(message), str(diff))
                _, info = self._git(*words, stdin=file.read_bytes())
                found.append(read_mail(info, message.read_bytes(), diff.read_bytes()))
        return tuple(found)

    def apply(self, tree: TreeHash, diff: bytes) -> TreeHash | Refusal:
        """The tree with a diff applied, or what git says against it."""
        with tempfile.TemporaryDirectory(prefix="forkguard-index-") as folder:
            index = Path(folder) / "index"
            patch = Path(folder) / "diff"
            patch.write_bytes(diff)
            self._git("read-tree", tree, index=index)
            env = self._env | {"GIT_INDEX_FILE": str(index)}
            words = ("apply", "--cached", "--whitespace=nowarn", str(patch))
            status, _, err = self._fork.run(*words, allowed=range(256), env=env, cwd=self._home)
            if status:
                return Refusal((err.strip().splitlines() or ["git apply failed"])[0])
            return TreeHash(self._git("write-tree", index=index)[1].decode().strip())

    def export(self, tree: TreeHash, folder: Path) -> None:
        """Write the files of a tree into a new folder."""
        folder.mkdir(parents=True)
        with tempfile.TemporaryDirectory(prefix="forkguard-index-") as place:
            index = Path(place) / "index"
            self._git("read-tree", tree, index=index)
            env = self._env | {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)}
            self._fork.run("checkout-index", "--all", "--force", "--quiet", env=env, cwd=folder)

    # -- merging -------------------------------------------------------------------------------------

    def merge(
        self, base: TreeHash, ours: TreeHash, theirs: TreeHash, *, ours_label: str, theirs_label: str
    ) -> Merged:
        """git's three-way merge of trees with this very base; conflicted files hold diff3 markers."""
        root = self._stand_in(base, ())
        one, other = self._stand_in(ours, (root,)), self._stand_in(theirs, (root,))
        _, out = self._git(
            "-c", "merge.conflictStyle=diff3", "-c", "merge.renames=true", "-c", "merge.directoryRenames=conflict",
            "merge-tree", "--write-tree", "-z", one, other, allowed=(0, 1),
        )  # fmt: skip
        merged = parse_merge(out)
        if not merged.stages:
            return merged
        names = {one.encode(): ours_label.encode(), root.encode(): b"base", other.encode(): theirs_label.encode()}
        return Merged(self._relabel(merged, names), merged.stages, merged.messages)

    def _stand_in(self, tree: TreeHash, parents: tuple[CommitHash, ...]) -> CommitHash:
        """A commit that only tells `merge-tree` of git 2.39 which base to take (it has no --merge-base)."""
        return self.put_commit(commit_bytes(tree, parents, author=_NOBODY, committed=b"0 +0000", message=b"merge\n"))

    def _relabel(self, merged: Merged, names: Mapping[bytes, bytes]) -> TreeHash:
        entries = {p: e for p, e in self.entries(merged.tree, merged.conflicted).items() if e.is_file}
        contents = self.blobs(entry.blob for entry in entries.values())
        edits: dict[TreePath, TreeEntry | None] = {}
        for path, entry in entries.items():
            old = contents[entry.blob]
            new = _MARKER.sub(lambda found: _named(found, names), old)
            if new != old:
                edits[path] = TreeEntry(entry.mode, self.put_blob(new))
        return self.edit(merged.tree, edits)

    def merges_cleanly(self, base: bytes, ours: bytes, theirs: bytes) -> bool:
        """Whether git merges these three versions of one file without a conflict."""
        with tempfile.TemporaryDirectory(prefix="forkguard-merge-") as folder:
            files = [Path(folder) / name for name in ("ours", "base", "theirs")]
            for file, content in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(content)
            status, _ = self._git("merge-file", "-p", "-q", *map(str, files), allowed=range(256))
        if status > 127:
            raise CouldNotWork("git merge-file failed", where=folder, hint="git --version  should say 2.39 or newer")
        return status == 0

    # -- patches -------------------------------------------------------------------------------------

    def patch(
        self, commit: CommitHash, *, number: int, base: CommitHash | None, headers: Sequence[str]
    ) -> tuple[str, bytes]:
        """One commit as `git format-patch` writes it, with more mail headers: file name and content.

        `base`, which it names as what it stands on, is an ancestor of the commit.
        """
        words = ["format-patch", "-1", "-N", f"--start-number={number}", "--no-signature", "--full-index", "--binary"]
        words += ["--no-attach", "--no-thread", "--stat=72", "--filename-max-length=64"]
        words += [f"--base={base}" if base else "--no-base"]
        words += [f"--add-header={header}" for header in headers]
        with tempfile.TemporaryDirectory(prefix="forkguard-patch-") as folder:
            self._git(*words, "-o", folder, commit)
            (file,) = Path(folder).iterdir()
            return file.name, file.read_bytes()


def _named(marker: re.Match[bytes], names: Mapping[bytes, bytes]) -> bytes:
    """A marker line with our name for its side; a line of the file that only looks like one stays."""
    name = next((name for commit, name in names.items() if commit.startswith(marker[2])), None)
    return marker[1] + b" " + name if name else marker[0]
