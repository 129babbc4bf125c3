"""Upstream's branch and tags, fetched into `refs/forkguard/upstream/*` of the fork's repository and nowhere else.

Every git here is bounded: one clock runs for all of them, and what does not end is ended with all its children
(ssh, a helper). A fetch that is cut off loses at most the group of tags, or the branch, that it was at.
"""

import contextlib
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from forkguard.adapters import proc
from forkguard.adapters.git import GitRepository
from forkguard.adapters.git_door import safe_environment, safe_words
from forkguard.core.fetches import LATEST, PLACE, Fetched, groups, newest_tag, read_listing
from forkguard.core.findings import Side
from forkguard.core.names import CommitHash
from forkguard.core.remotes import shown
from forkguard.errors import CouldNotWork, TimedOut

_GROUP = 400
_AT_ONCE = 8_000
"""Objects of a partial clone that are asked for together."""
_AGE = "check target and min_age_hours of [nightly] in the map"
_NOWHERE = Path(os.devnull)
_QUIET = (
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
    "protocol.version=2",
    "fetch.writeCommitGraph=false",
    "fetch.prune=false",
    "fetch.pruneTags=false",
    "fetch.fsckObjects=false",
    "fetch.showForcedUpdates=false",
    "submodule.recurse=false",
)
_WORDS = (
    "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules",
    "--refmap=", "--no-prune",
)  # fmt: skip


