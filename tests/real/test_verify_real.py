"""`forkguard verify` on a real build: the gated server with its libraries, its flags and nothing else."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commands import forkguard

pytestmark = [pytest.mark.real, pytest.mark.timeout(3600), pytest.mark.usefixtures("build_turn")]

MAP = """\
[fork]
path = "{fork}"
ref = "production"

[upstream]
remote = "upstream"
ref = "upstream/master"

[arch.lfm2]
enum = "LLM_ARCH_LFM2"
files = ["src/models/lfm2.cpp"]

[gate]
tokens = 16
slots = [1]
"""


def test_a_ported_build_is_covered_and_a_changed_one_is_not(real_fork: Path, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "upstream-map.toml").write_text(MAP.format(fork=real_fork))
    assert forkguard("port", "27383", cwd=desk).status == 0
    words = ("--arch", "lfm2", "--fork-ref", "forkguard/27383", "--width", "3", "--format", "json")
    gated = forkguard("gate", *words, cwd=desk)
    assert gated.status == 0, gated.err
    receipt = json.loads(gated.out)
    assert {one["language"] for one in receipt["build"]["compilers"]} >= {"C", "CXX"}
    assert (receipt["build"]["profile"], receipt["build"]["options"]["CMAKE_BUILD_TYPE"]) == ("cpu", "Release")
    binary = Path(receipt["tree"]["binary"])
    models = [word for model in receipt["models"] for word in ("--model", model["path"])]
    (flags,) = [" ".join(each["flags"]) for each in receipt["flags"] if each["arm"] == "draft-3"]
    assert "--spec-draft-n-max 3 --spec-type draft-dspark" in flags
    covered = forkguard("verify", binary, *models, "--flags", flags, "--arch", "lfm2", cwd=desk)
    assert covered.status == 0, covered.out
    assert receipt["tree"]["commit"][:12] in covered.out
    shutil.copytree(binary.parent, desk / "opt", symlinks=True)
    assert forkguard("verify", desk / "opt" / binary.name, cwd=desk).status == 0
    (library,) = [path for path in (desk / "opt").glob("libllama.so*") if not path.is_symlink()]
    with library.open("ab") as file:
        file.write(b"\x00")
    refused = forkguard("verify", desk / "opt" / binary.name, cwd=desk)
    assert (refused.status, f"[changed-library]: {desk / 'opt' / binary.name}: {library.name}" in refused.out) == (
        1, True,
    )  # fmt: skip
