"""`forkguard init`, whole: what it finds, what it writes, and what it refuses."""

from pathlib import Path

import pytest

from forkguard.core.mapfile import UpstreamMap, parse_map
from tests.support import mini_llama
from tests.support.commands import forkguard
from tests.support.repos import GitFolder, MiniHistory, clone, new_repository

USAGE, COULD_NOT = 2, 3


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    return folder


def written(desk: Path) -> UpstreamMap:
    path = desk / "upstream-map.toml"
    return parse_map(path.read_text(), name=path.name)


def test_a_fork_gets_a_map_that_status_can_use(desk: Path, history: MiniHistory) -> None:
    before = history.fork.snapshot()
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == 0, outcome.err
    assert outcome.out == f"wrote {desk}/upstream-map.toml\nnext: forkguard drift --arch otter\n"
    read = written(desk)
    assert (read.fork.path, read.fork.ref) == ("../fork", "production")
    assert (read.upstream.remote, read.upstream.ref) == ("upstream", "upstream/master")
    assert list(read.arch) == ["otter"]
    assert "fork: production at " + history.own[1][:12] in outcome.err
    assert "upstream: upstream/master at " + history.tip[:12] in outcome.err
    assert "archs: 4 in the fork, 4 upstream" in outcome.err
    assert "otter: the fork changed src/models/otter.cpp since its base" in outcome.err
    assert forkguard("status", cwd=desk).status == 0
    assert history.fork.snapshot() == before


def test_named_archs_bring_those_of_the_same_graph(desk: Path, history: MiniHistory) -> None:
    outcome = forkguard("init", "--fork", "../fork", "--arch", "heronmoe", cwd=desk)
    assert outcome.status == 0, outcome.err
    read = written(desk)
    assert list(read.arch) == ["otter", "heron", "heronmoe"]
    assert read.arch["heronmoe"].graph == "heron"
    assert "src/llama-arch.cpp:llm_arch_supports_rs_rollback" in read.arch["heron"].registries
    assert "forkguard drift --arch heronmoe" in outcome.out


def test_an_arch_that_only_upstream_has_can_be_named(desk: Path, history: MiniHistory) -> None:
    names = (*mini_llama.ARCHS, "wren")
    history.upstream.commit(
        "wren : a new arch (#301)",
        {
            "src/llama-arch.h": mini_llama.arch_header(names),
            "src/llama-arch.cpp": mini_llama.arch_source(names=names),
        },
    )
    history.fork.git("fetch", "-q", "upstream")
    outcome = forkguard("init", "--fork", "../fork", "--arch", "wren", cwd=desk)
    assert outcome.status == 0, outcome.err
    assert written(desk).arch["wren"].enum == "LLM_ARCH_WREN"
    assert "wren: named with --arch; upstream has it, the fork does not" in outcome.err


def test_an_unknown_arch_is_refused_with_the_near_ones(desk: Path, history: MiniHistory) -> None:
    outcome = forkguard("init", "--fork", "../fork", "--arch", "herno", cwd=desk)
    assert outcome.status == USAGE
    what, _, following = outcome.told()
    assert what == "neither the fork nor upstream has an arch named herno"
    assert following == "did you mean heron or heronmoe?"
    assert not (desk / "upstream-map.toml").exists()


def test_trees_are_read_at_the_commit_never_from_the_work_tree(desk: Path, history: MiniHistory) -> None:
    for path in history.fork.path.glob("src/**/*.cpp"):
        path.write_text("nothing of it\n")
    assert forkguard("init", "--fork", "../fork", "--arch", "heron", cwd=desk).status == 0
    assert written(desk).arch["heron"].enum == "LLM_ARCH_HERON"


def test_a_map_is_not_written_over(desk: Path, history: MiniHistory) -> None:
    (desk / "upstream-map.toml").write_text("# mine\n")
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == USAGE
    assert outcome.told() == (
        "there is a map already",
        f"{desk}/upstream-map.toml",
        "edit it, or write a new one with forkguard init --force",
    )
    assert (desk / "upstream-map.toml").read_text() == "# mine\n"
    assert forkguard("init", "--fork", "../fork", "--force", cwd=desk).status == 0
    assert list(written(desk).arch) == ["otter"]


