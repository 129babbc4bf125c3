"""Finding a pinned request: the very commit that was pinned, and what became of the request since."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from forkguard.core.forge import PullInfo
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.pins import Pin
from forkguard.core.porting import PullState, Source
from forkguard.errors import CouldNotWork, UnknownRef
from forkguard.ports import PullRemote
from forkguard.workflows.find_change import (
    Places,
    from_forge,
    from_history,
    from_pull_ref,
    heir_in_history,
    pull_ref,
    squash_commit,
)


@dataclass(frozen=True, slots=True)
class Heads:
    """What the remote said of the requests' heads; `note` tells why it said nothing."""

    remote: PullRemote | None = None
    found: Mapping[PullNumber, CommitHash] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """A request whose pinned commit is not to be had any more; `head` is where it is now, as far as that is known."""

    head: CommitHash | None
    said: str


def ask_heads(pins: tuple[Pin, ...], remote: PullRemote | None) -> Heads:
    """Ask the remote once for the heads of all requests."""
    if remote is None:
        return Heads(note="the fork has no remote of upstream's")
    try:
        return Heads(remote, remote.heads([pin.pull for pin in pins]))
    except CouldNotWork as problem:
        return Heads(note=problem.what)


def find_pinned(pin: Pin, places: Places, heads: Heads) -> Source | Moved:
    """The change of a request at its pinned commit: upstream's commit of it, or one of the request's own heads.

    A head that moved on is said in the source's remark. Raises `CouldNotWork` where the commit was not fetched (a dry
    run fetches nothing), and where the forge hands out no patch that applies.
    """
    squash = squash_commit(pin.pull, places.upstream, places.tip)
    if squash is not None and squash.id == pin.commit:
        places.fetch_tip()
        return from_history(pin.pull, squash, places.bench)
    info = None if squash else _forge_info(pin.pull, places)
    head = heads.found.get(pin.pull) or (info.head if info else None) or _local_head(pin.pull, places)
    if not _bring(pin, places, heads):
        if info is not None and info.head == pin.commit:
            return from_forge(info, places)
        if head == pin.commit:
            raise _not_fetched(pin, places)
        said = (
            f"its head is at {head[:10]} now" if head else f"no head of it is known: {heads.note or 'it has no ref'}"
        )
        return Moved(head, f"the pinned commit {pin.commit[:10]} is not here and not handed out; {said}")
    places.fetch_tip()
    where = f"refs/pull/{pin.pull}/head" if head == pin.commit else "its pinned commit"
    found = from_pull_ref(pin.pull, ref=where, head=pin.commit, tip=places.tip, bench=places.bench)
    landed = squash.id if squash else None
    state = PullState.MERGED if landed else info.state if info else found.state
    remarks = _remarks(pin, head=head, landed=landed, info=info)
    heir = "" if landed else heir_in_history(pin.pull, places.upstream, places.tip)
    remark = "; ".join([*remarks, heir] if heir else remarks)
    return replace(found, state=state, remark=remark, head=pin.commit, landed=landed)


def _not_fetched(pin: Pin, places: Places) -> CouldNotWork:
    fork = places.fork.path
    return CouldNotWork(
        f"the pinned commit {pin.commit[:10]} is not here and was not fetched; a dry run fetches nothing",
        where=str(fork),
        hint=f"git -C {shlex.quote(str(fork))} fetch REMOTE refs/pull/{pin.pull}/head:refs/forkguard/pull/{pin.pull}",
    )


def _remarks(pin: Pin, *, head: CommitHash | None, landed: CommitHash | None, info: PullInfo | None) -> list[str]:
    said = []
    if head is None:
        said.append("where its head is now is not known")
    elif head != pin.commit:
        said.append(f"its head moved: it is at {head[:10]} now, and the pinned {pin.commit[:10]} was taken")
    if landed is not None:
        said.append(f"upstream has merged it since, as {landed[:10]}")
    if info is not None and info.state is PullState.CLOSED:
        heir = f": it says that #{info.heir} took its place" if info.heir else ""
        said.append(f"it was closed without a merge{heir}")
    return said


def _forge_info(pull: PullNumber, places: Places) -> PullInfo | None:
    """What the forge says of a request; a forge that does not answer is no reason not to take what is here."""
    try:
        return places.forge.pull(pull) if places.forge else None
    except CouldNotWork:
        return None


def _local_head(pull: PullNumber, places: Places) -> CommitHash | None:
    found = (pull_ref(pull, repository) for repository in (places.fork, places.upstream))
    return next((ref[1] for ref in found if ref), None)


def _bring(pin: Pin, places: Places, heads: Heads) -> bool:
    """Whether the pinned commit is among the fork's objects, fetched where it was not."""
    if _has(places, pin.commit, fork=True):
        return True
    if places.other is not None and _has(places, pin.commit, fork=False):
        places.checkouts.fetch(places.other, pin.commit, f"refs/forkguard/pull/{pin.pull}")
        return True
    return heads.remote is not None and heads.remote.fetch(pin.pull, pin.commit)


def _has(places: Places, commit: CommitHash, *, fork: bool) -> bool:
    try:
        (places.fork if fork else places.upstream).resolve(commit)
    except UnknownRef:
        return False
    return True
