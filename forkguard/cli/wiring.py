"""`forkguard wiring`."""

from pathlib import Path

import click

from forkguard.cli.compose import project_rules
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.cli.render import rendered
from forkguard.core.wiring import ArchPlace
from forkguard.errors import ExitCode
from forkguard.reports.wiring import wiring_json, wiring_markdown, wiring_text
from forkguard.workflows.wiring import run_wiring


@click.command()
@click.option(
    "--arch", "archs", multiple=True, metavar="NAME", help="An arch; repeatable.  [default: all that either tree has]"
)
@click.option("--draft", metavar="TYPE", help="What this draft type needs of each arch, such as draft-dspark.")
@output_options(["text", "json", "markdown"])
@project_options
def command(
    archs: tuple[str, ...],
    draft: str | None,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> int:
    """Which arch has which wiring: the fork beside upstream, a column for each wiring rule.

    A cell says yes, no, branch (only inside a branch) or - (no, and the feature matters to other archs only); where
    fork and upstream differ it says both, the fork first.

    \b
    Examples:
      forkguard wiring
      forkguard wiring --draft draft-dspark
      forkguard wiring --arch lfm2 --arch qwen35 --format json

    Exit status: 0; 1 where an arch that was named is not in the fork.
    """
    with options.talk() as talk, options.opened() as project:
        report = run_wiring(
            project.fork_repo,
            fork=project.fork,
            upstream=project.upstream,
            archs=archs or None,
            draft=draft,
            rules=project_rules(project),
            talk=talk,
        )
    if format_ == "text":
        text = rendered(wiring_text(report), color=options.color, output=output)
    else:
        text = wiring_json(report) if format_ == "json" else wiring_markdown(report)
    deliver(text, output=output)
    absent = archs and any(row.place in {ArchPlace.UPSTREAM, ArchPlace.NEITHER} for row in report.rows)
    return int(ExitCode.FINDING if absent else ExitCode.CLEAN)
