"""Reads a llama-server log of any length, as it comes, in bounded memory. Bytes in, one frozen summary out.

A log is written by strangers (prompts and model files reach it): every text in a summary is safe to show, and
nothing here proves a crash alone: the exit status does. An `Abort` is what the process itself said of it.
"""

import re
from collections import Counter, deque
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TypeVar

from forkguard.core import logforms, logrules
from forkguard.core.logfacts import (
    Abort,
    Acceptance,
    Fallback,
    FallbackLine,
    LoadError,
    LoadProblem,
    LogSummary,
    Stage,
    Statistics,
    Timing,
)
from forkguard.core.logforms import AbortKind, AbortText, Frame, Line

__all__ = ["LogParser", "LogSummary", "parse"]

LINE_LIMIT = 4096
"""Bytes of a line that are read; what is longer is cut."""

KEEP = 512
KEEP_ABORTS = 8
KEEP_FRAMES = 64
KEEP_TAIL = 40
KEEP_TENSORS = 1 << 14
BEFORE, AFTER, REACH_BEFORE, REACH_AFTER = 4, 5, 40, 400
"""Explaining lines kept on each side of an abort, and how many lines away they may be."""
REACH_UNSTAMPED = 6
"""Lines without a stamp explain an abort only when they are this close before it."""

_STAMP = re.compile(rb"(?:^|[\s|\]:])\d{1,6}\.\d\d\.\d{3}\.\d{3}(?:\x1b\[\d*m)? (?:\x1b\[\d*m)?([A-Z]) ")
_STAMP_REACH = 240
_FACT_WORDS = (
    *(b"eval time", b"draft acceptance", b"statistics", b"n_rs_seq", b" checkpoint", b"verbosity", b"loading model"),
    *(b"model loaded", b"listening", b"processing task,", b"constructing llama", b"creating context", b"cleaning up"),
    *(
        b"rollback",
        b"lash",
        b"alloc",
        b"memory",
        b"Memory",
        b"missing tensor",
        b"wrong ",
        b"architecture",
        b"clamping",
        b"offloaded",
        b"loaded meta data",
        b"loading tensor",
    ),
    *(b"not found", b"failed", b"speculative decoding", b"compatible", b"draft model", b"GGUF", b"magic", b"error l"),
)
_ASSERT = b"GGML_ASSERT"
_TROUBLE_WORDS = (
    *(_ASSERT, b"terminat", b"what()", b"Assertion", b"():", b"corrupt", b"***", b"Sanitizer", b"fault"),
    *(b"Abort", b"Killed", b"Bus error", b"Illegal", b"exception", b"0x", b"#", b"virtual", b"tcache", b"trap"),
)
_PLACE = re.compile(rb":\d{1,7}: ")
"""A line with none of these words and no place says nothing: most of a long log is passed over by these checks."""

_T = TypeVar("_T")


def _keep(items: list[_T], item: _T, bound: int = KEEP) -> None:
    if len(items) < bound:
        items.append(item)


@dataclass(slots=True)
class _OpenAbort:
    """An abort whose later lines are still coming; `since` counts the lines that came after it."""

    abort: Abort
    after: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    since: int = 0

    def value(self) -> Abort:
        return replace(self.abort, after=tuple(self.after), frames=tuple(self.frames))


@dataclass(slots=True)
class _Memory:
    """All that is remembered between lines; every collection is bounded."""

    tail: deque[bytes] = field(default_factory=lambda: deque(maxlen=KEEP_TAIL))
    complaints: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=BEFORE))
    unstamped: deque[tuple[int, bytes]] = field(default_factory=lambda: deque(maxlen=BEFORE))
    aborts: list[_OpenAbort] = field(default_factory=list)
    load_errors: list[LoadError] = field(default_factory=list)
    recovered: list[LoadError] = field(default_factory=list)
    model: str = ""
    claimed: dict[str, None] = field(default_factory=dict)
    out_of_memory: list[str] = field(default_factory=list)
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=KEEP_TAIL))
    warnings: deque[str] = field(default_factory=lambda: deque(maxlen=KEEP_TAIL))
    fallbacks: dict[Fallback, str] = field(default_factory=dict)
    fallback_counts: Counter[Fallback] = field(default_factory=Counter)
    rollback_slots: list[int] = field(default_factory=list)
    acceptances: list[Acceptance] = field(default_factory=list)
    statistics: dict[str, Statistics] = field(default_factory=dict)
    prompt_evals: list[Timing] = field(default_factory=list)
    evals: list[Timing] = field(default_factory=list)
    stray: list[Frame] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    verbosity: int | None = None
    stage: Stage = Stage.START
    torn: bytes = b""
    """The line before, where an assertion may have broken into a stamped line of another thread."""

    def near(self) -> _OpenAbort | None:
        """The last abort, while the lines that follow it may still belong to it."""
        last = self.aborts[-1] if self.aborts else None
        return last if last and last.since <= REACH_AFTER else None


