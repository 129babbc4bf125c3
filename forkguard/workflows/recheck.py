"""Looking carried patchsets up again: what came after each, where its request is now, whether it was merged since.

Nothing is written. Local history alone answers most of it; a remote adds where heads are, a forge what is open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from forkguard.core.findings import Side
from forkguard.core.forge import PullInfo
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.patchset import FollowUp, Manifest, State
from forkguard.core.porting import Pick, PullState, Source, SourceKind
from forkguard.errors import CouldNotWork, ForkguardError, UnknownRef
from forkguard.ports import Bench, Forge, OpenRequests, PatchsetStore, PullRemote, Repository
from forkguard.workflows.closure import find_follow_ups, new_follow_ups, open_follow_ups
from forkguard.workflows.find_change import heir_in_history, squash_commit
from forkguard.workflows.port_report import changed_files

_LOOKED_AT = frozenset({State.CARRIED, State.PROPOSED})


@dataclass(frozen=True, slots=True)
class Later:
    """A follow-up of a patchset; `new`: its `patchset.toml` does not hold it yet."""

    patchset: str
    follow_up: FollowUp
    new: bool


@dataclass(frozen=True, slots=True)
class PinNow:
    """A request that was open when it was ported. `head` is where it is now (None: not known), `merge` upstream's
    commit of it since."""

    patchset: str
    pull: PullNumber
    pinned: CommitHash
    head: CommitHash | None
    state: PullState
    merge: CommitHash | None = None
    why: str = ""

    @property
    def moved(self) -> bool:
        """Whether the head is known to be another one than the pinned one."""
        return self.head is not None and self.head != self.pinned


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What was found, in the order of the stack; `problems` say what could not be looked at."""

    follow_ups: tuple[Later, ...] = ()
    pins: tuple[PinNow, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Places:
    """Where it is looked: the fork's repository (which sees upstream's objects), and, where they are, the remote, the
    forge and its open requests."""

    repo: Repository
    bench: Bench
    remote: PullRemote | None = None
    forge: Forge | None = None
    open_requests: OpenRequests | None = None


@dataclass
class _Found:
    follow_ups: list[Later] = field(default_factory=list)
    pins: list[PinNow] = field(default_factory=list)
    problems: dict[str, None] = field(default_factory=dict)


def recheck(patchsets: PatchsetStore, *, fork: Side, upstream: Side, places: Places) -> Rechecked:
    """Look up every patchset that is carried or proposed, on upstream's commit; pure values come out.

    What one patchset's look-up cannot do is a problem, and the next is looked up. Raises `UsageProblem` for a series
    or a manifest that cannot be read.
    """
    carried = {entry.name: patchsets.manifest(entry.name) for entry in patchsets.order()}
    carried = {name: manifest for name, manifest in carried.items() if manifest.state in _LOOKED_AT}
    found = _Found()
    heads = _heads(carried.values(), places, found)
    for name, manifest in carried.items():
        try:
            if manifest.head and manifest.pull:
                found.pins.append(_pin(name, manifest, upstream, places=places, heads=heads, found=found))
            for item in _later(manifest, fork=fork, upstream=upstream, places=places, found=found):
                fresh = bool(new_follow_ups(manifest.follow_ups, [item]))
                found.follow_ups.append(Later(name, item, fresh))
            found.follow_ups += _merged_since(name, manifest, upstream, places)
        except ForkguardError as problem:
            found.problems[f"{name}: {problem.what}"] = None
    return Rechecked(tuple(found.follow_ups), tuple(found.pins), tuple(found.problems))


# -- pins ----------------------------------------------------------------------------------------------


def _heads(manifests: Iterable[Manifest], places: Places, found: _Found) -> Mapping[PullNumber, CommitHash]:
    pulls = [PullNumber(one.pull) for one in manifests if one.head and one.pull]
    if not pulls or places.remote is None:
        return {}
    try:
        return places.remote.heads(pulls)
    except CouldNotWork as problem:
        found.problems[f"where the heads of open requests are was not looked up: {problem.what}"] = None
        return {}


def _pin(
    name: str, manifest: Manifest, upstream: Side, *, places: Places, heads: Mapping[PullNumber, CommitHash],
    found: _Found,
) -> PinNow:  # fmt: skip
    pull = PullNumber(manifest.pull or 0)
    pinned = CommitHash(manifest.head)
    squash = squash_commit(pull, places.repo, upstream.commit)
    info = None if squash else _info(pull, places, found)
    head = heads.get(pull) or (info.head if info else None)
    merge = squash.id if squash else info.merge if info else None
    state = PullState.MERGED if squash else info.state if info else PullState.OPEN
    said = []
    if state is PullState.MERGED:
        said.append(f"merged since, as {merge[:10]}" if merge else "merged since")
    if state is PullState.CLOSED:
        said.append(
            "closed without a merge" + (f": it says that #{info.heir} took its place" if info and info.heir else "")
        )
    heir = "" if squash else heir_in_history(pull, places.repo, upstream.commit)
    said += [heir] if heir else []
    if head is not None and head != pinned:
        said.append(f"its head moved: {head[:10]}")
    if head is None and info is None and squash is None:
        said.append("its head was not looked up: neither a remote nor a forge told it")
    return PinNow(name, pull, pinned, head, state, merge, "; ".join(said))


def _info(pull: PullNumber, places: Places, found: _Found) -> PullInfo | None:
    try:
        return places.forge.pull(pull) if places.forge else None
    except CouldNotWork as problem:
        found.problems[f"#{pull} was not asked of the forge: {problem.what}"] = None
        return None


# -- follow-ups ------------------------------------------------------------------------------------------


def _later(manifest: Manifest, *, fork: Side, upstream: Side, places: Places, found: _Found) -> tuple[FollowUp, ...]:
    source = _source(manifest, upstream, places)
    if source is None:
        return ()
    files = changed_files(source, places.bench)
    after = find_follow_ups(source, files, repo=places.repo, tip=upstream.commit, onto=fork.commit)
    near, notes = open_follow_ups(source.pull, files, places.open_requests)
    found.problems |= dict.fromkeys(notes)
    return (*after, *near)


def _source(manifest: Manifest, upstream: Side, places: Places) -> Source | None:
    """The change that a patchset came from, where its commits are here; upstream's commit of it once it is merged."""
    pull = PullNumber(manifest.pull) if manifest.pull else None
    commits = [CommitHash(commit) for commit in manifest.upstream]
    squash = squash_commit(pull, places.repo, upstream.commit) if pull and manifest.head else None
    commits = [squash.id] if squash else commits
    picks = []
    for commit in commits:
        try:
            raw = places.bench.commit(places.repo.resolve(commit))
        except UnknownRef:
            return None
        if not raw.parents:
            return None
        picks.append(Pick(commit, raw.parents[0], raw.subject))
    if not picks:
        return None
    merged = places.repo.is_ancestor(picks[-1].commit, upstream.commit)
    state = PullState.MERGED if merged else PullState.OPEN
    return Source(pull, state, SourceKind.COMMIT, manifest.title, tuple(picks), where=picks[-1].commit)


def _merged_since(name: str, manifest: Manifest, upstream: Side, places: Places) -> list[Later]:
    """Follow-ups that are known by their number alone, and that upstream has merged."""
    found = []
    for item in manifest.follow_ups:
        squash = (
            squash_commit(PullNumber(item.pull), places.repo, upstream.commit)
            if item.pull and not item.commit
            else None
        )
        if squash is not None:
            why = f"merged: {squash.subject}"
            found.append(Later(name, FollowUp(pull=item.pull, commit=squash.id, why=why), new=True))
    return found
