"""`forkguard doctor`."""

import contextlib
from pathlib import Path

import click

from forkguard import __version__
from forkguard.adapters.system import system_name
from forkguard.cli.compose_doctor import Examination
from forkguard.cli.main import VERBS
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.errors import ExitCode
from forkguard.reports.doctor import doctor_json, doctor_text
from forkguard.workflows.doctor import examine

_OTHERS = tuple(verb for verb in VERBS if verb != "doctor")


@click.command("doctor", short_help=VERBS["doctor"])
@click.option(
    "--for", "verbs", multiple=True, type=click.Choice(_OTHERS), metavar="COMMAND",
    help="Judge by what this command needs (repeatable).  [default: by all commands]",
)  # fmt: skip
@project_options
@output_options(("text", "json"))
def command(
    verbs: tuple[str, ...],
    options: ProjectOptions,
    format_: str,
    output: Path | None,
) -> int:
    """What this machine and this project lack, what it is needed for, and the command that mends it.

    Works without a map and without a fork; name the fork with --fork to have it looked at before `forkguard init`.
    Nothing is written or fetched. Exits 1 when a command cannot work here, or one of those named with --for.

    \b
    Examples:
      forkguard doctor
      forkguard doctor --fork ../llama.cpp --for init --for drift
    """
    asked = tuple(verb for verb in _OTHERS if not verbs or verb in verbs)
    with options.talk() as talk, contextlib.ExitStack() as stack:
        talk.step("looking at the machine and the project")
        examination = Examination(
            map_file=options.map_file, fork=options.fork, fork_ref=options.fork_ref,
            upstream_ref=options.upstream_ref, verbs=asked, stack=stack,
        )  # fmt: skip
        report = examine(examination.looks(), version=__version__, system=system_name(), verbs=asked)
    deliver(doctor_json(report) if format_ == "json" else doctor_text(report), output=output)
    return int(ExitCode.FINDING if report.blocked else ExitCode.CLEAN)
