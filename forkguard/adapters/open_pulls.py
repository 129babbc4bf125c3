"""The open requests of a forge and what they change: listed newest first, read as far as a budget goes.

What a request changes is kept by its head, so that each run reads other ones.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.adapters.forge import GitHub
from forkguard.core.names import TreePath
from forkguard.core.open_pulls import OpenPull, OpenPulls, PatchedFile, parse_open_pulls, parse_pull_files
from forkguard.errors import CouldNotWork

_PAGE = 100
_PAGES = 10


class OpenRequests:
    """Asks `forge`; in one run the files of at most `budget` requests are asked for. `cache` keeps them by head."""

    def __init__(self, forge: GitHub, *, cache: Path, budget: int) -> None:
        self._forge = forge
        self._cache = cache
        self._left = budget
        self._listed: tuple[OpenPull, ...] | None = None

    def touching(self, paths: Sequence[TreePath]) -> OpenPulls:
        """The open requests that are known, or were read now, to touch one of these files.

        A forge that does not answer is told in `notes`, and so is what the budget left unread.
        """
        try:
            listed = self._list()
        except CouldNotWork as problem:
            return OpenPulls(notes=(f"open requests were not looked for: {problem.what}",))
        words = {path.rpartition("/")[2].partition(".")[0].lower() for path in paths}
        by_title = sorted(listed, key=lambda one: not any(word in one.title.lower() for word in words))
        read, unread, notes = [], 0, []
        for one in by_title:
            files = self._kept(one)
            if files is None and self._left > 0:
                try:
                    files = self._ask(one)
                except CouldNotWork as problem:
                    self._left = 0
                    notes.append(f"open requests were not all looked at: {problem.what}")
            if files is None:
                unread += 1
            elif any(file.path in paths for file in files):
                read.append((one, files))
        if unread:
            notes.append(
                f"{unread} of {len(listed)} open requests were not looked at; the next run reads more of them"
            )
        if len(listed) >= _PAGE * _PAGES:
            notes.append(f"only the {len(listed)} open requests that changed last were listed")
        return OpenPulls(tuple(read), unread, tuple(notes))

    def _list(self) -> tuple[OpenPull, ...]:
        if self._listed is None:
            found: list[OpenPull] = []
            for page in range(1, _PAGES + 1):
                where = f"pulls?state=open&sort=updated&direction=desc&per_page={_PAGE}&page={page}"
                rows = parse_open_pulls(self._forge.listing(where), where=where)
                found += rows
                if len(rows) < _PAGE:
                    break
            self._listed = tuple(dict.fromkeys(found))
        return self._listed

    def _place(self, one: OpenPull) -> Path:
        return self._cache / f"files-{one.pull}-{one.head}.json"

    def _kept(self, one: OpenPull) -> tuple[PatchedFile, ...] | None:
        try:
            rows = json.loads(self._place(one).read_bytes())
            return tuple(
                PatchedFile(TreePath(str(row[0])), *(frozenset(map(str, side)) for side in row[1:4])) for row in rows
            )
        except (OSError, ValueError, TypeError, IndexError):
            return None

    def _ask(self, one: OpenPull) -> tuple[PatchedFile, ...]:
        self._left -= 1
        where = f"pulls/{one.pull}/files?per_page={_PAGE}"
        files = parse_pull_files(self._forge.listing(where), where=where)
        rows = [[file.path, sorted(file.removed), sorted(file.added), sorted(file.around)] for file in files]
        write_atomic(self._place(one), json.dumps(rows))
        return files
