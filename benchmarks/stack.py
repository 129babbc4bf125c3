"""`forkguard stack replay` of 56 patches against `git am --3way` of the same mails, and the search among 400 commits.

Both stand on the sources of a real build: 400 upstream commits and 56 patches insert lines in them. Three patches of
four need nothing but an offset; the context of the fourth changed upstream, so it takes a three-way merge.
"""

import contextlib
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from benchmarks.drift import Progress
from benchmarks.timing import RUNS, TIMEOUT, Measured
from forkguard.adapters.archive_members import members
from forkguard.adapters.archives import ArchiveCache
from forkguard.adapters.git import GitRepository
from forkguard.adapters.replay_store import ReplayStore, Step
from forkguard.adapters.snapshots import OLDER, UPSTREAM_BRANCH, ImportFeed, NewCommit, Signature, init
from forkguard.adapters.workbench import Workbench
from forkguard.cli.main import invoke
from forkguard.core.fitting import Version
from forkguard.core.hunks import content_of, lines_of
from forkguard.core.names import CommitHash, TreePath

PATCHES = 56
COMMITS = 400
BREAKING = 287
_FORKGUARD = [sys.executable, "-m", "forkguard"]
_AUTHOR = b"Ada Otter <ada@example.org> 1767268800 +0000"
_FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_SPACING = 40
"""Lines between two places of one file at which patches insert; upstream inserts half way between them."""

_MAP = """\
[fork]
path = "fork"
ref = "{base}"

[upstream]
remote = "upstream"
ref = "upstream/master"
base = "{base}"

[defaults]
cache = "cache"

[arch.lfm2]
enum = "LLM_ARCH_LFM2"
files = ["src/models/lfm2.cpp"]
"""


@dataclass
class _Sources:
    """Files that grow: what each line (from 0, of the first version) has behind it."""

    lines: dict[TreePath, list[str]]
    behind: dict[TreePath, dict[int, str]] = field(default_factory=dict)

    def insert(self, path: TreePath, at: int, text: str) -> Version:
        places = self.behind.setdefault(path, {})
        places[at] = places.get(at, "") + text
        return self.version(path)

    def version(self, path: TreePath) -> Version:
        places = self.behind.get(path, {})
        grown = [line + places.get(number, "") for number, line in enumerate(self.lines[path])]
        return Version("100644", content_of(grown))

    def places(self) -> list[tuple[TreePath, int]]:
        """Where a patch may insert, spread over all files."""
        return [
            (path, at) for path in sorted(self.lines) for at in range(20, len(self.lines[path]) - 30, 2 * _SPACING)
        ]


@dataclass(frozen=True)
class Ground:
    """A folder with `fork/`, a map and a stack; `mails` in order; `onto` is upstream's commit."""

    folder: Path
    onto: CommitHash
    mails: tuple[Path, ...]


@contextmanager
def laid_out(*, breaking: bool) -> Iterator[Ground]:
    archive = ArchiveCache(platformdirs.user_cache_path("forkguard", appauthor=False) / "archives", talk=Progress())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield _make(folder, archive.get(OLDER).path, breaking=breaking)


def _make(folder: Path, archive: Path, *, breaking: bool) -> Ground:
    fork = folder / "fork"
    init(fork, bare=False)
    with ImportFeed(fork) as feed:
        files = list(members(archive))
        when = Signature("Upstream", "upstream@example.invalid", _FIRST_DAY)
        feed.commit_tree(NewCommit(UPSTREAM_BRANCH, f"b{OLDER}", when, {}), feed.snapshot(files))
        feed.import_into(fork)
    lines = {
        file.path: lines_of(file.data)
        for file in files
        if file.path.startswith("src/") and file.path.endswith(".cpp") and file.data.count(b"\n") > 4 * _SPACING
    }
    with GitRepository(fork) as repo:
        base = repo.resolve(UPSTREAM_BRANCH)
        bench = Workbench(repo, folder / "cache" / "worktrees")
        store = ReplayStore(repo, *bench.place)
        dice = random.Random(56)  # noqa: S311  (no secret)
        spots = dice.sample(_Sources(lines).places(), PATCHES)
        tip = store.commit_series(base, _upstream(_Sources(lines), spots, dice, breaking=breaking))[-1]
        repo.run("update-ref", "refs/remotes/upstream/master", tip)
        repo.run("config", "remote.upstream.url", str(fork))
        commits = store.commit_series(base, _patches(_Sources(lines), spots))
        mails = _stack(folder, bench, commits, base)
    (folder / "upstream-map.toml").write_text(_MAP.format(base=base))
    return Ground(folder, tip, mails)


def _upstream(
    sources: _Sources, spots: Sequence[tuple[TreePath, int]], dice: random.Random, *, breaking: bool
) -> list[Step]:
    steps: list[Step] = []
    near = iter(spots[::4])
    for number in range(1, COMMITS + 1):
        path, at = dice.choice(spots)
        place = at + _SPACING
        if number % 25 == 0 and (spot := next(near, None)) is not None:
            path, place = spot[0], spot[1] - 2
        if breaking and number == BREAKING:
            path, place = spots[0]
        version = sources.insert(path, min(place, len(sources.lines[path]) - 1), f"// upstream {number}\n")
        steps.append((_AUTHOR, f"upstream : {number} (#{30_000 + number})\n".encode(), {path: version}))
    return steps


