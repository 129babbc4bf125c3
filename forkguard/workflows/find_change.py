"""Finding the change behind a pull request, in what the local clones hold."""

from pathlib import Path

from forkguard.core.commits import Commit, pulls_in
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import Pick, PullState, Source, SourceKind
from forkguard.errors import CouldNotWork
from forkguard.ports import Bench, Checkouts, Repository

KEPT_UPSTREAM = "refs/forkguard/upstream"


def find_change(
    pull: PullNumber,
    *,
    fork: Repository,
    upstream: Repository,
    tip: CommitHash,
    bench: Bench,
    checkouts: Checkouts,
) -> Source:
    """The change of a request: from upstream's history by the squash subject, else from `refs/pull/N/head`.

    `upstream` may be another clone; what is needed of it is fetched into the fork's objects. Raises
    `CouldNotWork` where neither is there.
    """
    other = None if upstream is fork else upstream.path
    squash = _squash_commit(pull, upstream, tip)
    if squash is not None:
        if other is not None:
            checkouts.fetch(other, tip, KEPT_UPSTREAM)
        return _from_history(pull, squash, bench)
    for repository in (fork, upstream):
        head = _pull_ref(pull, repository)
        if head is None:
            continue
        if other is not None:
            checkouts.fetch(other, tip, KEPT_UPSTREAM)
        if repository is not fork:
            checkouts.fetch(repository.path, head[1], f"refs/forkguard/pull/{pull}")
        return _from_pull_ref(pull, ref=head[0], head=head[1], tip=tip, bench=bench)
    raise _not_found(pull, fork=fork, other=other)


def _squash_commit(pull: PullNumber, upstream: Repository, tip: CommitHash) -> Commit | None:
    """The oldest commit whose subject ends in the number; one that ends in it last comes before one that does not."""
    found = [commit for commit in upstream.mentions(f"(#{pull})", until=tip) if pull in pulls_in(commit.subject)]
    found.reverse()
    return min(found, key=lambda commit: commit.pull != pull, default=None)


def _from_history(pull: PullNumber, squash: Commit, bench: Bench) -> Source:
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


def _pull_ref(pull: PullNumber, repository: Repository) -> tuple[str, CommitHash] | None:
    patterns = [f"refs/pull/{pull}/head", f"refs/forkguard/pull/{pull}"]
    patterns += [f"refs/remotes/*/{word}/{pull}" for word in ("pr", "pull")]
    patterns += [f"refs/remotes/*/{word}/{pull}/head" for word in ("pr", "pull")]
    return next(iter(repository.refs(*patterns).items()), None)


def _from_pull_ref(pull: PullNumber, *, ref: str, head: CommitHash, tip: CommitHash, bench: Bench) -> Source:
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
        remark=f"{remark}; its merges are joined into one commit" if joined else "" if merge else remark,
    )


def _not_found(pull: PullNumber, *, fork: Repository, other: Path | None) -> CouldNotWork:
    remotes = fork.remotes()
    remote = "upstream" if "upstream" in remotes or not remotes else next(iter(remotes))
    fetch = f"git -C {other} fetch" if other else f"git -C {fork.path} fetch {remote}"
    return CouldNotWork(
        f"#{pull} is not in the local history: no subject ends in (#{pull}), and there is no refs/pull/{pull}/head",
        where=str(other or fork.path),
        hint=f"{fetch}   (not merged yet: add refs/pull/{pull}/head:refs/forkguard/pull/{pull})",
    )
