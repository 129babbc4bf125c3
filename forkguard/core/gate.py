"""The values of one gate run: what was asked, what each server did, what the checks say. JSON: gate@1."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from forkguard.core.completion import Answer
from forkguard.core.logfacts import LogSummary
from forkguard.core.prompts import Prompt

if TYPE_CHECKING:
    from forkguard.core.gatetests import UpstreamTests
    from forkguard.core.measured import Measured


class Verdict(StrEnum):
    """What a check, or the whole gate, came to; `inconclusive` is never green."""

    PASS = "pass"  # noqa: S105  (no password)
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


class CheckName(StrEnum):
    """The questions that a gate can be asked, in the order of reports."""

    CRASH = "crash"
    LIVENESS = "liveness"
    DETERMINISM = "determinism"
    FALLBACK = "fallback"
    PERFORMANCE = "performance"
    QUALITY = "quality"
    UPSTREAM_TESTS = "upstream-tests"


DEFAULT_CHECKS = (CheckName.CRASH, CheckName.LIVENESS, CheckName.DETERMINISM, CheckName.FALLBACK)
MAP_CHECKS = (*DEFAULT_CHECKS, CheckName.PERFORMANCE, CheckName.QUALITY)
"""Those that the map's `checks` names; the others are there where they were asked for by an option of their own."""


class Side(StrEnum):
    """Whose program an arm runs: the fork's, which is judged, or upstream's, which says who else does the same.

    `ASSERTS` is the fork's once more, built with libc's asserts: it is judged for crashes alone.
    """

    FORK = "fork"
    UPSTREAM = "upstream"
    ASSERTS = "asserts"


class Policy(StrEnum):
    """Which differences of text are red beside `corruption`, which always is.

    `strict`: all. `near-tie`: all but near ties. `differential`: near ties are not, nor is a `batch-shape` that
    upstream shows at the same place.
    """

    STRICT = "strict"
    NEAR_TIE = "near-tie"
    DIFFERENTIAL = "differential"


class Failure(StrEnum):
    """How a server misbehaved."""

    ABORT = "abort"
    SIGNAL = "signal"
    LOAD_ERROR = "load-error"
    OUT_OF_MEMORY = "out-of-memory"
    EXITED = "exited"
    HANG = "hang"
    BAD_ANSWER = "bad-answer"
    LEFT_BEHIND = "left-behind"
    STRANGER = "stranger"


class GateStage(StrEnum):
    """When it misbehaved: while loading, while making the context, in the first answer, later, at its end."""

    LOAD = "load"
    CONTEXT = "context"
    FIRST_DECODE = "first decode"
    LATER = "later"
    EXIT = "exit"


class Misbehaved(Exception):
    """A server did not do what it must; `text` says what was seen of it from outside."""

    def __init__(self, failure: Failure, text: str) -> None:
        super().__init__(text)
        self.failure = failure
        self.text = text


@dataclass(frozen=True, slots=True)
class FileHash:
    """A file, and the SHA-256 of its bytes in hexadecimal."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A GGUF file under test; `arch` is its `general.architecture`."""

    name: str
    path: str
    sha256: str
    arch: str


@dataclass(frozen=True, slots=True)
class GatedTree:
    """What was run. `commit` is None for a binary built elsewhere; `libraries` are those that it loaded."""

    binary: str
    binary_sha256: str
    commit: str | None = None
    ref: str | None = None
    patchsets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """One server configuration: `width` is the most tokens drafted at once, None without a draft.

    `slots` requests are sent side by side, as many as the server has slots. `draft` and `target` name the model files
    where there are several. A `verbose` arm is asked for its log and not for its speed. A `recheck` looks again at
    what the other arms showed: `batch` is then the number of prompt tokens that are computed at once.
    """

    name: str
    prompts: tuple[Prompt, ...]
    width: int | None = None
    verbose: bool = False
    side: Side = Side.FORK
    draft: str = ""
    slots: int = 1
    recheck: bool = False
    batch: int | None = None
    target: str = ""

    @property
    def drafts(self) -> bool:
        """Whether the arm runs with a draft model."""
        return self.width is not None

    def same_on(self, side: Side) -> tuple[object, ...]:
        """What an arm of `side` shares with this one when both ran the same configuration."""
        return (side, self.target, self.width, self.draft, self.slots, self.verbose, self.recheck, self.batch)

    @property
    def setup(self) -> tuple[object, ...]:
        """The configuration, to be held against another arm's `same_on`."""
        return self.same_on(self.side)


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """How a server ended, and what it left.

    `exit_code` or `signal` (a name, `SIGSEGV`), never both; `asked` says that it still ran when we asked it
    to stop, `killed` that it had to be killed then. `left_behind` are the command lines of processes that
    outlived it and were killed. `log_left_out` bytes of its log were read but not kept.
    """

    exit_code: int | None
    signal: str | None
    asked: bool
    killed: bool
    log: LogSummary
    log_file: str
    log_left_out: int = 0
    left_behind: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def stopped_well(self) -> bool:
        """Whether it ended as a server does that was asked to; 143 is what a shell reports for SIGTERM."""
        return self.signal == "SIGTERM" or (self.signal is None and self.exit_code in {0, 143})


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of an arm, and the answer (None: it brought the arm to its end)."""

    prompt: str
    answer: Answer | None
    seconds: float


@dataclass(frozen=True, slots=True)
class LoadFault:
    """Why a model could not be loaded, as far as the log names it.

    `problem` is a `LoadProblem`, `subject` the tensor, key or architecture; `expected` tensors are in the file,
    `got` of them the program claimed, those of them that its log names are `claimed`, and `unclaimed` are the
    others. `known_as` are names under which other trees have the architecture.
    """

    problem: str
    subject: str = ""
    expected: int | None = None
    got: int | None = None
    model: str = ""
    claimed: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()
    known_as: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """A server's misbehaviour as reports tell it: the `text` in one line, the rest as evidence.

    `child` is the process id that a router names for the child that aborted.
    """

    failure: Failure
    stage: GateStage
    text: str
    place: str = ""
    signal: str | None = None
    exit_code: int | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    load: LoadFault | None = None
    child: int | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """What one server did. `command` is its argv."""

    plan: ArmPlan
    command: tuple[str, ...]
    asked: tuple[Asked, ...]
    end: ServerEnd
    trouble: Trouble | None
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every prompt was answered and the server ended as it must."""
        return self.trouble is None and len(self.answers) == len(self.plan.prompts)

    @property
    def answers(self) -> dict[str, Answer]:
        """The answers by the names of their prompts."""
        return {one.prompt: one.answer for one in self.asked if one.answer is not None}

    @property
    def drafted(self) -> int:
        """Tokens drafted in all requests."""
        return sum(answer.drafted for answer in self.answers.values())

    @property
    def accepted(self) -> int:
        """Drafted tokens that the target accepted, in all requests."""
        return sum(answer.accepted for answer in self.answers.values())


