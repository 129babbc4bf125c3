"""One night: what was looked at, what came of each step, and the verdict. The JSON contract is nightly@1.

A record lies in a folder of its own, `<id>/night.json`, with what it names (drift, replay, packets, logs) beside it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

from forkguard.core.replay import PatchStatus

SCHEMA = "forkguard/nightly@1"
RECORD_NAME = "night.json"
PART_NAME = "night.part.json"
_STORY = 16

Count = Annotated[int, Field(ge=0)]
Hash = Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")]
"""ISO 8601 with its zone."""
NightId = Annotated[str, Field(pattern=r"^\d{8}T\d{6}Z(-\d+)?$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
"""A file in the night's own folder."""


class NightVerdict(StrEnum):
    """What a night came to. What could not be found out is never green."""

    GREEN = "green"
    RED = "red"
    COULD_NOT_RUN = "could-not-run"


class NightStep(StrEnum):
    """The steps of a night, in their order."""

    FETCH = "fetch"
    TARGET = "target"
    COVERAGE = "coverage"
    RECHECK = "recheck"
    DRIFT = "drift"
    REPLAY = "replay"
    CANDIDATE = "candidate"
    BUILD = "build"
    GATE = "gate"
    PUSH = "push"


class Outcome(StrEnum):
    """What came of a step.

    `found` is a finding, a conflict or a red gate; `could-not` is no answer; `skipped` was not reached, or has
    nothing to do, or was not asked for, as its detail says.
    """

    DONE = "done"
    FOUND = "found"
    COULD_NOT = "could-not"
    SKIPPED = "skipped"


_CLOSED = with_config(ConfigDict(extra="forbid"))


@_CLOSED
@dataclass(frozen=True, slots=True)
class StepResult:
    """One step. `detail` is a sentence; `hint` the next command to type where there is something to do."""

    name: NightStep
    outcome: Outcome
    started: Moment
    finished: Moment
    detail: str = ""
    where: str = ""
    hint: str = ""


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightSide:
    """A ref and the commit that it named."""

    ref: str
    commit: Hash


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightCommit:
    """A commit as records name it; `date` is ISO 8601."""

    commit: Hash
    date: str
    subject: str
    pr: int | None


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightBase:
    """The base of the fork, and by what it was found (`merge-base`, `content` or `configured`)."""

    commit: Hash
    how: str


# `from` is a word of Python, so the contract's `upstream.from` is `since` here.
@_CLOSED
@dataclass(frozen=True, slots=True)
class NightUpstream:
    """What came upstream: `commits` from the last night's target, else the base (`since`), to this one's (`to`).

    `behind` counts from the base.
    """

    ref: str
    since: Annotated[Hash, Field(alias="from")]
    to: Hash
    commits: Count
    behind: Count


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightPatch:
    """One patch of the stack on the target."""

    patchset: str
    patch: str
    status: PatchStatus
    subject: str = ""
    how: str = ""
    breaking_commit: Hash | None = None
    landed_in: Hash | None = None
    note: str = ""

    @property
    def label(self) -> str:
        """How reports call it."""
        return f"{self.patchset}/{self.patch}"


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightFinding:
    """A drift finding in one line; the whole of it is in the drift document. `counts`: drift exits 1 for it."""

    id: str
    arch: str
    kind: str
    severity: str
    title: str
    counts: bool


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightDrift:
    """Drift against the target: status by arch, and the findings. `document` is a `drift@1` beside the record."""

    archs: Mapping[str, str]
    findings: tuple[NightFinding, ...] = ()
    document: FileName | None = None


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightBuild:
    """The candidate's build."""

    profile: str
    tree: str
    binary: str
    seconds: Annotated[float, Field(ge=0)]


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightCheck:
    """One check of a gate."""

    name: str
    verdict: str
    class_: Annotated[str | None, Field(alias="class")] = None
    detail: str = ""


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightGate:
    """One gate run: `receipt` is its path below the folder of receipts (`<run>/receipt.json`)."""

    arch: str
    verdict: str
    receipt: str
    checks: tuple[NightCheck, ...] = ()


@_CLOSED
@dataclass(frozen=True, slots=True)
class Candidate:
    """The stack on the target; `pushed` names the remote branch that it went to."""

    branch: str
    commit: Hash
    pushed: str | None = None


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightFollowUp:
    """Something that came after a request that a patchset carries; `new` since the last night."""

    patchset: str
    pr: int | None
    commit: Hash | None
    why: str
    new: bool = False


