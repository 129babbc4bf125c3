"""A warm gate of both sides with the probe: the servers are built, everything else is done anew."""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from benchmarks.drift import Progress
from benchmarks.timing import TIMEOUT, Measured
from forkguard.adapters.archive_members import members
from forkguard.adapters.archives import ArchiveCache
from forkguard.adapters.snapshots import NEWER, OLDER, clone, make_upstream

RUNS = 3
AIM = 60.0
"""Seconds on two cores."""

_BUILD_TIMEOUT = 3600
_PORTED = f"b{NEWER}~1"
_MAP = """\
[fork]
path = "fork"
ref = "{ref}"

[upstream]
path = "upstream.git"
ref = "b{newer}"

[arch.lfm2]
enum = "LLM_ARCH_LFM2"
files = ["src/models/lfm2.cpp"]
"""


def warm_gate_with_probe() -> Measured:
    """`forkguard gate --upstream` as a whole process; the first run builds and is not counted.

    Fork and upstream, with and without the draft, two widths, one and two slots: 15 servers, 128 requests.
    """
    cache = platformdirs.user_cache_path("forkguard", appauthor=False)
    archives = ArchiveCache(cache / "archives", talk=Progress())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        upstream = place / "upstream.git"
        make_upstream(upstream, older=members(archives.get(OLDER).path), newer=members(archives.get(NEWER).path))
        clone(place / "fork", upstream)
        (place / "upstream-map.toml").write_text(_MAP.format(ref=_PORTED, newer=NEWER))
        _gate(place, timeout=_BUILD_TIMEOUT)
        ours = statistics.median(_timed(place))
    return Measured("warm 2 x 2 gate, lfm2's probe", ours, "the aim", AIM, aim="under 60 s", met=ours < AIM)


def _timed(place: Path) -> Iterator[float]:
    for _ in range(RUNS):
        start = time.perf_counter()
        _gate(place, timeout=TIMEOUT)
        yield time.perf_counter() - start


def _gate(place: Path, *, timeout: float) -> None:
    words = [sys.executable, "-m", "forkguard", "gate", "--arch", "lfm2", "--fork-ref", _PORTED, "--upstream"]
    done = subprocess.run(words, cwd=place, stdout=subprocess.PIPE, check=False, timeout=timeout)
    if done.returncode:
        raise SystemExit(f"the gate ended with status {done.returncode}:\n{done.stdout.decode()}")
