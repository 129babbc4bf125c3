"""Everything that forkguard writes into the fork's repository besides objects, and nothing else.

That is: branches `forkguard/*`, refs `refs/forkguard/*`, and the checkouts of forkguard's own under a folder
of its own. The fork's index, work tree, other refs and configuration are never touched.
"""

import contextlib
import os
import re
import shlex
import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path

from forkguard.adapters.git import GitRepository
from forkguard.core.merges import Merged, markers_left
from forkguard.core.names import CommitHash, TreeHash, TreePath
from forkguard.errors import CouldNotWork, UsageProblem

_BRANCH = re.compile(r"forkguard/(?:candidate/)?[A-Za-z0-9][A-Za-z0-9._-]*")
_KEPT_REF = re.compile(r"refs/forkguard/[A-Za-z0-9][A-Za-z0-9._/-]*")
_LOCKED = re.compile(r"[Uu]nable to create '([^'\n]+\.lock)': File exists")
_PLAIN_CHECKOUT = (
    "core.autocrlf=false",
    "core.sparseCheckout=false",
    "core.safecrlf=false",
    "advice.detachedHead=false",
)


class Worktrees:
    """The fork's repository as far as forkguard writes to it; checkouts lie under `folder`.

    `verb` is the command that goes on with what a person decides, as errors name it.
    """

    def __init__(self, fork: GitRepository, folder: Path, *, verb: str = "forkguard port") -> None:
        self._fork = fork
        self._folder = folder
        self._verb = verb

    # -- refs ----------------------------------------------------------------------------------------

    def branch(self, name: str) -> CommitHash | None:
        """Where one of forkguard's branches points; None where it is not there."""
        return self._fork.refs(f"refs/heads/{_checked(name, _BRANCH)}").get(f"refs/heads/{name}")

    def set_branch(self, name: str, commit: CommitHash, *, before: CommitHash | None) -> None:
        """Point a `forkguard/…` branch at a commit, if it still points where it did (`before`; None: nowhere)."""
        old = before or "0" * len(commit)
        self._update(f"the branch {name}", f"refs/heads/{_checked(name, _BRANCH)}", commit, old)

    def _update(self, what: str, *words: str) -> None:
        """`git update-ref`. Raises `CouldNotWork` that names what is in the way."""
        status, _, err = self._fork.run("update-ref", "-m", "forkguard", *words, allowed=(0, 1, 128))
        if not status:
            return
        found = _LOCKED.search(err)
        if found:
            raise CouldNotWork(
                f"{what} is locked: a git is at work on it, or was killed while it wrote",
                where=found[1],
                hint=f"see that no git runs in {self._fork.path}, then  rm {shlex.quote(found[1])}  and try again",
            )
        said = err.strip().splitlines()[:1] or ["git failed"]
        raise CouldNotWork(
            f"{what} could not be written: {said[0]}",
            where=str(self._fork.path),
            hint=f"git -C {shlex.quote(str(self._fork.path))} for-each-ref refs/heads/forkguard refs/forkguard"
            "  shows what is in its way",
        )

    def keep(self, commit: CommitHash, ref: str) -> None:
        """Point a ref under `refs/forkguard/` at a commit of the fork's objects, so that git keeps it."""
        self._update(f"the ref {ref}", _checked(ref, _KEPT_REF), commit)

    def drop_branch(self, name: str, commit: CommitHash) -> None:
        """Delete a `forkguard/…` branch if it points at `commit`; a branch that somebody moved stays."""
        if self.branch(name) == commit:
            self._update(f"the branch {name}", "-d", f"refs/heads/{name}", commit)

    def fetch(self, source: Path, commit: CommitHash, ref: str) -> None:
        """Bring a commit of another clone into the fork's objects, kept by a ref under `refs/forkguard/`."""
        if self._fork.refs(_checked(ref, _KEPT_REF)).get(ref) == commit:
            return
        self._fork.run(
            "-c", "protocol.version=2", "-c", "fetch.writeCommitGraph=false", "-c", "fetch.prune=false",
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
            "--no-recurse-submodules", "--refmap=", "--end-of-options", str(source.resolve()), f"+{commit}:{ref}",
        )  # fmt: skip

    # -- checkouts -----------------------------------------------------------------------------------

    def place(self, name: str) -> Path:
        """Where the checkout of this name lies, whether it is there or not; no two forks share one."""
        return self._folder / f"forkguard-{name}-{zlib.crc32(os.fsencode(self._fork.git_dir)):08x}"

    def open(self, place: Path, *, head: CommitHash, merged: Merged) -> None:
        """Check out a conflicted merge on a detached HEAD: marked files in the folder, the sides in its index."""
        self.close(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        self._git("worktree", "add", "--quiet", "--detach", "--no-checkout", str(place), head)
        self._git("read-tree", merged.tree, at=place)
        self._git("checkout-index", "--index", "--all", "--force", "--quiet", at=place)
        gone = "0" * len(merged.tree)
        rows = [f"0 {gone}\t{path}" for path in merged.conflicted]
        rows += [f"{stage.mode} {stage.blob} {stage.number}\t{stage.path}" for stage in merged.stages]
        feed = "".join(f"{row}\0" for row in rows).encode("utf-8", "surrogateescape")
        self._git("update-index", "-z", "--index-info", stdin=feed, at=place)

    def close(self, place: Path) -> None:
        """Remove a checkout and git's record of it, however far its making got. Other worktrees are left alone."""
        if place.parent != self._folder:
            raise CouldNotWork("this is no checkout of forkguard's own", where=str(place))
        if place.is_symlink():
            place.unlink()
        elif place.exists():
            shutil.rmtree(place)
        records = self._fork.git_dir / "worktrees"
        for record in self._records(records, place):
            shutil.rmtree(record)
        with contextlib.suppress(OSError):
            records.rmdir()

    def _records(self, records: Path, place: Path) -> list[Path]:
        """git's folders for this checkout; one whose making was cut short may lack the file that names it."""
        found = []
        for record in records.iterdir() if records.is_dir() else ():
            named = record / "gitdir"
            target = named.read_text(errors="surrogateescape").strip() if named.is_file() else ""
            ours = (
                Path(target) == place / ".git"
                if target
                else re.fullmatch(f"{re.escape(place.name)}\\d*", record.name)
            )
            if ours:
                found.append(record)
        return found

    def resolved_tree(self, place: Path, conflicted: Sequence[TreePath], *, merged: TreeHash) -> TreeHash:
        """The tree that a person made of a conflicted checkout: tracked files, and what they added to its index.

        Raises `UsageProblem` where a conflict is not decided yet.
        """
        if not (place / ".git").is_file():
            raise CouldNotWork(
                "the worktree of this conflict is gone", where=str(place), hint=f"{self._verb} --abort"
            )
        unmerged = self._unmerged(place)
        for path in conflicted:
            self._check_decided(place, path, unmerged=path in unmerged, merged=merged)
        self._git("add", "--update", "--", ":/", at=place)
        return TreeHash(self._git("write-tree", at=place)[1].decode().strip())

    def _unmerged(self, place: Path) -> set[str]:
        _, out = self._git("ls-files", "-z", "--unmerged", "--full-name", at=place)
        return {row.split("\t", 1)[1] for row in out.decode("utf-8", "surrogateescape").split("\0")[:-1]}

    def _check_decided(self, place: Path, path: TreePath, *, unmerged: bool, merged: TreeHash) -> None:
        file = place / path
        content = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
        line = markers_left(content)
        if line is not None:
            raise UsageProblem(
                "conflict markers are left",
                where=f"{file}:{line}",
                hint=f"edit the file, then: {self._verb} --continue   (or: {self._verb} --abort)",
            )
        if unmerged and not self._was_marked(path, merged):
            there, name = shlex.quote(str(place)), shlex.quote(path)
            raise UsageProblem(
                f"{path} is not decided: it conflicts as a whole, without markers",
                where=str(file),
                hint=f"git -C {there} add -- {name}  to keep it as it lies there, or git -C {there} rm -- {name}; "
                f"then {self._verb} --continue",
            )

    def _was_marked(self, path: TreePath, merged: TreeHash) -> bool:
        status, out = self._git("cat-file", "blob", f"{merged}:{path}", allowed=(0, 128))
        return status == 0 and markers_left(out) is not None

    def _git(
        self, *words: str, at: Path | None = None, stdin: bytes | None = None, allowed: Sequence[int] = (0,)
    ) -> tuple[int, bytes]:
        """git in a checkout of ours: no filter of anybody runs, line ends stay as they are in the objects."""
        settings = [*_PLAIN_CHECKOUT, *self._no_filters()]
        options = [word for setting in settings for word in ("-c", setting)]
        status, out, _ = self._fork.run(*options, *words, stdin=stdin, allowed=allowed, cwd=at)
        return status, out

    def _no_filters(self) -> list[str]:
        status, out, _ = self._fork.run("config", "--name-only", "-z", "--get-regexp", r"^filter\.", allowed=(0, 1))
        keys = out.decode("utf-8", "surrogateescape").split("\0")[:-1] if status == 0 else []
        drivers = {key.rpartition(".")[0] for key in keys}
        return [
            f"{driver}.{key}={value}"
            for driver in sorted(drivers)
            for key, value in (("smudge", ""), ("clean", ""), ("process", ""), ("required", "false"))
        ]


class NoCheckouts(Worktrees):
    """For a run that must leave nothing behind: what the fork has is read, and fetched is nothing.

    The commits of another clone are seen through the repository's alternates.
    """

    def fetch(self, source: Path, commit: CommitHash, ref: str) -> None:
        """Nothing is fetched."""


def _checked(name: str, pattern: re.Pattern[str]) -> str:
    if not pattern.fullmatch(name) or ".." in name:
        raise UsageProblem(f"{name!r} is outside of what forkguard may write")
    return name
