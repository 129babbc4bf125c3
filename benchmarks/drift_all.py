"""All archs at once: against blame of every model file, for a second fork, and the base of a squashed one."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import platformdirs

from benchmarks.drift import Progress
from benchmarks.history import COMMITS, long_history
from benchmarks.timing import TIMEOUT, Measured, median_seconds
from forkguard.adapters.archives import ArchiveCache
from forkguard.adapters.git import GitRepository
from forkguard.adapters.rulefiles import bundled_rules
from forkguard.adapters.snapshots import NEWER, OLDER
from forkguard.core.findings import Side
from forkguard.workflows.base import find_base
from forkguard.workflows.drift import run_drift

_FORKGUARD = [sys.executable, "-m", "forkguard"]
_TIP = f"b{NEWER}"
_MEGABYTES = 500


def _fork() -> Path:
    cache = platformdirs.user_cache_path("forkguard", appauthor=False)
    archives = ArchiveCache(cache / "archives", talk=Progress())
    sys.stderr.write(f"Making a history of {COMMITS} commits (a minute, once)\n")
    return long_history(cache / "bench", older=archives.get(OLDER).path, newer=archives.get(NEWER).path)


def all_archs_against_blame() -> Measured:
    """`drift --all` as a whole process, against one `git blame -w` for each file of `src/models`."""
    fork = _fork()
    listed = subprocess.run(
        ["git", "-C", str(fork), "ls-tree", "--name-only", _TIP, "src/models/"],
        check=True, timeout=TIMEOUT, stdout=subprocess.PIPE, text=True,
    ).stdout.split()  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        places = ["--fork", str(fork), "--upstream", "upstream", "--upstream-ref", "upstream/master"]
        subprocess.run([*_FORKGUARD, "init", *places, "--arch", "lfm2"], cwd=here, check=True, timeout=TIMEOUT)
        drift = [*_FORKGUARD, "drift", "--all", "--format", "json"]
        ours = median_seconds([drift], cwd=here, allowed=(1,))
        peak = _peak_megabytes(drift, here)
        blame = [["git", "-C", str(fork), "blame", "-w", _TIP, "--", path] for path in listed]
        start = time.perf_counter()
        for command in blame:
            subprocess.run(command, cwd=here, check=True, timeout=TIMEOUT, stdout=subprocess.DEVNULL)
        theirs = time.perf_counter() - start
    met = ours <= 0.3 * theirs and peak < _MEGABYTES
    return Measured(
        f"drift --all, {COMMITS} commits, {peak} MB", ours, f"git blame -w of {len(listed)} files", theirs,
        aim=f"at most 0.3, under {_MEGABYTES} MB", met=met,
    )  # fmt: skip


def _peak_megabytes(command: list[str], folder: Path) -> int:
    """The most memory that a process held, in MB."""
    subprocess.run(command, cwd=folder, check=False, timeout=TIMEOUT, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024


def second_fork_against_first() -> Measured:
    """The same comparison for a fork that shares most blobs with one that was compared before, in one process."""
    with GitRepository(_fork()) as repo:
        upstream = Side("upstream/master", repo.resolve("upstream/master"))
        first = _drift_seconds(repo, Side("first", repo.resolve(f"b{OLDER}")), upstream)
        second = _drift_seconds(repo, Side("second", repo.resolve("HEAD")), upstream)
    return Measured(
        "drift --all of a second fork", second, "of the first", first, aim="at most 0.1", met=second <= 0.1 * first
    )


def _drift_seconds(repo: GitRepository, fork: Side, upstream: Side) -> float:
    start = time.perf_counter()
    base = find_base(repo, fork=fork, upstream=upstream)
    run_drift(repo, fork=fork, upstream=upstream, base=base, archs=None, rules=bundled_rules())
    return time.perf_counter() - start


def base_by_content() -> Measured:
    """The base of a fork without history, among all commits, against git's own walk over the same commits."""
    fork = _fork()
    identity = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "bench"), ("EMAIL", "bench@example.invalid"), ("DATE", "2026-01-01T00:00:00Z"))
    }
    git = ["git", "-C", str(fork)]
    squashed = subprocess.run(
        [*git, "commit-tree", "-m", "squashed", "HEAD^{tree}"],
        check=True, timeout=TIMEOUT, stdout=subprocess.PIPE, text=True, env=dict(os.environ) | identity,
    ).stdout.strip()  # fmt: skip
    with GitRepository(fork) as repo:
        upstream = Side("upstream/master", repo.resolve("upstream/master"))
        start = time.perf_counter()
        base = find_base(repo, fork=Side("squashed", repo.resolve(squashed)), upstream=upstream)
        ours = time.perf_counter() - start
    walk = [*git, "log", "--raw", "--no-abbrev", "--no-renames", "--first-parent", "upstream/master"]
    theirs = median_seconds([walk], cwd=fork)
    return Measured(
        f"base by content among {COMMITS} commits ({base.how})", ours, "git log --raw", theirs, aim="under 2 s",
        met=ours < 2,
    )  # fmt: skip
