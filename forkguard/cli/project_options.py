"""The options that say which project is meant, and how to talk about it, as one value."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from forkguard.cli.compose import Project, open_project
from forkguard.cli.options import Command, fork_options, map_option, talk_options, upstream_ref_option
from forkguard.cli.talk import ConsoleTalk


@dataclass(frozen=True, slots=True)
class ProjectOptions:
    """What was given of `--map`, `--fork`, `--fork-ref`, `--upstream-ref`, `-v` and `--color`; None: not given."""

    map_file: Path | None = None
    fork: Path | None = None
    fork_ref: str | None = None
    upstream_ref: str | None = None
    verbose: bool = False
    color: bool | None = None

    def talk(self) -> ConsoleTalk:
        """Who talks on stderr."""
        return ConsoleTalk(color=self.color, verbose=self.verbose)

    def opened(self, *, upstream_ref: str | None = None) -> AbstractContextManager[Project]:
        """The project, as `forkguard.cli.compose.open_project` opens it; a ref given here goes before the option."""
        return open_project(
            map_file=self.map_file, fork=self.fork, fork_ref=self.fork_ref,
            upstream_ref=self.upstream_ref if upstream_ref is None else upstream_ref,
        )  # fmt: skip


def collected(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command those of the options above that it has as one parameter, `options`.

    It stands next to the function, below the decorators that make the options.
    """

    @functools.wraps(command)
    def call(**words: Any) -> Any:
        given = {field.name: words.pop(field.name) for field in fields(ProjectOptions) if field.name in words}
        return command(options=ProjectOptions(**given), **words)

    return call


def project_options(command: Command) -> Callable[..., Any]:
    """All of the options above, as `options`."""
    collecting = collected(command)
    for decorate in (talk_options, upstream_ref_option, fork_options, map_option):
        collecting = decorate(collecting)
    return collecting
