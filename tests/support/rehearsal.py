"""A fork at b10531 with a stack of our own, and upstream's later builds as the nights that come over it.

Each build after b10549 is one commit: what a night says broke a patch is a build, as where upstream is a chain of
snapshots. The patches are made here by editing text; no upstream code stands in this file.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from forkguard.adapters.archive_members import SourceFile, members
from forkguard.adapters.git import GitRepository
from forkguard.adapters.snapshots import (
    PRODUCTION_BRANCH,
    PULL_PATHS,
    UPSTREAM_BRANCH,
    ImportFeed,
    NewCommit,
    Signature,
    append,
    clone,
    make_upstream,
    read_file,
)
from forkguard.core.names import CommitHash, TreePath
from tests.support.nights import Nights
from tests.support.porting import Desk
from tests.support.real_sources import ARCH, GRAPH, with_hunks
from tests.support.repos import GitFolder
from tests.support.stacks import Queue

BUILDS = (10531, 10549, 10615, 10705, 10883, 11104, 11434)
HEADER = TreePath("src/llama-arch.h")
README = TreePath("README.md")
SERVER = TreePath("tools/server/server-context.cpp")
FLOW = TreePath("tools/ui/docs/flows/chat-flow.md")
NOTES = TreePath("docs/fork.md")

_MAP = """\
[fork]
path = "../fork"
ref = "production"

[upstream]
remote = "upstream"
ref = "upstream/master"

[defaults]
archs = ["lfm2"]
%(cache)s
[arch.lfm2]
enum = "LLM_ARCH_LFM2"
files = ["src/models/lfm2.cpp"]
probe = "lfm2"

[[accept]]
id = "lfm2/rollback-without-node-budget/4c169bfb"
reason = "we draft three tokens; 29085 is not merged"
by = "Fork owner"

[[accept]]
id = "lfm2moe/rollback-without-node-budget/29c38be5"
reason = "we draft three tokens; 29085 is not merged"
by = "Fork owner"

[gate]
widths = [3]
slots = [1]

[nightly]
build = %(build)s
report = false
"""
_SUBJECT = "ours: "
_DAYS = {10615: 26, 10705: 27, 10883: 28, 11104: 29, 11434: 30}
_FORKER = Signature("Fork owner", "fork@example.invalid", datetime(2026, 8, 24, 9, tzinfo=UTC))

Read = Callable[[TreePath], str]


# -- the stack ---------------------------------------------------------------------------------------


def _once(pattern: str, new: str, text: str) -> str:
    changed, count = re.subn(pattern, new, text, flags=re.MULTILINE)
    assert count == 1, f"{pattern}: {count} places"
    return changed


def _own_notes(old: Read, new: Read) -> Mapping[TreePath, str]:
    return {NOTES: "# What this fork is\n\nIt serves production.\n"}


def _dspark(old: Read, new: Read) -> Mapping[TreePath, str]:
    """Pull request 27383, whole."""
    return {path: new(path) for path in PULL_PATHS}


def _own_arch(old: Read, new: Read) -> Mapping[TreePath, str]:
    """An arch of ours behind `dots1`, where upstream adds one between b10549 and b10615."""
    return {
        HEADER: _once(r"^    LLM_ARCH_DOTS1,\n", r"\g<0>    LLM_ARCH_HERON,\n", old(HEADER)),
        ARCH: _once(r"^    \{ LLM_ARCH_DOTS1,.*\n", r'\g<0>    { LLM_ARCH_HERON, "heron" },\n', old(ARCH)),
    }


def _badge(old: Read, new: Read) -> Mapping[TreePath, str]:
    """A line that upstream edits between b10549 and b10615."""
    return {README: _once(r"^\[!\[Release\].*$", "Our builds are listed in docs/fork.md.", old(README))}


def _hexagon(old: Read, new: Read) -> Mapping[TreePath, str]:
    """A line that upstream edits between b10705 and b10883."""
    return {README: _once(r"^\| \[Hexagon .*$", r"\g<0>\n| Heron | our own accelerator |", old(README))}


def _mmproj(old: Read, new: Read) -> Mapping[TreePath, str]:
    """One line that upstream brings between b10531 and b10549, within another request."""
    return {SERVER: with_hunks(old(SERVER), new(SERVER), lambda _, added: "mmproj_device" in added)}


def _expert_width(old: Read, new: Read) -> Mapping[TreePath, str]:
    """A remark at the end of a line that upstream edits between b10705 and b10883."""
    return {GRAPH: _once(r"^( *layer\.ffn_gate_exps .*)$", r"\1 // ours: wide", old(GRAPH))}


def _flow(old: Read, new: Read) -> Mapping[TreePath, str]:
    """A file that upstream removes between b10531 and b10549."""
    return {FLOW: "This flow is ours.\n\n" + old(FLOW)}


PATCHSETS: Mapping[str, Callable[[Read, Read], Mapping[TreePath, str]]] = {
    "own-notes": _own_notes,
    "27383": _dspark,
    "own-arch": _own_arch,
    "badge": _badge,
    "hexagon": _hexagon,
    "mmproj": _mmproj,
    "expert-width": _expert_width,
    "flow": _flow,
}


# -- the nights --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rehearsal:
    """The nights, and upstream's commit at each build."""

    nights: Nights
    tips: Mapping[int, CommitHash]

    def hold(self, build: int, *, status: int) -> dict[str, Any]:
        """The night on which upstream is at that build."""
        self.nights.upstream.git("update-ref", f"refs/heads/{UPSTREAM_BRANCH}", self.tips[build])
        return self.nights.night(status=status)

    def drift(self, night: Mapping[str, Any]) -> dict[str, Any]:
        """The drift document beside a record."""
        path = self.nights.folder / night["id"] / night["drift"]["document"]
        document: dict[str, Any] = json.loads(path.read_text())
        return document


