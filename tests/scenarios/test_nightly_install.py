"""`forkguard nightly --install`: what is shown is checked, and written only where that was asked for."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.commands import Outcome, forkguard
from tests.support.porting import CLONE, MAP, REMOTE
from tests.support.repos import GitFolder, new_repository
from tests.support.stacks import held

ODD = "desk 100% of $HOME's"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    fork = new_repository(tmp_path / "fork", branch="production")
    fork.git("remote", "add", "origin", "git@github.com:us/llama.cpp.git")
    fork.git("remote", "add", "upstream", "https://someone:token@github.com/ggml-org/llama.cpp")
    folder = new_repository(tmp_path / ODD).path
    (folder / "upstream-map.toml").write_text(MAP.format(upstream=REMOTE))
    return folder


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with git and nothing that checks schedules."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("git", "env", "sh", "cat"):
        (folder / name).symlink_to(shutil.which(name) or "/nowhere")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def run(desk: Path, scheduler: str, *words: str) -> Outcome:
    return forkguard("nightly", "--install", scheduler, *words, cwd=desk)


def made(desk: Path, scheduler: str, *words: str) -> dict[str, Any]:
    outcome = run(desk, scheduler, "--format", "json", *words)
    assert outcome.status == 0, outcome.err

    document: dict[str, Any] = held(json.loads(outcome.out))
    return document


def home_files() -> list[Path]:
    return [path for path in Path(os.environ["HOME"]).rglob("*") if path.is_file()]


@pytest.mark.needs("systemd-analyze")
def test_units_are_checked_by_systemd_itself(desk: Path) -> None:
    document = made(desk, "systemd", "--at", "4:05")
    assert document["check"] == {"validator": "systemd-analyze verify", "result": "passed", "detail": ""}
    assert (document["written"], home_files()) == (False, [])
    service, timer = (one["content"] for one in document["files"])
    (command,) = (line.removeprefix("ExecStart=") for line in service.splitlines() if line.startswith("ExecStart="))
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(command)]
    assert words[1:] == ["nightly", "--map", str(desk / "upstream-map.toml")]
    assert f"WorkingDirectory={str(desk).replace('%', '%%')}\n" in service
    assert "OnCalendar=*-*-* 04:05:00\n" in timer


def test_units_are_written_with_write(desk: Path, bare_path: Path) -> None:
    outcome = run(desk, "systemd", "--write")
    assert outcome.status == 0, outcome.err
    folder = Path(os.environ["HOME"]) / ".config" / "systemd" / "user"
    assert [path.name for path in sorted(home_files())] == ["forkguard-nightly.service", "forkguard-nightly.timer"]
    assert (folder / "forkguard-nightly.timer").read_text() in outcome.out
    assert "not checked: systemd-analyze is not installed\n" in outcome.out
    assert outcome.out.endswith(
        "Next\n  systemctl --user daemon-reload\n  systemctl --user enable --now forkguard-nightly.timer\n"
    )


def test_what_its_validator_refuses_is_not_written(desk: Path, bare_path: Path) -> None:
    program(bare_path, "systemd-analyze", "echo odd unit >&2; exit 1")
    outcome = run(desk, "systemd", "--write")
    assert (outcome.status, outcome.out, home_files()) == (3, "", [])
    assert "odd unit" in outcome.err


def test_a_crontab_keeps_its_other_lines_and_has_ours_once(desk: Path, bare_path: Path, tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text("# mine\n0 0 * * * true\n")
    script = f'case "$1" in -l) cat {table};; -) cat > {table};; -n) exit 0;; esac'
    program(bare_path, "crontab", script)
    shown = made(desk, "cron")
    assert (shown["check"]["result"], table.read_text()) == ("passed", "# mine\n0 0 * * * true\n")
    made(desk, "cron", "--write", "--at", "02:30")
    made(desk, "cron", "--write")
    lines = table.read_text().splitlines()
    assert lines[:3] == ["# mine", "0 0 * * * true", f"# forkguard nightly: {desk}/upstream-map.toml"]
    (line,) = lines[3:]
    assert line.startswith("17 3 * * * ")
    shell = line.split(" ", 5)[5].replace("\\%", "%")
    said = subprocess.run(
        ["/bin/sh", "-c", shell.replace(shlex.split(shell)[0], "printf '%s\\n'", 1)],
        capture_output=True, text=True, check=True, timeout=20,
    ).stdout  # fmt: skip
    assert said.splitlines()[-2:] == ["--map", str(desk / "upstream-map.toml")]


@pytest.mark.needs("crontab")
def test_cron_checks_its_own_line(desk: Path) -> None:
    assert made(desk, "cron")["check"]["validator"] == "crontab -n"


def test_without_cron_it_is_said(desk: Path, bare_path: Path) -> None:
    assert "not checked: crontab is not installed" in run(desk, "cron").out
    outcome = run(desk, "cron", "--write")
    assert (outcome.status, outcome.out) == (3, "")
    assert outcome.told()[0] == "cron is not installed: there is no crontab on PATH"


def test_the_workflow_checks_out_the_fork_and_holds_the_night(desk: Path, bare_path: Path) -> None:
    program(bare_path, "actionlint", "exit 0")
    document = made(desk, "github", "--write")
    path = desk / ".github" / "workflows" / "forkguard-nightly.yml"
    assert (document["check"]["validator"], document["files"][0]["path"]) == ("actionlint", str(path))
    text = path.read_text()
    assert "token@" not in text
    workflow: dict[Any, Any] = yaml.safe_load(text)
    assert workflow[True]["schedule"] == [{"cron": "17 3 * * *"}]
    steps = workflow["jobs"]["nightly"]["steps"]
    assert steps[1]["with"]["repository"] == "us/llama.cpp"
    assert steps[1]["with"]["ref"] == "production"
    assert steps[2]["env"]["UPSTREAM"] == "https://github.com/ggml-org/llama.cpp"
    (night,) = [step for step in steps if step.get("run", "").startswith("forkguard nightly")]
    assert night["env"]["MAP"] == "upstream-map.toml"


def test_what_github_cannot_reach_is_told_with_what_to_write(desk: Path, bare_path: Path) -> None:
    assert made(desk, "github")["notes"] == []
    fork = GitFolder(desk.parent / "fork")
    fork.commit("one", {"a.txt": "1\n"})
    fork.git("checkout", "-q", "--detach")
    fork.git("remote", "remove", "origin")
    fork.git("remote", "set-url", "upstream", "../upstream")
    (desk / "upstream-map.toml").write_text(MAP.format(upstream=REMOTE).replace('ref = "production"\n', ""))
    repository, branch, address = made(desk, "github")["notes"]
    assert repository == "the fork's repository is not known: put it in the place of OWNER/NAME"
    assert branch.startswith('the production branch is not known: write  ref = "BRANCH"  into [fork] of ')
    assert address == (
        "the fork's remote upstream fetches from ../upstream, a folder that GitHub's machines do not have: "
        "UPSTREAM is https://github.com/ggml-org/llama.cpp instead, correct it if upstream is elsewhere"
    )
    lines = run(desk, "github").out.splitlines()
    assert '          UPSTREAM: "https://github.com/ggml-org/llama.cpp"' in lines
    told = [line.removeprefix("by hand: ") for line in lines if line.startswith("by hand: ")]
    assert told == [repository, branch, address]

    (desk / "upstream-map.toml").write_text(MAP.format(upstream=CLONE))
    assert made(desk, "github")["notes"][1].startswith(
        "GitHub's machines have no ../upstream, which [upstream] of the map names: "
    )


@pytest.mark.parametrize(
    "words",
    [("--write",), ("--at", "03:00"), ("--install", "systemd", "--at", "25:00"), ("--install", "cron", "--fresh"),
     ("--install", "anacron")],
)  # fmt: skip
def test_wrong_use_exits_2(desk: Path, words: tuple[str, ...]) -> None:
    outcome = forkguard("nightly", *words, cwd=desk)
    assert (outcome.status, outcome.out, home_files()) == (2, "", [])
