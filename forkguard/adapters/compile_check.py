"""`-fsyntax-only` over ported files, with the compiler and flags of a tree that was built before."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from forkguard.adapters.proc import run
from forkguard.adapters.trees import BUILD, SOURCES, TreeStore
from forkguard.adapters.workbench import Workbench
from forkguard.core.built_trees import TreeInfo
from forkguard.core.compile_check import MOST_FILES, CompileReport, commands_of, first_error, syntax_only, to_check
from forkguard.core.names import CommitHash, TreePath
from forkguard.errors import CouldNotWork

_SECONDS = 180.0
"""What one file may take."""


class CompileCheck:
    """Checks commits of one repository against the trees of a folder."""

    def __init__(self, trees: TreeStore, bench: Workbench, repository: Path) -> None:
        self._trees = trees
        self._bench = bench
        self._repository = repository

    def check(self, commit: CommitHash, paths: Sequence[TreePath], *, onto: CommitHash) -> CompileReport:
        """Read the sources among `paths` as they are in `commit`; `onto` is the commit whose build fits best."""
        wanted = to_check(paths)
        if not wanted:
            return CompileReport(note="no C or C++ source is touched, so nothing was compiled")
        tree = self._tree(onto)
        if tree is None:
            return CompileReport(note="not compiled: there is no built tree; forkguard build makes one")
        place = Path(tree.path)
        try:
            text = run(["ninja", "-t", "compdb"], cwd=place / BUILD, timeout=60).stdout.decode("utf-8", "replace")
            commands = commands_of(text, sources=str(place / SOURCES))
        except (CouldNotWork, ValueError, KeyError) as problem:
            return CompileReport(note=f"not compiled: {problem}")
        known = [path for path in wanted if path in commands][:MOST_FILES]
        left = len(wanted) - len(known)
        with tempfile.TemporaryDirectory(prefix="forkguard-compile-") as folder:
            checkout = Path(folder) / "src"
            self._bench.export(self._bench.commit(commit).tree, checkout)
            failed, unread = self._read(known, commands, sources=str(place / SOURCES), checkout=checkout)
        notes = [f"{left} of {len(wanted)} sources were not compiled: that tree does not build them"] if left else []
        return CompileReport(
            tuple(path for path in known if path not in unread), failed, "; ".join([*notes, *unread.values()])
        )

    def _tree(self, onto: CommitHash) -> TreeInfo | None:
        built = [
            tree
            for tree in self._trees.trees()
            if tree.built and not tree.holder and (Path(tree.path) / BUILD / "build.ninja").is_file()
            if Path(tree.repository) == self._repository
        ]
        return max(built, key=lambda tree: (tree.commit == onto, tree.used), default=None)

    def _read(
        self,
        paths: Sequence[TreePath],
        commands: Mapping[TreePath, tuple[str, tuple[str, ...]]],
        *,
        sources: str,
        checkout: Path,
    ) -> tuple[tuple[tuple[TreePath, str], ...], dict[TreePath, str]]:
        """Those that do not compile, and those of which the compiler said nothing, with the reason."""
        failed, unread = [], {}
        for path in paths:
            folder, words = commands[path]
            argv = syntax_only(words, sources=sources, checkout=str(checkout))
            try:
                done = run(argv, cwd=Path(folder), timeout=_SECONDS, allowed=range(256))
            except CouldNotWork as problem:
                unread[path] = f"{path} was not compiled: {problem}"
                continue
            if done.status:
                text = done.stderr.decode("utf-8", "replace")
                failed.append((path, first_error(text, checkout=str(checkout))))
        return tuple(failed), unread
