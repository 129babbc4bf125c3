"""Wheel and source archive of the last commit, built twice and compared: `python -m tools.dist FOLDER`.

Each build has a clone of its own, at another path; a third wheel is built from the source archive, where there is no
git. All three must be the same bytes, and the wheel must hold all that the program reads.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
_TIMEOUT = 300
_READ_BY_THE_PROGRAM = ("forkguard/py.typed", "forkguard/rules/*.toml", "forkguard/reports/templates/*")
_TAKEN_INTO_THE_PACKAGE = "patchsets/*/patchset.toml"


class NotAlike(Exception):
    """Two builds of the same commit differ, or an archive lacks something."""


def build_dist(folder: Path) -> tuple[Path, ...]:
    """Build, compare, check, and put the archives into `folder`; return their paths. Raises `NotAlike`."""
    with tempfile.TemporaryDirectory(prefix="forkguard-dist-") as work:
        places = [Path(work) / name for name in ("one", "another-place")]
        first, second = (_build(place, Path(work) / f"{place.name}-dist") for place in places)
        for ours, theirs in zip(first, second, strict=True):
            _require_same(ours, theirs)
        wheel, source = (next(path for path in first if path.suffix == suffix) for suffix in (".whl", ".gz"))
        _require_same(wheel, _wheel_of_source(source, Path(work)))
        require_whole(wheel)
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(Path(shutil.copy2(path, folder)) for path in first)


def _build(place: Path, output: Path) -> list[Path]:
    _run("git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(place), cwd=ROOT)
    _hatchling(place, output)
    return sorted(output.iterdir())


def _wheel_of_source(source: Path, work: Path) -> Path:
    unpacked = work / "unpacked"
    with tarfile.open(source) as archive:
        archive.extractall(unpacked, filter="data")
    _hatchling(next(unpacked.iterdir()), work / "again", "-t", "wheel")
    return next((work / "again").iterdir())


def _hatchling(place: Path, output: Path, *words: str) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(output), *words, cwd=place)


def _run(*words: str, cwd: Path) -> None:
    stamp = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=_TIMEOUT
    ).stdout.strip()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        words, cwd=cwd, env=environment | {"SOURCE_DATE_EPOCH": stamp}, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT, check=False, timeout=_TIMEOUT,
    )  # fmt: skip
    if done.returncode:
        raise NotAlike(f"{' '.join(words[:4])} failed:\n{done.stdout}")


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _require_same(one: Path, other: Path) -> None:
    if one.name != other.name or sha256(one) != sha256(other):
        raise NotAlike(f"two builds differ: {one} and {other}")


def require_whole(wheel: Path) -> None:
    """Raise `NotAlike` where the wheel lacks a file that is in the package, or holds what is not of it."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    wanted = {str(path.relative_to(ROOT)) for pattern in _READ_BY_THE_PROGRAM for path in ROOT.glob(pattern)}
    wanted |= {f"forkguard/{path.relative_to(ROOT)}" for path in ROOT.glob(_TAKEN_INTO_THE_PACKAGE)}
    lacking = sorted({name for name in wanted if not name.endswith(".pyc")} - held)
    strange = sorted(name for name in held if not name.startswith("forkguard"))
    if lacking or strange:
        raise NotAlike(f"the wheel lacks {lacking} and holds {strange}")


if __name__ == "__main__":
    try:
        built = build_dist(Path(sys.argv[1]))
    except NotAlike as difference:
        sys.exit(f"{difference}")
    for path in built:
        sys.stdout.write(f"{sha256(path)}  {path}\n")
