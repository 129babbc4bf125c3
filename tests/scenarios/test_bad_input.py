"""Bad input: one clear message each - what, where, what to type next - and the right exit status.

The verbs that read a project (`READERS`) must all say the same.
"""

import shutil
from pathlib import Path

import pytest

from tests.support.commands import Outcome, forkguard
from tests.support.repos import GitFolder, MiniHistory, clone, new_repository

READERS = [("status",), ("drift", "--arch", "heron")]
MAP = '[fork]\npath = "../fork"\nref = "production"\n\n[upstream]\nremote = "upstream"\nref = "upstream/master"\n'
USAGE, COULD_NOT = 2, 3

readers = pytest.mark.parametrize("verb", READERS, ids=lambda verb: verb[0])


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Path:
    """A folder with a valid map, beside the fork."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "upstream-map.toml").write_text(MAP)
    return folder


def put(desk: Path, old: str, new: str) -> Path:
    path = desk / "upstream-map.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return path


def refused(outcome: Outcome, status: int) -> tuple[str, str, str]:
    """The three parts of the error; nothing on stdout, no traceback."""
    assert outcome.status == status, outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    what, where, following = outcome.told()
    assert what
    assert following
    return what, where, following


@readers
def test_no_map(verb: tuple[str, ...], tmp_path: Path) -> None:
    what, where, following = refused(forkguard(*verb, cwd=tmp_path), USAGE)
    assert what == "there is no upstream-map.toml here or in a folder above"
    assert where == str(tmp_path)
    assert following.startswith("forkguard init --fork PATH")


@readers
def test_a_map_that_is_named_but_not_there(verb: tuple[str, ...], tmp_path: Path) -> None:
    what, where, _ = refused(forkguard(*verb, "--map", "absent.toml", cwd=tmp_path), USAGE)
    assert what == "cannot read the map: No such file or directory"
    assert where == str(tmp_path / "absent.toml")


@readers
def test_an_empty_map(verb: tuple[str, ...], desk: Path) -> None:
    (desk / "upstream-map.toml").write_text("")
    what, where, following = refused(forkguard(*verb, cwd=desk), USAGE)
    assert (what, where) == ("the map is empty", f"{desk}/upstream-map.toml:1")
    assert following.startswith("forkguard init")


@readers
def test_a_map_with_a_typo(verb: tuple[str, ...], desk: Path) -> None:
    path = put(desk, "remote =", "remoet =")
    what, where, following = refused(forkguard(*verb, cwd=desk), USAGE)
    assert what == "unknown key upstream.remoet: did you mean upstream.remote?"
    assert where == f"{path}:6"
    assert "remote, path, ref, base" in following


@readers
def test_a_map_with_a_wrong_type(verb: tuple[str, ...], desk: Path) -> None:
    path = put(desk, 'ref = "production"', "ref = 7")
    what, where, _ = refused(forkguard(*verb, cwd=desk), USAGE)
    assert (what, where) == ("fork.ref must be a string, not 7", f"{path}:3")


@readers
def test_a_map_that_is_no_text(verb: tuple[str, ...], desk: Path) -> None:
    path = desk / "upstream-map.toml"
    path.write_bytes(MAP.encode() + b"\n# caf\xe9\n")
    what, where, _ = refused(forkguard(*verb, cwd=desk), USAGE)
    assert (what, where) == ("the map is no UTF-8 text", f"{path}:9")


@readers
def test_a_fork_folder_that_is_not_there(verb: tuple[str, ...], desk: Path) -> None:
    put(desk, "../fork", "../elsewhere")
    what, where, following = refused(forkguard(*verb, cwd=desk), COULD_NOT)
    assert what == f"the fork's folder is not there (fork.path of {desk}/upstream-map.toml names it)"
    assert where == str(desk.parent / "elsewhere")
    assert "--fork PATH" in following
    assert "FORKGUARD_FORK" in following


@readers
def test_a_fork_path_that_is_no_repository(verb: tuple[str, ...], desk: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    what, where, _ = refused(forkguard(*verb, "--fork", tmp_path / "plain", cwd=desk), COULD_NOT)
    assert what == "this folder is no git repository"
    assert where == str(tmp_path / "plain")


@readers
def test_a_repository_that_is_not_llama_cpp(verb: tuple[str, ...], desk: Path, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other", branch="production")
    other.commit("a page", {"index.html": "<p>"})
    what, where, _ = refused(forkguard(*verb, "--fork", other.path, cwd=desk), USAGE)
    assert what == "production is no llama.cpp tree: it has no src/llama-arch.cpp"
    assert where == str(other.path)


@readers
def test_no_upstream_remote(verb: tuple[str, ...], desk: Path, history: MiniHistory) -> None:
    fork = history.fork
    fork.git("remote", "remove", "upstream")
    what, where, following = refused(forkguard(*verb, cwd=desk), COULD_NOT)
    assert what == "the fork has no remote named upstream, and no ref upstream/master"
    assert where == str(fork.path)
    assert following.startswith(f"git -C {fork.path} remote add -f upstream ")


@readers
def test_an_upstream_that_is_not_fetched(verb: tuple[str, ...], desk: Path, history: MiniHistory) -> None:
    fork = history.fork
    for ref in fork.git("for-each-ref", "--format=%(refname)", "refs/remotes/upstream").splitlines():
        fork.git("update-ref", "--no-deref", "-d", ref)
    what, _, following = refused(forkguard(*verb, cwd=desk), COULD_NOT)
    assert what.startswith("the fork has no upstream/master: the remote upstream is not fetched")
    assert following == f"git -C {fork.path} fetch upstream"


@readers
def test_an_unknown_upstream_ref(verb: tuple[str, ...], desk: Path, history: MiniHistory) -> None:
    what, _, following = refused(forkguard(*verb, "--upstream-ref", "upstream/mastre", cwd=desk), COULD_NOT)
    assert what.startswith("the fork has no upstream/mastre")
    assert following == f"git -C {history.fork.path} fetch upstream  (did you mean upstream/master?)"


@readers
def test_an_unknown_fork_ref(verb: tuple[str, ...], desk: Path, history: MiniHistory) -> None:
    what, where, following = refused(forkguard(*verb, "--fork-ref", "prodcution", cwd=desk), COULD_NOT)
    assert what == "'prodcution' names no commit in this repository"
    assert where == str(history.fork.path)
    assert following == "did you mean production?"


@readers
def test_another_clone_that_is_not_there(verb: tuple[str, ...], desk: Path) -> None:
    put(desk, 'remote = "upstream"\nref = "upstream/master"', 'path = "../nowhere"\nref = "master"')
    what, where, following = refused(forkguard(*verb, cwd=desk), COULD_NOT)
    assert (what, where) == ("upstream's clone is not there", str(desk.parent / "nowhere"))
    assert "upstream.path" in following


@readers
def test_a_shallow_clone(verb: tuple[str, ...], desk: Path, history: MiniHistory, tmp_path: Path) -> None:
    shallow = clone(history.fork, tmp_path / "shallow", "--depth=1")
    what, where, following = refused(forkguard(*verb, "--fork", shallow.path, cwd=desk), COULD_NOT)
    assert what.startswith("this clone is shallow")
    assert where == str(shallow.path)
    assert following == f"git -C {shallow.path} fetch --unshallow"


@pytest.fixture
def partial(history: MiniHistory, tmp_path: Path) -> GitFolder:
    """A clone that has every commit and tree, but no file's content, and nobody left to ask for it."""
    origin = clone(history.upstream, tmp_path / "origin")
    origin.git("fetch", "-q", str(history.fork.path), "production:refs/heads/production")
    origin.git("config", "uploadpack.allowFilter", "true")
    partial = clone(origin, tmp_path / "partial", "--filter=blob:none", "--no-checkout", "--branch=production")
    shutil.rmtree(origin.path)
    return partial


