"""Which upstream fixes since the base concern code that the fork carries."""

from collections import Counter
from collections.abc import Sequence

from forkguard.core.findings import Base, Side
from forkguard.core.fixes import Fix, changes_by_commit, missing_fixes
from forkguard.core.history import line_key
from forkguard.core.names import TreePath
from forkguard.ports import Repository, Talk
from forkguard.workflows.drift import read_trees

CARRIED_FOLDERS = ("src", "common", "include", "ggml/src", "ggml/include", "tools/server", "tests")
"""Where a fix can concern a server: the library, its backends, the server; tests are told below."""


def find_fixes(
    repo: Repository, *, fork: Side, upstream: Side, base: Base, archs: Sequence[str] = (), talk: Talk | None = None
) -> tuple[Fix, ...]:
    """Upstream's commits since the base that change lines which the fork still has; of the archs' files if named."""
    if talk:
        talk.step("reading upstream's commits since the base")
    paths: Sequence[str] = CARRIED_FOLDERS
    if archs:
        trees = read_trees(repo, fork=fork.commit, upstream=upstream.commit, base=base.commit)
        indexes = (trees.fork.archs, trees.upstream.archs)
        paths = sorted(
            {path for index in indexes for name in archs for arch in index.family(name) for path in arch.files}
        )
    changes = tuple(changes_by_commit(repo.patches(base.commit, upstream.commit, paths)))
    touched = {change.path for _, files in changes for change in files}
    tree = repo.tree(fork.commit, under=sorted({path.split("/", 1)[0] for path in touched}) or ["src"])
    wanted = {path: tree[path].blob for path in touched if path in tree and tree[path].is_file}
    blobs = repo.blobs(wanted.values())
    known = repo.commits(commit for commit, _ in changes)
    lines: dict[TreePath, Counter[str]] = {}

    def of_fork(path: TreePath) -> Counter[str] | None:
        if path not in wanted:
            return None
        if path not in lines:
            text = blobs[wanted[path]].decode("utf-8", "replace")
            lines[path] = Counter(map(line_key, text.split("\n")))
        return lines[path]

    return missing_fixes(changes, commits=known.__getitem__, fork=of_fork)