def make_rehearsal(
    folder: Path, archives: Mapping[int, Path], *, names: Iterable[str] = tuple(PATCHSETS), build: bool = False
) -> Rehearsal:
    """Everything in `folder`; upstream stands at b10531, and the fork carries these patchsets on it.

    `archives` are those of the nights, b10531 and b10549 at least. `build`: the nights build and gate, in the
    user's own cache.
    """
    upstream, fork = folder / "upstream", folder / "fork"
    make_upstream(upstream, older=members(archives[10531]), newer=members(archives[10549]))
    with GitRepository(upstream) as git:
        tips = {build: git.resolve(f"b{build}") for build in (10531, 10549)}
        tips |= _later(git, tips[10549], {build: members(archives[build]) for build in archives if build > 10549})
        git.run("update-ref", f"refs/heads/{UPSTREAM_BRANCH}", tips[10531])
        for known in (10531, 10549):
            git.run("tag", "-d", f"b{known}")
            git.run("update-ref", f"refs/kept/{known}", tips[known])
        stack = _stack(git, tips[10531], tips[10549], [name for name in PATCHSETS if name in set(names)])
    clone(fork, upstream)
    with GitRepository(fork) as git:
        append(git, stack)
        git.run("checkout", "--quiet", PRODUCTION_BRANCH)
        commits = git.history([f"{tips[10531]}..{PRODUCTION_BRANCH}"])
    desk = folder / "desk"
    desk.mkdir()
    settings = {"cache": "" if build else 'cache = "../cache"\n', "build": str(build).lower()}
    (desk / "upstream-map.toml").write_text(_MAP % settings)
    queue = Queue(GitFolder(upstream), GitFolder(fork), GitFolder(fork), Desk(desk), tips[10531])
    for each in reversed(commits):
        queue.carry(each.subject.removeprefix(_SUBJECT), each.id)
    return Rehearsal(Nights(queue), tips)


def _later(
    git: GitRepository, parent: CommitHash, builds: Mapping[int, Iterable[SourceFile]]
) -> dict[int, CommitHash]:
    """The later builds, one commit each on top of `parent`."""
    if not builds:
        return {}
    with ImportFeed(git.git_dir) as feed:
        for number, (build, files) in enumerate(builds.items()):
            signature = Signature(
                "Upstream snapshot", "upstream@example.invalid", datetime(2026, 8, _DAYS[build], 12, tzinfo=UTC)
            )
            tree = feed.snapshot(files)
            start = parent if number == 0 else None
            feed.commit_tree(
                NewCommit(UPSTREAM_BRANCH, f"b{build}", signature, changes={}, parent=start, tag=f"b{build}"), tree
            )
        feed.import_into(git.path)
    tips = {build: git.resolve(f"b{build}") for build in builds}
    for build, commit in tips.items():
        git.run("tag", "-d", f"b{build}")
        git.run("update-ref", f"refs/kept/{build}", commit)
    return tips


def _stack(git: GitRepository, base: CommitHash, newer: CommitHash, names: Sequence[str]) -> Sequence[NewCommit]:
    """The patchsets as commits, each on top of the one before."""
    texts: dict[TreePath, str] = {}

    def old(path: TreePath) -> str:
        return texts[path] if path in texts else read_file(git, base, path).data.decode()

    def new(path: TreePath) -> str:
        return read_file(git, newer, path).data.decode()

    commits = []
    for number, name in enumerate(names):
        made = PATCHSETS[name](old, new)
        texts |= made
        files = {path: SourceFile(path, executable=False, data=text.encode()) for path, text in made.items()}
        parent = base if number == 0 else None
        commits.append(NewCommit(PRODUCTION_BRANCH, f"{_SUBJECT}{name}", _FORKER, files, parent=parent))
    return commits
