"""`forkguard nightly`."""

from pathlib import Path

import click

from forkguard.cli.compose_nightly import find_place, hold_night
from forkguard.cli.compose_notices import tell_github
from forkguard.cli.options import deliver, fork_options, map_option, output_options, talk_options
from forkguard.cli.render import rendered
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.nightly import NightVerdict, write_night
from forkguard.errors import ExitCode
from forkguard.reports.nightly import nightly_markdown, nightly_text

EXITS = {
    NightVerdict.GREEN: ExitCode.CLEAN,
    NightVerdict.RED: ExitCode.FINDING,
    NightVerdict.COULD_NOT_RUN: ExitCode.COULD_NOT,
}


@click.command("nightly", short_help="Fetch, drift, replay, build, gate, report; production is never touched.")
@click.option("--fresh", is_flag=True, help="Do everything again, even where nothing is new since the last night.")
@output_options(("text", "json", "markdown"))
@talk_options
@fork_options
@map_option
def command(
    fresh: bool,
    format_: str,
    output: Path | None,
    map_file: Path | None,
    fork: Path | None,
    fork_ref: str | None,
    verbose: bool,
    color: bool | None,
) -> int:
    """Try the whole stack on upstream's newest commit, and say in the morning whether it works.

    Fetches upstream into refs of forkguard's own, looks for commits that no patchset covers, compares the watched
    archs, replays the stack in memory, and where it applies makes the branch forkguard/candidate/DATE, builds it and
    gates it beside upstream. Your branches, index, work tree and remote-tracking refs stay as they are, and nothing
    is pushed unless [nightly] push of the map names a branch. Each night leaves a record under .forkguard/nightly.

    \b
    Examples:
      forkguard nightly
      forkguard nightly --format json
      forkguard nightly --fresh

    Exit status: 0 green; 1 red; 3 could not run.
    """
    with ConsoleTalk(color=color, verbose=verbose) as talk:
        place = find_place(map_file)
        night = hold_night(place, talk, fork=fork, fork_ref=fork_ref, fresh=fresh)
        record = str(place.nights.path(night.id))
        if format_ == "text":
            text = rendered(nightly_text(night, record=record), color=color, output=output)
        else:
            text = write_night(night) if format_ == "json" else nightly_markdown(night)
    tell_github(night)
    deliver(text, output=output)
    return int(EXITS[night.verdict])