@dataclass(frozen=True, slots=True)
class Suspect:
    """A drift finding that can explain a red gate.

    `logs` are what a server logs when it is the cause, one of them each time (none where it says nothing). `mend`
    says what mends it, `command` is what to type: that, or what tells more.
    """

    finding: str
    title: str
    severity: str
    logs: tuple[str, ...]
    pull: int | None
    place: str
    mend: str
    command: str


@dataclass(frozen=True, slots=True)
class Check:
    """The answer to one question; `evidence` holds plain JSON values.

    `culprit` says who has what is wrong: `fork`, `upstream too`, or None where no upstream arm could tell.
    `trigger` is the least that it takes, by the arms that pass.
    """

    name: CheckName
    verdict: Verdict
    kind: str | None
    detail: str
    evidence: tuple[Mapping[str, object], ...] = ()
    suspects: tuple[Suspect, ...] = ()
    culprit: str | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class NotRun:
    """A check, or an arm (of which `side`), that was left out, and why."""

    name: str
    reason: str
    side: Side = Side.FORK


@dataclass(frozen=True, slots=True)
class GateSettings:
    """How the gate judges, and its flags for the receipt.

    `near_tie` is in nats; `probe` says that the models are a random-weight pair, which can show neither speed
    nor quality.
    """

    arch: str
    near_tie: float
    probe: bool
    checks: tuple[CheckName, ...] = DEFAULT_CHECKS
    fallback_fails: bool = False
    policy: Policy = Policy.NEAR_TIE


@dataclass(frozen=True, slots=True)
class LibcAsserts:
    """Whether the gated program has libc's asserts (None: nothing tells), and what the arm with them ran."""

    compiled_in: bool | None
    tree: GatedTree | None = None


@dataclass(frozen=True, slots=True)
class GateReport:
    """One gate run, which is also its receipt. Times are ISO 8601 in UTC; `upstream` is what its arms ran."""

    settings: GateSettings
    tree: GatedTree
    models: tuple[ModelFile, ...]
    libraries: tuple[FileHash, ...]
    arms: tuple[Arm, ...]
    checks: tuple[Check, ...]
    not_run: tuple[NotRun, ...]
    box: Mapping[str, object]
    environment: Mapping[str, str]
    started: str
    finished: str
    version: str
    warnings: tuple[str, ...] = field(default=())
    upstream: GatedTree | None = None
    measured: "Measured | None" = None
    asserts: LibcAsserts = LibcAsserts(None)
    upstream_tests: "UpstreamTests | None" = None

    @property
    def verdict(self) -> Verdict:
        """The worst of the checks; a gate without checks proves nothing."""
        verdicts = {check.verdict for check in self.checks}
        if Verdict.FAIL in verdicts:
            return Verdict.FAIL
        return Verdict.PASS if verdicts == {Verdict.PASS} else Verdict.INCONCLUSIVE

    @property
    def reason(self) -> Check | None:
        """The one check that decided the verdict; None when all passed."""
        for verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE):
            for check in self.checks:
                if check.verdict is verdict:
                    return check
        return None


def signal_name(number: int) -> str:
    """The name of a signal.

    >>> signal_name(11)
    'SIGSEGV'
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
