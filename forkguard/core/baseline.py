"""The baseline of a fork that starts with many findings: which were there on a day, so that new ones stand out."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forkguard.core.findings import Finding, Severity, Side
from forkguard.core.names import CommitHash
from forkguard.errors import UsageProblem

SCHEMA = "forkguard/drift-baseline@1"
BASELINE_NAME = "drift-baseline.json"


@dataclass(frozen=True, slots=True)
class BaselineEntry:
    """One finding as it was when the baseline was written."""

    severity: Severity
    title: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Finding ids with what they were; `name` is how reports call the file, `written` the day."""

    name: str
    fork: Side
    upstream: Side
    written: date
    entries: Mapping[str, BaselineEntry]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Side(_Strict):
    ref: str
    commit: Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]


class _Entry(_Strict):
    id: Annotated[str, Field(min_length=1)]
    severity: Severity
    title: str


class _Document(_Strict):
    format: Annotated[Literal["forkguard/drift-baseline@1"], Field(alias="schema")]
    written: date
    fork: _Side
    upstream: _Side
    findings: tuple[_Entry, ...]


def parse_baseline(text: str, *, name: str) -> Baseline:
    """Read a baseline. Raises `UsageProblem` for anything but what `render_baseline` writes."""
    try:
        read = _Document.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(step) for step in first["loc"])
        raise UsageProblem(
            f"this is no baseline of forkguard: {key + ': ' if key else ''}{first['msg']}",
            where=name,
            hint="forkguard drift --all --write-baseline  writes it anew",
        ) from error
    return Baseline(
        name,
        Side(read.fork.ref, CommitHash(read.fork.commit)),
        Side(read.upstream.ref, CommitHash(read.upstream.commit)),
        read.written,
        {entry.id: BaselineEntry(entry.severity, entry.title) for entry in read.findings},
    )


def new_baseline(findings: Iterable[Finding], *, name: str, fork: Side, upstream: Side, written: date) -> Baseline:
    """A baseline of the findings that count: what is accepted, a note, or upstream's hazard too needs none."""
    counted = [finding for finding in findings if finding.counts(strict=False)]
    entries = {finding.id: BaselineEntry(finding.severity, finding.title) for finding in counted}
    return Baseline(name, fork, upstream, written, entries)


def render_baseline(baseline: Baseline) -> str:
    """The text of the file: one finding a line, in the order of ids, so that its own history reads well."""
    entries = [
        json.dumps({"id": key, "severity": entry.severity.value, "title": entry.title})
        for key, entry in sorted(baseline.entries.items())
    ]
    lines = ",\n".join(f"    {entry}" for entry in entries)
    sides = ",\n".join(
        f"  {json.dumps(label)}: {json.dumps({'ref': side.ref, 'commit': side.commit})}"
        for label, side in (("fork", baseline.fork), ("upstream", baseline.upstream))
    )
    found = f"[\n{lines}\n  ]" if entries else "[]"
    return (
        f'{{\n  "schema": "{SCHEMA}",\n  "written": "{baseline.written.isoformat()}",\n{sides},\n'
        f'  "findings": {found}\n}}\n'
    )
