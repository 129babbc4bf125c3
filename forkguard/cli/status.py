"""`forkguard status`."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click

from forkguard.adapters.nights import NightFolder
from forkguard.cli import clock
from forkguard.cli.compose import latest_receipt, patchset_store
from forkguard.cli.compose_nights import night_folder
from forkguard.cli.compose_replay import open_works
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.core.built_trees import parse_age
from forkguard.core.open_work import open_night
from forkguard.core.status import NightSummary
from forkguard.core.watchdog import watch
from forkguard.errors import ExitCode
from forkguard.reports.status import status_json, status_text
from forkguard.workflows.status import read_status


@click.command("status", short_help="Base, commits behind and ahead, patch stack, last nightly and receipt.")
@click.option(
    "--max-age", metavar="AGE", help="Exit 1 where no night came to an answer, green or red, within AGE (36h, 2d)."
)
@project_options
@output_options(("text", "json"))
def command(
    max_age: str | None,
    options: ProjectOptions,
    format_: str,
    output: Path | None,
) -> int:
    """Where the fork stands: its base, the commits behind and ahead, and the patch stack.

    Commits of the fork that no patchset covers are listed: they would be lost if the fork were made anew from the
    stack. Nothing is fetched: upstream is as the last `git fetch` left it.

    --max-age is for a watchdog: nights that do not run, or cannot, tell nobody.

    \b
    Examples:
      forkguard status
      forkguard status --max-age 36h

    Exit status: 0; 1 with --max-age, where the last answer is older, or there is none.
    """
    with (
        options.talk() as talk,
        options.opened() as project,
    ):
        report = read_status(
            project.fork_repo,
            patchset_store(project),
            fork=project.fork,
            upstream=project.upstream,
            configured_base=project.map.upstream.base,
            receipt=latest_receipt(project),
            talk=talk,
        )
        nights = night_folder(project)
        unfinished = tuple(open_night(one, str(nights.path(one).parent)) for one in nights.unfinished())
        age = timedelta(seconds=parse_age(max_age)) if max_age is not None else None
        report = replace(
            report,
            open=(*open_works(project), *unfinished),
            nightly=latest_night(nights),
            watch=watch(nights.newest_first(), now=clock.now(), max_age=age) if age is not None else None,
        )
    deliver(status_json(report) if format_ == "json" else status_text(report), output=output)
    return int(ExitCode.FINDING if report.watch is not None and report.watch.stale else ExitCode.CLEAN)


def latest_night(nights: NightFolder) -> NightSummary | None:
    """The last night that ended. Raises `CouldNotWork` where its record is damaged."""
    for one in reversed(nights.ids()):
        found = nights.read(one)
        if found is not None:
            return NightSummary(str(nights.path(one)), found)
    return None