class LogParser:
    """Feed it the log's bytes in chunks of any size, ask it for a `summary` at any time.

    The result does not depend on how the bytes were cut, and no input raises. Memory stays under a few
    megabytes whatever the length of the log or of a line.
    """

    def __init__(self) -> None:
        self._memory = _Memory()
        self._partial = b""

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the log."""
        self._memory.counts["size"] += len(data)
        block = self._partial + data.replace(b"\r", b"\n")
        *lines, rest = block.split(b"\n")
        self._partial = rest[:LINE_LIMIT]
        if lines:
            words = _Words.of(block)
            for line in lines:
                _take(self._memory, line[:LINE_LIMIT], words)

    def summary(self) -> LogSummary:
        """Everything told so far, an unfinished last line included; feeding may go on afterwards."""
        memory = self._memory
        if self._partial:
            memory = deepcopy(memory)
            _take(memory, self._partial, _Words.of(self._partial))
        return _summary(memory)


def parse(data: bytes) -> LogSummary:
    """The summary of a whole log at once.

    >>> parse(b"a/b.cpp:7: GGML_ASSERT(k) failed").telling_line
    'GGML_ASSERT(k) failed'
    """
    parser = LogParser()
    parser.feed(data)
    return parser.summary()


def _holds(raw: bytes, words: tuple[bytes, ...]) -> bool:
    for word in words:  # noqa: SIM110  (a plain loop: any() with a generator takes twice as long, on every line)
        if word in raw:
            return True
    return False


@dataclass(frozen=True, slots=True)
class _Words:
    """The telling words that a block of lines holds at all: few, so that each line is asked about few."""

    facts: tuple[bytes, ...]
    trouble: tuple[bytes, ...]

    @classmethod
    def of(cls, block: bytes) -> "_Words":
        return cls(
            tuple(word for word in _FACT_WORDS if word in block),
            tuple(word for word in _TROUBLE_WORDS if word in block),
        )

    def may_be_trouble(self, raw: bytes) -> bool:
        return _holds(raw, self.trouble) or _PLACE.search(raw) is not None


def _take(memory: _Memory, raw: bytes, words: _Words) -> None:
    """One whole line, without its end."""
    if not raw.strip():
        return
    memory.counts["lines"] += 1
    memory.tail.append(raw)
    stamp = _STAMP.search(raw, 0, _STAMP_REACH)
    quiet = stamp is not None and stamp[1] not in b"EW"
    if memory.torn and not stamp:
        _abort_in_torn_line(memory)
    memory.torn = raw if quiet and _ASSERT in words.trouble and _ASSERT in raw else b""
    telling = _holds(raw, words.facts)
    if quiet and not telling:
        return
    if not stamp and not telling and not memory.near() and not words.may_be_trouble(raw):
        _remember(memory, raw)
        return
    line = logforms.split(logforms.plain(raw))
    if not quiet:
        _trouble(memory, line, raw)
    if telling:
        _facts(memory, line)


def _trouble(memory: _Memory, line: Line, raw: bytes) -> None:
    """Aborts, frames, and the lines that may explain them."""
    near = memory.near()
    if near:
        near.since += 1
    if what := logforms.what_text(line):
        if near and near.abort.kind is AbortKind.EXCEPTION:
            near.abort = replace(near.abort, text=f"{near.abort.text}: {what}")
        return
    if shown := logforms.frame(line):
        _keep(near.frames if near else memory.stray, shown, KEEP_FRAMES)
        return
    if logforms.debugger_noise(line):
        return
    if text := logforms.abort_text(line):
        _abort(memory, text, line.pid, near=near)
        return
    _explanation(memory, line, raw, near=near)


def _abort_in_torn_line(memory: _Memory) -> None:
    """The line before begins as another thread's, goes on as an assertion, and the rest of the other has come now.

    That rest is what tells it from a prompt that quotes an assertion.
    """
    line = logforms.split(logforms.plain(memory.torn))
    text = logforms.abort_text(replace(line, level=""))
    if text and text.kind is AbortKind.ASSERT:
        _abort(memory, text, line.pid, near=memory.near())


def _abort(memory: _Memory, text: AbortText, pid: int | None, *, near: _OpenAbort | None) -> None:
    if near and text.kind is AbortKind.SIGNAL:
        return  # the shell's word for the abort that was just told
    now = memory.counts["lines"]
    before = [(at, said) for at, said in memory.complaints if now - at <= REACH_BEFORE]
    before += [
        (at, logforms.split(logforms.plain(raw)).text.strip())
        for at, raw in memory.unstamped
        if now - at <= REACH_UNSTAMPED
    ]
    explained = tuple(said for _, said in sorted(before)[-BEFORE:])
    abort = Abort(text.kind, text.text, text.path, text.line, memory.stage, pid=pid, before=explained)
    _keep(memory.aborts, _OpenAbort(abort), KEEP_ABORTS)


def _explanation(memory: _Memory, line: Line, raw: bytes, *, near: _OpenAbort | None) -> None:
    text = line.text.strip()
    if not text or logforms.harmless(line):
        return
    if near and len(near.after) < AFTER:
        near.after.append(text)
    if not line.level:
        _remember(memory, raw)
        return
    memory.complaints.append((memory.counts["lines"], text))
    if line.level == "E":
        memory.errors.append(text)
    elif line.level == "W":
        memory.warnings.append(text)


def _remember(memory: _Memory, raw: bytes) -> None:
    """An unstamped line that may explain the next abort; a tab begins the rest of an ordinary message."""
    if not raw.startswith(b"\t"):
        memory.unstamped.append((memory.counts["lines"], raw))


def _facts(memory: _Memory, line: Line) -> None:
    """What a line reports about loading, fallbacks, acceptance and time."""
    text = line.text
    _advance(memory, text)
    _tensors(memory, text)
    if not logforms.harmless(line):
        if error := logrules.load_error(text):
            _keep(memory.load_errors, _in_context(memory, error), KEEP_TAIL)
        if line.level in {"", "E", "W"} and logrules.says_out_of_memory(text):
            _keep(memory.out_of_memory, text.strip(), KEEP_TAIL)
    if kind := logrules.fallback(text):
        memory.fallbacks.setdefault(kind, text.strip())
        memory.fallback_counts[kind] += 1
        memory.counts["steps"] += logrules.is_speculative_step(text)
    if (slots := logrules.rollback_slots(text)) is not None:
        _keep(memory.rollback_slots, slots, KEEP_TAIL)
    if memory.verbosity is None:
        memory.verbosity = logrules.verbosity(text)
    _figures(memory, text)


def _tensors(memory: _Memory, text: str) -> None:
    """Which file is being loaded, and what the program asks it for."""
    if (path := logrules.loading_file(text)) is not None:
        memory.model = path
        memory.claimed.clear()
    elif (name := logrules.claimed_tensor(text)) is not None and len(memory.claimed) < KEEP_TENSORS:
        memory.claimed[name] = None


def _in_context(memory: _Memory, error: LoadError) -> LoadError:
    """The error with the file it is about; the long list of names only where names are the question."""
    counts = error.problem is LoadProblem.TENSOR_COUNT and len(memory.claimed) < KEEP_TENSORS
    return replace(error, model=memory.model, claimed=tuple(memory.claimed) if counts else ())


def _figures(memory: _Memory, text: str) -> None:
    if accepted := logrules.acceptance(text):
        _keep(memory.acceptances, accepted)
        memory.counts["accepted"] += accepted.accepted
        memory.counts["drafted"] += accepted.generated
    elif (statistics := logrules.statistics(text)) and (
        statistics.implementation in memory.statistics or len(memory.statistics) < KEEP_TAIL
    ):
        memory.statistics[statistics.implementation] = statistics
    elif timed := logrules.timing(text):
        is_prompt, timing = timed
        _keep(memory.prompt_evals if is_prompt else memory.evals, timing)
        memory.counts["cached"] += is_prompt and timing.tokens == 1


def _advance(memory: _Memory, text: str) -> None:
    stage = logrules.stage(text)
    if stage is None or stage.place <= memory.stage.place:
        return
    if memory.stage.place < Stage.LOADED.place <= stage.place < Stage.EXITING.place:
        memory.recovered.extend(memory.load_errors[: KEEP_TAIL - len(memory.recovered)])
        memory.load_errors.clear()
    memory.stage = stage


def _summary(memory: _Memory) -> LogSummary:
    counts = memory.counts
    return LogSummary(
        stage=memory.stage,
        aborts=tuple(one.value() for one in memory.aborts),
        load_errors=tuple(memory.load_errors),
        recovered=tuple(memory.recovered),
        out_of_memory=tuple(memory.out_of_memory),
        errors=tuple(memory.errors),
        warnings=tuple(memory.warnings),
        fallbacks=tuple(
            FallbackLine(kind, text, memory.fallback_counts[kind]) for kind, text in memory.fallbacks.items()
        ),
        rollback_slots=tuple(memory.rollback_slots),
        speculative_steps=counts["steps"],
        acceptances=tuple(memory.acceptances),
        accepted=counts["accepted"],
        drafted=counts["drafted"],
        statistics=tuple(memory.statistics.values()),
        prompt_evals=tuple(memory.prompt_evals),
        evals=tuple(memory.evals),
        cached_repeats=counts["cached"],
        stray_frames=tuple(memory.stray),
        verbosity=memory.verbosity,
        lines=counts["lines"],
        size=counts["size"],
        tail=tuple(logforms.plain(raw) for raw in memory.tail),
    )
