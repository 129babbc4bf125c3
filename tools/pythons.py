"""The built wheel on every Python that is here: `python -m tools.pythons WHEEL`.

Each gets a fresh environment, and goes once round on the miniature project of the tests: init, drift, port, status.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.repos import frozen_environment, mini_history

OLDEST = (3, 11)
ROUND = (
    (("--version",), 0),
    (("init", "--fork", "../fork", "--arch", "heron"), 0),
    (("drift", "--arch", "heron"), 1),
    (("port", "201"), 0),
    (("drift", "--arch", "heron", "--fork-ref", "forkguard/201"), 0),
    (("status", "--format", "json"), 0),
    (("doctor", "--for", "drift"), 0),
)
"""Command lines, and the exit status that each must have."""

_TIMEOUT = 900


def interpreters() -> dict[tuple[int, ...], Path]:
    """The newest interpreter of each minor version from 3.11 on: on PATH, of pyenv and of uv."""
    home = Path.home()
    places = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep) if place]
    places += sorted(home.glob(".pyenv/versions/*/bin")) + sorted(home.glob(".local/share/uv/python/*/bin"))
    found: dict[tuple[int, ...], tuple[tuple[int, ...], Path]] = {}
    for path in (each for place in places for each in sorted(place.glob("python3.*"))):
        if not re.fullmatch(r"python3\.\d+", path.name):
            continue
        version = _version(path)
        if version >= OLDEST and version > found.get(version[:2], ((), path))[0]:
            found[version[:2]] = (version, path)
    return {minor: path for minor, (_, path) in sorted(found.items())}


def _version(path: Path) -> tuple[int, ...]:
    """The version of an interpreter that works and can make environments; empty for any other."""
    code = "import sys, venv, ensurepip; print(*sys.version_info[:3])"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    return tuple(int(part) for part in done.stdout.split()) if done.returncode == 0 else ()


def try_wheel(wheel: Path, python: Path) -> str:
    """Install the wheel for an interpreter and go once round; return "" or what went wrong."""
    with tempfile.TemporaryDirectory(prefix="forkguard-python-") as work:
        place = Path(work) / "venv"
        pip = (
            str(place / "bin/python"),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--quiet",
            "install",
            str(wheel),
        )
        for words in ((str(python), "-m", "venv", str(place)), pip):
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_TIMEOUT)
            if done.returncode:
                return f"{' '.join(words)}:\n{done.stderr}"
        mini_history(Path(work))
        (Path(work) / "desk").mkdir()
        for arguments, status in ROUND:
            done = subprocess.run(
                [place / "bin/python", "-W", "error::DeprecationWarning:forkguard", "-m", "forkguard", *arguments],
                cwd=Path(work) / "desk", env=frozen_environment(Path(work)), capture_output=True, text=True,
                check=False, timeout=_TIMEOUT,
            )  # fmt: skip
            if done.returncode != status:
                return f"forkguard {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return ""


def run(wheel: Path) -> int:
    """Try all interpreters; 1 where one of them fails, 3 where there is none."""
    here = interpreters()
    bad = 0
    for minor, path in here.items():
        trouble = try_wheel(wheel.resolve(), path)
        bad += bool(trouble)
        sys.stdout.write(f"Python {'.'.join(map(str, minor))}  {trouble or 'ok'}\n")
        sys.stdout.flush()
    absent = [f"3.{minor}" for minor in range(OLDEST[1], 15) if (3, minor) not in here]
    if absent:
        sys.stdout.write(f"not here, so not tried: {', '.join(absent)}\n")
    return 1 if bad else 0 if here else 3


if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit("git is not installed")
    sys.exit(run(Path(sys.argv[1])))
