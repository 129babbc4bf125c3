"""The receipts of a matrix's jobs as one receipt for each arch and build profile, which `verify` reads as any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forkguard.core.matrix import Job, JobResult

_WORST = ("fail", "inconclusive", "pass")
_OF_THE_FIRST = ("schema", "forkguard", "arch", "upstream", "settings", "box", "asserts", "build")


@dataclass(frozen=True, slots=True)
class JobReceipt:
    """A job's receipt that counts: its whole document, and the SHA-256 of its bytes."""

    job: Job
    path: str
    document: Mapping[str, Any]
    sha256: str


@dataclass(frozen=True, slots=True)
class Joined:
    """One receipt to be written: its document, and for each log its place (receipt's path, name) and its new name.

    `doubts` say why receipts that each pass do not pass together.
    """

    name: str
    document: Mapping[str, object]
    logs: tuple[tuple[str, str, str], ...]
    doubts: tuple[str, ...] = ()


def join(results: Sequence[JobResult], receipts: Mapping[str, JobReceipt]) -> tuple[Joined, ...]:
    """One receipt per arch and profile of which some job left one; `receipts` are by the jobs' ids.

    It passes only where every job of that arch and profile passed, with the same program and environment. It is
    as old as the oldest of them.
    """
    groups: dict[tuple[str, str], list[JobResult]] = {}
    for result in results:
        groups.setdefault((result.job.arch, result.job.profile), []).append(result)
    joined = (
        _join(group, [receipts[one.job.id] for one in group if one.job.id in receipts]) for group in groups.values()
    )
    return tuple(one for one in joined if one is not None)


def _join(group: Sequence[JobResult], found: Sequence[JobReceipt]) -> Joined | None:
    if not found:
        return None
    first = found[0].document
    doubts = _doubts(group, found)
    verdicts = [str(one.verdict) for one in group] + (["inconclusive"] if doubts else [])
    document = {
        **{name: first[name] for name in _OF_THE_FIRST if name in first},
        "verdict": next(verdict for verdict in _WORST if verdict in verdicts),
        "checks": _checks(found),
        "not_run": [dict(pair) for pair in dict.fromkeys(_pairs(found, "not_run"))],
        "arms": [_arm(one, arm) for one in found for arm in one.document["arms"]],
        "tree": {**first["tree"], "libraries": _unique(found, lambda document: document["tree"]["libraries"])},
        "models": _unique(found, lambda document: document["models"]),
        "environment": first["environment"],
        "started": min(one.document["started"] for one in found),
        "finished": min(one.document["finished"] for one in found),
        "warnings": [*doubts, *dict.fromkeys(text for one in found for text in one.document["warnings"])],
        "merged": [{"job": one.job.id, "receipt": one.path, "sha256": one.sha256} for one in found],
    }
    logs = tuple((one.path, log["path"], _renamed(one, log["path"])) for one in found for log in one.document["logs"])
    return Joined(f"{group[0].job.arch}.{group[0].job.profile}", document, logs, tuple(doubts))


def _doubts(group: Sequence[JobResult], found: Sequence[JobReceipt]) -> list[str]:
    """Why receipts that each pass do not pass together."""
    there = {one.job.id for one in found}
    told = [f"{one.job.id}: {one.detail}" for one in group if one.job.id not in there]
    for what, name in (("programs", "binary_sha256"), ("commits", "commit")):
        several = {one.document["tree"][name] for one in found}
        if len(several) > 1:
            told.append(f"the jobs gated {len(several)} different {what}; give each job the same with --binary")
    if any(one.document["environment"] != found[0].document["environment"] for one in found):
        told.append("the jobs ran with different environments")
    return told


def _checks(found: Sequence[JobReceipt]) -> list[dict[str, object]]:
    """Each check once, as the job tells it where it is worst, with the evidence of all."""
    names = dict.fromkeys(check["name"] for one in found for check in one.document["checks"])
    return [_check(name, found) for name in names]


def _check(name: str, found: Sequence[JobReceipt]) -> dict[str, object]:
    mine = [(one, check) for one in found for check in one.document["checks"] if check["name"] == name]
    verdict = next(verdict for verdict in _WORST if any(check["verdict"] == verdict for _, check in mine))
    one, worst = next((one, check) for one, check in mine if check["verdict"] == verdict)
    detail = f"{one.job.id}: {worst['detail']}" if verdict != "pass" else f"passed in {len(mine)} jobs"
    evidence = [
        {**each, "arm": _renamed(owner, str(each["arm"]))} for owner, check in mine for each in check["evidence"]
    ]  # fmt: skip
    return {**worst, "detail": detail, "evidence": evidence}


def _arm(one: JobReceipt, arm: Mapping[str, Any]) -> dict[str, object]:
    end = {**arm["end"], "log": _renamed(one, arm["end"]["log"])}
    return {**arm, "name": _renamed(one, arm["name"]), "end": end}


def _renamed(one: JobReceipt, name: str) -> str:
    return f"{one.job.id}.{name}"


def _pairs(found: Sequence[JobReceipt], field: str) -> list[tuple[tuple[str, object], ...]]:
    return [tuple(each.items()) for one in found for each in one.document[field]]


def _unique(found: Sequence[JobReceipt], of: Any) -> list[dict[str, object]]:
    rows = [tuple(each.items()) for one in found for each in of(one.document)]
    return [dict(row) for row in dict.fromkeys(rows)]
