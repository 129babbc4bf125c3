"""Real llama.cpp trees in the shapes that forks have them, made by editing text; no upstream code stands here.

Every variant is a branch of one fork at b10531: `production` as `adapters.snapshots.make_fork` leaves it, and the
branches of `VARIANTS` on top of it. The pieces of pull request 27383 are taken from b10549 when they are needed.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from forkguard.adapters.archive_members import SourceFile, members
from forkguard.adapters.git import GitRepository
from forkguard.adapters.snapshots import (
    NEWER,
    PRODUCTION_BRANCH,
    Changes,
    NewCommit,
    Signature,
    append,
    make_fork,
    make_upstream,
    read_file,
)
from forkguard.core.names import CommitHash, TreePath

ARCH = TreePath("src/llama-arch.cpp")
GRAPH = TreePath("src/models/lfm2.cpp")
MOVED_GRAPH = TreePath("src/models/liquid/lfm2.cpp")
SQUASHED = "squashed"

_DAY = datetime(2026, 8, 26, 9, tzinfo=UTC)
_FORKER = Signature("Fork owner", "fork@example.invalid", _DAY)


@dataclass(frozen=True, slots=True)
class RealSources:
    """The bare upstream repository, and the fork with `production` checked out and all variants as branches."""

    upstream: Path
    fork: Path


@dataclass(frozen=True, slots=True)
class Texts:
    """The two files that 27383 changed, as production has them and as b10549 does."""

    arch: str
    graph: str
    newer_arch: str
    newer_graph: str


Variant = Callable[[Texts], Mapping[TreePath, str | None]]


# -- pieces of the pull request ----------------------------------------------------------------------


def with_hunks(older: str, newer: str, wanted: Callable[[str, str], bool]) -> str:
    """`older` with those hunks of the way to `newer` for which `wanted(removed, added)` holds.

    >>> with_hunks("a\\nb\\nc\\n", "x\\na\\nb\\nC\\n", lambda removed, added: added == "x\\n")
    'x\\na\\nb\\nc\\n'
    """
    old, new = older.splitlines(keepends=True), newer.splitlines(keepends=True)
    result: list[str] = []
    taken = 0
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = old[start:end], new[new_start:new_end]
        take = tag != "equal" and wanted("".join(removed), "".join(added))
        taken += take
        result += added if take else removed
    assert taken, "no hunk is as wanted: the sources are not the expected ones"
    return "".join(result)


def _is_layer_input(removed: str, added: str) -> bool:
    return "t_layer_inp[" in added and not removed


def _is_registration(removed: str, added: str) -> bool:
    return "LLM_ARCH_LFM2" in added and not removed


def layer_input(texts: Texts) -> str:
    """The graph with the layer-input line, and nothing else of the pull request."""
    return with_hunks(texts.graph, texts.newer_graph, _is_layer_input)


def registration(texts: Texts) -> str:
    """The registries with LFM2 and LFM2MOE in the rollback switch, and nothing else."""
    return with_hunks(texts.arch, texts.newer_arch, _is_registration)


# -- variants ----------------------------------------------------------------------------------------


def _layer_input_only(texts: Texts) -> Mapping[TreePath, str | None]:
    return {GRAPH: layer_input(texts)}


def _line_and_registry(texts: Texts) -> Mapping[TreePath, str | None]:
    return {GRAPH: layer_input(texts), ARCH: registration(texts)}


def _registry_only(texts: Texts) -> Mapping[TreePath, str | None]:
    return {ARCH: registration(texts)}


def _renamed(texts: Texts) -> Mapping[TreePath, str | None]:
    return {GRAPH: re.sub(r"\bcur\b", "inpL", texts.graph)}


def _line_in_a_branch(texts: Texts) -> Mapping[TreePath, str | None]:
    line = re.compile(r"^( *)(.*t_layer_inp\[.*\n)", re.MULTILINE)
    wrapped, count = line.subn(r"\1if (n_layer > 0) {\n\1    \2\1}\n", layer_input(texts))
    assert count == 1
    return {GRAPH: wrapped}


def _moved_file(texts: Texts) -> Mapping[TreePath, str | None]:
    text = texts.graph.replace('#include "../', '#include "../../').replace('"models.h"', '"../models.h"')
    return {GRAPH: None, MOVED_GRAPH: text}


def _crlf(texts: Texts) -> Mapping[TreePath, str | None]:
    return {GRAPH: texts.graph.replace("\n", "\r\n")}


def _syntax_error(texts: Texts) -> Mapping[TreePath, str | None]:
    first_function = texts.graph.index("void llama_model_lfm2::")
    return {
        GRAPH: texts.graph[:first_function] + "FORK_NOTE(int, = ;\n@@ merge later\n\n" + texts.graph[first_function:]
    }


VARIANTS: Mapping[str, Variant] = {
    "layer-input-only": _layer_input_only,
    "line-and-registry": _line_and_registry,
    "registry-only": _registry_only,
    "renamed": _renamed,
    "line-in-a-branch": _line_in_a_branch,
    "moved-file": _moved_file,
    "crlf": _crlf,
    "syntax-error": _syntax_error,
}
"""Branch name to the files that it changes on top of production; `SQUASHED` is one more branch."""


# -- repositories ------------------------------------------------------------------------------------


def make_real_sources(folder: Path, *, older: Path, newer: Path) -> RealSources:
    """Make both repositories in `folder` from the two archives."""

    made = RealSources(folder / "upstream.git", folder / "fork")
    make_upstream(made.upstream, older=members(older), newer=members(newer))
    make_fork(made.fork, made.upstream)
    with GitRepository(made.fork) as git:
        add_variants(git)
    return made


def add_variants(git: GitRepository) -> None:
    """Add every variant's branch to a fork that `make_fork` made."""
    production, newer = git.resolve(PRODUCTION_BRANCH), git.resolve(f"b{NEWER}")
    texts = Texts(
        arch=_text(git, production, ARCH),
        graph=_text(git, production, GRAPH),
        newer_arch=_text(git, newer, ARCH),
        newer_graph=_text(git, newer, GRAPH),
    )
    append(
        git,
        [
            NewCommit(name, f"fork : {name}", _FORKER, _changes(variant(texts)), parent=production)
            for name, variant in VARIANTS.items()
        ],
    )
    _squash(git, production)


def _squash(git: GitRepository, production: CommitHash) -> None:
    identity = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", _FORKER.name), ("EMAIL", _FORKER.email), ("DATE", _DAY.isoformat()))
    }
    _, out, _ = git.run("commit-tree", f"{production}^{{tree}}", "-m", "Our fork, all of it", env=identity)
    git.run("update-ref", f"refs/heads/{SQUASHED}", out.decode().strip())


def _text(git: GitRepository, commit: CommitHash, path: TreePath) -> str:
    return read_file(git, commit, path).data.decode()


def _changes(files: Mapping[TreePath, str | None]) -> Changes:
    return {
        path: None if text is None else SourceFile(path, executable=False, data=text.encode())
        for path, text in files.items()
    }
