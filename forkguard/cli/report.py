"""`forkguard report`."""

from pathlib import Path

import click

from forkguard.cli.compose_report import open_report, report_place, write_site
from forkguard.cli.options import deliver, map_option, talk_options
from forkguard.cli.project_options import ProjectOptions, collected
from forkguard.reports.history import history_json
from forkguard.reports.report_markdown import report_markdown


@click.command()
@click.option(
    "--format", "format_", type=click.Choice(["html", "markdown", "json"]), default="html", show_default=True,
    help="Pages in a folder, one Markdown document for a pull request, or the history as JSON.",
)  # fmt: skip
@click.option(
    "--export", type=click.Choice(["json"]), help="The history as one JSON document, as --format json writes it."
)
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="PATH",
    help="The folder of the pages, or the file of the document.  [default: .forkguard/report; stdout]",
)  # fmt: skip
@click.option("--records-only", is_flag=True, help="Leave out what is read from the fork: wiring and range-diffs.")
@click.option(
    "--fork", type=click.Path(path_type=Path), metavar="PATH",
    help="The fork's clone.  [default: $FORKGUARD_FORK, else the map's]",
)  # fmt: skip
@map_option
@talk_options
@collected
def command(
    format_: str,
    export: str | None,
    output: Path | None,
    records_only: bool,
    options: ProjectOptions,
) -> None:
    """The pages to open in the morning: what needs you, each night, patchset, arch and gate run, and the trends.

    The pages are one folder that needs no server and no network; the report before it in that folder is replaced.
    The history behind them is kept in .forkguard/history.sqlite and made anew from the records when it is lost.

    \b
    Examples:
      forkguard report
      forkguard report --output ~/public/fork
      forkguard report --format markdown --output comment.md
      forkguard report --export json

    Exit status: 0 whenever the report was written, whatever it says; `forkguard status` judges.
    """
    place = report_place(map_file=options.map_file, fork=options.fork)
    chosen = export or format_
    with (
        options.talk() as talk,
        open_report(place, sources=chosen == "html" and not records_only, talk=talk) as report,
    ):
        if chosen == "html":
            folder, size = write_site(place, report, output)
            deliver(f"{folder / 'index.html'}\n", output=None)
            talk.note(f"{size / (1 << 20):.1f} MiB")
            return
        text = history_json(report.history) if chosen == "json" else report_markdown(report)
    deliver(text, output=output)
