"""Reading what a build prints: ninja's counts, the first error, the compiler cache's log."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

NINJA_STATUS = "[forkguard %f %t %e] "
"""The value of `NINJA_STATUS` that `parse_status` reads: finished, total, seconds since the start."""

_STATUS = re.compile(r"^\[forkguard (\d{1,9}) (\d{1,9}) (\d+(?:\.\d+)?)\] (.*)$")
_COMPILER_ERROR = re.compile(
    r"^(?P<path>[^\s:(][^:(]*)[:(](?P<line>\d{1,9})(?:[:,]\d+)?\)?:"
    r"\s+(?:fatal )?error\s?(?:[A-Z]?\d*)?:\s*(?P<text>.*)$"
)
_CMAKE_ERROR = re.compile(r"^CMake Error at (?P<path>[^:]+):(?P<line>\d{1,9})(?: \((?P<call>\w+)\))?:")
_OTHER_ERRORS = re.compile(
    r"undefined reference to|undefined symbol|cannot find -l|ld: error:|: fatal error:|^CMake Error|"
    r"No space left on device|Killed|^ninja: (?:error|fatal):|: not found$|: error: |ld returned \d+ exit status"
)
_FAILED = re.compile(r"^FAILED: (?:\[code=\d+\] )?(?P<target>.+?)\s*$")
_PARAGRAPH = 6
"""Lines of an error of cmake's that are told; the log has the rest."""

_UNUSED = "Manually-specified variables were not used by the project:"
_HITS = {"direct_cache_hit", "preprocessed_cache_hit"}


@dataclass(frozen=True, slots=True)
class Status:
    """One of ninja's status lines: `done` of `total` steps after `elapsed` seconds; `step` is what ended."""

    done: int
    total: int
    elapsed: float
    step: str

    @property
    def seconds_left(self) -> float:
        """An estimate: as if every step left took as long as one did so far."""
        return self.elapsed / self.done * (self.total - self.done) if self.done else 0.0


@dataclass(frozen=True, slots=True)
class BuildError:
    """The first thing that went wrong: ninja's `target` (may be empty), the place, and the line itself.

    `path` is empty and `line` None where the tool named no place (a linker, for example).
    """

    target: str
    path: str
    line: int | None
    text: str


def parse_status(line: str) -> Status | None:
    """Read one line of ninja's output; None for lines that are no status.

    >>> parse_status("[forkguard 3 9 1.5] Building CXX object a.o").seconds_left
    3.0
    """
    match = _STATUS.match(line)
    if match is None:
        return None
    done, total, elapsed, step = match.groups()
    return Status(int(done), int(total), float(elapsed), step)


def first_error(lines: Iterable[str]) -> BuildError | None:
    """The first error of a build's log, read line by line; None where none of its lines looks like one.

    A line that names file and line wins over an earlier one of the same failure that does not.
    """
    target = ""
    vague: BuildError | None = None
    rest = iter(lines)
    for line in rest:
        failed = _FAILED.match(line)
        if failed:
            if vague is not None:
                return vague
            target = failed["target"]
            continue
        if parse_status(line):
            continue
        exact = _compiler_error(line, target) or _cmake_error(line, rest)
        if exact is not None:
            return exact
        if vague is None and _OTHER_ERRORS.search(line):
            vague = BuildError(target, "", None, line.strip())
    return vague or (BuildError(target, "", None, f"the command of {target} failed") if target else None)


def _compiler_error(line: str, target: str) -> BuildError | None:
    match = _COMPILER_ERROR.match(line)
    return BuildError(target, match["path"], int(match["line"]), match["text"].strip()) if match else None


def _cmake_error(line: str, rest: Iterator[str]) -> BuildError | None:
    """An error of cmake's, whose words are the indented paragraph that follows."""
    match = _CMAKE_ERROR.match(line)
    if match is None:
        return None
    words: list[str] = []
    for below in rest:
        if not below.strip() and not words:
            continue
        if not below.startswith("  ") or len(words) == _PARAGRAPH:
            break
        words.append(below.strip())
    call = f"{match['call']}: " if match["call"] else ""
    return BuildError("configure", match["path"], int(match["line"]), call + " ".join(words))


def cache_counts(lines: Iterable[str]) -> tuple[int, int]:
    """Hits and misses of ccache's statistics log (`CCACHE_STATSLOG`).

    >>> cache_counts(["# a.c", "direct_cache_hit", "# b.c", "cache_miss"])
    (1, 1)
    """
    found = Counter(line.strip() for line in lines if not line.startswith("#"))
    return sum(found[name] for name in _HITS), found["cache_miss"]


def unused_variables(lines: Iterable[str]) -> tuple[str, ...]:
    """The variables of cmake's warning that the project does not use them.

    >>> unused_variables([f"  {_UNUSED}", "", "    GGML_CUDA", "", "", "--"])
    ('GGML_CUDA',)
    """
    found: list[str] = []
    reading = False
    for line in lines:
        if line.strip() == _UNUSED:
            reading = True
        elif reading and line.startswith("    "):
            found.append(line.strip())
        elif line.strip():
            reading = False
    return tuple(found)


def duration(seconds: float) -> str:
    """A length of time as a person says it.

    >>> duration(75), duration(8.2), duration(7300), duration(200000)
    ('1 min 15 s', '8 s', '2 h 1 min', '2 d 7 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"
