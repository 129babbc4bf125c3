"""cmake, ninja, the compilers and ccache: what is there, and what they are told."""

import contextlib
import os
import platform
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from forkguard.adapters import proc
from forkguard.adapters.files import write_atomic
from forkguard.adapters.system import install_command
from forkguard.adapters.trees import BUILD, SOURCES
from forkguard.core.build_profiles import Machine, Profile, cpu_flags, with_flag
from forkguard.core.commit_macros import narrowing_script
from forkguard.core.install_hints import together
from forkguard.core.names import CommitHash
from forkguard.core.ninja_log import (
    NINJA_STATUS,
    BuildError,
    Status,
    cache_counts,
    first_error,
    parse_status,
    unused_variables,
)
from forkguard.errors import CouldNotWork

LOG = "build.log"
CONFIGURE_TIMEOUT = 900.0
BUILD_TIMEOUT = 6 * 3600.0
_STATS = "ccache.stats"
_SESSION = "session"
_MACROS = "narrow.cmake"
_MEMORY_PER_JOB = 1 << 30
_STEERING = (
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "ASMFLAGS", "CUDAFLAGS", "CUDACXX",
    "HIPFLAGS", "HIPCXX", "CMAKE_GENERATOR", "CMAKE_BUILD_TYPE", "CMAKE_TOOLCHAIN_FILE",
    "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "MAKEFLAGS", "NINJAFLAGS",
    "DESTDIR", "SOURCE_DATE_EPOCH",
)  # fmt: skip
"""Variables that change what a build makes. Only the profile sets them, for a tree's name does not tell of ours."""

_SET_BY_MAKE = ("MAKEFLAGS",)
"""Variables that say nothing of the user's wishes where forkguard runs under make."""