@_CLOSED
@dataclass(frozen=True, slots=True)
class NightPin:
    """A carried request that was open when it was ported: where it is pinned, and what it is now."""

    patchset: str
    pr: int
    pinned: Hash
    head: Hash | None
    state: str
    why: str = ""


@_CLOSED
@dataclass(frozen=True, slots=True)
class Retirement:
    """A patchset whose effect is in upstream, and the command that retires it."""

    patchset: str
    landed_in: Hash | None
    command: str


@_CLOSED
@dataclass(frozen=True, slots=True)
class Packet:
    """All that is needed to mend one failing patch by hand; `file` is Markdown beside the record."""

    patchset: str
    patch: str
    file: FileName
    resume: str


@_CLOSED
@dataclass(frozen=True, slots=True)
class Night:
    """One run of `forkguard nightly`.

    `reason` is one sentence. `story` names a failure from night to night: nights with the same one are one story, and
    `repeats` counts those before this one in a row. `days_red` counts the days (UTC) since the last green night
    on which a night was not green. Parts that were not reached are None or empty.
    `key` is a hash of all that the results depend on, and `reused` the night of the same key whose results these are.
    `notified` is None where nobody had to be told, False where that failed.
    """

    id: NightId
    started: Moment
    finished: Moment
    verdict: NightVerdict
    reason: str
    story: str
    repeats: Count
    days_red: Count
    version: str
    fork: NightSide | None = None
    base: NightBase | None = None
    upstream: NightUpstream | None = None
    ahead: Count | None = None
    steps: tuple[StepResult, ...] = ()
    stack: tuple[NightPatch, ...] = ()
    uncovered: tuple[NightCommit, ...] = ()
    retire: tuple[Retirement, ...] = ()
    follow_ups: tuple[NightFollowUp, ...] = ()
    pins: tuple[NightPin, ...] = ()
    drift: NightDrift | None = None
    build: NightBuild | None = None
    gate: tuple[NightGate, ...] = ()
    candidate: Candidate | None = None
    packets: tuple[Packet, ...] = ()
    notes: tuple[str, ...] = field(default=())
    key: str = ""
    reused: NightId | None = None
    notified: bool | None = None


class BadNight(ValueError):
    """A record is not what a nightly run writes; the text says where."""


_NIGHT = TypeAdapter(Night)


def write_night(night: Night) -> str:
    """The record as JSON (`docs/schemas/nightly.json`)."""
    document = {"schema": SCHEMA, **_NIGHT.dump_python(night, mode="json", by_alias=True)}
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # git's bytes may be no UTF-8


def read_night(text: str) -> Night:
    """The record that `write_night` wrote. Raises `BadNight`."""
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
            raise BadNight(f"this is no {SCHEMA}")
        return _NIGHT.validate_python(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadNight(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, BadNight) else BadNight(f"this is no JSON: {error}") from error


def night_schema() -> dict[str, object]:
    """The JSON Schema of the record; `docs/schemas/nightly.json` holds it."""
    schema = _NIGHT.json_schema(by_alias=True)
    properties = {"schema": {"const": SCHEMA}, **schema.pop("properties")}
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA}
    return {**about, **schema, "properties": properties, "required": ["schema", *schema["required"]]}


def story_of(verdict: NightVerdict, parts: Sequence[str]) -> str:
    """The name of a failure: the same parts (steps, patches, breaking commits, classes; no times) give the same.

    >>> story_of(NightVerdict.GREEN, ["x"])
    ''
    >>> story_of(NightVerdict.RED, ["b", "a"]) == story_of(NightVerdict.RED, ["a", "b", "a"])
    True
    """
    if verdict is NightVerdict.GREEN:
        return ""
    text = "\n".join((verdict.value, *sorted(set(parts))))
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_STORY]


@dataclass(frozen=True, slots=True)
class Streak:
    """How long it has not been green: days, and the nights before this one with the same story in a row."""

    days_red: int
    repeats: int


def streak(earlier: Sequence[Night], *, started: str, verdict: NightVerdict, story: str) -> Streak:
    """What to say of a night after `earlier` ones, oldest first. Days are counted as dates in UTC, each once.

    The order is that of the records, so a clock that went backwards hides no night.
    """
    if verdict is NightVerdict.GREEN:
        return Streak(0, 0)
    days = {_day(started)}
    repeats, same = 0, True
    for night in reversed(earlier):
        if night.verdict is NightVerdict.GREEN:
            break
        days.add(_day(night.started))
        same = same and night.story == story
        repeats += same
    return Streak(len(days), repeats)


def _day(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone(UTC).date().isoformat()
