"""`forkguard drift` on a long history against `git blame -w` of the files that it reports on."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import platformdirs

from benchmarks.history import COMMITS, long_history
from benchmarks.timing import TIMEOUT, Measured, median_seconds
from forkguard.adapters.archives import ArchiveCache
from forkguard.adapters.snapshots import NEWER, OLDER

_FORKGUARD = [sys.executable, "-m", "forkguard"]
_TIP = f"b{NEWER}"


class Progress:
    """Tells on stderr why one waits."""

    def step(self, message: str) -> None:
        sys.stderr.write(f"{message}\n")

    note = step

    def progress(self, done: int, total: int, message: str) -> None:
        """Bars are for people."""


def drift_against_blame() -> Measured:
    """`drift --arch lfm2` as a whole process, against one `git blame -w` for each file of the question."""
    cache = platformdirs.user_cache_path("forkguard", appauthor=False)
    archives = ArchiveCache(cache / "archives", talk=Progress())
    sys.stderr.write(f"Making a history of {COMMITS} commits (a minute, once)\n")
    fork = long_history(cache / "bench", older=archives.get(OLDER).path, newer=archives.get(NEWER).path)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        places = ["--fork", str(fork), "--upstream", "upstream", "--upstream-ref", "upstream/master"]
        subprocess.run([*_FORKGUARD, "init", *places, "--arch", "lfm2"], cwd=here, check=True, timeout=TIMEOUT)
        drift = [*_FORKGUARD, "drift", "--arch", "lfm2", "--format", "json"]
        said = subprocess.run(drift, cwd=here, check=False, timeout=TIMEOUT, stdout=subprocess.PIPE)
        files = files_of(json.loads(said.stdout))
        ours = median_seconds([drift], cwd=here, allowed=(1,))
        blame = [["git", "-C", str(fork), "blame", "-w", _TIP, "--", path] for path in files]
        theirs = median_seconds(blame, cwd=here)
    name = f"git blame -w of {len(files)} files"
    return Measured(
        f"drift --arch lfm2, {COMMITS} commits", ours, name, theirs, aim="at most 3 times", met=ours <= 3 * theirs
    )


def files_of(report: dict[str, list[dict[str, object]]]) -> list[str]:
    """The files that a drift report is about: those of its archs and findings, by path."""
    own = {str(path) for arch in report["archs"] for path in _list(arch["files"])}
    return sorted(own | {str(finding["path"]) for finding in report["findings"]})


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
