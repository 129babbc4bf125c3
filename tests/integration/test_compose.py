"""Wiring: which map, which fork, which folders."""

import os
from pathlib import Path

import pytest

from forkguard.cli.compose import open_project
from forkguard.errors import UsageProblem
from tests.support.repos import MiniHistory

MAP = '[fork]\npath = "../fork"\n\n[upstream]\nremote = "upstream"\nref = "upstream/master"\n'


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "desk"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "upstream-map.toml").write_text(MAP)
    monkeypatch.chdir(folder)
    return folder


def test_the_nearest_map_at_or_above_is_taken(
    desk: Path, history: MiniHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk / "deep/er")
    with open_project() as project:
        assert project.root == desk
        assert project.fork_repo.work_tree == history.fork.path
        assert (project.fork.ref, project.fork.commit) == ("production", history.own[1])
        assert (project.upstream.ref, project.upstream.commit) == ("upstream/master", history.tip)
        assert project.upstream_repo is project.fork_repo


def test_the_option_wins_over_the_variable_and_that_over_the_map(
    desk: Path, history: MiniHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "upstream-map.toml").write_text(MAP.replace("../fork", "../nowhere"))
    monkeypatch.setenv("FORKGUARD_FORK", "../fork")
    with open_project() as project:
        assert project.fork_repo.work_tree == history.fork.path
    monkeypatch.setenv("FORKGUARD_FORK", "../nowhere-either")
    with open_project(fork=Path("../fork"), fork_ref=history.base) as project:
        assert project.fork.commit == history.base


def test_a_map_elsewhere_names_its_fork_from_where_it_is(desk: Path, tmp_path: Path, history: MiniHistory) -> None:
    os.chdir(tmp_path)
    with open_project(map_file=Path("desk/upstream-map.toml")) as project:
        assert project.map_path == desk / "upstream-map.toml"
        assert project.fork_repo.work_tree == history.fork.path


def test_a_detached_head_stands_for_itself(desk: Path, history: MiniHistory) -> None:
    history.fork.git("checkout", "-q", "--detach", history.base)
    with open_project() as project:
        assert (project.fork.ref, project.fork.commit) == ("HEAD", history.base)


def test_a_folder_below_the_forks_top_is_the_same_fork(desk: Path, history: MiniHistory) -> None:
    with open_project(fork=Path("../fork/src/models")) as project:
        assert project.fork_repo.work_tree == history.fork.path
        assert "src/llama-arch.cpp" in project.fork_repo.tree(project.fork.commit)
        assert len(project.fork_repo.history([project.fork.commit], paths=["src/models/otter.cpp"])) == 2


def test_the_fork_sees_the_objects_of_another_clone(desk: Path, history: MiniHistory) -> None:
    new = history.upstream.commit("never fetched (#207)", {"README.md": "later\n"})
    (desk / "upstream-map.toml").write_text(
        '[fork]\npath = "../fork"\n[upstream]\npath = "../upstream"\nref = "master"\n'
    )
    with open_project() as project:
        assert project.upstream.commit == new
        assert project.upstream_repo is not project.fork_repo
        assert project.fork_repo.commits([project.upstream.commit])[project.upstream.commit].pull == 207
        assert project.fork_repo.merge_base(project.fork.commit, project.upstream.commit) == history.base


def test_the_state_folder_is_made_when_it_is_needed(desk: Path, history: MiniHistory) -> None:
    with open_project() as project:
        assert project.state == desk / ".forkguard"
        assert not project.state.exists()
        assert project.state_folder() == project.state
        assert (project.state / ".gitignore").read_text() == "*\n"


def test_nothing_is_made_in_the_forks_work_tree(history: MiniHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = history.fork.path
    (fork / "upstream-map.toml").write_text(MAP.replace("../fork", "."))
    before = history.fork.snapshot()
    with open_project(map_file=fork / "upstream-map.toml") as project:
        assert project.fork.commit == history.own[1]
        with pytest.raises(UsageProblem, match="inside the fork's own work tree") as caught:
            project.state_folder()
    assert f"{fork}-forkguard" in caught.value.hint
    assert history.fork.snapshot() == before


def test_caches_are_the_users_unless_the_map_names_others(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(desk / "xdg"))
    with open_project() as project:
        assert (project.cache, project.trees) == (desk / "xdg/forkguard", desk / "xdg/forkguard/trees")
    (desk / "upstream-map.toml").write_text(MAP + '[defaults]\ncache = "../c"\ntrees = "/big/trees"\n')
    with open_project() as project:
        assert (project.cache, project.trees) == (desk.parent / "c", Path("/big/trees"))
