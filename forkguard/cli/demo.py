"""`forkguard demo`."""

import os
import shutil
import sys
from datetime import datetime
from pathlib import Path

import click

from forkguard.adapters import snapshots
from forkguard.adapters.archive_members import members
from forkguard.adapters.archives import ArchiveCache, SourceArchive
from forkguard.adapters.demo_folder import claimed
from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.adapters.mapstore import write_map
from forkguard.cli.compose import cache_folder, open_places, open_project, project_ledger, project_rules
from forkguard.cli.options import deliver, talk_options
from forkguard.cli.port import port_tools
from forkguard.cli.render import rendered
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.demo import Event, HistoryFacts, SourceFacts
from forkguard.core.findings import DriftReport
from forkguard.core.map_draft import render_map
from forkguard.core.mapfile import MAP_NAME
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import PortReport
from forkguard.errors import ExitCode
from forkguard.reports.demo import demo_event
from forkguard.workflows.base import find_base
from forkguard.workflows.demo import run_demo
from forkguard.workflows.drift import run_drift
from forkguard.workflows.init import draft_map
from forkguard.workflows.port import port

FOLDER = Path("forkguard-demo")
_ARCH = "lfm2"


@click.command("demo", short_help="The whole loop on real llama.cpp sources from the Python package index.")
@click.option("--no-build", is_flag=True, help="Only drift and port; nothing is compiled or run.")
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), default=FOLDER, show_default=True, metavar="DIR",
    help="The folder that is made, and kept to go on in.",
)  # fmt: skip
@talk_options
def command(no_build: bool, keep: Path, verbose: bool, color: bool | None) -> int:
    """Tell the story of a drifted fork on real llama.cpp sources.

    Downloads the sources of two builds (36 MB each, once; later runs work offline), makes an upstream history
    and a production fork that lacks pull request 27383, and runs drift, port 27383 and drift again.

    \b
    Examples:
      forkguard demo --no-build
      forkguard demo --no-build --keep ../story

    Exit status: 0 the story went as told (red before, clean after); 1 it did not; 3 no network, no space.
    """
    folder = keep.absolute()
    program = _program(folder)

    def tell(event: Event) -> None:
        deliver(rendered(demo_event(event, program=program), color=color, output=None), output=None)

    with ConsoleTalk(color=color, verbose=verbose) as talk, claimed(folder):
        if not no_build:
            talk.note("building is no part of the demo yet; this is what --no-build does")
        told = run_demo(
            _KeptFolder(folder, shown=keep, talk=talk),
            branch=snapshots.PRODUCTION_BRANCH,
            pull=PullNumber(snapshots.PULL),
            tell=tell,
        )
    return int(ExitCode.CLEAN if told else ExitCode.FINDING)


class _Silent:
    """The talk of steps whose remarks the story tells in its own words."""

    def step(self, message: str) -> None:
        """Not told."""

    def note(self, message: str) -> None:
        """Not told."""

    def progress(self, done: int, total: int, message: str) -> None:
        """Not told."""


class _KeptFolder:
    """`forkguard.workflows.demo.Stage` on a folder of the demo's own."""

    def __init__(self, folder: Path, *, shown: Path, talk: ConsoleTalk) -> None:
        self._folder = folder
        self._shown = shown
        self._talk = talk
        self._upstream = folder / "upstream.git"
        self._fork = folder / "llama.cpp"
        self._map = folder / MAP_NAME
        self._archives: tuple[SourceArchive, ...] = ()

    def sources(self) -> tuple[SourceFacts, ...]:
        cache = ArchiveCache(cache_folder(None, None) / "archives", talk=self._talk)
        self._archives = tuple(cache.get(build) for build in (snapshots.OLDER, snapshots.NEWER))
        return tuple(
            SourceFacts(one.build, one.size, one.sha256, str(one.path), one.fetched) for one in self._archives
        )

    def histories(self) -> HistoryFacts:
        made = not self._fork.is_dir()
        if not self._upstream.is_dir():
            self._talk.note("making the histories (10 s, once)")
            older, newer = (members(archive.path) for archive in self._archives)
            snapshots.make_upstream(self._upstream, older=older, newer=newer)
        if made:
            snapshots.make_fork(self._fork, self._upstream)
        if not self._map.is_file():
            self._write_map()
        with GitRepository(self._fork) as git:
            upstream = git.history([f"upstream/{snapshots.UPSTREAM_BRANCH}"])
            own = git.history([f"b{snapshots.OLDER}..{snapshots.PRODUCTION_BRANCH}"])
        return HistoryFacts(
            folder=str(self._shown),
            upstream_log=tuple(commit.subject for commit in reversed(upstream)),
            production=self.production(),
            own_subjects=tuple(commit.subject for commit in own),
            made=made,
        )

    def _write_map(self) -> None:
        with open_places(
            fork=self._fork, fork_ref=None, upstream="upstream", upstream_ref=None, folder=self._folder
        ) as (repo, places):
            write_map(self._map, render_map(draft_map(repo, places, wanted=[_ARCH], talk=_Silent())))

    def production(self) -> CommitHash:
        with GitRepository(self._fork) as git:
            return git.resolve(snapshots.PRODUCTION_BRANCH)

    def drift(self, ref: str) -> DriftReport:
        with open_project(map_file=self._map, fork=self._fork, fork_ref=ref) as project:
            base = find_base(
                project.fork_repo, fork=project.fork, upstream=project.upstream, configured=project.map.upstream.base
            )
            return run_drift(
                project.fork_repo,
                fork=project.fork,
                upstream=project.upstream,
                base=base,
                archs=[_ARCH],
                rules=project_rules(project),
                ledger=project_ledger(project, today=datetime.now().astimezone().date()),
                talk=self._talk,
            )

    def port(self, pull: PullNumber) -> PortReport:
        with (
            open_project(map_file=self._map, fork=self._fork, fork_ref=snapshots.PRODUCTION_BRANCH) as project,
            GitRepository(project.fork_repo.path) as plain,
            locked(project.state_folder() / "port.lock", purpose="forkguard demo"),
        ):
            tools = port_tools(project, plain, self._talk)
            return port(pull, fork=project.fork, upstream=project.upstream, tools=tools)


def _program(folder: Path) -> str:
    """How a person starts forkguard from the kept folder: by its name where the shell finds it."""
    if shutil.which("forkguard") is not None:
        return "forkguard"
    started = Path(sys.argv[0]).absolute()
    if started.name != "forkguard":
        return f"{sys.executable} -m forkguard"
    return os.path.relpath(started, folder)