class UpstreamFetch:
    """Fetches `branch`, and the tags of `pattern` (`latest`: none), from `source`: a remote's name or a clone's path.

    `timeout` seconds are for everything together; what git says goes to `log`. `fork` must not see the objects of
    `source` by itself. Only one of these may work in a fork at a time.
    """

    def __init__(
        self,
        fork: GitRepository,
        *,
        source: str,
        branch: str,
        pattern: str,
        timeout: float,
        log: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fork = fork
        self._source = source
        self._branch = branch
        self._pattern = pattern
        self._timeout = timeout
        self._log = log
        self._clock = clock
        self._deadline = clock() + timeout

    @property
    def place(self) -> str:
        """The ref that holds the branch."""
        return f"{PLACE}heads/{self._branch}"

    def fetch(self, production: CommitHash) -> Fetched:
        """Bring the branch and the tags up to date, and complete a partial clone as far as `production` needs it.

        Raises `CouldNotWork` where upstream cannot be reached, has no such branch, or does not answer in time.
        """
        self._deadline = self._clock() + self._timeout
        self._drop_locks()
        listed = self._listed()
        tip = listed.get(f"refs/heads/{self._branch}")
        if tip is None:
            raise CouldNotWork(
                f"upstream has no branch {self._branch}", where=self._source, hint="correct [upstream] ref in the map"
            )
        known = self._fork.refs(PLACE)
        before = known.get(self.place)
        tags = {name.removeprefix("refs/tags/"): to for name, to in listed.items() if name.startswith("refs/tags/")}
        changed = [name for name, to in tags.items() if known.get(f"{PLACE}tags/{name}") != to]
        moved = tuple(sorted(name for name in changed if f"{PLACE}tags/{name}" in known))
        for group in groups(changed, _GROUP):
            self._fetch([f"+refs/tags/{name}:{PLACE}tags/{name}" for name in group])
        if before != tip:
            self._fetch([f"+refs/heads/{self._branch}:{self.place}"])
        now = self._fork.resolve(self.place)
        lost = self._fork.count(now, before) if before is not None and before != now else 0
        completed, notes = self._complete(now, production)
        return Fetched(now, before, lost, len(changed) - len(moved), moved, completed, tuple(notes))

    def _drop_locks(self) -> None:
        """Remove locks of our own refs, which a git that was killed outright left."""
        for lock in (self._fork.git_dir / PLACE).rglob("*.lock"):
            with contextlib.suppress(OSError):
                lock.unlink()

    def _listed(self) -> dict[str, CommitHash]:
        wanted = [f"refs/heads/{self._branch}"]
        if self._pattern != LATEST:
            wanted.append(f"refs/tags/{self._pattern}")
        lines = self._git("ls-remote", "--quiet", "--refs", "--end-of-options", self._source, *wanted, log=_NOWHERE)
        return read_listing("\n".join(lines))

    def _fetch(self, refspecs: Sequence[str]) -> None:
        self._git(*_WORDS, "--end-of-options", self._source, *refspecs)

    # -- choosing ------------------------------------------------------------------------------------

    def choose(self, fetched: Fetched, *, oldest: datetime, name: str) -> Side:
        """The commit to look at: of the branch, or of the tags in it, the newest that was committed by `oldest`.

        The branch goes by `name`. Raises `CouldNotWork` where there is none.
        """
        stamp = int(oldest.timestamp())
        if self._pattern == LATEST:
            words = ("rev-list", "-1", "--first-parent", f"--before={stamp}", fetched.tip, "--")
            commit = self._fork.run(*words)[1].decode().strip()
            if commit:
                return Side(name, CommitHash(commit))
            raise CouldNotWork(f"no commit of {name} was made by {oldest:%Y-%m-%d %H:%M} UTC", hint=_AGE)
        form = "%(refname) %(objectname) %(*objectname) %(committerdate:unix) %(*committerdate:unix)"
        _, out, _ = self._fork.run("for-each-ref", f"--merged={fetched.tip}", f"--format={form}", f"{PLACE}tags/")
        tags = {tag: commit for tag, commit, when in _tags(out.decode("utf-8", "replace")) if when <= stamp}
        found = newest_tag(tags, self._pattern)
        if found is None:
            raise CouldNotWork(
                f"no tag {self._pattern} of {name} was committed by {oldest:%Y-%m-%d %H:%M} UTC",
                hint=f'{_AGE}; target = "latest" takes the branch',
            )
        return Side(*found)

    # -- partial clones ------------------------------------------------------------------------------

    def _complete(self, tip: CommitHash, head: CommitHash) -> tuple[int, list[str]]:
        """Fetch what a partial clone lacks of upstream since the merge base, and of the three trees."""
        if not self._is_partial():
            return 0, []
        base = self._fork.merge_base(head, tip)
        missing = self._missing(["--no-walk", tip, head, *([base] if base else [])])
        missing += self._missing([tip, head, *([f"^{base}"] if base else [])])
        wanted = list(dict.fromkeys(missing))
        for at in range(0, len(wanted), _AT_ONCE):
            words = ("-c", "fetch.negotiationAlgorithm=noop", *_WORDS, "--filter=blob:none", "--end-of-options")
            self._git(*words, self._source, *wanted[at : at + _AT_ONCE])
        notes = [] if base else ["this clone is partial, and fork and upstream share no history: all was completed"]
        return len(wanted), notes

    def _is_partial(self) -> bool:
        status, _, _ = self._fork.run(
            "config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$", allowed=(0, 1)
        )
        return status == 0

    def _missing(self, revisions: Sequence[str]) -> list[str]:
        _, out, _ = self._fork.run("rev-list", "--objects", "--missing=print", *revisions, "--")
        return [line[1:] for line in out.decode("utf-8", "replace").splitlines() if line.startswith("?")]

    # -- one git -------------------------------------------------------------------------------------

    def _git(self, *words: str, log: Path | None = None) -> list[str]:
        """The lines that git printed. Where time is up it is asked to stop first: it removes what is half done."""
        options = [word for setting in _QUIET for word in ("-c", setting)]
        git, *rest = safe_words(*options, *words)
        program = shutil.which(git)
        if program is None:
            raise CouldNotWork("git is not installed: it is not on PATH", hint="command -v git")
        left = self._deadline - self._clock()
        if left <= 0:
            raise self._too_slow()
        lines: list[str] = []
        try:
            status = proc.stream(
                [program, *rest],
                cwd=self._fork.work_tree or self._fork.path,
                env=safe_environment(),
                timeout=left,
                log=log or self._log,
                on_line=lines.append,
            )
        except TimedOut as error:
            raise self._too_slow() from error
        if status:
            raise self._failed(lines, status)
        return lines

    def _failed(self, lines: Sequence[str], status: int) -> CouldNotWork:
        said = shown(next((line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")), ""))
        return CouldNotWork(
            f"upstream could not be fetched: {said or f'git ended with status {status}'}",
            where=self._source,
            hint=f"git -C {shlex.quote(str(self._fork.path))} ls-remote {shlex.quote(self._source)}  says more",
        )

    def _too_slow(self) -> CouldNotWork:
        return CouldNotWork(
            f"fetching from upstream did not end within {self._timeout:g} s",
            where=self._source,
            hint="the next night goes on with what came; [nightly] fetch_timeout gives it longer",
        )


def _tags(listing: str) -> Iterator[tuple[str, CommitHash, int]]:
    """Tag, commit, and when that was committed (seconds since 1970); tags of something else are left out."""
    for line in listing.splitlines():
        name, own, peeled, *dates = line.split(" ")
        dates = [date for date in dates if date]
        if dates:
            yield name.removeprefix(f"{PLACE}tags/"), CommitHash(peeled or own), int(dates[-1])
