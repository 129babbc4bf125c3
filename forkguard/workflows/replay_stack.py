"""The stack between its base and another upstream commit, ready to be tried at any commit between them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from forkguard.core.fitting import Version, try_patch
from forkguard.core.hunks import Change, FileChange, FileKind, Hunk, lines_of
from forkguard.core.landed_lines import landed_by_lines, might_have_come
from forkguard.core.names import BlobHash, CommitHash, TreePath
from forkguard.core.replay import StackPatch, Touch
from forkguard.core.trees import TreeEntry
from forkguard.ports import Bench, ReplayObjects, Repository, ResolutionStore, Talk
from forkguard.workflows.replay_patch import Means, Trial, Tried, Versions, Work, try_on


@dataclass(frozen=True, slots=True)
class ReplayTools:
    """What a replay works with. `repo` sees upstream's objects.

    `port` is the workbench for port's ways of applying, and `resolutions` what people decided; None: not used.
    """

    repo: Repository
    bench: Bench
    store: ReplayObjects
    talk: Talk
    port: Bench | None = None
    resolutions: ResolutionStore | None = None


@dataclass
class State:
    """A commit's files with some of them replaced: what a replay has made so far."""

    root: CommitHash
    entries: Mapping[TreePath, TreeEntry]
    contents: Mapping[str, bytes | None]
    written: dict[TreePath, Version | None] = field(default_factory=dict)

    def read(self, paths: Sequence[TreePath]) -> dict[TreePath, Version | None]:
        """The files at these paths; a path below a file counts as a file that is in the way."""
        return {path: self._one(path) for path in paths}

    def _one(self, path: TreePath) -> Version | None:
        for part in (path, *_parents(path)):
            found = self.written[part] if part in self.written else self._old(part)
            if found is not None and (part == path or found.mode != _FOLDER):
                return found
        return None

    def _old(self, path: TreePath) -> Version | None:
        entry = self.entries.get(path)
        return Version(entry.mode, self.contents.get(entry.blob, b"")) if entry else None


_FOLDER = "040000"


def _parents(path: TreePath) -> list[TreePath]:
    parts = path.split("/")[:-1]
    return [TreePath("/".join(parts[:size])) for size in range(1, len(parts) + 1)]


