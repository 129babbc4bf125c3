"""The commands as values, taken from click: what the reference pages and the man pages are made of."""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Paragraph:
    """A piece of help: running text on one line, or `verbatim` lines as they stand."""

    text: str
    verbatim: bool


@dataclass(frozen=True)
class CommandPage:
    """One command: its name as typed, its usage after that name, its help, and its options with their help."""

    name: str
    short: str
    usage: str
    help: tuple[Paragraph, ...]
    options: tuple[tuple[str, str], ...]
    children: tuple[str, ...]


def pages(command: click.Command, *, name: str) -> Iterator[CommandPage]:
    """The command and everything below it, in the order of the program's own help."""
    yield from _pages(command, None, name)


def _pages(command: click.Command, parent: click.Context | None, name: str) -> Iterator[CommandPage]:
    context = click.Context(command, parent=parent, info_name=name.rpartition(" ")[2])
    context.help_option_names = ["-h", "--help"]
    inner = command.list_commands(context) if isinstance(command, click.Group) else []
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    yield CommandPage(
        name=name,
        short=command.get_short_help_str(limit=200),
        usage=" ".join(command.collect_usage_pieces(context)),
        help=tuple(paragraphs(command.help or "")),
        options=tuple(record for record in records if record is not None),
        children=tuple(f"{name} {each}" for each in inner),
    )
    for each in inner:
        child = command.get_command(context, each)  # type: ignore[attr-defined]
        yield from _pages(child, context, f"{name} {each}")


def paragraphs(text: str) -> Iterator[Paragraph]:
    r"""Click's help text, cut at empty lines; a paragraph that begins with `\b` is verbatim.

    >>> [(each.text, each.verbatim) for each in paragraphs("One\ntwo.\n\n\b\nfork  x\nfork  y")]
    [('One two.', False), ('fork  x\nfork  y', True)]
    """
    for piece in inspect.cleandoc(text).split("\n\n"):
        lines = piece.strip("\n").split("\n")
        if lines[0].strip() == "\b":
            yield Paragraph("\n".join(lines[1:]), verbatim=True)
        elif piece.strip():
            yield Paragraph(" ".join(line.strip() for line in lines), verbatim=False)
