"""`forkguard doctor`, whole: a well machine, bare ones, and forks that cannot be worked with."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from forkguard.adapters.files import locked
from forkguard.adapters.system import install_command
from tests.support.commands import forkguard
from tests.support.repos import GitFolder, MiniHistory, clone
from tests.support.small_disk import small_disk

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/doctor.json").read_text())
MAP = """[fork]
path = "../fork"
ref = "production"

[upstream]
remote = "upstream"
ref = "upstream/master"

[arch.heron]
enum = "LLM_ARCH_HERON"
"""
READING = ("--for", "drift", "--for", "status")


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "upstream-map.toml").write_text(MAP)
    return folder


def doctor(folder: Path, *words: str | Path, status: int) -> dict[str, Any]:
    """The document, held against the schema, with the checks by name."""
    outcome = forkguard("doctor", "--format", "json", *words, cwd=folder)
    assert outcome.status == status, outcome.out + outcome.err
    document: dict[str, Any] = json.loads(outcome.out)
    jsonschema.validate(document, SCHEMA)
    return document | {"checks": {check["name"]: check for check in document["checks"]}}


def only(folder: Path, monkeypatch: pytest.MonkeyPatch, *programs: str) -> Path:
    """A PATH of one folder with these programs of the machine's alone."""
    folder.mkdir()
    for program in programs:
        found = shutil.which(program)
        assert found is not None
        (folder / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_a_project_that_is_well(desk: Path, history: MiniHistory) -> None:
    before = history.fork.snapshot()
    told = doctor(desk, *READING, status=0)
    levels = {name: check["level"] for name, check in told["checks"].items()}
    project = ("python", "git", "map", "fork", "history", "production branch", "upstream", "state folder")
    assert [levels[name] for name in project] == ["ok"] * len(project)
    assert told["checks"]["map"]["found"] == f"{desk}/upstream-map.toml, 1 arch"
    assert told["checks"]["upstream"]["found"] == f"upstream/master at {history.tip[:12]}"
    assert (told["works"], told["blocked"], told["unknown"]) == (["status", "drift"], [], [])
    assert history.fork.snapshot() == before
    assert [path.name for path in desk.iterdir()] == ["upstream-map.toml"]


def test_an_old_upstream_is_noted_with_the_fetch(desk: Path, history: MiniHistory) -> None:
    check = doctor(desk, *READING, status=0)["checks"]["upstream's age"]
    assert (check["level"], check["fix"]) == ("note", f"git -C {history.fork.path} fetch upstream")
    assert check["found"] == "upstream/master ends on 2026-01-01"


def test_a_machine_without_any_tool(
    desk: Path, history: MiniHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path / "bin", monkeypatch)
    told = doctor(desk, status=1)
    missing = {name for name, check in told["checks"].items() if check["level"] == "missing"}
    assert missing == {"git", "cmake", "ninja", "a C compiler", "a C++ compiler"}
    assert told["checks"]["ccache"]["level"] == "note"
    assert told["checks"]["ninja"]["fix"] == install_command("ninja")
    assert {each["because"] for each in told["not_looked_at"]} == {"git"}
    blocked = {each["verb"]: each["by"] for each in told["blocked"]}
    assert blocked["drift"] == ["git"]
    assert blocked["build"] == ["git", "cmake", "ninja", "a C compiler", "a C++ compiler"]
    assert {"probe", "verify"} <= set(told["works"])


def test_without_a_compiler_reading_works(
    desk: Path, history: MiniHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path / "bin", monkeypatch, "git", "env")
    told = doctor(desk, status=1)
    assert {"drift", "port", "status"} <= set(told["works"])
    assert told["blocked"][0]["by"] == ["cmake", "ninja", "a C compiler", "a C++ compiler"]
    assert doctor(desk, *READING, status=0)["works"] == ["status", "drift"]
    screen = forkguard("doctor", cwd=desk).out
    assert "demo --no-build\n" in screen
    commands = screen.partition("next:\n")[2].splitlines()
    assert commands == sorted(set(commands), key=commands.index)


def test_a_git_that_is_too_old(desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = only(tmp_path / "bin", monkeypatch)
    (folder / "git").write_text("#!/bin/sh\necho git version 2.30.2\n")
    (folder / "git").chmod(0o755)
    check = doctor(desk, *READING, status=1)["checks"]["git"]
    assert (check["level"], check["found"]) == ("missing", "2.30.2 is too old: 2.39 or newer is needed")
    assert check["fix"].startswith(install_command("git"))
    assert check["needed_for"] == ["status", "drift"]


def test_a_git_that_is_not_there_is_told_by_every_command(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path / "bin", monkeypatch)
    for verb in (("drift", "--arch", "heron"), ("status",), ("init", "--fork", "../fork", "--map", "other.toml")):
        outcome = forkguard(*verb, cwd=desk)
        assert outcome.status == 3
        assert outcome.told() == ("git is not installed: it is not on PATH", "", install_command("git"))


def test_a_git_that_is_not_there_where_a_hook_left_variables(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path / "bin", monkeypatch, "env")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert forkguard("status", cwd=desk).told()[0] == "git is not installed: it is not on PATH"


def test_before_there_is_a_map(tmp_path: Path, history: MiniHistory) -> None:
    told = doctor(tmp_path, status=1)
    assert told["checks"]["map"]["fix"].startswith("forkguard init --fork PATH")
    assert {"verb": "init", "by": ["fork", "history", "production branch", "upstream"]} in told["unknown"]
    told = doctor(tmp_path, "--fork", history.fork.path, "--for", "init", status=0)
    assert told["works"] == ["init"]
    assert told["checks"]["upstream"]["found"].startswith("upstream/master; the remote named upstream")
    assert told["checks"]["map"]["level"] == "note"


def test_a_map_with_a_mistake(desk: Path) -> None:
    path = desk / "upstream-map.toml"
    path.write_text(MAP.replace("remote =", "remoet ="))
    check = doctor(desk, *READING, status=1)["checks"]["map"]
    assert (check["level"], check["where"]) == ("missing", f"{path}:6")
    assert "did you mean upstream.remote?" in check["found"]


def test_a_shallow_clone(desk: Path, history: MiniHistory, tmp_path: Path) -> None:
    shallow = clone(history.upstream, tmp_path / "shallow", "--depth", "1")
    told = doctor(desk, "--fork", shallow.path, "--fork-ref", "master", *READING, status=1)
    check = told["checks"]["history"]
    assert (check["level"], check["fix"]) == ("missing", f"git -C {shallow.path} fetch --unshallow")
    assert told["blocked"][0] == {"verb": "status", "by": ["history"]}
    shallow.git("fetch", "-q", "--unshallow")
    again = doctor(desk, "--fork", shallow.path, "--fork-ref", "master", *READING, status=0)
    assert again["checks"]["history"]["found"] == "whole"


def test_a_partial_clone_until_the_command_has_mended_it(desk: Path, history: MiniHistory, tmp_path: Path) -> None:
    history.upstream.git("config", "uploadpack.allowFilter", "true")
    partial = clone(history.upstream, tmp_path / "partial", "--filter=blob:none")
    words = ("--fork", partial.path, "--fork-ref", "master", *READING)
    check = doctor(desk, *words, status=1)["checks"]["history"]
    assert check["found"].startswith("this clone is partial: ")
    command = check["fix"].split()
    assert command[:3] == ["git", "-C", str(partial.path)]
    partial.git(*command[3:])
    assert doctor(desk, *words, status=0)["checks"]["history"]["found"] == "whole"


def test_a_fork_without_upstream(desk: Path, history: MiniHistory) -> None:
    history.fork.git("remote", "remove", "upstream")
    check = doctor(desk, *READING, status=1)["checks"]["upstream"]
    assert check["level"] == "missing"
    assert check["fix"].startswith(f"git -C {history.fork.path} remote add -f upstream https://")


def test_an_upstream_that_was_never_fetched(desk: Path, history: MiniHistory) -> None:
    history.fork.git("update-ref", "-d", "refs/remotes/upstream/master")
    history.fork.git("update-ref", "-d", "refs/remotes/upstream/HEAD")
    check = doctor(desk, *READING, status=1)["checks"]["upstream"]
    assert check["found"].startswith("the fork has no upstream/master: the remote upstream is not fetched")
    assert check["fix"] == f"git -C {history.fork.path} fetch upstream"


def test_a_map_inside_the_fork(history: MiniHistory) -> None:
    inside = history.fork.path / "guard"
    inside.mkdir()
    (inside / "upstream-map.toml").write_text(MAP.replace("../fork", ".."))
    told = doctor(inside, "--for", "port", "--for", "drift", status=1)
    assert told["blocked"] == [{"verb": "port", "by": ["state folder"]}]
    assert told["works"] == ["drift"]


def test_a_state_folder_or_a_cache_that_leads_into_the_fork(desk: Path, history: MiniHistory) -> None:
    (desk / ".forkguard").symlink_to(history.fork.path / ".git/guard")
    told = doctor(desk, "--for", "port", "--for", "drift", status=1)
    assert told["blocked"] == [{"verb": "port", "by": ["state folder"]}]
    assert told["checks"]["state folder"]["found"].startswith("this link leads into the fork")

    (desk / "upstream-map.toml").write_text(MAP + '\n[defaults]\ntrees = "../fork/trees"\n')
    check = doctor(desk, "--for", "drift", status=1)["checks"]["fork"]
    assert check["found"].startswith("the folder of caches or trees is inside the fork")


def test_a_cache_folder_that_everybody_writes_to(desk: Path, tmp_path: Path) -> None:
    (tmp_path / "cache/trees").mkdir(parents=True)
    (desk / "upstream-map.toml").write_text(MAP + '\n[defaults]\ncache = "../cache"\n')
    assert doctor(desk, *READING, status=0)["checks"]["cache folder"]["level"] == "ok"

    (tmp_path / "cache/trees").chmod(0o1777)
    check = doctor(desk, *READING, status=0)["checks"]["cache folder"]

    assert (check["level"], check["where"]) == ("note", str(tmp_path / "cache/trees"))
    assert check["found"] == "everybody on this machine can write to this folder"
    assert check["fix"].startswith(f"chmod go-w {tmp_path}/cache/trees ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_cache_folder_of_another_user(desk: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    os.chown(tmp_path / "cache", 4321, 4321)
    (desk / "upstream-map.toml").write_text(MAP + '\n[defaults]\ncache = "../cache"\n')
    check = doctor(desk, *READING, status=0)["checks"]["cache folder"]
    assert (check["level"], check["found"]) == ("note", "this folder belongs to another user (4321)")


def test_a_small_disk(desk: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", kilobytes=600) as place:
        (desk / "upstream-map.toml").write_text(MAP + f'\n[defaults]\ntrees = "{place}/trees"\n')
        told = doctor(desk, status=1)
    check = told["checks"]["disk"]
    assert (check["level"], check["where"]) == ("missing", str(place / "trees"))
    assert check["found"] == "0.0 GiB free for trees and caches"
    assert {each["verb"] for each in told["blocked"] if each["by"] == ["disk"]} >= {"build", "gate"}


def test_a_cache_folder_that_is_a_file(desk: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    (desk / "upstream-map.toml").write_text(MAP + '\n[defaults]\ncache = "../cache/forkguard"\n')
    check = doctor(desk, "--for", "build", status=1)["checks"]["cache folder"]
    assert (check["found"], check["where"]) == ("a file is in the place of this folder", str(tmp_path / "cache"))


def test_a_cache_folder_that_cannot_be_written(desk: Path, tmp_path: Path) -> None:
    (desk / "upstream-map.toml").write_text(MAP + '\n[defaults]\ncache = "../cache"\n')
    with small_disk(tmp_path / "cache", kilobytes=256) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=60)
        assert doctor(desk, "--for", "build", status=1)["checks"]["cache folder"]["level"] == "missing"
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True, timeout=60)


def test_a_port_in_progress_is_noted(desk: Path, history: MiniHistory) -> None:
    fork: GitFolder = history.fork
    text = (fork.path / "src/models/heron.cpp").read_text()
    fork.commit("ours: in the way", {"src/models/heron.cpp": text.replace("state_slot(il, 0)", "state_slot(il, 9)")})
    assert forkguard("port", "201", cwd=desk).status == 1
    check = doctor(desk, "--for", "drift", status=0)["checks"]["in progress"]
    assert (check["level"], check["found"]) == ("note", "the port 201 stopped (conflict)")
    assert check["fix"].startswith("forkguard port --continue")
    assert forkguard("port", "--abort", cwd=desk).status == 0
    assert doctor(desk, "--for", "drift", status=0)["checks"]["in progress"]["level"] == "ok"


def test_a_damaged_journal_is_told(desk: Path) -> None:
    (desk / ".forkguard").mkdir()
    (desk / ".forkguard/port.json").write_text("{")
    told = doctor(desk, "--for", "port", "--for", "drift", status=1)
    assert told["blocked"] == [{"verb": "port", "by": ["in progress"]}]
    assert "remove it" in told["checks"]["in progress"]["fix"]


def test_a_run_at_work_is_noted_and_a_dead_one_is_not(desk: Path) -> None:
    with locked(desk / ".forkguard/port.lock", purpose="forkguard port"):
        check = doctor(desk, "--for", "drift", status=0)["checks"]["at work"]
    assert (check["level"], check["found"]) == ("note", f"forkguard port (process {os.getpid()})")
    dead = {"pid": os.getpid(), "host": "x", "purpose": "forkguard gate", "started": time.time() - 1e6}
    (desk / ".forkguard/port.lock.holder").write_text(json.dumps(dead))
    assert doctor(desk, "--for", "drift", status=0)["checks"]["at work"]["level"] == "ok"


def test_a_token_is_never_shown(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor(desk, *READING, status=0)["checks"]["token"]["level"] == "note"
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    outcome = forkguard("doctor", cwd=desk)
    assert "GITHUB_TOKEN is set" in outcome.out
    assert "ghp_secret" not in outcome.out + outcome.err


def test_ssh_keygen_is_needed_where_receipts_are_signed(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(tmp_path / "bin", monkeypatch, "git", "env")
    assert doctor(desk, "--for", "verify", status=0)["checks"]["ssh-keygen"]["level"] == "note"
    (desk / "upstream-map.toml").write_text(MAP + '\n[gate]\nallowed_signers = "signers"\n')
    told = doctor(desk, "--for", "verify", status=1)
    assert told["blocked"] == [{"verb": "verify", "by": ["ssh-keygen"]}]


def test_a_compiler_that_the_map_names_is_looked_for(desk: Path) -> None:
    table = '\n[gate]\nprofile = "odd"\n\n[build.odd]\ncmake = ["-DCMAKE_CXX_COMPILER=no-such-c++"]\n'
    (desk / "upstream-map.toml").write_text(MAP + table)
    check = doctor(desk, "--for", "build", status=1)["checks"]["a C++ compiler"]
    assert check["found"] == "no-such-c++ is not on PATH"


def test_a_command_that_is_none(desk: Path) -> None:
    outcome = forkguard("doctor", "--for", "drfit", cwd=desk)
    assert outcome.status == 2
    assert "'drfit' is not one of" in outcome.err
