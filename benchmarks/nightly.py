"""`forkguard nightly` with nothing new, against `git fetch` that brings nothing: 400 commits, 56 patches."""

import json
import subprocess
import sys

from benchmarks.stack import PATCHES, laid_out
from benchmarks.timing import TIMEOUT, Measured, median_seconds

AIM = 2.0
"""Seconds."""

_NIGHT = [sys.executable, "-m", "forkguard", "nightly", "--format", "json"]


def night_with_nothing_new() -> Measured:
    """The night before it is whole, and each night that is timed says that it took its results over."""
    with laid_out(breaking=False) as ground:
        fork = str(ground.folder / "fork")
        subprocess.run(
            ["git", "-C", fork, "update-ref", "refs/heads/master", ground.onto], check=True, timeout=TIMEOUT
        )
        with (ground.folder / "upstream-map.toml").open("a") as file:
            file.write("\n[nightly]\nbuild = false\nreport = false\n")
        first = _record(ground.folder)
        if _record(ground.folder)["reused"] != first["id"]:
            raise SystemExit("the second night did not take over the results of the first")
        ours = median_seconds([_NIGHT], cwd=ground.folder)
        theirs = median_seconds([["git", "-C", fork, "fetch", "--quiet", "upstream"]], cwd=ground.folder)
    name = f"a night with nothing new, {PATCHES} patches, without pages"
    return Measured(name, ours, "git fetch that brings nothing", theirs, aim=f"under {AIM:g} s", met=ours < AIM)


def _record(folder: object) -> dict[str, str]:
    done = subprocess.run(_NIGHT, cwd=str(folder), capture_output=True, check=False, timeout=TIMEOUT)
    if done.returncode:
        raise SystemExit(f"the night ended with {done.returncode}: {done.stderr.decode()[-400:]}")
    record: dict[str, str] = json.loads(done.stdout)
    return record
