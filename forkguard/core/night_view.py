"""A night with what lies beside its record: the drift document, typed as far as reports show it, and the packets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forkguard.core.nightly import Night


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)


class CommitView(_Part):
    """A commit as a drift document names it."""

    commit: str | None = None
    pr: int | None = None
    date: str | None = None
    subject: str | None = None
    path: str = ""
    line: int | None = None


class FindingView(_Part):
    """One drift finding."""

    id: str
    arch: str
    rule: str
    kind: str
    severity: str
    title: str
    path: str
    line: int | None = None
    symbol: str | None = None
    text: str = ""
    why: str = ""
    upstream: CommitView | None = None
    lost_in: CommitView | None = None
    follow_ups: tuple[CommitView, ...] = ()
    also_upstream: bool = False
    ledger: str | None = None
    fix: str = ""


class ArchView(_Part):
    """One arch's status."""

    name: str
    status: str
    files: tuple[str, ...] = ()
    remark: str = ""


class DriftView(_Part):
    """A `drift@1` document."""

    schema_: Annotated[str, Field(alias="schema", pattern=r"^forkguard/drift@1$")]
    archs: tuple[ArchView, ...] = ()
    findings: tuple[FindingView, ...] = ()
    warnings: tuple[str, ...] = ()

    def of(self, arch: str) -> tuple[FindingView, ...]:
        """The findings of one arch."""
        return tuple(one for one in self.findings if one.arch == arch)


@dataclass(frozen=True, slots=True)
class NightFiles:
    """A night and what its record names; `packets` by file name, `missing` says what should be there and is not."""

    night: Night
    drift: DriftView | None = None
    packets: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def view_drift(content: bytes) -> DriftView | None:
    """A drift document from its bytes; None for anything else."""
    try:
        return DriftView.model_validate_json(content)
    except ValidationError:
        return None
