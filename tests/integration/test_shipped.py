"""The manifests that ship with forkguard: whole, and found in a checkout as in an installed package."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forkguard.adapters.shipped import shipped_manifest
from forkguard.core.names import PullNumber
from forkguard.core.patchset import State, parse_manifest
from tools.dist import ROOT

SHIPPED = sorted(path.parent.name for path in ROOT.glob("patchsets/*/patchset.toml"))
ASK = """\
import sys
sys.path.insert(0, sys.argv[1])
from forkguard.adapters.shipped import shipped_manifest
print(shipped_manifest(27383), end="")
"""


def test_the_requests_that_the_project_names_ship() -> None:
    assert SHIPPED == ["27342", "27383", "27816", "29085"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_manifest_says_why_it_is_there_and_when_to_drop_it(name: str) -> None:
    text = shipped_manifest(PullNumber(int(name)))

    assert text == (ROOT / "patchsets" / name / "patchset.toml").read_text()
    manifest = parse_manifest(text, name=name)
    assert (manifest.pull, manifest.state, manifest.upstream, manifest.base) == (int(name), State.DECLARED, (), "")
    assert manifest.why.strip()
    assert manifest.drop_when.strip()
    assert all(item.why for item in manifest.follow_ups)
    assert all(item.why for item in manifest.prerequisites)


def test_nothing_ships_about_other_requests() -> None:
    assert shipped_manifest(PullNumber(201)) is None


@pytest.mark.parametrize("inside", [True, False], ids=["installed", "checkout"])
def test_it_is_found_inside_of_the_package_and_beside_it(tmp_path: Path, *, inside: bool) -> None:
    package = tmp_path / "forkguard"
    shutil.copytree(ROOT / "forkguard", package, ignore=shutil.ignore_patterns("__pycache__"))
    file = (package if inside else tmp_path) / "patchsets/27383/patchset.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# here\n")

    words = [sys.executable, "-I", "-B", "-c", ASK, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)

    assert done.stdout == "# here\n"
