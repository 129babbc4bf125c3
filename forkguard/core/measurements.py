"""What was measured, as recorded: arms, samples, the machine. The same values come from a run and from a receipt."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from forkguard.core.boxes import BoxState
from forkguard.core.ceiling import Ceiling

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Name = Annotated[str, Field(min_length=1)]


class BadRecord(ValueError):
    """A record is not what a measurement writes; the text says where."""


@dataclass(frozen=True, slots=True)
class MeasuredArm:
    """One server configuration. `draft` is the kind of draft (`draft-dspark`, `ngram-mod`), None without one.

    `width` is the most tokens drafted at once. The baseline is the arm without a draft.
    """

    name: Name
    draft: str | None = None
    width: Positive | None = None

    @property
    def caches(self) -> bool:
        """Whether the draft is a cache of earlier text, which replays what it has seen."""
        return self.draft is not None and self.draft.startswith("ngram")


@dataclass(frozen=True, slots=True)
class Sample:
    """One request: `tokens` generated of `asked`, at `rate` tokens per second (generation alone).

    `process` names the server process, one per measurement unless said otherwise; the order of samples is the
    order of asking. `prompt_evaluated` and `prompt_cached` are tokens of the prompt; `drafted` and `accepted`
    count draft tokens. All four are None where the server does not say. `seconds` are ours for the whole request,
    `server_seconds` what the server says that prompt and generation took.
    """

    arm: Name
    task: Name
    round: Positive
    process: Name
    tokens: Positive
    asked: Positive
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    prompt_evaluated: Count | None = None
    prompt_cached: Count | None = None
    drafted: Count | None = None
    accepted: Count | None = None
    seconds: Annotated[float, Field(ge=0)] | None = None
    server_seconds: Annotated[float, Field(ge=0)] | None = None
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """A run that gave no figure, and why."""

    arm: Name
    task: str
    round: Positive
    reason: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything that was recorded. `subject` is what must be equal for two measurements to be compared:
    hashes of models and prompts, by name. `shared_process` says that the tasks of a round shared one process.
    """

    arms: tuple[MeasuredArm, ...]
    samples: tuple[Sample, ...]
    lost: tuple[Lost, ...] = ()
    boxes: tuple[BoxState, ...] = ()
    ceiling: Ceiling | None = None
    subject: Mapping[str, str] = field(default_factory=dict)
    shared_process: bool = False

    def arm(self, name: str) -> MeasuredArm:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    @property
    def baseline(self) -> MeasuredArm | None:
        """The first arm without a draft."""
        return next((arm for arm in self.arms if arm.draft is None), None)


_RECORD: TypeAdapter[Measurement] = TypeAdapter(Measurement)


def read_measurement(document: object) -> Measurement:
    """The measurement that `write_measurement` wrote; keys that it does not know are skipped.

    Raises `BadRecord` for wrong types or values, for a sample of an arm that is not listed, and for more
    tokens than were asked for, or more accepted than drafted.
    """
    try:
        found = _RECORD.validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadRecord(f"{where}: {first['msg']}") from error
    names = {arm.name for arm in found.arms}
    for sample in found.samples:
        if sample.arm not in names:
            raise BadRecord(f"sample of {sample.arm!r}, which is no arm")
        if sample.tokens > sample.asked:
            raise BadRecord(f"sample of {sample.arm!r}: {sample.tokens} tokens of {sample.asked}")
        if (sample.accepted or 0) > (sample.drafted or 0):
            raise BadRecord(f"sample of {sample.arm!r}: more accepted than drafted")
    return found


def write_measurement(measurement: Measurement) -> dict[str, object]:
    """Plain JSON values, readable by `read_measurement`."""
    found = _RECORD.dump_python(measurement, mode="json")
    return dict(found)