@pytest.mark.parametrize("inside", [".", "src/models"])
def test_a_folder_inside_the_fork_is_refused_with_a_sibling(inside: str, history: MiniHistory) -> None:
    fork = history.fork.path
    before = history.fork.snapshot()
    outcome = forkguard("init", "--fork", fork, cwd=fork / inside)
    assert outcome.status == USAGE
    what, where, following = outcome.told()
    assert what == "this folder is inside the fork's own work tree, which forkguard leaves alone"
    assert where == str((fork / inside).resolve())
    assert following.startswith(f"mkdir -p {fork}-forkguard && cd {fork}-forkguard")
    assert history.fork.snapshot() == before


def test_the_fork_can_come_from_the_environment(
    desk: Path, history: MiniHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = forkguard("init", cwd=desk)
    assert outcome.status == USAGE
    assert outcome.told()[0] == "no fork is named"
    monkeypatch.setenv("FORKGUARD_FORK", str(history.fork.path))
    assert forkguard("init", cwd=desk).status == 0
    assert written(desk).fork.path == "../fork"


def test_another_clone_can_be_upstream(desk: Path, history: MiniHistory) -> None:
    history.fork.git("remote", "remove", "upstream")
    outcome = forkguard("init", "--fork", "../fork", "--upstream", "../upstream", cwd=desk)
    assert outcome.status == 0, outcome.err
    read = written(desk)
    assert (read.upstream.remote, read.upstream.path, read.upstream.ref) == (None, "../upstream", "master")
    history.upstream.commit("later, and never fetched (#207)", {"README.md": "later\n"})
    status = forkguard("status", cwd=desk)
    assert "4 commits behind, 2 ahead" in status.out, status.err


def test_neither_a_remote_nor_a_folder(desk: Path, history: MiniHistory) -> None:
    outcome = forkguard("init", "--fork", "../fork", "--upstream", "upstraem", cwd=desk)
    assert outcome.status == USAGE
    assert outcome.told() == (
        "upstraem is neither a remote of the fork nor a folder", "--upstream", "the remotes are: upstream",
    )  # fmt: skip


def test_an_address_names_the_remote_that_fetches_from_there(desk: Path, history: MiniHistory) -> None:
    address = f"file://{history.upstream.path}"
    history.fork.git("remote", "set-url", "upstream", f"{address}.git")
    outcome = forkguard("init", "--fork", "../fork", "--upstream", address, cwd=desk)
    assert outcome.status == 0, outcome.err
    assert written(desk).upstream.remote == "upstream"


def test_an_address_that_no_remote_has_is_to_be_added_without_the_token_in_it(
    desk: Path, history: MiniHistory
) -> None:
    outcome = forkguard(
        "init", "--fork", "../fork", "--upstream", "https://me:s3cret@example.invalid/x.git", cwd=desk
    )
    assert outcome.status == USAGE
    add = f"git -C {history.fork.path} remote add -f llama-upstream https://example.invalid/x.git"
    assert outcome.told() == (
        "no remote of the fork fetches from https://example.invalid/x.git",
        "--upstream",
        f"{add}  then again, with --upstream llama-upstream",
    )


def test_no_remote_at_all(desk: Path, history: MiniHistory) -> None:
    history.fork.git("remote", "remove", "upstream")
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == COULD_NOT
    what, where, following = outcome.told()
    assert (what, where) == ("the fork has no upstream remote", str(history.fork.path))
    assert following.startswith(f"git -C {history.fork.path} remote add -f upstream ")


def test_a_remote_that_is_the_forks_own_is_not_upstream(desk: Path, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("remote", "rename", "upstream", "origin")
    fork.git("update-ref", "refs/remotes/origin/production", "production")
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == COULD_NOT
    assert outcome.told()[0] == "none of the fork's remotes (origin) is clearly its upstream"


def test_a_remote_that_is_not_fetched(desk: Path, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("remote", "remove", "upstream")
    fork.git("remote", "add", "upstream", f"file://{history.upstream.path}")
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == COULD_NOT
    assert outcome.told() == (
        "the remote upstream is not fetched yet", str(fork.path), f"git -C {fork.path} fetch upstream",
    )  # fmt: skip


def test_a_token_in_a_remotes_url_is_never_shown(desk: Path, history: MiniHistory) -> None:
    history.fork.git("remote", "set-url", "upstream", "https://ada:hunter2@forge.example/llama.cpp")
    outcome = forkguard("init", "--fork", "../fork", "-v", cwd=desk)
    assert outcome.status == 0, outcome.err
    text = (desk / "upstream-map.toml").read_text()
    for shown in (outcome.out, outcome.err, text):
        assert "hunter2" not in shown
    assert "https://forge.example/llama.cpp" in text


def test_a_detached_head_asks_for_the_branch(desk: Path, history: MiniHistory) -> None:
    history.fork.git("checkout", "-q", "--detach")
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == USAGE
    assert outcome.told()[2] == "name it with --fork-ref REF"
    assert forkguard("init", "--fork", "../fork", "--fork-ref", "production", cwd=desk).status == 0
    assert written(desk).fork.ref == "production"


def squashed(history: MiniHistory) -> GitFolder:
    """The fork's tree as one commit without a history, in a repository that has upstream's objects."""
    fork = history.fork
    tree = fork.git("rev-parse", "production^{tree}")
    fork.git("update-ref", "refs/heads/production", fork.git("commit-tree", tree, "-m", "ours"))
    return fork


def test_a_squashed_fork_is_compared_with_the_base_that_its_content_has(desk: Path, history: MiniHistory) -> None:
    squashed(history)
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == 0, outcome.err
    assert f"base: {history.base[:12]} (by content)" in outcome.err
    assert list(written(desk).arch) == ["otter"]


def test_a_bare_fork_works(desk: Path, history: MiniHistory, tmp_path: Path) -> None:
    bare = clone(history.fork, tmp_path / "bare.git", "--bare", "--branch=production", remote="origin")
    bare.git("remote", "add", "upstream", f"file://{history.upstream.path}")
    bare.git("fetch", "-q", "upstream")
    outcome = forkguard("init", "--fork", "../bare.git", cwd=desk)
    assert outcome.status == 0, outcome.err
    assert written(desk).fork.ref == "production"


def test_a_fork_that_changed_every_arch_is_asked_to_choose(desk: Path, history: MiniHistory) -> None:
    names = tuple(f"bird{number}" for number in range(13))
    files = {f"src/models/{name}.cpp": mini_llama.graph_source(name, layer_input=True) for name in names}
    cases = "".join(
        f"        case {mini_llama.enum_of(name)}:\n            return new llama_model_{name}(params);\n"
        for name in names
    )
    model = mini_llama.model_source().replace("        default:\n", f"{cases}        default:\n")
    history.fork.commit(
        "ours: thirteen birds",
        files | {"src/llama-arch.cpp": mini_llama.arch_source(names=names), "src/llama-model.cpp": model},
    )
    outcome = forkguard("init", "--fork", "../fork", cwd=desk)
    assert outcome.status == 0, outcome.err
    assert "the fork changed the files of 13 archs since its base: too many to choose from" in outcome.err
    assert not written(desk).arch
    assert outcome.out.endswith("next: forkguard drift --arch NAME\n")


def test_an_empty_repository_is_no_fork(desk: Path, tmp_path: Path) -> None:
    new_repository(tmp_path / "empty", branch="production")
    outcome = forkguard("init", "--fork", "../empty", cwd=desk)
    assert outcome.status == COULD_NOT
    assert outcome.told()[0] == "'production' names no commit in this repository"
