"""The isolated trees: `<root>/<id>/src`, a detached worktree of the fork's repository, beside `<id>/build`.

The repository may move or go; its worktrees then refuse to work. `attach` ties the same sources to the clone
at hand again, without touching a file whose content is right, so that the build beside them stays good.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from forkguard.adapters.files import locked, write_atomic
from forkguard.adapters.git import GitRepository
from forkguard.core.built_trees import Checkout, Origin, TreeInfo
from forkguard.core.names import CommitHash
from forkguard.errors import CouldNotWork, ForkguardError

SOURCES = "src"
BUILD = "build"
_RECORD = "tree.json"
_TREE_NAME = re.compile(r"[0-9a-f]{12}-[^/]+-[0-9a-f]{10}")
_NEEDED_BYTES = 1 << 30
"""Free space that a new tree must find: a Release build of llama-server and its sources take about 0.3 GiB."""


class TreeStore:
    """The trees below one folder. Every change of a tree is made under its `lock`.

    The folder may hold other things; what is not named like a tree is neither listed nor removed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()  # as git writes places down: without symbolic links

    def path(self, tree_id: str) -> Path:
        """The folder of a tree, whether it is there or not."""
        return self.root / tree_id

    @contextlib.contextmanager
    def lock(self, tree_id: str, *, purpose: str) -> Iterator[None]:
        """Hold the tree. Raises `CouldNotWork` saying who holds it, or that the trees' folder cannot be written."""
        self._make(self.root)
        with locked(self._lock_path(tree_id), purpose=purpose):
            yield

    def _lock_path(self, tree_id: str) -> Path:
        return self.root / f".{tree_id}.lock"

    # -- sources -------------------------------------------------------------------------------------

    def attach(self, repository: Path, tree_id: str, commit: CommitHash, *, profile: str) -> Origin:
        """Have `<id>/src` hold exactly `commit`, as a detached worktree of the repository.

        Nothing of the repository changes but its list of worktrees. Raises `CouldNotWork` for a disk that is
        full, and what git raises.
        """
        tree = self.path(tree_id)
        sources = tree / SOURCES
        fresh = not sources.is_dir()
        self._make(tree)
        if fresh:
            self._require_space()
        self._record(tree_id, commit=commit, profile=profile, repository=str(repository))
        with GitRepository(repository) as repo:
            quiet = _without_filters(repo)
            if fresh:
                repo.run(*quiet, "worktree", "add", "--detach", "--force", "--force", str(sources), commit)
                return Origin.NEW
            origin = Origin.KEPT
            if not _belongs(repo, sources):
                _tie(repo, quiet, sources, commit)
                origin = Origin.REATTACHED
            _restore(repo, quiet, sources, commit)
            return origin

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CouldNotWork(
                f"cannot make this folder: {error.strerror or error}",
                where=str(folder),
                hint="name another folder in [defaults] trees of the map",
            ) from error

    def _require_space(self) -> None:
        free = shutil.disk_usage(self.root).free
        if free < _NEEDED_BYTES:
            raise CouldNotWork(
                f"only {free >> 20} MiB are free here, and a tree needs about {_NEEDED_BYTES >> 20}",
                where=str(self.root),
                hint="forkguard build --prune --keep 2  (or name another folder in [defaults] trees)",
            )

    # -- records -------------------------------------------------------------------------------------

    def _record(self, tree_id: str, *, commit: str, profile: str, repository: str) -> None:
        about = {**self._read(tree_id), "commit": commit, "profile": profile, "repository": repository}
        self._write(tree_id, {**about, "used": time.time(), "built": False})

    def mark_built(self, tree_id: str) -> None:
        """Note that the tree's last build ended well."""
        self._write(tree_id, {**self._read(tree_id), "used": time.time(), "built": True})

    def _write(self, tree_id: str, about: dict[str, object]) -> None:
        write_atomic(self.path(tree_id) / _RECORD, json.dumps(about, indent=2) + "\n")

    def _read(self, tree_id: str) -> dict[str, object]:
        with contextlib.suppress(OSError, ValueError):
            about = json.loads((self.path(tree_id) / _RECORD).read_text(encoding="utf-8"))
            if isinstance(about, dict):
                return about
        return {}

    def trees(self) -> tuple[TreeInfo, ...]:
        """Every tree, by its id."""
        if not self.root.is_dir():
            return ()
        folders = (entry.name for entry in os.scandir(self.root) if entry.is_dir(follow_symlinks=False))
        return tuple(self._info(name) for name in sorted(folders) if _TREE_NAME.fullmatch(name))

    def _info(self, tree_id: str) -> TreeInfo:
        tree = self.path(tree_id)
        about = self._read(tree_id)
        used = about.get("used")
        return TreeInfo(
            id=tree_id,
            path=str(tree),
            commit=str(about.get("commit", "")),
            profile=str(about.get("profile", "")),
            repository=str(about.get("repository", "")),
            size=_size(tree),
            used=float(used) if isinstance(used, int | float) else tree.stat().st_mtime,
            checkout=_checkout(tree / SOURCES),
            built=about.get("built") is True,
            holder=self._holder(tree_id),
        )

    def _holder(self, tree_id: str) -> str:
        lock = self._lock_path(tree_id)
        if not lock.with_name(lock.name + ".holder").exists():
            return ""
        try:
            with self.lock(tree_id, purpose="looking at the trees"):
                return ""
        except CouldNotWork as busy:
            return busy.what

    # -- removal -------------------------------------------------------------------------------------

    def remove(self, tree_id: str) -> None:
        """Remove a tree, and its entry in the repository's list of worktrees. Run again after a kill, it goes on."""
        tree = self.path(tree_id)
        sources = tree / SOURCES
        shutil.rmtree(tree / BUILD, ignore_errors=True)
        admin = _admin_folder(sources)
        if admin is not None and _points_at(admin, sources):
            with contextlib.suppress(ForkguardError), GitRepository(sources) as repo:
                repo.run("worktree", "remove", "--force", "--force", str(sources), cwd=repo.git_dir)
        shutil.rmtree(tree, ignore_errors=True)
        if tree.exists():
            raise CouldNotWork("cannot remove this tree", where=str(tree), hint=f"rm -r {shlex.quote(str(tree))}")