class CMake:
    """Configures and builds trees. `cache` is where the compiler cache lives, shared by all trees."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def machine(self) -> Machine:
        """This machine, as profiles see it."""
        text = ""
        with contextlib.suppress(OSError):
            text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        return Machine(platform.machine(), cpu_flags(text))

    def check(self, profile: Profile) -> tuple[str, ...]:
        """Look for the tools that a profile needs; return remarks on what would help.

        Raises `CouldNotWork` naming the tool and the command that installs it.
        """
        env = _environment(profile)
        missing = [(what, names) for what, names, found in self.tools(profile) if found is None and what != "ccache"]
        if missing:
            raise _not_installed(missing)
        remarks = []
        own = {*dict(profile.env), *_SET_BY_MAKE}
        ignored = [name for name in _STEERING if os.environ.get(name) and name not in own]
        if ignored:
            remarks.append(
                f"{', '.join(ignored)} of the environment are not used; set them in [build.{profile.name}] env"
            )
        if _find(("ccache",), env) is None:
            remarks.append(f"without ccache every new tree is compiled from nothing; {install_command('ccache')}")
        return tuple(remarks)

    def tools(self, profile: Profile) -> tuple[tuple[str, tuple[str, ...], str | None], ...]:
        """What building with a profile uses: what it is, the names that it goes by, and where it is (None: nowhere).

        All but ccache are needed.
        """
        env = _environment(profile)
        used: tuple[tuple[str, tuple[str, ...]], ...] = (
            ("cmake", ("cmake",)),
            ("ninja", ("ninja", "ninja-build")),
            ("a C compiler", _compilers(profile, "C", "CC", ("cc", "gcc", "clang"))),
            ("a C++ compiler", _compilers(profile, "CXX", "CXX", ("c++", "g++", "clang++"))),
            ("ccache", ("ccache",)),
        )
        return tuple((what, names, _find(names, env)) for what, names in used)

    def _require(self, what: str, names: Sequence[str], env: Mapping[str, str]) -> str:
        found = _find(names, env)
        if found is None:
            raise _not_installed([(what, names)])
        return found

    # -- configure -----------------------------------------------------------------------------------

    def configure(self, tree: Path, profile: Profile, commit: CommitHash) -> tuple[str, ...]:
        """Run cmake for the tree, always: it is quick, and mends a build that was cut off or moved.

        Starts `build.log` anew. Returns the variables that we set and the project does not know. Raises
        `CouldNotWork` with cmake's first error.
        """
        self._end_leftovers(tree)
        log = tree / LOG
        write_atomic(log, "")
        _drop_foreign_build(tree)
        write_atomic(tree / _MACROS, narrowing_script(commit))
        env = self._build_environment(tree, profile)
        words = self._words(tree, profile, env)
        status = self._stream(tree, words, env, timeout=CONFIGURE_TIMEOUT, on_line=lambda _: None)
        if status:
            raise _failure("cmake could not configure the tree", tree, status)
        with log.open(encoding="utf-8", errors="replace") as lines:
            return unused_variables(lines)

    def _words(self, tree: Path, profile: Profile, env: Mapping[str, str]) -> list[str]:
        words = (f"-DCMAKE_PROJECT_INCLUDE={tree / _MACROS}", *profile.cmake)
        for language in ("C", "CXX"):
            words = with_flag(words, f"CMAKE_{language}_FLAGS", f"-ffile-prefix-map={tree}=.")
        if _find(("ccache",), env) is not None:
            languages = ["C", "CXX"] + [each for each in ("CUDA", "HIP") if f"-DGGML_{each}=ON" in profile.cmake]
            words = (*(f"-DCMAKE_{each}_COMPILER_LAUNCHER=ccache" for each in languages), *words)
        cmake = self._require("cmake", ("cmake",), env)
        ninja = self._require("ninja", ("ninja", "ninja-build"), env)
        return [
            cmake, "-S", str(tree / SOURCES), "-B", str(tree / BUILD), "-G", profile.generator,
            f"-DCMAKE_MAKE_PROGRAM={ninja}", *words,
        ]  # fmt: skip

    # -- build ---------------------------------------------------------------------------------------

    def build(
        self,
        tree: Path,
        profile: Profile,
        *,
        targets: Sequence[str],
        jobs: int | None,
        on_status: Callable[[Status], None],
    ) -> tuple[int, int] | None:
        """Run ninja for the targets; return the compiler cache's hits and misses, None where it told none.

        Raises `CouldNotWork` with the compiler's first error; the tree stays for the next build to go on with.
        """
        env = self._build_environment(tree, profile)
        stats = tree / _STATS
        stats.unlink(missing_ok=True)

        def on_line(line: str) -> None:
            status = parse_status(line)
            if status is not None:
                on_status(status)

        ninja = self._require("ninja", ("ninja", "ninja-build"), env)
        words = [ninja, "-C", str(tree / BUILD), f"-j{jobs or profile.jobs or default_jobs()}", *targets]
        status = self._stream(tree, words, env, timeout=BUILD_TIMEOUT, on_line=on_line)
        if status:
            raise _failure("the build failed", tree, status)
        if not stats.exists():
            return None
        with stats.open(encoding="utf-8", errors="replace") as lines:
            return cache_counts(lines)

    def binaries(self, tree: Path, targets: Sequence[str]) -> tuple[Path, ...]:
        """The programs of the targets that are programs, in their order."""
        found = (tree / BUILD / "bin" / target for target in targets)
        return tuple(path for path in found if path.is_file() and os.access(path, os.X_OK))

    # -- processes -----------------------------------------------------------------------------------

    def _build_environment(self, tree: Path, profile: Profile) -> dict[str, str]:
        """The profile's, with what ccache needs to see the same paths in every tree, and we to read the log."""
        env = _environment(profile)
        env.setdefault("CCACHE_DIR", str(self._cache / "ccache"))
        return env | {
            "CCACHE_BASEDIR": str(tree),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_STATSLOG": str(tree / _STATS),
            "NINJA_STATUS": NINJA_STATUS,
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
        }

    def _stream(
        self,
        tree: Path,
        words: Sequence[str],
        env: Mapping[str, str],
        *,
        timeout: float,
        on_line: Callable[[str], None],
    ) -> int:
        def on_start(session: int) -> None:
            write_atomic(tree / _SESSION, f"{session}\n")

        try:
            status = proc.stream(
                words, cwd=tree, env=env, timeout=timeout, log=tree / LOG, on_line=on_line, on_start=on_start
            )
        except OSError as error:
            raise CouldNotWork(
                f"cannot write the build's log: {error.strerror or error}",
                where=str(tree / LOG),
                hint="forkguard build --prune --keep 2  makes room",
            ) from error
        (tree / _SESSION).unlink(missing_ok=True)
        return status

    def _end_leftovers(self, tree: Path) -> None:
        """A run that was killed outright may have left compilers at work here; two builds in one place would mix."""
        with contextlib.suppress(OSError, ValueError):
            proc.kill_session(int((tree / _SESSION).read_text(encoding="ascii")), inside=tree)


