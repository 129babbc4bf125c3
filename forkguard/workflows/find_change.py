"""Finding the change behind a request, a commit, a patch or an address, in what is here and at the forge."""

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forkguard.core.commit_objects import IDENTITY, commit_bytes
from forkguard.core.commits import Commit, pulls_in
from forkguard.core.forge import PullInfo, commit_of_url, pull_of_url, takes_over
from forkguard.core.mails import Mail, Refusal
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import Pick, PullState, Source, SourceKind
from forkguard.errors import CouldNotWork, UnknownRef, UsageProblem
from forkguard.ports import Bench, Checkouts, Forge, Repository

KEPT_UPSTREAM = "refs/forkguard/upstream"
_MOST_MENTIONS = 200
"""Commits that name a request and are read for what they say of it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asked for; one of the four is set. `patch` is a file's content with the file's path."""

    pull: PullNumber | None = None
    commit: str | None = None
    patch: tuple[str, bytes] | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Where changes are looked for. `onto` and `base` are commits that a patch may have been made on."""

    fork: Repository
    upstream: Repository
    tip: CommitHash
    onto: CommitHash
    base: CommitHash
    bench: Bench
    checkouts: Checkouts
    forge: Forge | None = None

    @property
    def other(self) -> Path | None:
        """Upstream's clone, where it is another than the fork's."""
        return None if self.upstream is self.fork else self.upstream.path

    def fetch_tip(self) -> None:
        """Bring upstream's history into the fork's objects."""
        if self.other is not None:
            self.checkouts.fetch(self.other, self.tip, KEPT_UPSTREAM)


def find_source(wanted: Wanted, places: Places) -> Source:
    """The change that a person asked for. Raises `CouldNotWork` where it is not to be had."""
    if wanted.url is not None:
        pull, commit = pull_of_url(wanted.url), commit_of_url(wanted.url)
        if pull is None and commit is None:
            return _from_mails(_forge(places).download(wanted.url), where=wanted.url, places=places)
        wanted = Wanted(pull=pull, commit=commit)
    if wanted.patch is not None:
        path, content = wanted.patch
        return _from_mails(content, where=path, places=places)
    if wanted.commit is not None:
        return _from_commit(wanted.commit, places)
    assert wanted.pull is not None  # noqa: S101  (one of the four is set)
    return find_change(wanted.pull, places)


def squashed(source: Source) -> Source:
    """The same change as one pick."""
    if len(source.picks) < 2:
        return source
    whole = Pick(source.picks[-1].commit, source.picks[0].before, source.title)
    said = f"its {len(source.picks)} commits are joined into one"
    return replace(source, picks=(whole,), remark="; ".join(part for part in (source.remark, said) if part))


def find_change(pull: PullNumber, places: Places) -> Source:
    """The change of a request: from upstream's history, from `refs/pull/N/head`, else from the forge.

    What is needed of another clone is fetched into the fork's objects.
    """
    squash = squash_commit(pull, places.upstream, places.tip)
    if squash is not None:
        places.fetch_tip()
        return from_history(pull, squash, places.bench)
    found = _not_in_history(pull, places)
    if found is None:
        raise _not_found(pull, fork=places.fork, other=places.other)
    heir = heir_in_history(pull, places.upstream, places.tip) if found.state is not PullState.MERGED else ""
    return replace(found, remark="; ".join(part for part in (found.remark, heir) if part))


def heir_in_history(pull: PullNumber, upstream: Repository, tip: CommitHash) -> str:
    """What upstream's newest commit that says so took in place of a request; "" where none does."""
    ids = [commit.id for commit in upstream.mentions(f"#{pull}", until=tip)[:_MOST_MENTIONS]]
    for commit, body in upstream.messages(["--no-walk", *ids]) if ids else ():
        if commit.pull != pull and takes_over(f"{commit.subject}\n{body}", pull):
            label = f"#{commit.pull}" if commit.pull else commit.id[:10]
            return f"upstream's {label} says that it took its place"
    return ""


def _not_in_history(pull: PullNumber, places: Places) -> Source | None:
    info = places.forge.pull(pull) if places.forge else None
    if info is not None and info.merge is not None:
        return _from_merge(info, info.merge, places)
    for repository in (places.fork, places.upstream):
        head = pull_ref(pull, repository)
        if head is None:
            continue
        places.fetch_tip()
        if repository is not places.fork:
            places.checkouts.fetch(repository.path, head[1], f"refs/forkguard/pull/{pull}")
        found = from_pull_ref(pull, ref=head[0], head=head[1], tip=places.tip, bench=places.bench)
        return _as_the_forge_says(found, info) if info else found
    if info is not None:
        return from_forge(info, places)
    return None


