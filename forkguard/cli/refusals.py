"""Clones and folders that forkguard does not work with, each refused with the next command to type."""

import contextlib
from pathlib import Path

from forkguard.adapters.git import GitRepository
from forkguard.errors import CouldNotWork, UsageProblem

SIGNS_OF_LLAMA = ("src/llama-arch.cpp", "src/llama-arch.h", "src/llama.cpp", "llama.cpp")
"""A tree with one of these is llama.cpp's."""


def refuse_inside_any(folder: Path) -> None:
    """A beginner runs `init` in the clone itself: say where else. What is no llama.cpp clone is no fork."""
    with contextlib.suppress(CouldNotWork), GitRepository(folder) as repo:
        if repo.work_tree is not None and any((repo.work_tree / sign).exists() for sign in SIGNS_OF_LLAMA):
            refuse_inside_fork(folder, repo)


def refuse_inside_fork(folder: Path, repo: GitRepository) -> None:
    """Raise `UsageProblem` where the folder lies in the fork's own work tree, which forkguard never writes to."""
    work_tree = repo.work_tree
    if work_tree is None or not folder.resolve().is_relative_to(work_tree):
        return
    sibling = work_tree.with_name(f"{work_tree.name}-forkguard")
    raise UsageProblem(
        "this folder is inside the fork's own work tree, which forkguard leaves alone",
        where=str(folder),
        hint=f"mkdir -p {sibling} && cd {sibling}  then again, with --fork {work_tree}",
    )


def refuse_shallow(repo: GitRepository) -> None:
    """Raise `CouldNotWork` for a clone whose history was cut."""
    if repo.is_shallow():
        raise CouldNotWork(
            "this clone is shallow: the history that tells who brought what is cut off",
            where=str(repo.path),
            hint=f"git -C {repo.path} fetch --unshallow",
        )
