"""Tests that are collected once; each run of some of them is a child of the process that collected them.

So a run costs what its tests take, and nothing to begin. A fault is put into the functions that the child already
has: each gets the code that the changed source has for it. What was computed while modules were imported would not
have the fault; for the functions that were called then, the tests run in a fresh process that imports the changed
source.
"""

import ast
import contextlib
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import NamedTuple

import pytest

from tools.faults import Fault, code_with, functions_of, with_fault

MEMORY = 4 << 30
"""Bytes that the tests may take: a loop that a fault leaves without end must not take the machine's memory."""
PATIENCE = 1800.0
"""Seconds that all the tests together may take without a fault."""
_PLAIN = ("-q", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist")


class Reached(NamedTuple):
    """What one test did without a fault: seconds of processors, its children's too; functions as in `Fault`."""

    seconds: float
    passed: bool
    functions: list[str]


class Collected:
    """A plugin of pytest, which hands over what was collected instead of running it."""

    def __init__(self, watched: Path, work: Callable[["Collected"], None]) -> None:
        self._watched, self._work = watched, work
        self._session: pytest.Session | None = None
        self._items: dict[str, pytest.Item] = {}
        self._functions: defaultdict[str, list[FunctionType]] = defaultdict(list)
        self._stop_watching = contextlib.ExitStack()
        self._seen_early = self._stop_watching.enter_context(_watching())
        self.early: set[str] = set()
        """The functions that were called when modules were imported and tests collected."""

    @property
    def names(self) -> list[str]:
        """Every test, in pytest's order and words."""
        return list(self._items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Hand the tests over."""
        self._stop_watching.close()
        self.early = self._places(self._seen_early)
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        self._session, self._items = session, {item.nodeid: item for item in session.items}
        for held in gc.get_objects():  # now: a child that looked at every object would copy all of the memory
            if isinstance(held, FunctionType):
                self._functions[held.__code__.co_filename].append(held)
        gc.freeze()
        self._work(self)
        return True

    def reached(self, names: list[str]) -> dict[str, Reached]:
        """Run the tests without a fault and say what each did."""
        with tempfile.NamedTemporaryFile("r") as file:
            _in_child(lambda: self._write_reached(names, Path(file.name)), within=PATIENCE)
            return {name: Reached(*told) for name, told in json.load(file).items()}

    def _write_reached(self, names: list[str], file: Path) -> bool:
        told = {}
        for name in names:
            start = sum(os.times()[:4])
            with _watching() as seen:
                passed = self._pass([name])
            told[name] = (sum(os.times()[:4]) - start, passed, sorted(self._places(seen)))
        file.write_text(json.dumps(told))
        return True

    def notice(self, fault: Fault, names: list[str], *, within: float) -> bool:
        """Whether one of the tests fails, or hangs for longer than so many seconds, with the fault."""
        if fault.function in self.early:
            return _notice_afresh(fault, list(dict.fromkeys(name.split("::")[0] for name in names)), within=within)
        return not _in_child(lambda: self._put(fault) and self._pass(names), within=within)

    def _put(self, fault: Fault) -> bool:
        """Give the module's functions, wherever they are held, the code with the fault."""
        changed = code_with(fault)
        for held in self._functions[str(fault.source.resolve())]:
            before = held.__code__
            held.__code__ = changed.get((before.co_firstlineno, before.co_qualname), before)
        return True

    def _pass(self, names: list[str]) -> bool:
        assert self._session is not None  # noqa: S101  (there are no names before)
        failed = self._session.testsfailed
        items = [self._items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._session.testsfailed > failed:
                return False
        return True

    def _places(self, codes: dict[int, CodeType]) -> set[str]:
        root, found = f"{Path.cwd()}/", set()
        for code in codes.values():
            path = code.co_filename.removeprefix(root)
            if path.startswith(f"{self._watched}/"):
                found |= {name for name, lines in _functions(path).items() if code.co_firstlineno in lines}
        return found


def collect(words: list[str], *, watched: Path, work: Callable[[Collected], None]) -> int:
    """Collect the tests of these files below the working folder, hand them over, and return pytest's status."""
    sys.path.insert(0, str(Path.cwd()))
    sys.dont_write_bytecode = True
    early = "ignore::pytest.PytestAssertRewriteWarning"  # for what was imported before
    with tempfile.TemporaryDirectory() as folder:  # git takes a folder in a work tree for a part of that
        return int(
            pytest.main([*_PLAIN, "-W", early, "--basetemp", f"{folder}/of", *words], [Collected(watched, work)])
        )


@cache
def _functions(path: str) -> dict[str, range]:
    return functions_of(Path(path))


@contextlib.contextmanager
def _watching() -> Iterator[dict[int, CodeType]]:
    """Every code object that is entered meanwhile, in any thread."""
    seen: dict[int, CodeType] = {}

    def note(frame: FrameType, _event: str, _value: object) -> None:
        seen[id(frame.f_code)] = frame.f_code

    threading.settrace(note)
    sys.settrace(note)
    try:
        yield seen
    finally:
        sys.settrace(None)
        threading.settrace(None)


def _in_child(work: Callable[[], bool], *, within: float) -> bool:
    """Whether the work in a child of this process says yes in time."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setsid()
            _bound_and_silence()
            status = 0 if work() else 1
        finally:
            os._exit(status)
    end = time.monotonic() + within
    done, status = 0, 1
    while not done and time.monotonic() < end:
        time.sleep(0.02)
        done, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        os.waitpid(child, 0)
    return bool(done) and os.waitstatus_to_exitcode(status) == 0


def _bound_and_silence() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)


def _notice_afresh(fault: Fault, files: list[str], *, within: float) -> bool:
    """The same in a fresh process, for what runs while modules are imported."""
    before = fault.source.read_text()
    try:
        fault.source.write_text(ast.unparse(with_fault(fault)))
        with tempfile.TemporaryDirectory() as folder:
            words = ["-B", "-m", "pytest", "-x", *_PLAIN, "--basetemp", f"{folder}/of", *files]
            return not _in_child(lambda: _begin_anew(words), within=within)
    finally:
        fault.source.write_text(before)


def _begin_anew(words: list[str]) -> bool:
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    os.execve(sys.executable, [sys.executable, *words], environment)  # noqa: S606  (a process of ours, without a shell)
