"""Trees are built by real cmake, ninja and compilers; a tiny project stands in for llama.cpp."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import jsonschema
import pytest

from forkguard.adapters.system import install_command
from forkguard.cli.main import invoke
from forkguard.core.built_trees import Checkout, Origin
from forkguard.core.map_models import BuildTable
from forkguard.core.names import CommitHash
from forkguard.errors import CouldNotWork
from forkguard.workflows.build import BuiltTree, Workshop, build_tree
from tests.support.programs import BUILDING
from tests.support.repos import GitFolder
from tests.support.tiny_project import PARTS, says, tiny_files, tiny_fork, workshop

pytestmark = pytest.mark.needs(*BUILDING)
needs_ccache = pytest.mark.needs("ccache")
SUM = sum(range(len(PARTS)))


def build(shop: Workshop, fork: GitFolder, commit: str, **more: str) -> BuiltTree:
    return build_tree(shop, repository=fork.path, commit=CommitHash(commit), **more)  # type: ignore[arg-type]


def test_a_tree_is_built_beside_the_fork_which_stays_as_it_was(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    before = fork.snapshot()
    shop, talk = workshop(tmp_path / "cache")
    built = build(shop, fork, commit)
    assert built.server == built.path / "build" / "bin" / "llama-server"
    assert says(built.server) == f"{commit[:7]} {SUM}"
    assert built.path.parent == tmp_path / "cache" / "trees"
    assert built.result.origin is Origin.NEW
    assert talk.counts[-1][0] == talk.counts[-1][1] == built.result.steps
    assert not (built.path / "build" / "bin" / "extra").exists()
    assert "llama-server" in built.log.read_text()
    assert fork.snapshot() == before


def test_the_same_build_again_has_nothing_to_do(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    first = build(shop, fork, commit)
    again = build(shop, fork, commit)
    assert (again.path, again.result.origin, again.result.steps) == (first.path, Origin.KEPT, 0)


def test_more_targets_join_the_same_tree(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    first = build(shop, fork, commit)
    more = build_tree(shop, repository=fork.path, commit=CommitHash(commit), targets=["extra"])
    assert more.path == first.path
    assert [Path(path).name for path in more.result.binaries] == ["extra"]


@needs_ccache
def test_a_second_tree_compiles_only_what_differs(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    first = build(shop, fork, commit)
    assert (first.result.cached, first.result.compiled) == (0, len(PARTS) + 2)
    other = fork.commit("One part differs", {"src/part3.cpp": '#include "llama.h"\nint part3() { return 100; }\n'})
    second = build(shop, fork, other)
    assert second.path != first.path
    assert says(second.server) == f"{other[:7]} {SUM + 97}"
    assert (second.result.cached, second.result.compiled) == (len(PARTS), 2), "the part, and the file with the commit"
    found = (second.path / "ccache.stats").read_text().split()
    assert found.count("direct_cache_hit") == len(PARTS), "the commit's id is not on their command lines"


@needs_ccache
def test_a_commit_macro_that_a_header_reads_stays_where_it_is(tmp_path: Path) -> None:
    fork, _ = tiny_fork(tmp_path / "fork")
    header = "#pragma once\ninline const char * built_from() { return LLAMA_COMMIT; }\n"
    part = '#include "llama.h"\n#include "origin.h"\nint part0() { return built_from()[0] ? 0 : 1; }\n'
    commit = fork.commit("A header reads it", {"src/origin.h": header, "src/part0.cpp": part})
    shop, _ = workshop(tmp_path / "cache")
    built = build(shop, fork, commit)
    assert says(built.server) == f"{commit[:7]} {SUM}"
    assert (built.path / "build" / "build.ninja").read_text().count(f'LLAMA_COMMIT=\\"{commit[:7]}\\"') == len(
        PARTS
    ) + 1


def test_the_compilers_first_error_is_told_and_the_tree_goes_on(tmp_path: Path) -> None:
    fork, _ = tiny_fork(tmp_path / "fork")
    broken = fork.commit("Break it", {"src/part2.cpp": '#include "llama.h"\n\nint part2() { return missing; }\n'})
    shop, _ = workshop(tmp_path / "cache")
    with pytest.raises(CouldNotWork) as caught:
        build(shop, fork, broken)
    (tree,) = shop.trees.trees()
    assert caught.value.where == f"{tree.path}/src/src/part2.cpp:3"
    assert "'missing' was not declared" in caught.value.what
    assert "part2.cpp.o" in caught.value.what
    assert not tree.built
    assert "missing" in (Path(tree.path) / "build.log").read_text()


def test_cmakes_error_is_told(tmp_path: Path) -> None:
    fork, _ = tiny_fork(tmp_path / "fork")
    text = "cmake_minimum_required(VERSION 3.14)\nproject(x C CXX)\nfind_package(Nowhere REQUIRED)\n"
    broken = fork.commit("Break it", {"CMakeLists.txt": text})
    shop, _ = workshop(tmp_path / "cache")
    with pytest.raises(CouldNotWork, match="could not configure") as caught:
        build(shop, fork, broken)
    assert caught.value.where == f"{shop.trees.trees()[0].path}/src/CMakeLists.txt:3"
    assert "FindNowhere.cmake" in caught.value.what


def test_a_profile_of_the_map_reaches_cmake_and_the_compiler(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    table = BuildTable(cmake=("-DCMAKE_CXX_FLAGS=-DMARK=1",), targets=("extra",), jobs=1)
    shop, _ = workshop(tmp_path / "cache", profiles={"mine": table})
    built = build_tree(shop, repository=fork.path, commit=CommitHash(commit), profile="mine")
    commands = (built.path / "build" / "build.ninja").read_text()
    assert f"-ffile-prefix-map={built.path}=. -DMARK=1" in commands
    assert built.result.targets == ("extra",)


def test_a_profile_that_the_sources_do_not_know_is_not_built_in_silence(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    table = BuildTable(cmake=("-DGGML_NO_SUCH_THING=ON",))
    shop, talk = workshop(tmp_path / "cache", profiles={"cpu": table})
    with pytest.raises(CouldNotWork, match="no cmake option GGML_CUDA: it would be built without cuda"):
        build(shop, fork, commit, profile="cuda")
    build(shop, fork, commit)
    assert "cmake does not know GGML_NO_SUCH_THING of [build.cpu] in this commit" in talk.notes


def test_an_unknown_target_is_told(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    with pytest.raises(CouldNotWork, match="unknown target 'nope'") as caught:
        build_tree(shop, repository=fork.path, commit=CommitHash(commit), targets=["nope"])
    assert caught.value.hint.endswith("-t targets all  lists the targets")


def test_flags_of_the_environment_make_no_difference_and_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    monkeypatch.setenv("CXXFLAGS", "-DSTRANGE=1")
    shop, talk = workshop(tmp_path / "cache")
    built = build(shop, fork, commit)
    assert "STRANGE" not in (built.path / "build" / "build.ninja").read_text()
    assert any("CXXFLAGS of the environment" in note for note in talk.notes)


# -- repositories that move ------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["moved", "gone"])
def test_a_tree_whose_repository_moved_or_went_keeps_its_build(tmp_path: Path, how: str) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    first = build(shop, fork, commit)
    elsewhere = tmp_path / "elsewhere"
    if how == "moved":
        fork.path.rename(elsewhere)
    else:
        fork.git("clone", "-q", str(fork.path), str(elsewhere))
        shutil.rmtree(fork.path)
    assert [tree.checkout for tree in shop.trees.trees()] == [Checkout.DETACHED]
    again = build(shop, GitFolder(elsewhere), commit)
    assert (again.path, again.result.origin, again.result.steps) == (first.path, Origin.REATTACHED, 0)
    assert [tree.checkout for tree in shop.trees.trees()] == [Checkout.ATTACHED]
    listed = GitFolder(elsewhere).git("worktree", "list", "--porcelain")
    assert listed.count(f"worktree {first.path / 'src'}") == 1
    assert GitFolder(elsewhere).git("-C", str(first.path / "src"), "status", "--porcelain") == ""


def test_a_second_clone_takes_the_tree_over(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    fork.git("clone", "-q", str(fork.path), str(tmp_path / "second"))
    shop, _ = workshop(tmp_path / "cache")
    build(shop, fork, commit)
    other = build(shop, GitFolder(tmp_path / "second"), commit)
    assert (other.result.origin, other.result.steps) == (Origin.REATTACHED, 0)


def test_a_hand_in_the_tree_is_undone(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    tree = build(shop, fork, commit).path
    (tree / "src" / "src" / "part1.cpp").write_text('#include "llama.h"\nint part1() { return 50; }\n')
    (tree / "src" / "src" / "stray.cpp").write_text("int stray() { return 1 }\n")
    (tree / "src" / "server.cpp").unlink()
    assert says(build(shop, fork, commit).server) == f"{commit[:7]} {SUM}"


def test_trees_that_were_moved_as_a_whole_are_built_anew(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    build(shop, fork, commit)
    (tmp_path / "cache").rename(tmp_path / "cache2")
    moved, _ = workshop(tmp_path / "cache2")
    built = build(moved, fork, commit)
    assert says(built.server) == f"{commit[:7]} {SUM}"
    assert str(tmp_path / "cache2") in (built.path / "build" / "CMakeCache.txt").read_text()


def test_a_cache_behind_a_symbolic_link_is_no_other_place(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to(tmp_path / "real")
    shop, _ = workshop(tmp_path / "cache")
    first = build(shop, fork, commit)
    assert [tree.checkout for tree in shop.trees.trees()] == [Checkout.ATTACHED]
    assert first.path.is_relative_to(tmp_path / "real")
    again = build(shop, fork, commit)
    assert (again.result.origin, again.result.steps) == (Origin.KEPT, 0)


def test_a_full_disk_is_told_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    shop, _ = workshop(tmp_path / "cache")
    total = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: total._replace(free=5 << 20))
    with pytest.raises(CouldNotWork, match="only 5 MiB are free") as caught:
        build(shop, fork, commit)
    assert caught.value.hint.startswith("forkguard build --prune")
    assert fork.git("worktree", "list", "--porcelain").count("worktree ") == 1


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "trees").write_text("a file, not a folder")
    shop, _ = workshop(tmp_path / "cache")
    with pytest.raises(CouldNotWork, match="cannot make this folder"):
        build(shop, fork, commit)


def test_hooks_and_filters_of_the_fork_do_not_run(tmp_path: Path) -> None:
    fork, _ = tiny_fork(tmp_path / "fork")
    marker = tmp_path / "ran"
    commit = fork.commit("Attributes", {".gitattributes": "*.cpp filter=evil\n*.h text eol=crlf\n"})
    hook = fork.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    fork.git("config", "filter.evil.smudge", f"touch {marker}; sed s/return/retrun/")
    fork.git("config", "filter.evil.required", "true")
    fork.git("config", "core.autocrlf", "true")
    shop, _ = workshop(tmp_path / "cache")
    assert says(build(shop, fork, commit).server) == f"{commit[:7]} {SUM}"
    assert not marker.exists()


# -- interruptions and neighbours ------------------------------------------------------------------------

SLOW_PART = '#include "llama.h"\n#include "slow.h"\nint part5() { return 5; }\n'


def slow_fork(path: Path) -> tuple[GitFolder, str]:
    """One step of this fork's build tells its process into `waiting`, then waits for a line in `release`.

    Once there is a file `go`, it does not wait.
    """
    fork, _ = tiny_fork(path)
    root = path.parent
    os.mkfifo(root / "waiting")
    os.mkfifo(root / "release")
    (root / "wait.sh").write_text(
        f'test -e {root}/go || {{ echo $$ > {root}/waiting; read -r line < {root}/release; }}\ntouch "$1"\n'
    )
    rule = (
        "set(SLOW ${CMAKE_BINARY_DIR}/slow.h)\n"
        f"add_custom_command(OUTPUT ${{SLOW}} COMMAND bash {root}/wait.sh ${{SLOW}})\n"
        "set_source_files_properties(part5.cpp PROPERTIES OBJECT_DEPENDS ${SLOW})\n"
        "target_include_directories(llama PRIVATE ${CMAKE_BINARY_DIR})\n"
    )
    files = {"src/part5.cpp": SLOW_PART, "src/CMakeLists.txt": tiny_files()["src/CMakeLists.txt"] + rule}
    return fork, fork.commit("Wait", files)


def holds(document: object, schema: str) -> None:
    """Whether a result is what its published schema says."""
    text = (Path(__file__).parents[2] / "docs" / "schemas" / f"{schema}.json").read_text()
    jsonschema.Draft202012Validator(json.loads(text)).validate(document)


def map_for(fork: GitFolder, folder: Path) -> Path:
    folder.mkdir()
    text = f'[fork]\npath = "{fork.path}"\n[upstream]\npath = "{fork.path}"\nref = "master"\n'
    text += f'[defaults]\ncache = "{folder}/cache"\n'
    (folder / "upstream-map.toml").write_text(text)
    return folder


def start(folder: Path) -> "subprocess.Popen[bytes]":
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-m", "forkguard", "build", "--jobs", "2"],
        cwd=folder, env={**os.environ, "PYTHONPATH": root}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_build_goes_on_where_it_stopped(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork, commit = slow_fork(tmp_path / "fork")
    folder = map_for(fork, tmp_path / "work")
    before = fork.snapshot()
    child = start(folder)
    waiting = int((tmp_path / "waiting").read_text())
    child.send_signal(number)
    child.communicate(timeout=60)
    if number is not signal.SIGKILL:
        assert child.returncode == 130
        assert not alive(waiting)
    (tmp_path / "go").touch()
    monkeypatch.chdir(folder)
    assert invoke(["build", "--format", "json", "--output", "result.json"]) == 0
    assert not alive(waiting), "what a killed run left behind is ended by the next"
    result = json.loads((folder / "result.json").read_text())
    holds(result, "build")
    assert result["tree"]["origin"] == "kept"
    assert says(Path(result["binaries"][0])) == f"{commit[:7]} {SUM}"
    assert fork.snapshot() == before


def test_two_at_once_the_second_says_who_holds_the_tree(tmp_path: Path) -> None:
    fork, commit = slow_fork(tmp_path / "fork")
    cache = tmp_path / "cache"
    shop, _ = workshop(cache)
    results: list[BuiltTree] = []
    first = threading.Thread(target=lambda: results.append(build(shop, fork, commit)))
    first.start()
    (tmp_path / "waiting").read_text()
    second, _ = workshop(cache)
    with pytest.raises(
        CouldNotWork, match=f"forkguard build of {commit[:12]}, profile cpu .process {os.getpid()} on"
    ):
        build(second, fork, commit)
    (tree,) = second.trees.trees()
    assert f"process {os.getpid()}" in tree.holder
    (tmp_path / "release").write_text("go on\n")
    first.join(timeout=60)
    assert [says(built.server) for built in results] == [f"{commit[:7]} {SUM}"]


# -- the command -----------------------------------------------------------------------------------------


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a map of a tiny fork; it is the current one."""
    fork, _ = tiny_fork(tmp_path / "fork")
    folder = map_for(fork, tmp_path / "work")
    monkeypatch.chdir(folder)
    return folder


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = invoke(["build", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_trees_are_listed_and_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fork, first = tiny_fork(tmp_path / "fork")
    monkeypatch.chdir(map_for(fork, tmp_path / "work"))
    assert run("--list", capsys=capsys)[1].startswith("no trees in ")
    assert run(capsys=capsys)[0] == 0
    second = fork.commit("Another", {"extra.cpp": "int main() { return 1; }\n"})
    status, out, _ = run(capsys=capsys)
    assert status == 0
    assert f"built llama-server of {second[:12]}, profile cpu" in out
    before = fork.snapshot()
    (tmp_path / "work" / "cache" / "trees" / "photographs").mkdir()
    listed = json.loads(run("--list", "--format", "json", capsys=capsys)[1])
    holds(listed, "trees")
    assert {tree["commit"] for tree in listed["trees"]} == {first, second}
    assert all(tree["size"] > 1000 and tree["built"] and tree["checkout"] == "attached" for tree in listed["trees"])
    text = run("--list", capsys=capsys)[1]
    assert "attached, built" in text
    assert run("--prune", capsys=capsys)[1] == "removed 0 of 2 trees, 0 B\n"
    status, out, _ = run("--prune", "--keep", "1", "--dry-run", capsys=capsys)
    assert (status, f"would remove {first[:12]}-cpu-" in out) == (0, True)
    status, out, _ = run("--prune", "--keep", "1", "--format", "json", capsys=capsys)
    holds(json.loads(out), "prune")
    assert (status, [tree["commit"] for tree in json.loads(out)["removed"]]) == (0, [first])
    left = json.loads(run("--list", "--format", "json", capsys=capsys)[1])
    assert [tree["commit"] for tree in left["trees"]] == [second]
    assert fork.git("worktree", "list", "--porcelain").count("worktree ") == 2
    assert run("--prune", "--keep", "0", capsys=capsys)[0] == 0
    assert (tmp_path / "work" / "cache" / "trees" / "photographs").is_dir(), "what is no tree is left alone"
    assert fork.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert fork.snapshot() == before


@pytest.mark.parametrize(
    "words",
    [("--keep", "1"), ("--dry-run",), ("--list", "--prune"), ("--prune", "--older-than", "5"), ("--profile", "x")],
)
@pytest.mark.usefixtures("work")
def test_wrong_use_is_status_2(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(*words, capsys=capsys)
    assert status == 2
    assert "next:" in err


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ({"ninja"}, ["ninja is not installed"]),
        ({"cmake"}, ["cmake is not installed"]),
        ({"c++"}, ["a C++ compiler is not installed"]),
        (
            {"cmake", "ninja"},
            ["cmake is not installed", "ninja is not installed", install_command("cmake") + " ninja"],
        ),
    ],
)
def test_missing_tools_are_named_all_at_once_with_the_command_that_installs_them(
    missing: set[str], told: list[str], work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = work / "bin"
    tools.mkdir()
    for name in {"env", "git", "cmake", "ninja", "cc", "c++"} - missing:
        (tools / name).symlink_to(shutil.which(name) or "/nonexistent")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tools))
        status, _, err = run(capsys=capsys)
    assert status == 3
    for words in told:
        assert words in err
    assert "next:  " in err
    assert "install" in err
    assert not (work / "cache" / "trees").exists()


def test_variables_that_would_steer_a_build_are_told_except_those_that_make_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork, commit = tiny_fork(tmp_path / "fork")
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setenv("MAKEFLAGS", "-j9")
    shop, talk = workshop(tmp_path / "cache")
    build(shop, fork, commit)
    (told,) = [note for note in talk.notes if "of the environment" in note]
    assert told == "CFLAGS of the environment are not used; set them in [build.cpu] env"
