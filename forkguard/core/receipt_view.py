"""What reports read of a receipt, typed; everything else in it is left alone.

Older receipts may lack what later versions added, so that most parts have a default; what judges is required.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from forkguard.core.receipts import BadReceipt, VerdictText

SCHEMA = "forkguard/gate@1"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class SuspectView(_Part):
    """A drift finding that explains a check."""

    finding: str
    title: str
    severity: str
    place: str = ""
    pr: int | None = None
    mend: str = ""
    command: str = ""


class CheckView(_Part):
    """One check; `evidence` is as the check wrote it."""

    name: str
    verdict: VerdictText
    class_: Annotated[str | None, Field(alias="class")] = None
    detail: str = ""
    evidence: tuple[Mapping[str, Any], ...] = ()
    suspects: tuple[SuspectView, ...] = ()
    culprit: str | None = None
    trigger: str | None = None


class AnswerView(_Part):
    """One answer: token ids, the text, and the gap between the two best tokens of each place (nats)."""

    tokens: tuple[int, ...]
    text: str
    top2_gap_nats: tuple[float | None, ...] = ()
    drafted: int = 0
    accepted: int = 0


class RequestView(_Part):
    """One prompt and what came back; `seconds` by our clock."""

    prompt: str
    seconds: float
    answer: AnswerView | None = None


class TroubleView(_Part):
    """How a server misbehaved."""

    class_: Annotated[str, Field(alias="class")]
    stage: str = ""
    text: str = ""
    place: str = ""
    signal: str | None = None
    exit_code: int | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


class FallbackView(_Part):
    """A log line that tells of a slower way, and how often it came."""

    class_: Annotated[str, Field(alias="class")]
    text: str
    count: int


class EndView(_Part):
    """How a server ended, and its log beside the receipt."""

    exit_code: int | None = None
    signal: str | None = None
    asked_to_stop: bool = False
    killed: bool = False
    log: str = ""
    log_bytes: int = 0
    fallbacks: tuple[FallbackView, ...] = ()


class ArmView(_Part):
    """One server that ran."""

    name: str
    draft: bool = False
    width: int | None = None
    side: str = "fork"
    slots: int = 1
    draft_file: str | None = None
    recheck: bool = False
    verbose: bool = False
    command: tuple[str, ...] = ()
    complete: bool = False
    drafted: int = 0
    accepted: int = 0
    seconds: float = 0.0
    requests: tuple[RequestView, ...] = ()
    trouble: TroubleView | None = None
    end: EndView = EndView()

    @property
    def answered(self) -> int:
        """How many prompts were answered."""
        return sum(one.answer is not None for one in self.requests)

    def answer(self, prompt: str) -> AnswerView | None:
        """The answer to a prompt."""
        return next((one.answer for one in self.requests if one.prompt == prompt), None)


class FileView(_Part):
    """A file and its SHA-256."""

    path: str
    sha256: str


class LogView(FileView):
    """A raw log beside the receipt."""

    bytes: int = 0


class TreeView(_Part):
    """What was gated."""

    ref: str | None = None
    commit: str | None = None
    patchsets: tuple[str, ...] = ()
    binary: str = ""
    binary_sha256: str = ""
    libraries: tuple[FileView, ...] = ()


class ModelView(_Part):
    """A model file."""

    name: str
    sha256: str
    arch: str


class SettingsView(_Part):
    """How strict the gate was."""

    probe: bool = False
    near_tie_nats: float | None = None
    policy: str = ""


class NotRunView(_Part):
    """A check or an arm that was not run, and why."""

    name: str
    reason: str


class CellView(_Part):
    """The counted runs of one arm at one task, in tokens per second."""

    arm: str
    task: str
    asked: int
    tokens_per_second: tuple[float, ...]
    median: float
    spread: float
    wide: bool
    acceptance: float | None = None


class ComparisonView(_Part):
    """An arm against the baseline; `task` None: over all tasks."""

    arm: str
    baseline: str
    task: str | None
    asked: int | None = None
    ratio: float
    interval: tuple[float, float] | None = None
    class_: Annotated[str, Field(alias="class")]
    why: str = ""

    @property
    def percent(self) -> float:
        """The difference in percent."""
        return 100.0 * (self.ratio - 1.0)


class ExcludedView(_Part):
    """A run that was thrown out."""

    arm: str
    task: str
    round: int
    tokens_per_second: float
    detail: str


class CeilingView(_Part):
    """What the machine's memory allows."""

    passes_per_second: float
    detail: str