def _without_filters(repo: GitRepository) -> list[str]:
    """Git options that turn off whatever could change the files of a checkout: filters, line ends, sparseness."""
    status, out, _ = repo.run("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.", allowed=(0, 1))
    keys = out.decode("utf-8", "surrogateescape").split("\0") if status == 0 else []
    names = sorted({key[len("filter.") : key.rindex(".")] for key in keys if key.count(".") >= 2})
    settings = ["core.autocrlf=false", "core.eol=lf", "core.sparseCheckout=false", "core.symlinks=true"]
    for name in names:
        settings += [f"filter.{name}.{key}=" for key in ("smudge", "clean", "process")]
        settings.append(f"filter.{name}.required=false")
    return [word for setting in settings for word in ("-c", setting)]


def _admin_folder(sources: Path) -> Path | None:
    """The folder in the repository that a worktree's `.git` file names; None where it is not there, or not whole."""
    try:
        text = (sources / ".git").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    folder = Path(text.removeprefix("gitdir:").strip())
    return folder if text.startswith("gitdir:") and _is_whole(folder) else None


def _is_whole(admin: Path) -> bool:
    """Whether git came to the end of making an entry; one that was killed leaves it without these."""
    return (admin / "HEAD").is_file() and (admin / "commondir").is_file()


def _points_at(admin: Path, sources: Path) -> bool:
    """Whether the repository's entry knows the worktree at this place, and the repository itself is there."""
    try:
        known = (admin / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return False
    return Path(known) == sources / ".git" and (admin.parent.parent / "objects").is_dir()


def _checkout(sources: Path) -> Checkout:
    if not sources.is_dir():
        return Checkout.MISSING
    admin = _admin_folder(sources)
    return Checkout.ATTACHED if admin is not None and _points_at(admin, sources) else Checkout.DETACHED


def _belongs(repo: GitRepository, sources: Path) -> bool:
    admin = _admin_folder(sources)
    return admin is not None and admin.resolve().parent.parent == repo.git_dir and _points_at(admin, sources)


def _tie(repo: GitRepository, quiet: list[str], sources: Path, commit: CommitHash) -> None:
    """Make `sources` a worktree of `repo`, leaving its files alone.

    A repository that moved still has the entry; the sources alone have lost their way to it. An entry whose making
    was cut off goes. Otherwise, as git adds worktrees at empty places only, one is added beside, without files, and
    its `.git` file moved over. The index then learns what the files hold, so that right ones are not written again.
    """
    for entry in sorted((repo.git_dir / "worktrees").glob("*")):
        if _points_at(entry, sources):
            if _is_whole(entry):
                write_atomic(sources / ".git", f"gitdir: {entry}\n")
                return
            shutil.rmtree(entry)
    beside = sources.with_name("src.new")
    shutil.rmtree(beside, ignore_errors=True)
    repo.run(*quiet, "worktree", "add", "--detach", "--no-checkout", "--force", "--force", str(beside), commit)
    (beside / ".git").replace(sources / ".git")
    shutil.rmtree(beside)
    repo.run("worktree", "repair", str(sources))
    repo.run(*quiet, "read-tree", commit, cwd=sources)
    repo.run(*quiet, "update-index", "-q", "--refresh", cwd=sources, allowed=(0, 1))


def _restore(repo: GitRepository, quiet: list[str], sources: Path, commit: CommitHash) -> None:
    """Undo what a kill in the middle of a checkout, or a hand in the tree, changed. Right files keep their times."""
    admin = _admin_folder(sources)
    if admin is not None:
        (admin / "index.lock").unlink(missing_ok=True)
    repo.run(*quiet, "checkout", "--quiet", "--force", "--detach", commit, cwd=sources)
    repo.run(*quiet, "clean", "-ffdxq", cwd=sources)


def _size(folder: Path) -> int:
    """Bytes on disk below a folder; what goes away meanwhile counts nothing."""
    total = 0
    pending = [str(folder)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total