def _patches(sources: _Sources, spots: Sequence[tuple[TreePath, int]]) -> list[Step]:
    return [
        (_AUTHOR, f"ours: {number}\n".encode(), {path: sources.insert(path, at, f"// ours {number}\n// and why\n")})
        for number, (path, at) in enumerate(spots, 1)
    ]


def _stack(folder: Path, bench: Workbench, commits: Sequence[CommitHash], base: CommitHash) -> tuple[Path, ...]:
    mails = []
    root = folder / "patchsets"
    for number, commit in enumerate(commits, 1):
        name, content = bench.patch(commit, number=number, base=base, headers=("Origin: vendor", "Forwarded: no"))
        place = root / f"{number:04d}"
        place.mkdir(parents=True)
        (place / name).write_bytes(content)
        (place / "series").write_text(f"{name}\n")
        (place / "patchset.toml").write_text(f'title = "ours {number}"\nstate = "carried"\n')
        mails.append(place / name)
    (root / "series").write_text("".join(f"{number:04d}\n" for number in range(1, len(commits) + 1)))
    return tuple(mails)


def _median(work: Callable[[], None], *, before: Callable[[], None]) -> float:
    times = []
    for run in range(RUNS + 1):
        before()
        start = time.perf_counter()
        work()
        if run:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def _run(words: Sequence[str], cwd: Path, *, allowed: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(words, cwd=cwd, timeout=TIMEOUT, check=False, capture_output=True)
    if done.returncode not in allowed:
        raise SystemExit(f"{' '.join(words[:6])} ended with {done.returncode}: {done.stderr.decode()[-400:]}")
    return done.stdout


def replay_against_am() -> Measured:
    """A replay in a process that has started, as in the nightly, against `git am --3way` in a ready checkout."""
    with laid_out(breaking=False) as ground, contextlib.chdir(ground.folder):
        theirs = _am(ground)
        ours = _median(lambda: _invoke(["stack", "replay", "--output", "replay.txt"]), before=lambda: None)
    return _measured(f"stack replay of {PATCHES} patches, started", ours, theirs)


def replay_command_against_am() -> Measured:
    """The whole command, the start of Python included."""
    with laid_out(breaking=False) as ground:
        theirs = _am(ground)
        replay = [*_FORKGUARD, "stack", "replay", "--format", "json"]
        ours = _median(lambda: _none(_run(replay, ground.folder)), before=lambda: None)
    return _measured(f"stack replay of {PATCHES} patches, whole command", ours, theirs)


def _measured(name: str, ours: float, theirs: float) -> Measured:
    met = ours <= theirs / 2
    return Measured(name, ours, f"git am --3way of {PATCHES} mails", theirs, aim="half the time or less", met=met)


def _invoke(words: list[str]) -> None:
    if invoke(words):
        raise SystemExit(f"forkguard {' '.join(words)} failed")


def _am(ground: Ground) -> float:
    """Seconds of `git am`; both ways must make one tree."""
    report = json.loads(_run([*_FORKGUARD, "stack", "replay", "--format", "json"], ground.folder))
    if report["summary"]["applies"] != PATCHES:
        raise SystemExit(f"not every patch applies: {report['summary']}")
    tree = ground.folder / "am"
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "gc.auto=0"]
    _run([*git, "clone", "-q", "--shared", "--no-checkout", str(ground.folder / "fork"), str(tree)], ground.folder)
    _run([*git, "checkout", "-q", "--detach", ground.onto], tree)
    seconds = _median(
        lambda: _none(_run([*git, "am", "-q", "--3way", *map(str, ground.mails)], tree)),
        before=lambda: _none(_run([*git, "reset", "-q", "--hard", ground.onto], tree)),
    )
    same = _run([*git, "rev-parse", "HEAD^{tree}", f"{report['tip']}^{{tree}}"], tree).split()
    if same[0] != same[1]:
        raise SystemExit("the replay and git am made different trees")
    return seconds


def breaking_commit_among_400() -> Measured:
    """A replay that finds the commit, against one that does not look; the count of replays is the aim."""
    with laid_out(breaking=True) as ground:
        replay = [*_FORKGUARD, "stack", "replay", "--format", "json"]
        report = json.loads(_run(replay, ground.folder, allowed=(1,)))
        broken = report["stack"][0]["broken"]
        if broken is None or broken["subject"] != f"upstream : {BREAKING} (#{30_000 + BREAKING})":
            raise SystemExit(f"another commit was named: {broken}")
        searching = _median(lambda: _none(_run(replay, ground.folder, allowed=(1,))), before=lambda: None)
        without = _median(
            lambda: _none(_run([*replay, "--no-bisect"], ground.folder, allowed=(1,))), before=lambda: None
        )
    most = 2 * math.log2(COMMITS)
    return Measured(
        f"breaking commit among {COMMITS}, {broken['replays']} replays", searching, "the replay alone", without,
        aim=f"at most {most:.1f} replays", met=broken["replays"] <= most,
    )  # fmt: skip


def _none(_: bytes) -> None:
    """The output is not looked at."""
