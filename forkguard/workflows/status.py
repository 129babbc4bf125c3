"""`forkguard status`: where the fork stands against its upstream, and what carries it."""

import itertools

from forkguard.core.findings import Side
from forkguard.core.names import CommitHash
from forkguard.core.patchset import State
from forkguard.core.status import ReceiptSummary, StackEntry, StatusReport, join_ids, uncovered_commits
from forkguard.ports import PatchsetStore, Repository, Talk
from forkguard.workflows.base import find_base

TRAILER = "Forkguard-Patchset"
_COVERING = {State.PROPOSED, State.CARRIED}


def read_status(
    repo: Repository,
    patchsets: PatchsetStore,
    *,
    fork: Side,
    upstream: Side,
    configured_base: str | None,
    receipt: ReceiptSummary | None,
    talk: Talk,
) -> StatusReport:
    """Everything that `status` reports. Raises what `find_base` and the patch stack's files raise."""
    talk.step("finding the base")
    base = find_base(repo, fork=fork, upstream=upstream, configured=configured_base)
    talk.step("reading the patch stack")
    stack = read_stack(patchsets)
    covering = {entry.name for entry in stack if entry.state in _COVERING}
    mails = _mails(patchsets, covering)
    ids = repo.patch_ids(base.commit, fork.commit) if mails else {}
    patch_names = _patch_names(repo, mails)
    own = join_ids(repo.own_commits(base.commit, fork.commit, trailer=TRAILER), ids)
    return StatusReport(
        fork=fork,
        upstream=upstream,
        base=base,
        base_commit=repo.commits([base.commit])[base.commit],
        behind=repo.count(base.commit, upstream.commit),
        ahead=repo.count(base.commit, fork.commit),
        uncovered=uncovered_commits(own, stack=covering, patches=patch_names),
        stack=stack,
        receipt=receipt,
    )


def read_stack(patchsets: PatchsetStore) -> tuple[StackEntry, ...]:
    """The patchsets in the order of the stack, then those that it does not list, by name."""
    order = [entry.name for entry in patchsets.order()]
    entries = []
    for name in dict.fromkeys((*order, *patchsets.names())):
        manifest = patchsets.manifest(name)
        there = sum(content is not None for _, content in patchsets.patches(name))
        entries.append(StackEntry(name, manifest.title, manifest.state.value, manifest.pull, there))
    return tuple(entries)


def _mails(patchsets: PatchsetStore, names: set[str]) -> list[tuple[str, bytes]]:
    """The patches of these patchsets: the patchset's name and the mail."""
    return [(name, mail) for name in sorted(names) for _, mail in patchsets.patches(name) if mail is not None]


def _patch_names(repo: Repository, mails: list[tuple[str, bytes]]) -> dict[str, str]:
    """Patch id to the patchset that has this patch."""
    keys = (CommitHash(f"{number:040x}") for number in itertools.count(1))
    keyed = dict(zip(keys, mails, strict=False))
    ids = repo.patch_ids_of({key: mail for key, (_, mail) in keyed.items()})
    return {patch_id: keyed[key][0] for key, patch_id in ids.items()}
