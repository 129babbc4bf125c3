"""A patch stack beside the miniature fork, made as people make one: commits in a clone, `git format-patch`."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from tests.support.mini_llama import base_tree
from tests.support.porting import MAP, REMOTE, Desk
from tests.support.repos import GitFolder, clone, frozen_environment, new_repository

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
NOTES = "docs/notes.txt"
LINES = tuple(f"note {number}: nothing special" for number in range(1, 41))
MANIFEST = 'title = "{name}"\nstate = "carried"\nwhy = "we need it"\n'
DEP3 = ("Origin: vendor", "Forwarded: no")


def text(lines: Sequence[str]) -> str:
    """Lines as a file."""
    return "".join(f"{line}\n" for line in lines)


def notes(edits: Mapping[int, str | None], *, of: Sequence[str] = LINES) -> str:
    """The notes with some lines (from 1) replaced, or left out (None); a value may hold several lines."""
    wanted = [edits.get(number, line) for number, line in enumerate(of, 1)]
    return text([line for line in wanted if line is not None])


@dataclass
class Queue:
    """An upstream, a fork that is its base and nothing else, a desk, and the clone in which patches are written."""

    upstream: GitFolder
    fork: GitFolder
    author: GitFolder
    desk: Desk
    base: str

    def patch(
        self, name: str, files: Mapping[str, str | bytes], *, subject: str = "", removed: tuple[str, ...] = ()
    ) -> str:
        """A commit in the author's clone, carried as the next patchset; returns the commit."""
        commit = self.author.commit(subject or f"ours: {name}", files, removed=removed)
        self.carry(name, commit)
        return commit

    def carry(self, name: str, *commits: str) -> None:
        """Carry commits of the author's clone as a patchset at the end of the stack."""
        folder = self.desk.path / "patchsets" / name
        folder.mkdir(parents=True)
        names = []
        for number, commit in enumerate(commits, 1):
            words = [
                "-1",
                "-N",
                f"--start-number={number}",
                "--no-signature",
                "--full-index",
                "--binary",
                "--no-attach",
            ]
            words += ["--no-thread", "--stat=72", "--filename-max-length=64", f"--base={self.base}"]
            words += [f"--add-header={header}" for header in DEP3]
            made = self.author.git("format-patch", *words, "-o", str(folder), commit)
            names.append(Path(made).name)
        (folder / "series").write_text(text(names))
        (folder / "patchset.toml").write_text(MANIFEST.format(name=name))
        series = self.desk.path / "patchsets" / "series"
        series.write_text((series.read_text() if series.exists() else "") + f"{name}\n")

    def upstream_commit(
        self, subject: str, files: Mapping[str, str | bytes], *, removed: tuple[str, ...] = ()
    ) -> str:
        """A commit upstream, fetched into the fork."""
        commit = self.upstream.commit(subject, files, removed=removed)
        self.fork.git("fetch", "-q", "upstream")
        return commit

    def statuses(self, document: Mapping[str, object]) -> list[tuple[str, str]]:
        """Patchset and class of every patch of a replay."""
        stack = document["stack"]
        assert isinstance(stack, list)
        return [(each["patchset"], each["status"]) for each in stack]


def held(document: dict[str, Any]) -> dict[str, Any]:
    """A command's JSON, held against the schema that its `schema` names."""
    name = document["schema"].removeprefix("forkguard/").partition("@")[0]
    jsonschema.validate(document, json.loads((SCHEMAS / f"{name}.json").read_text()))
    return document


def run_stopping(folder: Path, writes: int, *words: str, module: str = "stopping_stack") -> int:
    """A command in a process that is killed just before that many files were written; its status."""
    environment = frozen_environment() | {"PYTHONPATH": str(SCHEMAS.parents[1])}
    return subprocess.run(
        [sys.executable, "-m", f"tests.support.{module}", str(writes), *words],
        cwd=folder, env=environment, capture_output=True, check=False, timeout=120,
    ).returncode  # fmt: skip


def new_queue(folder: Path) -> Queue:
    """Everything in `folder`."""
    upstream = new_repository(folder / "upstream")
    upstream.commit("Lay out the machine (#101)", base_tree())
    base = upstream.commit("notes (#102)", {NOTES: text(LINES)})
    fork = clone(upstream, folder / "fork")
    fork.git("checkout", "-q", "--no-track", "-b", "production", base)
    fork.git("branch", "-q", "-D", "master")
    author = clone(upstream, folder / "author")
    desk = folder / "desk"
    desk.mkdir()
    (desk / "upstream-map.toml").write_text(MAP.format(upstream=REMOTE))
    return Queue(upstream, fork, author, Desk(desk), base)
