"""Shell completion, as real shells ask for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forkguard.cli.main import VERBS
from tests.support.programs import need

SOURCE = {
    "bash": 'eval "$(_FORKGUARD_COMPLETE=bash_source forkguard)"',
    "zsh": 'autoload -U compinit; compinit -u; eval "$(_FORKGUARD_COMPLETE=zsh_source forkguard)"',
    "fish": "_FORKGUARD_COMPLETE=fish_source forkguard | source",
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A PATH on which `forkguard` is this project."""
    program = tmp_path / "bin/forkguard"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m forkguard "$@"\n')
    program.chmod(0o755)
    root = str(Path(__file__).parents[2])
    return {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": root}


def ask(shell: str, script: str, environment: dict[str, str], folder: Path) -> list[str]:
    """The lines that a script prints in a shell that has sourced the completion."""
    need(shell)
    words = [shell, "-c", f"{SOURCE[shell]}\n{script}"]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("dr", ["drift"]),
        ("drift --fork", ["--fork", "--fork-ref"]),
        ("stack re", ["replay", "reorder", "retire"]),
        ("status --format ", ["text", "json"]),
    ],
)
def test_bash(line: str, proposed: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    words = line.split(" ")
    typed = " ".join(f"'{word}'" for word in words)
    script = (
        f"COMP_WORDS=(forkguard {typed}); COMP_CWORD={len(words)}\n_forkguard_completion forkguard\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    assert ask("bash", script, environment, tmp_path) == proposed


def test_bash_has_it_set_up_for_the_name(environment: dict[str, str], tmp_path: Path) -> None:
    assert ask("bash", "complete -p forkguard", environment, tmp_path) == [
        "complete -o nosort -F _forkguard_completion forkguard"
    ]


def test_zsh(environment: dict[str, str], tmp_path: Path) -> None:
    assert ask("zsh", "print $_comps[forkguard]", environment, tmp_path) == ["_forkguard_completion"]


def test_fish(environment: dict[str, str], tmp_path: Path) -> None:
    proposed = ask("fish", "complete -C 'forkguard dr'", environment, tmp_path)
    assert [line.split("\t")[0] for line in proposed] == ["drift"]


def test_the_first_word_is_proposed_without_loading_a_command(environment: dict[str, str], tmp_path: Path) -> None:
    asked = {"COMP_WORDS": "forkguard ", "COMP_CWORD": "1", "_FORKGUARD_COMPLETE": "bash_complete"}
    code = (
        "import sys\nfrom forkguard.cli.main import invoke\ntry:\n    invoke([])\nfinally:\n"
        "    sys.stderr.write(' '.join(name for name in sys.modules if name.startswith('forkguard.cli.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment | asked, capture_output=True, text=True,
        check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines() == [f"plain,{verb}" for verb in VERBS]
    assert set(done.stderr.split()) == {f"forkguard.cli.{name}" for name in ("main", "groups", "github_log")}