# -- commits and patches -------------------------------------------------------------------------------


def _from_commit(word: str, places: Places) -> Source:
    commit, repository = _resolved(word, places)
    places.fetch_tip()
    if repository is not places.fork and not places.upstream.is_ancestor(commit, places.tip):
        places.checkouts.fetch(repository.path, commit, f"refs/forkguard/commit/{commit[:12]}")
    raw = places.bench.commit(commit)
    if not raw.parents:
        raise CouldNotWork("this commit has no parent, so there is nothing to compare it with", where=commit)
    pulls = pulls_in(raw.subject)
    merged = places.upstream.is_ancestor(commit, places.tip)
    return Source(
        pull=pulls[-1] if pulls else None,
        state=PullState.MERGED if merged else PullState.OPEN,
        kind=SourceKind.COMMIT,
        title=raw.subject,
        picks=(Pick(commit, raw.parents[0], raw.subject),),
        where=commit,
        remark="a merge, taken against its first parent" if len(raw.parents) > 1 else "",
        name="" if pulls else f"c-{commit[:10]}",
    )


def _resolved(word: str, places: Places) -> tuple[CommitHash, Repository]:
    for repository in (places.upstream, places.fork):
        try:
            return repository.resolve(word), repository
        except UnknownRef:
            continue
    raise CouldNotWork(
        f"the commit {word} is not here",
        where=str(places.other or places.fork.path),
        hint=f"git -C {shlex.quote(str(places.other or places.fork.path))} fetch",
    )


def _from_mails(content: bytes, *, where: str, places: Places) -> Source:
    """The patches of a file, on the first commit on which they all apply as they are."""
    mails = [mail for mail in places.bench.mails(content) if mail.diff.strip()]
    if not mails:
        raise UsageProblem("there is no patch in this", where=where, hint="give a mailbox or a diff")
    places.fetch_tip()
    named = re.findall(rb"^base-commit: ([0-9a-f]{40})$", content, re.MULTILINE)
    stated = [CommitHash(name.decode()) for name in named[:1] if _is_here(name.decode(), places)]
    said: dict[CommitHash, str] = {}
    for start in dict.fromkeys([*stated, places.tip, places.base, places.onto]):
        picks = _applied(mails, start, places.bench)
        if not isinstance(picks, str):
            digest = hashlib.sha256(content).hexdigest()[:10]
            return Source(
                pull=None,
                state=PullState.OPEN,
                kind=SourceKind.PATCH,
                title=picks[0].subject,
                picks=picks,
                where=where,
                name=f"p-{digest}",
            )
        said[start] = picks
    raise CouldNotWork(
        f"the patch applies neither to upstream's tip nor to the fork or its base: {said[places.base]}",
        where=where,
        hint="name its commit instead, or a clone that has the commit which it was made on",
    )


def _applied(mails: Sequence[Mail], start: CommitHash, bench: Bench) -> tuple[Pick, ...] | str:
    picks: list[Pick] = []
    before = start
    for mail in mails:
        tree = bench.apply(bench.commit(before).tree, mail.diff)
        if isinstance(tree, Refusal):
            return tree.said
        author = mail.author or IDENTITY + b" 0 +0000"
        message = mail.message or b"a patch\n"
        commit = bench.put_commit(
            commit_bytes(tree, (before,), author=author, committed=mail.committed, message=message)
        )
        picks.append(Pick(commit, before, bench.commit(commit).subject))
        before = commit
    return tuple(picks)


def _is_here(name: str, places: Places) -> bool:
    try:
        places.fork.resolve(name)
    except UnknownRef:
        return False
    return True


# -- the forge -----------------------------------------------------------------------------------------


def _forge(places: Places) -> Forge:
    if places.forge is None:
        raise UsageProblem("no forge is known", hint='write  [forge] repository = "OWNER/NAME"  into the map')
    return places.forge


def _from_merge(info: PullInfo, merge: CommitHash, places: Places) -> Source:
    try:
        places.upstream.resolve(merge)
    except UnknownRef as error:
        where = places.other or places.fork.path
        raise CouldNotWork(
            f"#{info.pull} was merged as {merge[:10]}, which is not fetched here",
            where=str(where),
            hint=f"git -C {shlex.quote(str(where))} fetch",
        ) from error
    found = _from_commit(merge, places)
    return replace(found, pull=info.pull, kind=SourceKind.FORGE, title=info.title, name="", state=info.state)


