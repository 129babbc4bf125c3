"""The made-up history tells the story that the real one tells."""

import shutil
import subprocess
from pathlib import Path

import pytest

from forkguard.adapters.archive_members import members
from forkguard.adapters.git import GitRepository
from forkguard.adapters.snapshots import make_upstream
from forkguard.errors import CouldNotWork
from tests.support.real_sources import ARCH, GRAPH, MOVED_GRAPH, VARIANTS, RealSources

pytestmark = pytest.mark.real


def git(repository: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, check=True).stdout


def test_the_upstream_history_is_three_commits_and_the_middle_one_is_the_pull_request(
    real_sources: RealSources,
) -> None:
    log = git(real_sources.upstream, "log", "--format=%s|%D|%aI", "master").splitlines()
    assert log == [
        "b10549|HEAD -> master, tag: b10549|2026-08-21T12:00:00+00:00",
        "spec : support DSpark for LFM2 models (#27383)||2026-08-21T09:00:00+00:00",
        "b10531|tag: b10531|2026-08-20T12:00:00+00:00",
    ]
    changed = git(real_sources.upstream, "diff-tree", "--name-only", "-r", "--no-commit-id", "master~1")
    assert changed.splitlines() == [ARCH, GRAPH]


def test_the_trees_are_upstreams_own(real_sources: RealSources) -> None:
    assert (
        git(real_sources.upstream, "rev-parse", "b10531^{tree}").strip() == "07e8b11068cd28dbb0a782dcf60f55131b21233c"
    )


def test_commit_ids_are_the_same_on_every_machine(real_sources: RealSources) -> None:
    assert git(real_sources.upstream, "rev-parse", "master").strip() == "0c6dd0f82392f38b7b8a99e75811488629af161f"
    assert git(real_sources.fork, "rev-parse", "production").strip() == "6e425eb41a74a50303b85764a2981940613b9f49"


def test_the_fork_is_two_commits_ahead_and_clean(real_sources: RealSources) -> None:
    ahead = git(real_sources.fork, "rev-list", "--left-right", "--count", "production...upstream/master").split()
    assert ahead == ["2", "2"]
    assert git(real_sources.fork, "status", "--porcelain") == ""
    assert git(real_sources.fork, "diff", "--name-only", "b10531", "production").split() == ["FORK.md", "README.md"]
    with GitRepository(real_sources.fork) as repository:
        assert repository.remotes() == {"upstream": str(real_sources.upstream)}


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_a_variant_changes_only_the_two_files(real_sources: RealSources, variant: str) -> None:
    changed = git(real_sources.fork, "diff", "--name-only", "--no-renames", "production", variant).split()
    assert changed
    assert set(changed) <= {ARCH, GRAPH, MOVED_GRAPH}


def test_pieces_of_the_pull_request_are_small(real_sources: RealSources) -> None:
    stat = git(real_sources.fork, "diff", "--numstat", "production", "line-and-registry")
    assert stat.split() == ["2", "0", ARCH, "2", "0", GRAPH]


def test_the_squashed_history_shares_nothing_with_upstream(real_sources: RealSources) -> None:
    assert git(real_sources.fork, "rev-list", "--count", "squashed").strip() == "1"
    assert git(real_sources.fork, "diff", "--name-only", "production", "squashed") == ""


def test_a_history_that_fails_half_way_leaves_nothing(tmp_path: Path, real_archives: tuple[Path, Path]) -> None:
    older, _ = real_archives
    broken = tmp_path / "broken.tar.gz"
    shutil.copy(older, broken)
    with broken.open("r+b") as stream:
        stream.truncate(1_000_000)
    with pytest.raises(CouldNotWork, match="cannot be read"):
        make_upstream(tmp_path / "made" / "upstream.git", older=members(broken), newer=members(older))
    assert list((tmp_path / "made").iterdir()) == []
