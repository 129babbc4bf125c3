"""The `forkguard` program: the group of verbs, and the one boundary where errors become exit codes."""

import errno
import io
import os
import signal
import sys
import tempfile
import traceback

import click

from forkguard import __version__
from forkguard.cli.github_log import commands_stopped
from forkguard.cli.groups import LazyGroup
from forkguard.errors import CouldNotWork, ExitCode, ForkguardError
from forkguard.reports.plain import printable

VERBS = {
    "init": "Write upstream-map.toml for a llama.cpp fork, by reading its trees.",
    "status": "Base, commits behind and ahead, patch stack, last nightly and receipt.",
    "drift": "What the fork lacks or lost, who brought it upstream, and how to mend it.",
    "wiring": "Which arch has which wiring, the fork beside upstream; what a draft type needs.",
    "port": "Port an upstream pull request onto the fork as a patchset.",
    "stack": "Show, check, replay and edit the patch stack.",
    "build": "An isolated tree of the fork, built; the list and the pruning of the trees.",
    "probe": "Write a tiny random-weight model pair, so that the gate runs anywhere.",
    "gate": "Run the fork's server with and without a draft: crash, liveness, determinism, fallback.",
    "verify": "Is this exact binary covered by a passing, fresh receipt? The check before a deployment.",
    "doctor": "What this machine and this project lack, and the command that mends it.",
    "nightly": "Fetch, drift, replay, build, gate, report; production is never touched.",
    "report": "The pages to open in the morning: nights, patchsets, archs, gate runs, trends.",
    "demo": "The whole loop on real llama.cpp sources from the Python package index.",
}
"""Each verb is `forkguard.cli.<verb>:command`; the summaries live here so that --help imports none of them."""

_ROOM = "make room on that disk, then the same command again; df -h  shows which is full"
_RIGHTS = "give this user the right to it, then the same command again; ls -ld  shows whose it is"
_SURROUNDINGS = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "this disk is read-only; name another folder for the map, or for [defaults] cache and trees in it",
    errno.EIO: "the disk fails; dmesg  says more",
    errno.EMFILE: "ulimit -n 4096  allows more open files; then the same command again",
    errno.ENOMEM: "free memory, then the same command again",
}
"""What the machine may refuse anywhere, which is no bug of ours, and what to type next."""


@click.group(
    cls=LazyGroup,
    verbs={name: (f"{name}:command", summary) for name, summary in VERBS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: " + "; ".join(f"{code.value} {code.meaning}" for code in ExitCode) + ".",
)
@click.version_option(__version__, "-V", "--version", prog_name="forkguard")
def main() -> None:
    """Guard a production fork of llama.cpp against its moving upstream.

    Start in a folder of your own beside the fork:

    \b
      forkguard init --fork ../llama.cpp     write upstream-map.toml
      forkguard drift --arch lfm2            what does the fork lack?
      forkguard port 27383                   bring it over, as a patchset
    """


def run() -> None:
    """Entry point of the console script."""
    signal.signal(signal.SIGTERM, _raise_interrupt)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a letter costs nobody the result
    with commands_stopped():
        status = invoke(sys.argv[1:])
    sys.exit(status)


def invoke(arguments: list[str]) -> int:
    """Run one command line and return its exit status; every error is told here, and only here."""
    try:
        result = main.main(arguments, prog_name="forkguard", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return int(ExitCode.USAGE)
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nforkguard: interrupted; the next run goes on from here, or begins anew", err=True)
        return int(ExitCode.INTERRUPTED)
    except ForkguardError as error:
        tell(error)
        return int(error.exit_code)
    except OSError as error:
        return _refused(error)
    except Exception as error:  # noqa: BLE001  (the boundary: whatever else comes here is our bug)
        return _bug(error)
    return int(result) if isinstance(result, int) else int(ExitCode.CLEAN)


def tell(error: ForkguardError) -> None:
    """What happened, where, and the next command to type, on stderr."""
    click.echo(f"forkguard: {_plain(error.what)}", err=True)
    if error.where:
        click.echo(f"  where: {_plain(error.where)}", err=True)
    if error.hint:
        click.echo(f"  next:  {_plain(error.hint)}", err=True)


def _plain(text: str) -> str:
    """The text as a terminal may have it: names, and what git says of them, may hold escapes and line ends."""
    return "\n         ".join(printable(line.strip()) for line in text.splitlines() if line.strip())


def _raise_interrupt(number: int, frame: object) -> None:  # noqa: ARG001
    raise KeyboardInterrupt


def _refused(error: OSError) -> int:
    """What the machine did not let us do."""
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.COULD_NOT)  # who read the result is gone, and it may have been no pass
    hint = _SURROUNDINGS.get(error.errno or 0)
    if hint is None:
        return _bug(error)
    tell(CouldNotWork(error.strerror or str(error), where=str(error.filename or ""), hint=hint))
    return int(ExitCode.COULD_NOT)


def _bug(error: Exception) -> int:
    details = f"forkguard {__version__}, Python {sys.version}\n" + "".join(traceback.format_exception(error))
    click.echo(f"forkguard: a bug in forkguard: {_plain(f'{type(error).__name__}: {error}')}", err=True)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="forkguard-bug-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as log:
            log.write(details)
    except OSError as full:
        click.echo(f"  where: {_plain(details)}", err=True)
        click.echo(
            f"  next:  please report it with these lines; no file could be written ({full.strerror})", err=True
        )
    else:
        click.echo(f"  where: {log.name} holds the details", err=True)
        click.echo("  next:  please report it with that file", err=True)
    return int(ExitCode.BUG)
