"""The heads of upstream's pull requests, as the remote repository tells them through git itself.

Nothing of the user's is written: `refs/pull/N/head` is listed with `git ls-remote`, and what is fetched is kept by
a ref under `refs/forkguard/`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from forkguard.adapters.git import GitRepository
from forkguard.core.names import CommitHash, PullNumber
from forkguard.errors import CouldNotWork, ForkguardError

_SECONDS = 120.0
_HEAD = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\trefs/pull/(\d+)/head")


class PullHeads:
    """The remote at `url`. Fetched commits go into `fork`, unless `looks_only`.

    `url` is as a remote of `source` spells it: a relative one begins there.
    """

    def __init__(self, fork: GitRepository, *, source: GitRepository, url: str, looks_only: bool = False) -> None:
        self._fork = fork
        self._url = _absolute(url, source.work_tree or source.path)
        self._looks_only = looks_only

    @property
    def name(self) -> str:
        """How messages call it, without a user's name or password."""
        return _without_user(self._url)

    def heads(self, pulls: Sequence[PullNumber]) -> Mapping[PullNumber, CommitHash]:
        """Where the heads of these requests are now; those without a ref are left out.

        Raises `CouldNotWork` where the remote does not answer.
        """
        refs = [f"refs/pull/{pull}/head" for pull in pulls]
        out = self._asked("ls-remote", "--quiet", "--end-of-options", self._url, *refs)
        found = (_HEAD.fullmatch(line) for line in out.decode("utf-8", "replace").splitlines())
        return {PullNumber(int(match[2])): CommitHash(match[1]) for match in found if match}

    def fetch(self, pull: PullNumber, commit: CommitHash) -> bool:
        """Bring a commit of a request into the fork's objects; False where the remote does not hand it out."""
        if self._looks_only:
            return False
        kept = f"refs/forkguard/pull/{pull}"
        for wanted in (commit, f"refs/pull/{pull}/head"):
            words = (
                "-c", "protocol.version=2", "-c", "fetch.writeCommitGraph=false",
                "fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-maintenance",
                "--no-recurse-submodules", "--refmap=", "--end-of-options", self._url,
            )  # fmt: skip
            spec = f"+{wanted}:{kept}" if wanted == commit else wanted
            status, _, _ = self._fork.run(*words, spec, allowed=(0, 1, 128), timeout=_SECONDS)
            if status == 0 and self._is_here(commit):
                return True
        return False

    def _is_here(self, commit: CommitHash) -> bool:
        status, _, _ = self._fork.run("cat-file", "-e", f"{commit}^{{commit}}", allowed=(0, 1, 128))
        return status == 0

    def _asked(self, *words: str) -> bytes:
        try:
            _, out, _ = self._fork.run(*words, timeout=_SECONDS)
        except ForkguardError as problem:
            said = _without_user(problem.what.splitlines()[0])
            hint = f"git ls-remote {self.name}"
            raise CouldNotWork(f"the remote does not answer: {said}", where=self.name, hint=hint) from problem
        return out


def _without_user(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)


def _absolute(url: str, start: Path) -> str:
    """A relative path as git reads it in a remote's `url`; everything else as it is."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|[^/]*:", url) or url.startswith("/"):
        return url
    return str((start / url).resolve())
