"""What `forkguard status` knows: values, and which commits of the fork no patchset covers."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from forkguard.core.commits import Commit
from forkguard.core.findings import Base, Side
from forkguard.core.names import CommitHash
from forkguard.core.nightly import Night
from forkguard.core.open_work import OpenWork
from forkguard.core.watchdog import Watch
from forkguard.errors import CouldNotWork


@dataclass(frozen=True, slots=True)
class OwnCommit:
    """A commit of the fork that is no merge: the patchset that its trailer names, and its `git patch-id`.

    `patch_id` is None where it was not asked for, or the commit has no change or no parent.
    """

    commit: Commit
    trailer: str | None
    patch_id: str | None


@dataclass(frozen=True, slots=True)
class StackEntry:
    """One patchset as `status` shows it; `patches` counts the patches that are there."""

    name: str
    title: str
    state: str
    pull: int | None
    patches: int


@dataclass(frozen=True, slots=True)
class ReceiptSummary:
    """The newest gate receipt: its file, the verdict, when it began (ISO 8601), the commit that was built."""

    path: str
    verdict: str
    started: str
    commit: str | None


@dataclass(frozen=True, slots=True)
class NightSummary:
    """The last night that ended: its record's file, and what it says; times are ISO 8601."""

    path: str
    night: Night


@dataclass(frozen=True, slots=True)
class StatusReport:
    """Where the fork stands. `behind` and `ahead` count the commits of upstream and of the fork since the base.

    `open` is what was begun and is not finished; `watch` says whether nights still come to an answer, where asked.
    """

    fork: Side
    upstream: Side
    base: Base
    base_commit: Commit
    behind: int
    ahead: int
    uncovered: tuple[Commit, ...]
    stack: tuple[StackEntry, ...]
    receipt: ReceiptSummary | None
    open: tuple[OpenWork, ...] = ()
    nightly: NightSummary | None = None
    watch: Watch | None = None


def uncovered_commits(
    own: Sequence[OwnCommit], *, stack: Collection[str], patches: Mapping[str, str]
) -> tuple[Commit, ...]:
    """The fork's commits, in the given order, that no patchset of the stack covers.

    A commit is covered when its trailer names a patchset of the stack, or when it makes the very change of one
    of its patches (`patches`: patch id to patchset).
    """
    return tuple(each.commit for each in own if each.trailer not in stack and each.patch_id not in patches)


def join_ids(commits: Sequence[tuple[Commit, str | None]], ids: Mapping[CommitHash, str]) -> tuple[OwnCommit, ...]:
    """Commits with their trailers, and the patch ids of those that have one."""
    return tuple(OwnCommit(commit, trailer, ids.get(commit.id)) for commit, trailer in commits)


def parse_receipt(text: str, *, path: str) -> ReceiptSummary:
    """What `status` says of a receipt (`forkguard/gate@1`). Raises `CouldNotWork` where it is damaged."""
    try:
        receipt = json.loads(text)
        tree = receipt["tree"]
        return ReceiptSummary(
            path=path,
            verdict=str(receipt["verdict"]),
            started=str(receipt["started"]),
            commit=str(tree["commit"]) if tree and tree.get("commit") else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CouldNotWork(
            "this receipt is damaged", where=path, hint="remove its folder, then: forkguard gate"
        ) from error
