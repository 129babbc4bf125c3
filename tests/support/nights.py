"""A fork with a stack beside the miniature upstream, and nights on it."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema

from forkguard.adapters.gguf_files import write_model
from forkguard.workflows.probe import write_probe
from tests.support.commands import Outcome, forkguard
from tests.support.porting import Desk
from tests.support.repos import GitFolder
from tests.support.scripted_server import Behaviour, write_server
from tests.support.stacks import NOTES, SCHEMAS, Queue, new_queue, notes

BRANCH = "forkguard/candidate/"


@dataclass
class Nights:
    """A queue whose fork carries its one patchset, `one`, and the desk on which nights are held."""

    queue: Queue

    @property
    def desk(self) -> Path:
        """The map's folder."""
        return self.queue.desk.path

    @property
    def fork(self) -> GitFolder:
        """The fork."""
        return self.queue.fork

    @property
    def upstream(self) -> GitFolder:
        """Upstream, of which the fork has fetched nothing since it was cloned."""
        return self.queue.upstream

    @property
    def folder(self) -> Path:
        """Where the records lie."""
        return self.desk / ".forkguard" / "nightly"

    def run(self, *words: str) -> Outcome:
        """`forkguard nightly`."""
        return forkguard("nightly", *words, cwd=self.desk)

    def night(self, *words: str, status: int) -> dict[str, Any]:
        """The record of a night that ends with this status, held against its schema."""
        outcome = self.run("--format", "json", *words)
        assert outcome.status == status, outcome.err + outcome.out
        document: dict[str, Any] = json.loads(outcome.out)
        jsonschema.validate(document, json.loads((SCHEMAS / "nightly.json").read_text()))
        assert (self.folder / document["id"] / "night.json").read_text() == outcome.out
        return document

    def settings(self, text: str) -> None:
        """Replace `[nightly]` of the map; without pages, unless it says otherwise."""
        text = text if "report = " in text else f"{text}\nreport = false"
        path = self.desk / "upstream-map.toml"
        path.write_text(path.read_text().partition("\n[nightly]")[0] + f"\n[nightly]\n{text}\n")

    def carry(self, name: str, files: Mapping[str, str | bytes]) -> None:
        """One more patchset, in the stack and in the fork."""
        self.queue.patch(name, files)
        patches = sorted((self.desk / "patchsets" / name).glob("*.patch"))
        self.fork.git("am", "-q", "--3way", *map(str, patches))

    def candidates(self) -> dict[str, str]:
        """The candidate branches of the fork."""
        listed = self.fork.git("for-each-ref", "--format=%(refname:short) %(objectname)", f"refs/heads/{BRANCH}")
        return dict(line.split(" ") for line in listed.splitlines())


def outcomes(night: Mapping[str, Any]) -> dict[str, str]:
    """What came of each step."""
    return {step["name"]: step["outcome"] for step in night["steps"]}


def detail(night: Mapping[str, Any], name: str) -> str:
    """What a step says."""
    found: str = next(step["detail"] for step in night["steps"] if step["name"] == name)
    return found


def new_nights(folder: Path) -> Nights:
    """Everything in `folder`, with the build left out."""
    nights = Nights(new_queue(folder))
    nights.carry("one", {NOTES: notes({3: "ours: three"})})
    nights.settings("build = false")
    return nights


def copy_nights(source: Nights, folder: Path) -> Nights:
    """The same in another folder, much quicker than making it."""
    queue = source.queue
    paths = (queue.upstream.path, queue.fork.path, queue.author.path, queue.desk.path)
    for path in paths:
        shutil.copytree(path, folder / path.name, symlinks=True)
    upstream, fork, author = (
        GitFolder(folder / one.path.name, clock=one.clock) for one in (queue.upstream, queue.fork, queue.author)
    )
    for clone in (fork, author):
        clone.git("remote", "set-url", "upstream", f"file://{upstream.path}")
        clone.git("update-index", "-q", "--refresh")
    return Nights(Queue(upstream, fork, author, Desk(folder / queue.desk.path.name), queue.base))


CMAKE = """cmake_minimum_required(VERSION 3.14)
project(scripted NONE)
set(SERVER ${CMAKE_BINARY_DIR}/bin/llama-server)
add_custom_target(llama-server COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/llama-server ${SERVER})
"""
GATE = """
[arch.heron.gate]
target = "target.gguf"
draft = "draft.gguf"
widths = [3]
slots = [1]
prompts = "prompts.toml"
timeout = 20
"""


def new_gated_nights(folder: Path) -> Nights:
    """As `new_nights`, with an upstream whose build gives a scripted server, and models for its gate."""
    nights = Nights(new_queue(folder))
    write_gate(nights)
    nights.carry("one", {NOTES: notes({3: "ours: three"})})
    nights.settings("")
    return nights


def write_gate(nights: Nights) -> None:
    """Let upstream and the fork build, and the map gate."""
    server = write_server(nights.desk.parent / "made", Behaviour())
    files: dict[str, str | bytes] = {"CMakeLists.txt": CMAKE, "llama-server": server.read_bytes()}
    nights.upstream.write(files)
    (nights.upstream.path / "llama-server").chmod(0o755)
    base = nights.upstream.commit("build : a server (#103)", files)
    for clone in (nights.fork, nights.queue.author):
        clone.git("pull", "-q", "--ff-only", "upstream", "master")
    nights.queue.base = base
    with (nights.desk / "upstream-map.toml").open("a") as file:
        file.write(GATE)
    pair = write_probe("lfm2", nights.desk, write=write_model)
    Path(pair.target.path).rename(nights.desk / "target.gguf")
    Path(pair.draft.path if pair.draft is not None else "").rename(nights.desk / "draft.gguf")
    (nights.desk / "prompts.toml").write_text('[[prompt]]\nname = "one"\ntext = "One?"\ntokens = 9\n')


def serve(nights: Nights, behaviour: Behaviour) -> str:
    """Upstream's next commit, whose server behaves so; the fork's candidate is built with it."""
    server = write_server(nights.desk.parent / "made", behaviour)
    return nights.upstream.commit("server : behave otherwise (#120)", {"llama-server": server.read_bytes()})
