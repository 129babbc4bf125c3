"""Clones and folders that forkguard does not work with, each refused with the next command to type."""

import contextlib
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from forkguard.adapters.git import GitRepository
from forkguard.errors import CouldNotWork, UsageProblem

SIGNS_OF_LLAMA = ("src/llama-arch.cpp", "src/llama-arch.h", "src/llama.cpp", "llama.cpp")
"""A tree with one of these is llama.cpp's."""

_WRITTEN = (".forkguard", "patchsets", "resolutions")
_LEVELS = 2
"""How deep links are looked for: `receipts/<run>`, `nightly/<night>`, `patchsets/<name>/<file>`."""


def refuse_inside_any(folder: Path) -> None:
    """A beginner runs `init` in the clone itself: say where else. What is no llama.cpp clone is no fork."""
    with contextlib.suppress(CouldNotWork), GitRepository(folder) as repo:
        if repo.work_tree is not None and any((repo.work_tree / sign).exists() for sign in SIGNS_OF_LLAMA):
            refuse_inside_fork(folder, repo)


def refuse_inside_fork(folder: Path, repo: GitRepository) -> None:
    """Raise `UsageProblem` where the folder lies in the fork's own work tree or git folder; links are followed."""
    if not _is_inside(folder, repo):
        return
    sibling = _root_of(repo).with_name(f"{_root_of(repo).name}-forkguard")
    raise UsageProblem(
        "this folder is inside the fork's own work tree, which forkguard leaves alone",
        where=str(folder),
        hint=f"mkdir -p {shlex.quote(str(sibling))} && cd {shlex.quote(str(sibling))}  then again, "
        f"with --fork {shlex.quote(str(_root_of(repo)))}",
    )


def refuse_links_into_fork(root: Path, repo: GitRepository) -> None:
    """Raise `UsageProblem` where a link in forkguard's folders beside the map (in `root`) leads into the fork.

    forkguard writes a few levels deep in them. A link that dangles counts by its target.
    """
    for folder in (root / name for name in _WRITTEN):
        inside = (path for depth in range(1, _LEVELS + 1) for path in folder.glob("*/" * (depth - 1) + "*"))
        for path in (folder, *inside):
            if path.is_symlink() and _is_inside(path, repo):
                raise UsageProblem(
                    "this link leads into the fork, which forkguard leaves alone",
                    where=f"{path} -> {path.resolve()}",
                    hint=f"rm {shlex.quote(str(path))}  removes the link; what it leads to stays",
                )


def refuse_cache_inside_fork(folders: Iterable[Path], repo: GitRepository) -> None:
    """Raise `UsageProblem` where the folder of caches or trees lies in the fork."""
    for folder in folders:
        if _is_inside(folder, repo):
            raise UsageProblem(
                "the folder of caches or trees is inside the fork, which forkguard leaves alone",
                where=str(folder),
                hint="name another with `cache` or `trees` in [defaults] of the map, or set XDG_CACHE_HOME",
            )


def _is_inside(folder: Path, repo: GitRepository) -> bool:
    place = Path(os.path.realpath(folder))  # Path.resolve() raises where links lead round in a circle
    return any(place.is_relative_to(root) for root in (repo.work_tree, repo.git_dir) if root is not None)


def _root_of(repo: GitRepository) -> Path:
    return repo.work_tree or repo.git_dir


def refuse_shallow(repo: GitRepository) -> None:
    """Raise `CouldNotWork` for a clone whose history was cut."""
    if repo.is_shallow():
        raise CouldNotWork(
            "this clone is shallow: the history that tells who brought what is cut off",
            where=str(repo.path),
            hint=f"git -C {shlex.quote(str(repo.path))} fetch --unshallow",
        )
