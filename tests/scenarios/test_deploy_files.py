"""The unit file and the workflow that the manual ships: what they run is what forkguard has."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from forkguard.adapters.signing import SshSigner
from forkguard.cli.main import VERBS, main
from tests.support.commands import forkguard
from tests.support.receipts import Shelf
from tests.support.signers import allow, make_key

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
UNIT = (DEPLOY / "llama-server.service").read_text()
WORKFLOW: dict[Any, Any] = yaml.safe_load((DEPLOY / "gate.yml").read_text())


def setting(name: str) -> str:
    """The one value of a key of the unit."""
    (value,) = re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)
    return str(value)


def pre_start(shelf: Shelf, *, signers: Path) -> list[str]:
    """The words of `ExecStartPre=` as systemd gives them to forkguard, with this shelf's paths."""
    flags = re.search(r'Environment="SERVER_FLAGS=(.*)"', UNIT)
    assert flags is not None
    line = setting("ExecStartPre").replace("${SERVER_FLAGS}", flags[1].replace("/srv/models/", f"{shelf.root}/"))
    for place, here in {
        "/opt/llama/bin/llama-server": shelf.binary,
        "/var/lib/forkguard/receipts": shelf.store.root,
        "/etc/forkguard/allowed_signers": signers,
    }.items():
        assert line.count(place) == 1
        line = line.replace(place, str(here))
    program, *words = shlex.split(line)
    assert program == "/opt/forkguard/bin/forkguard"
    return words


def test_the_unit_lets_a_covered_server_start_and_no_other(shelf: Shelf) -> None:
    key = make_key(shelf.root / "keys", "ada")
    signers = allow(shelf.root, ada=key)
    served = ["-c", "4096", "-np", "1", "--spec-type", "draft-dspark", "--spec-draft-n-max", "3"]
    command = ["/build/llama-server", "--port", "1", *served]
    arms = [{"name": "draft-3", "command": command, "complete": True, "verbose": False}]
    shelf.gate(key=SshSigner(key), arms=arms)
    words = pre_start(shelf, signers=signers)
    outcome = forkguard(*words, cwd=shelf.root)
    assert outcome.status == 0, outcome.out + outcome.err
    assert "2 models, flags, signature of ada@example.org" in outcome.out
    shelf.library.write_bytes(b"another")
    assert forkguard(*words, cwd=shelf.root).status == 1
    shelf.gate(key=SshSigner(key))
    other = forkguard(*words, cwd=shelf.root)
    assert (other.status, "REFUSED [other-flags]" in other.out) == (1, True)


def test_the_server_gets_the_flags_that_were_compared() -> None:
    assert setting("ExecStart").endswith(" $SERVER_FLAGS")
    assert setting("ExecStart").split()[0] == shlex.split(setting("ExecStartPre"))[2]


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.symlink_to(sys.executable)
    text = UNIT.replace("/opt/forkguard/bin/forkguard", str(program))
    (tmp_path / "llama-server.service").write_text(text.replace("/opt/llama/bin/llama-server", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / "llama-server.service")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    mine = [line for line in done.stderr.splitlines() if "llama-server.service" in line]
    assert (done.returncode, mine) == (0, []), done.stderr


def commands() -> list[list[str]]:
    """Every forkguard command of the workflow, as words."""
    scripts = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]
    return [shlex.split(text) for text in re.findall(r"forkguard (gate (?:\"\$\w+\"|[^)\n\"])*)", "\n".join(scripts))]


def test_the_workflow_runs_commands_that_there_are() -> None:
    assert [words[:2] for words in commands()] == [["gate", "--matrix"], ["gate", "--job"], ["gate", "--merge"]]
    for verb, *words in commands():
        assert verb in VERBS
        command = main.get_command(None, verb)  # type: ignore[arg-type]
        assert command is not None
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in words if word.startswith("-")} <= known


def test_the_workflow_knows_the_fields_of_a_job() -> None:
    text = (DEPLOY / "gate.yml").read_text()
    fields = set(re.findall(r"matrix\.(\w+)", text)) - {"matrix", "outputs"}
    assert {"id", "profile"} <= fields <= {"id", "arch", "profile", "arm", "width", "slots"}


def test_no_value_of_a_stranger_is_pasted_into_a_script() -> None:
    for job in WORKFLOW["jobs"].values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")
