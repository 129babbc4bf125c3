"""Progress and remarks on stderr: colour and bars on a terminal, plain lines elsewhere."""

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

from forkguard.reports.plain import printable

_BAR_WIDTH = 20
_PAUSE = 30.0


def wants_color(color: bool | None, *, tty: bool) -> bool:
    """Whether to colour: as asked for, else on a terminal unless `NO_COLOR` is set and not empty."""
    if color is not None:
        return color
    return tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class ConsoleTalk:
    """`forkguard.ports.Talk` on stderr. Use it in a `with`, so that a bar never outlives the work.

    Notes are always written. Steps are written with `verbose`; on a terminal with colour each has a bar. Where there
    are no bars, a step that lasts tells how far it is every `_PAUSE` seconds. `clock` tells seconds. Words of
    strangers come without terminal escapes.
    """

    def __init__(
        self, *, color: bool | None = None, verbose: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        tty = sys.stderr.isatty()
        colored = wants_color(color, tty=tty)
        self._console = Console(
            file=sys.stderr, no_color=not colored, force_terminal=colored, highlight=False, soft_wrap=True
        )
        self._bars = colored and tty
        self._verbose = verbose
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._clock = clock
        self._told = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()

    def step(self, message: str) -> None:
        """A named step begins; the bar of the step before it goes."""
        self.rest()
        if self._verbose:
            self._console.print(f"-- {printable(message)}", style="bold", markup=False)
        self._told = self._clock()
        self.progress(0, 0, message)

    def note(self, message: str) -> None:
        """Something worth knowing that is no finding."""
        self._console.print("\n".join(map(printable, message.splitlines())), markup=False)

    def progress(self, done: int, total: int, message: str) -> None:
        """Draw `done` of `total` (0: not known) of the current step; off a terminal a line now and then."""
        message = printable(message)
        if not self._bars:
            self._tell_slowly(message)
            return
        if self._progress is None or self._task is None:
            self._progress = Progress(
                TextColumn("{task.description}", markup=False), BarColumn(_BAR_WIDTH), TaskProgressColumn(),
                TimeElapsedColumn(), console=self._console, transient=True, redirect_stdout=False,
            )  # fmt: skip
            self._progress.start()
            self._task = self._progress.add_task(message, total=total or None)
        self._progress.update(self._task, completed=done, total=total or None, description=message)

    def _tell_slowly(self, message: str) -> None:
        now = self._clock()
        if now - self._told >= _PAUSE:
            self._told = now
            self._console.print(message, markup=False)

    def rest(self) -> None:
        """Take the bar away, before a result is written while the work goes on."""
        if self._progress is not None:
            self._progress.stop()
        self._progress, self._task = None, None
