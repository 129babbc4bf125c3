"""`forkguard nightly`."""

from pathlib import Path

import click

from forkguard.cli.compose_nightly import find_place, hold_night
from forkguard.cli.compose_notices import tell_github
from forkguard.cli.nightly_install import DEFAULT_TIME, install_json, install_text
from forkguard.cli.nightly_install import install as make_schedule
from forkguard.cli.options import deliver, fork_options, map_option, output_options, talk_options
from forkguard.cli.project_options import ProjectOptions, collected
from forkguard.cli.render import rendered
from forkguard.core.nightly import NightVerdict, write_night
from forkguard.core.schedules import Scheduler
from forkguard.errors import ExitCode, UsageProblem
from forkguard.reports.nightly import nightly_markdown, nightly_text

EXITS = {
    NightVerdict.GREEN: ExitCode.CLEAN,
    NightVerdict.RED: ExitCode.FINDING,
    NightVerdict.COULD_NOT_RUN: ExitCode.COULD_NOT,
}


@click.command("nightly", short_help="Fetch, drift, replay, build, gate, report; production is never touched.")
@click.option("--fresh", is_flag=True, help="Do everything again, even where nothing is new since the last night.")
@click.option(
    "--install",
    type=click.Choice([one.value for one in Scheduler]),
    help="Show what holds a night each day; no night is held now.",
)
@click.option("--write", is_flag=True, help="With --install: write it too.")
@click.option("--at", metavar="HH:MM", help=f"With --install: the time of the day.  [default: {DEFAULT_TIME}]")
@output_options(("text", "json", "markdown"))
@talk_options
@fork_options
@map_option
@collected
def command(
    fresh: bool,
    install: str | None,
    write: bool,
    at: str | None,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> int:
    """Try the whole stack on upstream's newest commit, and say in the morning whether it works.

    Fetches upstream into refs of forkguard's own, looks for commits that no patchset covers, compares the watched
    archs, replays the stack in memory, and where it applies makes the branch forkguard/candidate/DATE, builds it and
    gates it beside upstream. Your branches, index, work tree and remote-tracking refs stay as they are, and nothing
    is pushed unless [nightly] push of the map names a branch. Each night leaves a record under .forkguard/nightly,
    and renews the pages of `forkguard report`.

    \b
    Examples:
      forkguard nightly
      forkguard nightly --format json
      forkguard nightly --fresh
      forkguard nightly --install systemd            shows the units
      forkguard nightly --install systemd --write

    Exit status: 0 green; 1 red; 3 could not run.
    """
    _check_words(install, write=write, at=at, fresh=fresh, format_=format_)
    place = find_place(options.map_file)
    if install is not None:
        made = make_schedule(place, Scheduler(install), fork=options.fork, at=at or DEFAULT_TIME, write=write)
        deliver(install_json(made) if format_ == "json" else install_text(made), output=output)
        return int(ExitCode.CLEAN)
    with options.talk() as talk:
        night = hold_night(place, talk, fork=options.fork, fork_ref=options.fork_ref, fresh=fresh)
        record = str(place.nights.path(night.id))
        if format_ == "text":
            text = rendered(nightly_text(night, record=record), color=options.color, output=output)
        else:
            text = write_night(night) if format_ == "json" else nightly_markdown(night)
    tell_github(night)
    deliver(text, output=output)
    if place.map.nightly.report:
        _write_pages(place.map_path, options)
    return int(EXITS[night.verdict])


def _write_pages(map_path: Path, options: ProjectOptions) -> None:
    from forkguard.cli.compose_report import renew_report, report_place  # noqa: PLC0415  (what draws pages loads slowly)

    with options.talk() as talk:
        renew_report(report_place(map_file=map_path, fork=options.fork), talk)


def _check_words(install: str | None, *, write: bool, at: str | None, fresh: bool, format_: str) -> None:
    if install is None and (write or at is not None):
        raise UsageProblem("--write and --at belong to --install", hint="forkguard nightly --install systemd --write")
    if install is not None and (fresh or format_ == "markdown"):
        raise UsageProblem(
            "--install holds no night: --fresh and markdown are not for it",
            hint=f"forkguard nightly --install {install}",
        )
