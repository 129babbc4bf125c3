"""Which upstream commit makes the very change of a patch, by `git patch-id`; a subject proves nothing."""

from forkguard.core.names import CommitHash
from forkguard.core.replay import StackPatch
from forkguard.errors import MissingObject
from forkguard.workflows.replay_stack import ReplayTools, Stack

_KEY = CommitHash("1".rjust(40, "0"))


class LandedCommits:
    """Looks among upstream's commits since the base; `notes` tells what could not be compared."""

    def __init__(self, stack: Stack, tools: ReplayTools) -> None:
        self._tools = tools
        self._known: dict[str, CommitHash | None] = {}
        self._by_paths: dict[frozenset[str], list[CommitHash]] = {}
        self.notes: list[str] = []
        for touch in stack.touches:
            self._by_paths.setdefault(frozenset(touch.paths), []).append(touch.commit)

    def of(self, patch: StackPatch) -> CommitHash | None:
        """The newest upstream commit that makes the patch's change; None without one, or where a revert followed."""
        if patch.label not in self._known:
            self._known[patch.label] = self._look(patch)
        return self._known[patch.label]

    def _look(self, patch: StackPatch) -> CommitHash | None:
        commits = self._by_paths.get(frozenset(patch.mail.paths), [])
        own = self._tools.repo.patch_ids_of({_KEY: b"\n" + patch.mail.diff}).get(_KEY) if commits else None
        if own is None:
            return None
        try:
            made = self._tools.store.patch_ids(commits)
            if own not in made.values():
                return None
            taken_back = self._tools.store.patch_ids(commits, backwards=True)
        except MissingObject as problem:
            self.notes.append(f"{patch.label}: its patch id was not compared with upstream's: {problem.what}")
            return None
        last = max(at for at, commit in enumerate(commits) if made.get(commit) == own)
        reverted = any(taken_back.get(commit) == own for commit in commits[last + 1 :])
        return None if reverted else commits[last]
