"""Rich values as text for stdout or a file: coloured on a terminal, plain elsewhere."""

import io
import shutil
import sys
from pathlib import Path

from rich.console import Console, RenderableType

from forkguard.cli.talk import wants_color

_WIDEST = 120


def rendered(value: RenderableType, *, color: bool | None, output: Path | None) -> str:
    """The text of a report. A file and a pipe get no colour unless it was asked for; lines are not cut."""
    tty = output is None and sys.stdout.isatty()
    colored = wants_color(color, tty=tty)
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST) if tty else _WIDEST
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=colored, no_color=not colored, highlight=False,
        legacy_windows=False, color_system="standard" if colored else None,
    )  # fmt: skip
    console.print(value, soft_wrap=True)
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n")).rstrip("\n") + "\n"
