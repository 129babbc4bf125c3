"""What a llama-server log can tell: stages, aborts, load errors, fallbacks, acceptance, timings. Values only."""

from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.logforms import AbortKind, Frame


class Stage(StrEnum):
    """How far the server came, by its own words; in this order."""

    START = "start"
    LOADING = "load"
    CONTEXT = "context"
    LOADED = "loaded"
    LISTENING = "listening"
    REQUEST = "request"
    ANSWERED = "answered"
    EXITING = "exit"

    @property
    def place(self) -> int:
        """0 for the first stage."""
        return list(Stage).index(self)


@dataclass(frozen=True, slots=True)
class Abort:
    """An abort in the process's own words.

    `stage` is how far it had come; `before` and `after` are the lines around it that may explain it (the
    telling one can be on either side); `pid` is the child that a router named.
    """

    kind: AbortKind
    text: str
    path: str
    line: int | None
    stage: Stage
    pid: int | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()

    @property
    def place(self) -> str:
        """`path:line`, or "" where the abort names none. Line numbers differ from build to build."""
        return f"{self.path}:{self.line}" if self.path else ""


class LoadProblem(StrEnum):
    """Why a model could not be loaded."""

    TENSOR_COUNT = "tensor-count"
    MISSING_TENSOR = "missing-tensor"
    TENSOR_SHAPE = "tensor-shape"
    UNKNOWN_ARCH = "unknown-architecture"
    MISSING_KEY = "missing-key"
    FILE = "file"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class LoadError:
    """A load error. `subject` is the tensor, key or architecture that it names; counts where it gives them.

    `model` is the file that was being loaded, and `claimed` the tensors of it that the program had asked for:
    both only in a verbose log.
    """

    problem: LoadProblem
    text: str
    subject: str = ""
    expected: int | None = None
    got: int | None = None
    model: str = ""
    claimed: tuple[str, ...] = ()


class Fallback(StrEnum):
    """A quieter, slower way that the server took by itself."""

    CHECKPOINTS = "checkpoints"
    ROLLBACK_CLAMPED = "rollback-clamped"
    ROLLBACK_DISABLED = "rollback-disabled"
    FLASH_ATTENTION_OFF = "flash-attention-off"
    DRAFT_DROPPED = "draft-dropped"
    DRAFT_CLAMPED = "draft-clamped"
    CPU_SAMPLING = "draft-sampling-on-cpu"
    LAYERS_ON_CPU = "layers-on-cpu"
    NO_ACCEPTANCE = "no-acceptance-line"


@dataclass(frozen=True, slots=True)
class FallbackLine:
    """A fallback, its first log line, and how many lines spoke of it."""

    kind: Fallback
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Drafted and accepted tokens of one request; slot and task where the line names them."""

    accepted: int
    generated: int
    mean_length: float | None = None
    slot: int | None = None
    task: int | None = None


@dataclass(frozen=True, slots=True)
class Statistics:
    """Drafted and accepted tokens of one speculative implementation since the server started."""

    implementation: str
    generated: int
    accepted: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds and tokens of one evaluation."""

    milliseconds: float
    tokens: int


@dataclass(frozen=True, slots=True)
class LogSummary:
    """All that the log told so far. The lists keep their first entries up to a bound; the counts are complete.

    `verbosity` is None where the log does not say; without a verbose log (5) an absent checkpoint fallback means
    nothing. `speculative_steps` counts checkpoints created or restored. `rollback_slots` are the values of
    `n_rs_seq` that contexts printed, in order (a draft's own context prints 0).
    """

    stage: Stage = Stage.START
    aborts: tuple[Abort, ...] = ()
    load_errors: tuple[LoadError, ...] = ()
    recovered: tuple[LoadError, ...] = ()
    out_of_memory: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    fallbacks: tuple[FallbackLine, ...] = ()
    rollback_slots: tuple[int, ...] = ()
    speculative_steps: int = 0
    acceptances: tuple[Acceptance, ...] = ()
    accepted: int = 0
    drafted: int = 0
    statistics: tuple[Statistics, ...] = ()
    prompt_evals: tuple[Timing, ...] = ()
    evals: tuple[Timing, ...] = ()
    cached_repeats: int = 0
    stray_frames: tuple[Frame, ...] = ()
    verbosity: int | None = None
    lines: int = 0
    size: int = 0
    tail: tuple[str, ...] = ()

    @property
    def abort(self) -> Abort | None:
        """The first abort."""
        return self.aborts[0] if self.aborts else None

    @property
    def telling_line(self) -> str:
        """The one line that best tells why a server ended; "" for an empty log.

        An abort, memory, a load error (the most precise first), then the last error, warning or line: a clean
        exit 1 is often explained by a warning alone.
        """
        if self.aborts:
            return self.aborts[0].text
        if self.out_of_memory:
            return self.out_of_memory[0]
        precise = [error for error in self.load_errors if error.problem is not LoadProblem.OTHER]
        for lines in ([error.text for error in precise], self.errors[-1:], self.warnings[-1:], self.tail[-1:]):
            if lines:
                return lines[0]
        return ""
