"""Groups of commands that, for a name which is none, propose those that are like it."""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem


class ProposingGroup(click.Group):
    """A click group whose error for an unknown command asks `did you mean`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], known, n=1)
            if near:
                ctx.fail(f"No such command '{args[0]}'. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)


class LazyGroup(ProposingGroup):
    """A group that imports a verb's module only when that verb runs.

    `verbs`: by name, where its command is (`module:attribute` below `forkguard.cli`), and its summary.
    """

    def __init__(self, *args: Any, verbs: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._verbs = verbs

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._verbs:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._verbs[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(f"forkguard.cli.{module}"), attribute)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Verbs with their summaries, without importing any: a shell asks for this at every press of Tab."""
        verbs = [
            CompletionItem(name, help=summary)
            for name, (_, summary) in self._verbs.items()
            if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._verbs.items()])
