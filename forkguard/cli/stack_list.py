"""`forkguard stack list` and `show`: they read the files beside the map alone, unless `--onto` asks for a replay."""

from pathlib import Path

import click

from forkguard.adapters.mapstore import chosen_map, read_map
from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.cli.options import deliver, fork_options, map_option, output_options
from forkguard.cli.project_options import ProjectOptions, collected
from forkguard.cli.render import rendered
from forkguard.cli.stack_replay import replayed
from forkguard.reports.stack import patchset_json, patchset_text, stack_json, stack_text
from forkguard.workflows.stack import list_stack, show_patchset

color_option = click.option(
    "--color/--no-color", default=None, help="Colour.  [default: on a terminal, unless NO_COLOR is set]"
)


@click.command("list", short_help="The patchsets in their order, with state and size.")
@map_option
@color_option
@click.option("--onto", metavar="REF", help="Say also what becomes of each patch on this upstream commit.")
@fork_options
@output_options(("text", "json"))
@collected
def list_command(
    options: ProjectOptions,
    onto: str | None,
    format_: str,
    output: Path | None,
) -> None:
    """The patchsets in the order in which they apply; those that patchsets/series does not list come last.

    \b
    States: declared (no patches yet), proposed, carried, disabled, retired.
    """
    patchsets = _store(options.map_file)
    stack = list_stack(patchsets)
    states = None
    if onto is not None:
        report = replayed(options, onto=onto)
        states = {(each.patch.patchset, each.patch.name): each.status.value for each in report.results}
    if format_ == "json":
        deliver(stack_json(stack, onto=onto, states=states), output=output)
        return
    text = stack_text(stack, folder=str(patchsets.root), onto=onto, states=states)
    deliver(rendered(text, color=options.color, output=output), output=output)


@click.command("show", short_help="Everything about one patchset.")
@click.argument("name")
@map_option
@color_option
@output_options(("text", "json"))
@collected
def show_command(name: str, options: ProjectOptions, format_: str, output: Path | None) -> None:
    """Why a patchset is carried, when to drop it, its patches with their size, and what should follow."""
    patchset = show_patchset(name, _store(options.map_file))
    text = rendered(patchset_text(patchset), color=options.color, output=output)
    deliver(patchset_json(patchset) if format_ == "json" else text, output=output)


def _store(map_file: Path | None) -> PatchsetFolder:
    path = chosen_map(map_file)
    read_map(path)
    return PatchsetFolder(path.parent / "patchsets")
