"""A candidate to a branch of a remote, with an exact lease and nothing else."""

import shlex
import shutil
import tempfile
from pathlib import Path

from forkguard.adapters import proc
from forkguard.adapters.git import GitRepository
from forkguard.adapters.git_door import safe_environment, safe_words
from forkguard.core.names import CommitHash
from forkguard.core.remotes import shown
from forkguard.errors import CouldNotWork, TimedOut


def push_candidate(
    fork: GitRepository, *, remote: str, branch: str, commit: CommitHash, expected: CommitHash | None, timeout: float
) -> None:
    """Point `branch` of `remote` at `commit`, if it is at `expected` (None: not there), or at `commit` already.

    No remote-tracking ref is written, no hook runs and no other ref is pushed. Raises `CouldNotWork` where the branch
    stands elsewhere, or the remote does not take it.
    """
    url = _url(fork, remote)
    ref = f"refs/heads/{branch}"
    listed = _git(fork, "ls-remote", "--refs", "--end-of-options", url, ref, timeout=timeout)
    if f"{commit}\t{ref}" in listed:
        return
    lease = f"--force-with-lease={ref}:{expected or ''}"
    words = ("push", "--quiet", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no", lease)
    try:
        _git(fork, *words, "--end-of-options", url, f"{commit}:{ref}", timeout=timeout)
    except CouldNotWork as error:
        there = next((line.split("\t")[0] for line in listed if line.endswith(f"\t{ref}")), None)
        if there == expected or isinstance(error, TimedOut):
            raise
        stands = f"is at {there[:10]}" if there is not None else "is not there"
        left = f"left it at {expected[:10]}" if expected is not None else "has put it there"
        raise CouldNotWork(
            f"{remote}/{branch} {stands}, and no night {left}: it was not pushed",
            where=remote,
            hint=f"look at that branch; git push --delete {shlex.quote(remote)} {shlex.quote(branch)}"
            "  lets the next night make it anew",
        ) from error


def _url(fork: GitRepository, remote: str) -> str:
    """Where pushes to a remote go. By its address git writes no remote-tracking ref."""
    status, out, _ = fork.run("remote", "get-url", "--push", "--", remote, allowed=(0, 2, 128))
    url = out.decode("utf-8", "replace").split("\n")[0]
    if status or not url:
        raise CouldNotWork(
            f"the fork has no remote {remote}", where=str(fork.path), hint="correct [nightly] push in the map"
        )
    return url


def _git(fork: GitRepository, *words: str, timeout: float) -> list[str]:
    git, *rest = safe_words("-c", "push.default=nothing", "-c", "push.gpgSign=false", *words)
    lines: list[str] = []
    with tempfile.NamedTemporaryFile(prefix="forkguard-push-") as log:
        status = proc.stream(
            [shutil.which(git) or git, *rest],
            cwd=fork.work_tree or fork.path,
            env=safe_environment(),
            timeout=timeout,
            log=Path(log.name),
            on_line=lines.append,
        )
    if status:
        said = next((line for line in lines if line.startswith(("fatal:", "error:", " !"))), f"status {status}")
        raise CouldNotWork(f"the remote did not take the candidate: {shown(said.strip())}", where=str(fork.path))
    return lines