class SpeedView(_Part):
    """The measured speed."""

    cells: tuple[CellView, ...] = ()
    comparisons: tuple[ComparisonView, ...] = ()
    excluded: tuple[ExcludedView, ...] = ()
    ceiling: CeilingView | None = None
    busy: tuple[str, ...] = ()

    def against(self, cell: CellView) -> ComparisonView | None:
        """A cell's comparison with the baseline."""
        key = (cell.arm, cell.task, cell.asked)
        return next((one for one in self.comparisons if (one.arm, one.task, one.asked) == key), None)

    @property
    def overall(self) -> tuple[ComparisonView, ...]:
        """The comparisons over all tasks."""
        return tuple(one for one in self.comparisons if one.task is None)


class ScoreView(_Part):
    """Right answers of an arm."""

    arm: str
    right: int
    of: int
    truncated: int = 0


class QualityView(_Part):
    """Right answers of all arms."""

    scores: tuple[ScoreView, ...] = ()
    lost: tuple[str, ...] = ()


class MeasurementsView(_Part):
    """What was measured beside the checks."""

    performance: SpeedView | None = None
    quality: QualityView | None = None


class ReceiptView(_Part):
    """A receipt as reports show it."""

    schema_: Annotated[str, Field(alias="schema")]
    forkguard: str = ""
    verdict: VerdictText
    arch: str
    checks: tuple[CheckView, ...]
    not_run: tuple[NotRunView, ...] = ()
    arms: tuple[ArmView, ...]
    tree: TreeView
    upstream: TreeView | None = None
    models: tuple[ModelView, ...] = ()
    settings: SettingsView = SettingsView()
    box: Mapping[str, Any] = Field(default_factory=dict)
    environment: Mapping[str, str] = Field(default_factory=dict)
    started: AwareDatetime
    finished: AwareDatetime
    warnings: tuple[str, ...] = ()
    measurements: MeasurementsView | None = None
    job: str | None = None
    logs: tuple[LogView, ...] = ()

    @property
    def reason(self) -> CheckView | None:
        """The check that made the verdict; None where all passed."""
        worst = (one for verdict in ("fail", "inconclusive") for one in self.checks if one.verdict == verdict)
        return next(worst, None)

    @property
    def speed(self) -> SpeedView | None:
        """The measured speed, where it was measured."""
        return self.measurements.performance if self.measurements is not None else None


def view_receipt(content: bytes) -> ReceiptView:
    """A receipt from its bytes. Raises `BadReceipt` for anything else, and for a pass whose checks did not pass."""
    try:
        receipt = ReceiptView.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadReceipt(f"{place + ': ' if place else ''}{first['msg']}") from error
    if receipt.schema_ != SCHEMA:
        raise BadReceipt(f"this is no {SCHEMA}")
    if receipt.verdict == "pass" and {check.verdict for check in receipt.checks} != {"pass"}:
        raise BadReceipt("it says pass, and its checks do not")
    return receipt


def difference_at(receipt: ReceiptView, evidence: Mapping[str, Any], *, around: int = 8) -> "TokenContext | None":
    """The tokens around the first difference that a determinism check names; None where it names none."""
    arm, prompt, place = evidence.get("arm"), evidence.get("prompt"), evidence.get("first_difference")
    theirs = next((one for one in receipt.arms if one.name == arm), None)
    if theirs is None or not isinstance(prompt, str) or not isinstance(place, int) or place < 0:
        return None
    got = theirs.answer(prompt)
    plain = [one for one in receipt.arms if not one.draft and one.side == theirs.side and not one.recheck]
    expected = next((answer for one in plain if (answer := one.answer(prompt)) is not None), None)
    if got is None or expected is None or expected is got:
        return None
    return TokenContext(
        arm=theirs.name, prompt=prompt, place=place, shared=_window(expected.tokens, place, -around),
        expected=_window(expected.tokens, place, around), got=_window(got.tokens, place, around),
        expected_text=_apart(expected.text, got.text), got_text=_apart(got.text, expected.text),
        shared_text=_shared(expected.text, got.text)[-80:],
    )  # fmt: skip


class TokenContext(_Part):
    """Tokens on both sides of a first difference: `shared` before it, then what was expected and what came."""

    arm: str
    prompt: str
    place: int
    shared: tuple[int, ...]
    expected: tuple[int, ...]
    got: tuple[int, ...]
    shared_text: str
    expected_text: str
    got_text: str


def _window(tokens: Sequence[int], place: int, width: int) -> tuple[int, ...]:
    return tuple(tokens[max(0, place + width) : place] if width < 0 else tokens[place : place + width])


def _shared(one: str, other: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]


def _apart(one: str, other: str) -> str:
    return one[len(_shared(one, other)) :][:80]
