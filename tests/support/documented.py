"""The commands that README, docs and help texts show, for tests that hold them against the program."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from forkguard.cli.main import main

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL
)
_SPAN = re.compile(r"(?<!`)`(forkguard [^`]+)`(?!`)")
_PROGRAM = re.compile(r"(?:[\w./-]*/)?forkguard(?= |$)")
_SHOWN = re.compile(r"^(?:\$ |- run: |ExecStartPre=|\s*next: +)")
_SHELL = re.compile(r" (?:&&|\|\||\||>|>>|2>) |; ")


@dataclass(frozen=True)
class Shown:
    """One documented command: where it stands, and its words without `forkguard`.

    A `mention` in running text need not be whole: `forkguard probe` names the verb.
    """

    place: str
    words: tuple[str, ...]
    mention: bool = False

    def __str__(self) -> str:
        return f"{self.place} forkguard {' '.join(self.words)}"


def shown_commands() -> list[Shown]:
    """Every forkguard command of README, docs and the help texts, in their order."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [each for page in pages for each in commands_in(page.read_text(), name=str(page.relative_to(ROOT)))]
    return found + list(_of_help((), main))


def commands_in(text: str, *, name: str) -> Iterator[Shown]:
    """The commands of one Markdown text: in fenced blocks, and in code spans."""
    for block in _FENCE.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        for row in block["body"].replace("\\\n", "\0").split("\n"):
            output = block["language"] in {"text", "console", "json"}
            yield from (Shown(f"{name}:{line}", words) for words in _commands_of(row, output=output))
            line += 1 + row.count("\0")
    for span in _SPAN.finditer(_FENCE.sub("", text)):
        words = _words(re.sub(r"[\[\]]", "", span[1]).removeprefix("forkguard "))
        yield Shown(f"{name} (text)", words, mention=True)


def _commands_of(row: str, *, output: bool) -> Iterator[tuple[str, ...]]:
    """The words of each command in a row; in a block that shows output, only what has a prompt is a command."""
    shown = _SHOWN.match(row)
    if output and shown is None:
        return
    rest = re.sub(r"^(?:\w+=\S+ )+", "", row[shown.end() if shown else 0 :].replace("\0", " ").strip())
    for part in _SHELL.split(rest):
        program = _PROGRAM.match(part)
        if program is not None:
            yield _words(part[program.end() :].strip())


def _words(text: str) -> tuple[str, ...]:
    """A command's words, without a remark behind two spaces or a `#`."""
    return tuple(shlex.split(re.split(r"\s{2,}|\s#\s", text)[0]))


def _of_help(path: tuple[str, ...], command: click.Command) -> Iterator[Shown]:
    for row in (command.help or "").replace("\\\n", "\0").splitlines():
        for words in _commands_of(row.strip(), output=False):
            yield Shown(f"forkguard {' '.join((*path, '--help'))}", words)
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from _of_help((*path, name), inner)
