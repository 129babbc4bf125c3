"""ccache's remote storage, with a real Redis on loopback: a second box compiles nothing that the first one has."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkguard.adapters.server import free_port
from forkguard.core.map_models import BuildTable
from forkguard.core.names import CommitHash
from forkguard.workflows.build import BuiltTree, build_tree
from tests.support.programs import BUILDING
from tests.support.tiny_project import says, tiny_fork, workshop

pytestmark = [pytest.mark.full, pytest.mark.needs("redis-server", "ccache", *BUILDING)]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """The URL of a Redis of the test's own, which keeps nothing on disk."""
    port = free_port()
    words = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        try:
            assert child.stdout is not None
            assert any(b"Ready to accept connections" in line for line in child.stdout), "redis-server ended"
            yield f"redis://127.0.0.1:{port}"
        finally:
            child.terminate()


def build(box: Path, repository: Path, commit: str, *, profiles: dict[str, BuildTable]) -> BuiltTree:
    """Build on a machine whose caches are in `box`."""
    shop, _ = workshop(box, profiles=profiles)
    return build_tree(shop, repository=repository, commit=CommitHash(commit), profile="cpu")


@pytest.mark.parametrize("place", ["map", "shell"])
def test_a_second_box_takes_all_compiles_from_redis(
    tmp_path: Path, redis: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    profiles = {"cpu": BuildTable(env={"CCACHE_REMOTE_STORAGE": redis})} if place == "map" else {}
    if place == "shell":
        monkeypatch.setenv("CCACHE_REMOTE_STORAGE", redis)
    first = build(tmp_path / "one", fork.path, commit, profiles=profiles)
    compiled = first.result.compiled
    assert compiled is not None
    assert (first.result.cached, compiled > 5) == (0, True)
    second = build(tmp_path / "two" / "elsewhere", fork.path, commit, profiles=profiles)
    assert (second.result.cached, second.result.compiled) == (compiled, 0)
    assert says(second.server) == says(first.server)


def test_a_remote_that_is_gone_stops_no_build(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    table = BuildTable(env={"CCACHE_REMOTE_STORAGE": f"redis://127.0.0.1:{free_port()}"})
    built = build(tmp_path / "one", fork.path, commit, profiles={"cpu": table})
    assert (built.result.cached, os.access(built.server, os.X_OK)) == (0, True)
