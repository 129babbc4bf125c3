"""A file system that is soon full: a tmpfs of a few kilobytes, where this user may mount one."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(place: Path, *, kilobytes: int) -> Iterator[Path]:
    """`place`, on a disk of that size, while the block runs; skips the test where mounting is not allowed."""
    place.mkdir(parents=True)
    options = f"size={kilobytes}k,mode=755"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False, timeout=60
    )
    if done.returncode:
        pytest.skip("a small disk cannot be mounted here: that takes root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True, timeout=60)


def fill(place: Path) -> None:
    """Leave no free block."""
    with (place / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