def from_forge(info: PullInfo, places: Places) -> Source:
    """A request as the forge hands it out: mails, put on a commit on which they apply."""
    found = _from_mails(_forge(places).patch(info.pull), where=_forge(places).name, places=places)
    named = replace(found, pull=info.pull, kind=SourceKind.FORGE, title=info.title, name="", head=info.head)
    return _as_the_forge_says(named, info)


def _as_the_forge_says(found: Source, info: PullInfo) -> Source:
    remarks = []
    if info.state is PullState.CLOSED:
        heir = f": it says that #{info.heir} took its place" if info.heir else ""
        remarks.append(f"it was closed without a merge{heir}")
    if found.head is not None and found.head != info.head:
        remarks.append(f"its head is at {info.head[:10]} now; what is here, {found.head[:10]}, was taken")
    return replace(found, state=info.state, remark="; ".join(remarks))


# -- history and refs ----------------------------------------------------------------------------------


def squash_commit(pull: PullNumber, upstream: Repository, tip: CommitHash) -> Commit | None:
    """The oldest commit whose subject ends in the number; one that ends in it last comes before one that does not."""
    found = [commit for commit in upstream.mentions(f"(#{pull})", until=tip) if pull in pulls_in(commit.subject)]
    found.reverse()
    return min(found, key=lambda commit: commit.pull != pull, default=None)


def from_history(pull: PullNumber, squash: Commit, bench: Bench) -> Source:
    """A merged request by the commit that upstream made of it."""
    parents = bench.commit(squash.id).parents
    if not parents:
        raise CouldNotWork(
            f"the commit of #{pull} has no parent here, so there is nothing to compare it with",
            where=squash.id,
            hint="port from a clone with upstream's whole history",
        )
    carrier = f"it went in through #{squash.pull}" if squash.pull != pull else ""
    return Source(
        pull=pull,
        state=PullState.MERGED,
        kind=SourceKind.HISTORY,
        title=squash.subject,
        picks=(Pick(squash.id, parents[0], squash.subject),),
        where="upstream's history",
        remark=carrier,
    )


def pull_ref(pull: PullNumber, repository: Repository) -> tuple[str, CommitHash] | None:
    """The ref that holds a request's head in a clone, and that head."""
    patterns = [f"refs/pull/{pull}/head", f"refs/forkguard/pull/{pull}"]
    patterns += [f"refs/remotes/*/{word}/{pull}" for word in ("pr", "pull")]
    patterns += [f"refs/remotes/*/{word}/{pull}/head" for word in ("pr", "pull")]
    return next(iter(repository.refs(*patterns).items()), None)


def from_pull_ref(pull: PullNumber, *, ref: str, head: CommitHash, tip: CommitHash, bench: Bench) -> Source:
    """A request by its own commits up to `head`; `ref` is how messages call the place."""
    merge = bench.first_merge(head, tip)
    since = bench.merge_base(bench.commit(merge).parents[0], head) if merge else bench.merge_base(tip, head)
    if since == head:
        since = next(iter(bench.commit(head).parents), None)
    if since is None:
        raise CouldNotWork(
            f"{ref} shares no history with upstream",
            where=head,
            hint="check --upstream-ref, or fetch the request anew",
        )
    ids = bench.lineage(since, head)
    raw = {commit: bench.commit(commit) for commit in ids}
    plain = [commit for commit in ids if len(raw[commit].parents) == 1]
    title = raw[plain[0] if plain else head].subject
    joined = len(plain) != len(ids)
    if joined:
        picks: tuple[Pick, ...] = (Pick(head, since, title),)
    else:
        picks = tuple(Pick(commit, raw[commit].parents[0], raw[commit].subject) for commit in ids)
    remark = f"taken from {ref} as it is here; whether it is still open is not known without the forge"
    return Source(
        pull=pull,
        state=PullState.MERGED if merge else PullState.OPEN,
        kind=SourceKind.PULL_REF,
        title=title,
        picks=picks,
        where=ref,
        head=None if merge else head,
        remark=f"{remark}; its merges are joined into one commit" if joined else "" if merge else remark,
    )


def _not_found(pull: PullNumber, *, fork: Repository, other: Path | None) -> CouldNotWork:
    remotes = fork.remotes()
    remote = "upstream" if "upstream" in remotes or not remotes else next(iter(remotes))
    fetch = f"git -C {shlex.quote(str(other or fork.path))} fetch" + ("" if other else f" {shlex.quote(remote)}")
    return CouldNotWork(
        f"#{pull} is not in the local history: no subject ends in (#{pull}), and there is no refs/pull/{pull}/head",
        where=str(other or fork.path),
        hint=f"{fetch}   (not merged yet: add refs/pull/{pull}/head:refs/forkguard/pull/{pull})",
    )
