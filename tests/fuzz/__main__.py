"""`python -m tests.fuzz [--seconds N] [TARGET...]`: each parser for N seconds with atheris, one after another.

What broke a parser lies in `build/fuzz/<target>/` afterwards; `--again FILE TARGET` shows it again.
The exit status is 1 where something broke.
"""

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.targets import Target

FOLDER = Path("build/fuzz")
MOST_MEMORY = 1024
"""MiB that a process may take. The parsers of code grow with their input, which has at most `LONGEST` bytes."""
LONGEST = 8192
SLOWEST = 10
"""Seconds for one input of that size, on any machine."""


def main() -> int:
    """Fuzz the named targets, or all."""
    options = _options()
    if options.again is not None:
        _targets()[options.targets[0]].check(options.again.read_bytes())
        return 0
    if options.child:
        return _fuzz(options.targets[0], options.seconds)
    names = options.targets or list(_targets())
    broken = [name for name in names if not _in_a_process(name, options.seconds)]
    print(f"broken: {', '.join(broken)}; see {FOLDER}" if broken else f"{len(names)} parsers, nothing broke")
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--again", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _targets() -> "dict[str, Target]":
    from tests.fuzz.targets import TARGETS  # noqa: PLC0415  (atheris must be there before what it watches)

    return TARGETS


def _in_a_process(name: str, seconds: int) -> bool:
    words = [sys.executable, "-m", "tests.fuzz", "--child", "--seconds", str(seconds), name]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=seconds + 300)
    runs = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("Done ")), "")
    if done.returncode == 0:
        print(f"{name:<16} {runs or 'it said nothing of its runs'}", flush=True)
        return bool(runs)
    told = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith(("#", "INFO:"))]
    print(f"{name:<16} BROKEN\n" + "\n".join(f"    {line}" for line in told[-30:]), flush=True)
    return False


def _fuzz(name: str, seconds: int) -> int:
    import atheris  # noqa: PLC0415

    with atheris.instrument_imports(include=["forkguard"]):
        target = _targets()[name]
    corpus = FOLDER / name
    (corpus / "corpus").mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds):
        (corpus / "corpus" / f"seed-{number}").write_bytes(seed)
    limits = (
        f"-max_total_time={seconds}",
        f"-rss_limit_mb={MOST_MEMORY}",
        f"-timeout={SLOWEST}",
        f"-max_len={LONGEST}",
    )
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={corpus}/", str(corpus / "corpus")], target.check)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    if importlib.util.find_spec("atheris") is None and "--again" not in sys.argv:
        sys.exit("atheris is not installed: make fuzz  installs it where there is a wheel for this Python")
    sys.exit(main())