class Stack:
    """The patches with their own two sides, and upstream's first-parent line from `base` to `onto`."""

    def __init__(
        self, patches: Sequence[StackPatch], tools: ReplayTools, *, base: CommitHash, onto: CommitHash
    ) -> None:
        self.patches = tuple(patches)
        self.base = base
        self.onto = onto
        self.trials = 0
        self._tools = tools
        own = tuple(dict.fromkeys(path for patch in patches for path in patch.mail.paths))
        paths = {*own, *(parent for path in own for parent in _parents(path))}
        store = tools.store
        self._at_base = store.entries(base, paths)
        self._at_onto = store.entries(onto, paths) if onto != base else self._at_base
        self.touches: tuple[Touch, ...] = store.touches(base, onto) if onto != base else ()
        self._contents: dict[str, bytes | None] = {}
        self._load(entry for side in (self._at_base, self._at_onto) for entry in side.values())
        self.work = self._prepare()

    def _load(self, entries: Iterable[TreeEntry]) -> None:
        wanted = {entry.blob for entry in entries if entry.mode not in (_FOLDER, "160000")} - self._contents.keys()
        self._contents |= self._tools.store.contents(wanted)

    # -- the patches on their own base ---------------------------------------------------------------

    def _prepare(self) -> tuple[Work, ...]:
        state = State(self.base, self._at_base, self._contents)
        found = []
        for patch in self.patches:
            changes = self._changes(patch, state)
            before: Versions = state.read(patch.mail.paths)
            below = dict(state.written)
            attempt = try_patch(changes, before)
            misfits = attempt.misfits
            if misfits:
                before = self._named(changes, before)
                attempt = try_patch(changes, before)
            state.written |= attempt.files
            whole = not attempt.misfits
            found.append(Work(patch, changes, before, {**before, **attempt.files}, whole, below, misfits))
        return tuple(found)

    def _named(self, changes: Sequence[FileChange], there: Versions) -> dict[TreePath, Version | None]:
        """The files that a patch names by its blobs; content None where this clone lacks one."""
        blobs = {file.old_blob for file in changes if file.old_blob.strip("0")}
        self._contents |= self._tools.store.contents(blobs - self._contents.keys())
        found = dict(there)
        for file in changes:
            found[file.path] = None
            if file.kind is not FileKind.ADDED:
                found[file.old_path] = Version(file.old_mode, self._contents.get(file.old_blob))
        return found

    def _changes(self, patch: StackPatch, state: State) -> tuple[FileChange, ...]:
        """The changes of a patch; those of binary files as one hunk of everything."""
        if not patch.mail.sections:
            return patch.mail.files
        found = []
        for file in patch.mail.files:
            section = patch.mail.sections.get(file.path)
            if section is None:
                found.append(file)
                continue
            current = state.read([file.old_path])[file.old_path]
            before = current.content if current else None
            after = None
            if file.kind is not FileKind.DELETED:
                after = self._tools.store.binary(section, file.path, before)
                if after is None:
                    after = self._tools.store.contents([file.blob]).get(file.blob)
            known = after is not None or file.kind is FileKind.DELETED
            found.append(replace(file, hunks=(_everything(before or b"", after or b"", known=known),)))
        return tuple(found)

    # -- trying --------------------------------------------------------------------------------------

    def state(self, at: CommitHash | None = None, *, paths: Iterable[TreePath] = ()) -> State:
        """The tree of `onto`; or of a commit between `base` and it, as far as `paths` and their folders go."""
        if at is None or at == self.onto:
            return State(self.onto, self._at_onto, self._contents)
        entries = dict(self._at_base)
        for touch in self.touches if at != self.base else ():
            for path in touch.paths.keys() & (self._at_base.keys() | self._at_onto.keys() | set(paths)):
                entry = touch.paths[path]
                if entry is None:
                    entries.pop(path, None)
                else:
                    entries[path] = TreeEntry(entry[0], BlobHash(entry[1]))
            if touch.commit == at:
                break
        wanted = set(paths)
        self._load(entry for path, entry in entries.items() if path in wanted)
        return State(at, entries, self._contents)

    def attempt(self, index: int, state: State, *, quick: bool = False) -> Tried:
        """Try one patch on a state; the state stays as it is."""
        work = self.work[index]
        trial = Trial(work, state.read(work.patch.mail.paths), self.base, state.root, state.written)
        tools = self._tools
        means = Means(tools.bench, tools.store, tools.port, tools.resolutions)
        return try_on(trial, means, quick=quick)

    def came(self, index: int, state: State) -> bool:
        """Whether upstream brought all that a patch brings, though it may fit once more."""
        work = self.work[index]
        now = state.read(work.patch.mail.paths)
        if not might_have_come(work.changes, before=work.before, ours=now):
            return False
        return landed_by_lines(work.changes, before=work.before, after=work.after, ours=now)

    def chain(self, index: int) -> tuple[int, ...]:
        """The patches up to this one that share files with it, or with one that does."""
        paths = set(self.patches[index].mail.paths)
        found = [index]
        for earlier in range(index - 1, -1, -1):
            if paths.intersection(self.patches[earlier].mail.paths):
                paths.update(self.patches[earlier].mail.paths)
                found.append(earlier)
        return tuple(reversed(found))

    def fails_at(self, chain: Sequence[int], at: CommitHash, *, quick: bool = False) -> bool:
        """Whether the last patch of a chain fails on an upstream commit; one replay (`quick`: as in `try_on`)."""
        self.trials += 1
        paths = {path for index in chain for path in self.patches[index].mail.paths}
        state = self.state(at, paths=paths)
        tried: Tried | None = None
        for index in chain:
            tried = self.attempt(index, state, quick=quick)
            state.written |= tried.files
        return tried is not None and tried.status.failed


def _everything(before: bytes, after: bytes, *, known: bool) -> Hunk:
    """A whole file as one hunk, which fits that very content alone; nothing, where the new content is not known."""
    old, new = tuple(lines_of(before)), tuple(lines_of(after))
    change = Change(0, old, new) if known else Change(0, ("\0unknown\0",), ())
    return Hunk(f"@@ -1,{len(old)} +1,{len(new)} @@", 0, old if known else change.removed, new, (change,))
