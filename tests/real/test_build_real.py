"""A real llama-server is built in isolated trees; the second one compiles only what differs."""

import subprocess
from pathlib import Path

import platformdirs
import pytest

from forkguard.adapters.cmake import CMake
from forkguard.adapters.trees import TreeStore
from forkguard.core.build_profiles import choose_profile, tree_id
from forkguard.core.built_trees import Origin
from forkguard.core.names import CommitHash
from forkguard.workflows.build import BuiltTree, Workshop, build_tree
from tests.support.repos import GitFolder, frozen_environment
from tests.support.tiny_project import Listener

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600), pytest.mark.usefixtures("build_turn")]

CACHE = platformdirs.user_cache_path("forkguard", appauthor=False)
FILES = 300
"""Compiles of a llama-server build of those days, at least."""
ALWAYS_RUN = 1
"""Steps that run even when nothing is to be done: upstream's look for the web pages."""


def built(repository: Path, ref: str) -> BuiltTree:
    """Build a ref of a clone, in the trees of the user's cache (the first time takes a quarter of an hour)."""
    shop = Workshop(TreeStore(CACHE / "trees"), CMake(CACHE), {}, Listener())
    commit = CommitHash(GitFolder(repository).git("rev-parse", f"{ref}^{{commit}}"))
    return build_tree(shop, repository=repository, commit=commit)


def version(server: Path) -> str:
    done = subprocess.run([str(server), "--version"], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout + done.stderr


def forget(repository: Path, ref: str) -> None:
    """Remove a tree that an earlier run left."""
    trees, tools = TreeStore(CACHE / "trees"), CMake(CACHE)
    commit = CommitHash(GitFolder(repository).git("rev-parse", f"{ref}^{{commit}}"))
    trees.remove(tree_id(commit, choose_profile("cpu", {}, tools.machine())))


def test_a_second_tree_compiles_two_files_and_a_moved_clone_compiles_none(real_fork: Path, tmp_path: Path) -> None:
    before = GitFolder(real_fork).snapshot()
    first = built(real_fork, "b10531")
    forget(real_fork, "upstream/master~1")
    second = built(real_fork, "upstream/master~1")
    assert second.result.origin is Origin.NEW
    assert second.result.cached is not None
    assert second.result.cached >= FILES
    assert (second.result.compiled or 0) <= 4, "the two files, and the two that hold the commit's id"
    for tree in (first, second):
        assert tree.commit[:7] in version(tree.server)
    assert GitFolder(real_fork).snapshot() == before

    stamp = second.server.stat().st_mtime_ns
    moved = real_fork.rename(tmp_path / "moved")
    again = built(moved, "upstream/master~1")
    assert (again.result.origin, again.result.steps) == (Origin.REATTACHED, ALWAYS_RUN)

    other = tmp_path / "another"
    subprocess.run(
        ["git", "clone", "-q", "--mirror", str(moved), str(other)], env=frozen_environment(), check=True, timeout=300
    )
    once_more = built(other, str(second.commit))
    assert (once_more.result.origin, once_more.result.steps) == (Origin.REATTACHED, ALWAYS_RUN)
    assert once_more.server.stat().st_mtime_ns == stamp
