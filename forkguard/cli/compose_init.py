"""Wiring without a map: both sides as `init` finds them, and the remote that is upstream's."""

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from forkguard.adapters.git import GitRepository
from forkguard.cli import refusals
from forkguard.cli.compose import LLAMA_URL, existing_fork, fork_side_of, named_fork, resolve_of_remote
from forkguard.core.findings import Side
from forkguard.core.names import check_ref
from forkguard.core.remotes import choose_branch, choose_remote, is_address, remote_of_address, shown
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.workflows.init import Places


@contextlib.contextmanager
def open_places(
    *, fork: Path | None, fork_ref: str | None, upstream: str | None, upstream_ref: str | None, folder: Path
) -> Iterator[tuple[GitRepository, Places]]:
    """Both sides without a map, for `init`: a repository that sees both, and how a map in `folder` names them.

    Raises as `open_project` does, and `UsageProblem` where `folder` lies in the fork's work tree.
    """
    place, source = named_fork(fork)
    if place is None:
        refusals.refuse_inside_any(folder)
    path = existing_fork(place, source)
    with contextlib.ExitStack() as stack:
        repo = stack.enter_context(GitRepository(path))
        refusals.refuse_inside_fork(folder, repo)
        refusals.refuse_shallow(repo)
        if fork_ref is None and repo.current_branch() is None:
            raise UsageProblem(
                "no branch is checked out, so the production branch is not known",
                where=str(repo.path),
                hint="name it with --fork-ref REF",
            )
        side = fork_side_of(repo, fork_ref)
        why = "named with --fork-ref" if fork_ref else "the branch that was checked out"
        remotes = repo.remotes()
        if upstream is not None and is_address(upstream):
            upstream = _remote_with(upstream, repo, remotes)
        clone = Path(upstream).expanduser() if upstream and upstream not in remotes else None
        if clone is None:
            remote, remote_why, there = remote_side(repo, upstream, upstream_ref, branch=side.ref)
            yield repo, Places(_relative(path, folder), side, why, remote, None, there, remote_why)
            return
        other = stack.enter_context(_upstream_clone(clone, remotes))
        ref = _clone_branch(other) if upstream_ref is None else upstream_ref
        there = Side(check_ref(ref), other.resolve(ref))
        seeing = stack.enter_context(GitRepository(path, alternates=[other.objects]))
        named = _relative(Path(os.path.normpath(clone.absolute())), folder)
        yield (
            seeing,
            Places(_relative(path, folder), side, why, None, named, there, "the clone named with --upstream"),
        )


def _relative(path: Path, folder: Path) -> str:
    """How a map in `folder` names a path: relative where both lie in one folder below the root."""
    common = os.path.commonpath([path, folder.absolute()])
    return str(path) if Path(common) == Path(path.anchor) else os.path.relpath(path, folder)


def remote_side(
    repo: GitRepository, named: str | None, upstream_ref: str | None, *, branch: str
) -> tuple[str, str, Side]:
    """The fork's remote that is its upstream, why it is taken for it, and what it holds; `branch` is the fork's own.

    Raises `CouldNotWork` where no remote is clearly upstream's or it is not fetched, `UsageProblem` for its branch.
    """
    remote, why = _remote_of(repo, repo.remotes(), named, branch)
    ref = _remote_branch(repo, remote) if upstream_ref is None else upstream_ref
    return remote, why, Side(check_ref(ref), resolve_of_remote(repo, remote, ref))


def _remote_of(repo: GitRepository, remotes: dict[str, str], named: str | None, branch: str) -> tuple[str, str]:
    if named:
        return named, f"the remote named with --upstream ({shown(remotes[named])})"
    own = [name for name in remotes if repo.refs(f"refs/remotes/{name}/{branch}")]
    choice = choose_remote(remotes, own=own)
    if choice is not None:
        return choice.name, choice.why
    where = str(repo.path)
    if remotes:
        raise CouldNotWork(
            f"none of the fork's remotes ({', '.join(sorted(remotes))}) is clearly its upstream",
            where=where,
            hint=f"name one with --upstream NAME, or: git -C {shlex.quote(where)} remote add -f upstream {LLAMA_URL}",
        )
    raise CouldNotWork(
        "the fork has no upstream remote",
        where=where,
        hint=f"git -C {shlex.quote(where)} remote add -f upstream {LLAMA_URL}"
        "  (or name another clone with --upstream PATH)",
    )


def _remote_branch(repo: GitRepository, remote: str) -> str:
    prefix = f"refs/remotes/{remote}/"
    branches = [ref.removeprefix(prefix) for ref in repo.refs(prefix)]
    head = repo.symbolic_ref(f"{prefix}HEAD")
    branch = choose_branch([name for name in branches if name != "HEAD"], head=(head or "").removeprefix(prefix))
    if branch is not None:
        return f"{remote}/{branch}"
    if branches:
        raise UsageProblem(
            f"the remote {remote} has several branches and neither master nor main",
            where=str(repo.path),
            hint=f"name one with --upstream-ref {shlex.quote(remote)}/BRANCH",
        )
    raise CouldNotWork(
        f"the remote {remote} is not fetched yet",
        where=str(repo.path),
        hint=f"git -C {shlex.quote(str(repo.path))} fetch {shlex.quote(remote)}",
    )


def _remote_with(address: str, repo: GitRepository, remotes: dict[str, str]) -> str:
    """The fork's remote with this address. Raises `UsageProblem` where it has none: to add one is the user's."""
    found = remote_of_address(remotes, address)
    if found is None:
        name = "upstream" if "upstream" not in remotes else "llama-upstream"
        add = f"git -C {shlex.quote(str(repo.path))} remote add -f {name} {shlex.quote(shown(address))}"
        raise UsageProblem(
            f"no remote of the fork fetches from {shown(address)}",
            where="--upstream",
            hint=f"{add}  then again, with --upstream {name}",
        )
    return found


def _clone_branch(repo: GitRepository) -> str:
    prefix = "refs/heads/"
    branches = [ref.removeprefix(prefix) for ref in repo.refs(prefix)]
    return choose_branch(branches, head=None) or repo.current_branch() or "HEAD"


def _upstream_clone(path: Path, remotes: dict[str, str]) -> GitRepository:
    if not path.is_dir():
        raise UsageProblem(
            f"{path} is neither a remote of the fork nor a folder",
            where="--upstream",
            hint=f"the remotes are: {', '.join(sorted(remotes)) or 'none'}",
        )
    repo = GitRepository(path)
    refusals.refuse_shallow(repo)
    return repo
