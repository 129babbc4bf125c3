"""A desk beside the miniature fork, and forks on which request 201 meets what real forks hold."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.commands import Outcome, forkguard
from tests.support.repos import MiniHistory

MAP = """\
[fork]
path = "../fork"
ref = "production"

[upstream]
{upstream}

[defaults]
cache = "../cache"

[arch.heron]
enum = "LLM_ARCH_HERON"
files = ["src/models/heron.cpp"]
"""
REMOTE = 'remote = "upstream"\nref = "upstream/master"'
CLONE = 'path = "../upstream"\nref = "master"'
HERON = "src/models/heron.cpp"
ARCH = "src/llama-arch.cpp"


@dataclass(frozen=True)
class Desk:
    """A folder with a map; commands run there."""

    path: Path

    def run(self, *words: str) -> Outcome:
        """One command line, in this process."""
        return forkguard(*words, cwd=self.path)

    def json(self, *words: str, status: int) -> dict[str, Any]:
        """The JSON of a command that ends with this status."""
        outcome = self.run(*words, "--format", "json")
        assert outcome.status == status, outcome.err or outcome.out
        document: dict[str, Any] = json.loads(outcome.out)
        return document

    @property
    def checkouts(self) -> list[Path]:
        """The checkouts of forkguard's own that are there."""
        return sorted((self.path.parent / "cache" / "worktrees").glob("forkguard-port-*"))

    @property
    def journal(self) -> Path:
        """The journal of the port in progress."""
        return self.path / ".forkguard" / "port.json"

    def stack_files(self) -> dict[str, bytes]:
        """The files under `patchsets/`."""
        root = self.path / "patchsets"
        return {
            path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
        }


def make_desk(folder: Path, *, upstream: str = REMOTE) -> Desk:
    """A desk in `folder/desk`."""
    desk = folder / "desk"
    desk.mkdir()
    (desk / "upstream-map.toml").write_text(MAP.format(upstream=upstream))
    return Desk(desk)


def branch_of_requests(history: MiniHistory, *changes: tuple[str, dict[str, str]]) -> list[str]:
    """Upstream's master anew from the base, with these commits; fetched by the fork."""
    upstream = history.upstream
    upstream.git("checkout", "-q", "-B", "master", history.base)
    commits = [upstream.commit(subject, files) for subject, files in changes]
    history.fork.git("fetch", "-q", "-f", "upstream")
    return commits


def edit(history: MiniHistory, name: str, old: str, new: str, *, subject: str = "ours: an edit") -> str:
    """A commit of the fork's own that replaces one text in a file."""
    text = (history.fork.path / name).read_text()
    assert text.count(old) >= 1, name
    return history.fork.commit(subject, {name: text.replace(old, new, 1)})


def make_conflict(history: MiniHistory) -> str:
    """The fork rewrote the line that upstream's request replaces in heron.cpp."""
    return edit(history, HERON, "ggml_cpy(ctx0, tail, state_slot(il, 0))", "ggml_dup(ctx0, tail, own_slot(il))")


def outcomes(document: dict[str, Any]) -> list[tuple[str, str]]:
    """File name and outcome of every hunk."""
    return [(hunk["path"].rpartition("/")[2], hunk["outcome"]) for hunk in document["hunks"]]