def default_jobs() -> int:
    """Jobs for ninja: the processors that we may use, but no more than the free memory feeds (1 GiB each)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, psutil.virtual_memory().available // _MEMORY_PER_JOB))


def _environment(profile: Profile) -> dict[str, str]:
    ours = {name: value for name, value in proc.inherited_environment().items() if name not in _STEERING}
    return ours | dict(profile.env)


def _find(names: Sequence[str], env: Mapping[str, str]) -> str | None:
    found = (shutil.which(name, path=env.get("PATH", os.defpath)) for name in names)
    return next((path for path in found if path is not None), None)


def _compilers(profile: Profile, language: str, variable: str, usual: tuple[str, ...]) -> tuple[str, ...]:
    """The one compiler that the profile names, in cmake's words or in its environment; else the usual ones."""
    prefix = f"-DCMAKE_{language}_COMPILER="
    named = [word.removeprefix(prefix) for word in profile.cmake if word.startswith(prefix)]
    named += dict(profile.env).get(variable, "").split()[:1]
    return (named[0],) if named else usual


def _not_installed(tools: Sequence[tuple[str, Sequence[str]]]) -> CouldNotWork:
    """All that is missing at once, so that it is installed at once."""
    told = [f"{what} is not installed ({' or '.join(names)})" for what, names in tools]
    return CouldNotWork("; ".join(told), hint=" && ".join(together([install_command(what) for what, _ in tools])))


def _drop_foreign_build(tree: Path) -> None:
    """Remove a build that was configured at another place (the trees' folder was moved): its paths are wrong."""
    cache = tree / BUILD / "CMakeCache.txt"
    try:
        text = cache.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    if f"CMAKE_HOME_DIRECTORY:INTERNAL={tree / SOURCES}\n" not in text:
        shutil.rmtree(tree / BUILD)


def _failure(what: str, tree: Path, status: int) -> CouldNotWork:
    log = tree / LOG
    with log.open(encoding="utf-8", errors="replace") as lines:
        error = first_error(lines)
    if error is None:
        ended = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return CouldNotWork(f"{what}: it {ended}", where=str(log), hint=f"less {shlex.quote(str(log))}")
    if not error.path:
        return CouldNotWork(f"{what}: {error.text}", where=str(log), hint=_next_step(error, tree))
    told = f"{what}: {error.text}\n  target: {error.target}\n  log:   {log}"
    return CouldNotWork(told, where=_place(error, tree), hint=_next_step(error, tree))


def _place(error: BuildError, tree: Path) -> str:
    """The place as a path that can be opened: compilers name it from the build, cmake from the sources."""
    for folder in (tree / BUILD, tree / SOURCES):
        path = os.path.normpath(folder / error.path)
        if Path(path).is_file():
            return f"{path}:{error.line}"
    return f"{error.path}:{error.line}"


def _next_step(error: BuildError, tree: Path) -> str:
    if "No space left on device" in error.text:
        return "forkguard build --prune --keep 2"
    if "Killed" in error.text:
        return "forkguard build --jobs 1  (the compiler ran out of memory)"
    if "unknown target" in error.text:
        return f"ninja -C {shlex.quote(str(tree / BUILD))} -t targets all  lists the targets"
    return f"less {shlex.quote(str(tree / LOG))}"
