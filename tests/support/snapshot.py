"""The fork as bytes, to show that forkguard left everything of the user's as it was."""

from pathlib import Path

OWN = ("objects/", "refs/heads/forkguard/", "refs/forkguard/", "logs/refs/heads/forkguard/", "logs/refs/forkguard/")
"""What forkguard may write inside the fork's git folder at any time."""


def fork_as_it_is(fork: Path, *, with_worktrees: bool = True) -> dict[str, bytes]:
    """Every file of the work tree and of the git folder by path, but for what is forkguard's own.

    So refs, packed refs, HEAD, index, configuration, reflogs, FETCH_HEAD and hooks all count; git's records of
    worktrees count unless `with_worktrees` is off.
    """
    git_dir = fork / ".git"
    own = OWN if with_worktrees else (*OWN, "worktrees/")
    found = {}
    for path in sorted(fork.rglob("*")):
        inside = path.relative_to(git_dir).as_posix() if path.is_relative_to(git_dir) else ""
        if path.is_dir() or inside.startswith(own):
            continue
        found[path.relative_to(fork).as_posix()] = (
            path.readlink().as_posix().encode() if path.is_symlink() else path.read_bytes()
        )
    return found
