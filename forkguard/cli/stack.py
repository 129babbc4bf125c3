"""`forkguard stack`: its verbs read the files beside the map; they need neither the fork nor upstream."""

from pathlib import Path

import click

from forkguard.adapters.mapstore import find_map, read_map
from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.cli.options import deliver, map_option, output_options
from forkguard.cli.render import rendered
from forkguard.cli.stack_replay import replay_command, verify_command
from forkguard.reports.stack import patchset_json, patchset_text, stack_json, stack_text
from forkguard.workflows.stack import list_stack, show_patchset

color_option = click.option(
    "--color/--no-color", default=None, help="Colour.  [default: on a terminal, unless NO_COLOR is set]"
)


@click.group("stack", short_help="List and show the patch stack.")
def command() -> None:
    """The patch stack: the patchsets in the order of patchsets/series that, applied to the base, make the fork.

    \b
    Examples:
      forkguard stack list
      forkguard stack show 27383
    """


@command.command("list", short_help="The patchsets in their order, with state and size.")
@map_option
@color_option
@output_options(("text", "json"))
def list_command(map_file: Path | None, color: bool | None, format_: str, output: Path | None) -> None:
    """The patchsets in the order in which they apply; those that patchsets/series does not list come last.

    \b
    States: declared (no patches yet), proposed, carried, disabled, retired.
    """
    patchsets = _store(map_file)
    stack = list_stack(patchsets)
    text = rendered(stack_text(stack, folder=str(patchsets.root)), color=color, output=output)
    deliver(stack_json(stack) if format_ == "json" else text, output=output)


@command.command("show", short_help="Everything about one patchset.")
@click.argument("name")
@map_option
@color_option
@output_options(("text", "json"))
def show_command(name: str, map_file: Path | None, color: bool | None, format_: str, output: Path | None) -> None:
    """Why a patchset is carried, when to drop it, its patches with their size, and what should follow."""
    patchset = show_patchset(name, _store(map_file))
    text = rendered(patchset_text(patchset), color=color, output=output)
    deliver(patchset_json(patchset) if format_ == "json" else text, output=output)


def _store(map_file: Path | None) -> PatchsetFolder:
    path = map_file.absolute() if map_file else find_map(Path.cwd())
    read_map(path)
    return PatchsetFolder(path.parent / "patchsets")


for _verb in (replay_command, verify_command):
    command.add_command(_verb)
