"""`forkguard init`."""

from pathlib import Path

import click

from forkguard.adapters.mapstore import write_map
from forkguard.cli.compose_init import open_places
from forkguard.cli.options import deliver, talk_options
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.map_draft import render_map
from forkguard.core.mapfile import MAP_NAME
from forkguard.errors import UsageProblem
from forkguard.workflows.init import draft_map


@click.command("init", short_help="Write upstream-map.toml for a llama.cpp fork, by reading its trees.")
@click.option(
    "--fork", type=click.Path(path_type=Path), metavar="PATH", help="The fork's clone.  [default: $FORKGUARD_FORK]"
)
@click.option("--fork-ref", metavar="REF", help="The production branch.  [default: the one checked out]")
@click.option(
    "--upstream", metavar="REMOTE-OR-PATH",
    help="A remote of the fork, or the path of another clone.  [default: found among the fork's remotes]",
)  # fmt: skip
@click.option(
    "--upstream-ref", metavar="REF",
    help="What to compare with; a remote's as upstream/master.  [default: its HEAD, else master or main]",
)  # fmt: skip
@click.option(
    "--arch", "archs", multiple=True, metavar="NAME",
    help="Also watch this arch (repeatable).  [default: those whose files the fork changed]",
)  # fmt: skip
@click.option(
    "--map", "map_file", type=click.Path(path_type=Path, dir_okay=False), default=Path(MAP_NAME), metavar="FILE",
    help="The map to write.  [default: upstream-map.toml in the current folder]",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Write over a map that is there.")
@talk_options
def command(
    fork: Path | None,
    fork_ref: str | None,
    upstream: str | None,
    upstream_ref: str | None,
    archs: tuple[str, ...],
    map_file: Path,
    force: bool,
    verbose: bool,
    color: bool | None,
) -> None:
    """Write upstream-map.toml by reading a llama.cpp fork.

    Reads the fork's production branch and upstream's branch at their commits, never the work tree: arch names,
    enums, model files, registries and shared graphs. What was found, and how, is told on stderr. Nothing in the
    fork is changed.

    \b
    Examples:
      forkguard init --fork ../llama.cpp
      forkguard init --fork ../llama.cpp --arch lfm2 --upstream ../upstream-clone
    """
    target = map_file.absolute()
    if target.exists() and not force:
        raise UsageProblem(
            "there is a map already",
            where=str(target),
            hint="edit it, or write a new one with forkguard init --force",
        )
    with (
        ConsoleTalk(color=color, verbose=verbose) as talk,
        open_places(
            fork=fork, fork_ref=fork_ref, upstream=upstream, upstream_ref=upstream_ref, folder=target.parent
        ) as (repo, places),
    ):
        draft = draft_map(repo, places, wanted=archs, talk=talk)
        write_map(target, render_map(draft))
    first = next(iter((*archs, *(arch.name for arch in draft.archs))), "NAME")
    deliver(f"wrote {target}\nnext: forkguard drift --arch {first}", output=None)
