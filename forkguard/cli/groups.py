"""Groups of commands that, for a name which is none, propose those that are like it."""

import difflib

import click


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
