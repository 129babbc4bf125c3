"""Options that several verbs share, each as a decorator, and the one way a result leaves the program."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from forkguard.adapters.files import write_atomic

Command = TypeVar("Command", bound=Callable[..., Any])


def fork_options(command: Command) -> Command:
    """`--fork` and `--fork-ref`, as `fork` and `fork_ref`."""
    command = click.option(
        "--fork-ref", metavar="REF", help="The production branch.  [default: the map's, else the one checked out]"
    )(command)
    return click.option(
        "--fork", type=click.Path(path_type=Path), metavar="PATH",
        help="The fork's clone.  [default: $FORKGUARD_FORK, else the map's]",
    )(command)  # fmt: skip


def upstream_ref_option(command: Command) -> Command:
    """`--upstream-ref`, as `upstream_ref`."""
    return click.option(
        "--upstream-ref", metavar="REF",
        help="What to compare with, spelled as in the fork (upstream/master).  [default: the map's]",
    )(command)  # fmt: skip


def map_option(command: Command) -> Command:
    """`--map`, as `map_file`."""
    return click.option(
        "--map", "map_file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
        help="The map.  [default: the nearest upstream-map.toml at or above the current folder]",
    )(command)  # fmt: skip


def talk_options(command: Command) -> Command:
    """`-v` and `--color/--no-color`, as `verbose` and `color` (None: on a terminal, unless NO_COLOR)."""
    command = click.option(
        "--color/--no-color", default=None, help="Colour and bars.  [default: on a terminal, unless NO_COLOR is set]"
    )(command)
    return click.option("-v", "--verbose", is_flag=True, help="Name each step on stderr.")(command)


def output_options(formats: Sequence[str]) -> Callable[[Command], Command]:
    """`--format` with these choices (the first is the default) and `--output`, as `format_` and `output`."""

    def decorate(command: Command) -> Command:
        command = click.option(
            "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
            help="Write the result to this file, whole or not at all, instead of stdout.",
        )(command)  # fmt: skip
        return click.option(
            "--format", "format_", type=click.Choice(list(formats)), default=formats[0], show_default=True,
            help="The form of the result.",
        )(command)  # fmt: skip

    return decorate


def deliver(text: str, *, output: Path | None) -> None:
    """Put a result where it was asked for: into a file at once, or on stdout; it ends in a line end."""
    whole = text if text.endswith("\n") else text + "\n"
    if output is not None:
        write_atomic(output, whole)
        return
    sys.stdout.write(whole)
    sys.stdout.flush()
