"""`forkguard status`."""

from dataclasses import replace
from pathlib import Path

import click

from forkguard.cli.compose import latest_receipt, open_project, patchset_store
from forkguard.cli.compose_replay import open_works
from forkguard.cli.options import deliver, output_options, project_options
from forkguard.cli.talk import ConsoleTalk
from forkguard.reports.status import status_json, status_text
from forkguard.workflows.status import read_status


@click.command("status", short_help="Base, commits behind and ahead, patch stack, last nightly and receipt.")
@project_options
@output_options(("text", "json"))
def command(
    map_file: Path | None,
    fork: Path | None,
    fork_ref: str | None,
    upstream_ref: str | None,
    format_: str,
    output: Path | None,
    verbose: bool,
    color: bool | None,
) -> None:
    """Where the fork stands: its base, the commits behind and ahead, and the patch stack.

    Commits of the fork that no patchset covers are listed: they would be lost if the fork were made anew from the
    stack. Nothing is fetched: upstream is as the last `git fetch` left it.
    """
    with (
        ConsoleTalk(color=color, verbose=verbose) as talk,
        open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=upstream_ref) as project,
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
        report = replace(report, open=open_works(project))
    deliver(status_json(report) if format_ == "json" else status_text(report), output=output)
