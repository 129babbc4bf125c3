"""Man pages, one for each command, written from the code: `python -m tools.manpages FOLDER`.

The date is that of `SOURCE_DATE_EPOCH`, so that the same sources give the same pages.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from forkguard import __version__
from forkguard.cli.main import main
from forkguard.errors import ExitCode
from tools.command_tree import CommandPage, pages


def write_pages(folder: Path, *, date: str) -> tuple[Path, ...]:
    """Write every page into a folder; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in pages(main, name="forkguard"):
        path = folder / f"{page.name.replace(' ', '-')}.1"
        path.write_text(man_page(page, date=date, version=__version__), encoding="utf-8")
        written.append(path)
    return tuple(written)


def man_page(page: CommandPage, *, date: str, version: str) -> str:
    """One page in man's macros."""
    return "\n".join(_lines(page, date, version)) + "\n"


def _lines(page: CommandPage, date: str, version: str) -> Iterator[str]:
    dashed = page.name.replace(" ", "-")
    yield f'.TH {roff(dashed.upper())} 1 {date} "forkguard {version}" "User Commands"'
    yield from (".SH NAME", f"{roff(dashed)} \\- {roff(page.short.rstrip('.'))}")
    yield from (".SH SYNOPSIS", f".B {roff(page.name)}", roff(page.usage))
    yield ".SH DESCRIPTION"
    for number, paragraph in enumerate(page.help):
        if number:
            yield ".PP"
        yield from _verbatim(paragraph.text) if paragraph.verbatim else [line_of(paragraph.text)]
    yield ".SH OPTIONS"
    for names, text in page.options:
        yield from (".TP", f".B {roff(names)}", line_of(text))
    if page.children:
        yield ".SH COMMANDS"
        yield from (f".PP\n.BR {roff(name.replace(' ', '-'))} (1)" for name in page.children)
    yield ".SH EXIT STATUS"
    for code in ExitCode:
        yield from (".TP", f".B {code.value}", line_of(code.meaning))
    above = page.name.rpartition(" ")[0]
    if above:
        yield from (".SH SEE ALSO", f".BR {roff(above.replace(' ', '-'))} (1)")


def _verbatim(text: str) -> Iterator[str]:
    yield ".nf"
    yield from (_guarded(roff(line)) for line in text.split("\n"))
    yield ".fi"


def line_of(text: str) -> str:
    r"""A line of text that starts no request.

    >>> line_of(".forkguard holds it")
    '\\&.forkguard holds it'
    """
    return _guarded(roff(" ".join(text.split())))


def _guarded(line: str) -> str:
    return f"\\&{line}" if line[:1] in {".", "'"} else line


def roff(text: str) -> str:
    r"""Text without roff's escapes; a hyphen is one that can be typed.

    >>> roff("--arch \\b")
    '\\-\\-arch \\eb'
    """
    return text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")


if __name__ == "__main__":
    instant = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    paths = write_pages(Path(sys.argv[1]), date=time.strftime("%Y-%m-%d", instant))
    sys.stdout.write(f"{len(paths)} pages in {sys.argv[1]}; man -l {paths[0]}  shows the first\n")
