"""What `forkguard doctor` asks of the machine. Nothing is written, nothing is fetched."""

import contextlib
import json
import os
import shutil
import stat
import tempfile
from pathlib import Path

import psutil

from forkguard.adapters import proc
from forkguard.adapters.git import GitRepository
from forkguard.adapters.system import install_command
from forkguard.errors import CouldNotWork, ForkguardError

_TIMEOUT = 20.0
_LOCK_FOLDERS = 2


def version_text(program: str) -> str:
    """What `program --version` prints; "" where it fails. Raises `CouldNotWork` where it is not on PATH."""
    path = shutil.which(program)
    if path is None:
        raise CouldNotWork(f"{program} is not on PATH", hint=install_command(program))
    with contextlib.suppress(ForkguardError, OSError):
        done = proc.run([path, "--version"], cwd=Path(tempfile.gettempdir()), timeout=_TIMEOUT)
        return done.text().partition("\n")[0]
    return ""


def free_bytes(folder: Path) -> int:
    """Free space on the disk where the folder is, or will be made."""
    return shutil.disk_usage(_nearest(folder)).free


def require_writable(folder: Path, *, hint: str) -> str:
    """The folder's path, if files can be made in it or it can be made. Raises `CouldNotWork`."""
    nearest = _nearest(folder)
    if not nearest.is_dir():
        raise CouldNotWork("a file is in the place of this folder", where=str(nearest), hint=hint)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise CouldNotWork("this folder cannot be written", where=str(nearest), hint=hint)
    return str(folder)


def who_else_writes(folder: Path) -> str:
    """Who besides this user can write to the folder, in words; "" for nobody, or where it is not there yet."""
    if not folder.is_dir():
        return ""
    about = folder.stat()
    if about.st_uid not in {os.geteuid(), 0}:
        return f"this folder belongs to another user ({about.st_uid})"
    return "everybody on this machine can write to this folder" if about.st_mode & stat.S_IWOTH else ""


def _nearest(folder: Path) -> Path:
    """The folder, else the nearest one above it that is there."""
    return next(place for place in (folder, *folder.parents) if os.path.lexists(place))


def missing_objects(repo: GitRepository) -> int | None:
    """How many objects of its history a partial clone lacks; None for a clone that is not partial."""
    asked = ("config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$")
    if repo.run(*asked, allowed=(0, 1))[0]:
        return None
    _, out, _ = repo.run("rev-list", "--objects", "--all", "--missing=print")
    return sum(line.startswith(b"?") for line in out.splitlines())


def at_work(*folders: Path) -> list[str]:
    """The runs of forkguard on this machine that hold a lock below one of these folders, in words."""
    found = []
    for folder in folders:
        for depth in range(_LOCK_FOLDERS):
            found += [told for path in folder.glob("*/" * depth + "*.holder") if (told := _alive(path))]
    return sorted(set(found))


def _alive(holder: Path) -> str | None:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, psutil.Error):
        about = json.loads(holder.read_text(encoding="utf-8"))
        process = psutil.Process(int(about["pid"]))
        if abs(process.create_time() - float(about["started"])) < 1:
            return f"{about['purpose']} (process {process.pid})"
    return None