def test_a_missing_blob(desk: Path, partial: GitFolder) -> None:
    outcome = forkguard("drift", "--arch", "heron", "--fork", partial.path, cwd=desk)
    what, where, following = refused(outcome, COULD_NOT)
    assert "object that this clone lacks" in what or "is not in this clone" in what  # as git's version tells it
    assert where == str(partial.path)
    assert following.startswith(f"git -C {partial.path} fetch --refetch")


def test_a_missing_blob_under_init(desk: Path, partial: GitFolder) -> None:
    outcome = forkguard("init", "--force", "--fork", partial.path, cwd=desk)
    what, where, _ = refused(outcome, COULD_NOT)
    assert "object that this clone lacks" in what or "is not in this clone" in what  # as git's version tells it
    assert where == str(partial.path)
    assert (desk / "upstream-map.toml").read_text() == MAP


@pytest.mark.parametrize("hostile", ["--upload-pack=x", "-n", "a..b", "x:y", "a b", "@{-1}", "refs/heads/x.lock", ""])
@pytest.mark.parametrize("option", ["--fork-ref", "--upstream-ref"])
@readers
def test_a_hostile_ref(verb: tuple[str, ...], option: str, hostile: str, desk: Path) -> None:
    what, _, following = refused(forkguard(*verb, f"{option}={hostile}", cwd=desk), USAGE)
    assert what == f"{hostile!r} is not a ref name"
    assert "git rev-parse" in following


@readers
def test_variables_of_a_hook_steer_nothing(
    verb: tuple[str, ...], desk: Path, history: MiniHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = forkguard(*verb, cwd=desk)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"):
        monkeypatch.setenv(name, str(history.upstream.path / "nowhere"))
    assert forkguard(*verb, cwd=desk) == clean
    assert "production" in clean.out


@readers
def test_a_dirty_work_tree_is_no_problem(verb: tuple[str, ...], desk: Path, history: MiniHistory) -> None:
    clean = forkguard(*verb, cwd=desk)
    (history.fork.path / "src/models/heron.cpp").write_text("#error in the middle of something\n")
    (history.fork.path / "src/models/otter.cpp").unlink()
    history.fork.git("add", "src/models/heron.cpp")
    before = history.fork.snapshot()
    assert forkguard(*verb, cwd=desk) == clean
    assert history.fork.snapshot() == before


@readers
def test_an_unknown_format_lists_the_known_ones(verb: tuple[str, ...], desk: Path) -> None:
    outcome = forkguard(*verb, "--format", "yaml", cwd=desk)
    assert outcome.status == USAGE
    assert "'text'" in outcome.err
    assert "'json'" in outcome.err


@readers
def test_an_output_that_cannot_be_written(verb: tuple[str, ...], desk: Path) -> None:
    (desk / "file").write_text("")
    what, where, _ = refused(forkguard(*verb, "--output", "file/under", cwd=desk), COULD_NOT)
    assert what.startswith("cannot write this file")
    assert where == "file/under"
