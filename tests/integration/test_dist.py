"""Wheel and source archive: the same bytes twice, whole, and the version is git's."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import forkguard
from tools.dist import ROOT, NotAlike, build_dist, require_whole


@pytest.mark.full
def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed (make sets it up)")
    wheel, source = build_dist(tmp_path / "dist")
    assert (wheel.suffix, source.suffixes[-2:]) == (".whl", [".tar", ".gz"])
    with zipfile.ZipFile(wheel) as archive:
        stated = archive.read("forkguard/_version.py").decode()
    assert f'"{wheel.name.split("-")[1]}"' in stated


@pytest.mark.parametrize("lacking", [r"forkguard/rules/wiring\.toml", r"forkguard/patchsets/27383/patchset\.toml"])
def test_a_wheel_that_lacks_what_the_program_reads_is_refused(tmp_path: Path, lacking: str) -> None:
    wheel = tmp_path / "forkguard-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("forkguard/py.typed", "")
    with pytest.raises(NotAlike, match=lacking):
        require_whole(wheel)


def test_a_wheel_with_the_tests_in_it_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "forkguard-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in ("forkguard/py.typed", "tests/conftest.py"):
            archive.writestr(name, "")
    with pytest.raises(NotAlike, match=r"holds \['tests/conftest\.py'\]"):
        require_whole(wheel)


def test_sources_that_were_never_built_have_a_version_all_the_same(tmp_path: Path) -> None:
    package = tmp_path / "forkguard"
    package.mkdir()
    (package / "__init__.py").write_text((ROOT / "forkguard/__init__.py").read_text())
    words = [sys.executable, "-I", "-S", "-c"]
    say = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import forkguard; print(forkguard.__version__)"
    done = subprocess.run([*words, say], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "0+unknown\n"
    (package / "_version.py").write_text('__version__ = "7.1"\n')
    done = subprocess.run([*words, say], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "7.1\n"
    assert forkguard.__version__
