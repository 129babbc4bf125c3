"""`forkguard demo`."""

import os
import shutil
import sys
from pathlib import Path

import click

from forkguard.adapters import snapshots
from forkguard.adapters.archive_members import members
from forkguard.adapters.archives import ArchiveCache, SourceArchive
from forkguard.adapters.demo_folder import claimed
from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.adapters.git_door import no_git
from forkguard.adapters.mapstore import write_map
from forkguard.cli import clock, compose_gate
from forkguard.cli.compose import cache_folder, fork_base, open_project, project_ledger, project_rules
from forkguard.cli.compose_build import build_tools, open_workshop
from forkguard.cli.compose_init import open_places
from forkguard.cli.compose_port import port_tools
from forkguard.cli.gating import GateQuestion, gate_program
from forkguard.cli.options import deliver, talk_options
from forkguard.cli.render import rendered
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.build_profiles import DEFAULT_PROFILE, choose_profile, tree_id
from forkguard.core.built_trees import BuildResult
from forkguard.core.demo import Event, HistoryFacts, SourceFacts
from forkguard.core.findings import DriftReport
from forkguard.core.gate import GateReport
from forkguard.core.install_hints import together
from forkguard.core.map_draft import render_map
from forkguard.core.mapfile import MAP_NAME
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import PortReport
from forkguard.errors import CouldNotWork, ExitCode
from forkguard.reports.demo import demo_event
from forkguard.workflows.build import Workshop, build_tree
from forkguard.workflows.demo import run_demo
from forkguard.workflows.drift import run_drift
from forkguard.workflows.find_change import Wanted
from forkguard.workflows.init import draft_map
from forkguard.workflows.port import port

FOLDER = Path("forkguard-demo")
_ARCH = "lfm2"
_HOW_LONG = (
    "  building llama-server; the first time takes about 15 minutes on two cores{more}\n"
    "  (once; Ctrl-C leaves a tree that the next run goes on with)"
)
_WITHOUT_CCACHE = ", and without\n  ccache the second tree as much"


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
    and a production fork that lacks pull request 27383. Then: drift names what is missing; the fork is built,
    and the gate shows its server crash; port 27383 mends it; drift is clean of it, and the gate of a new build
    is green. The first build takes about 15 minutes on two cores, once; later runs a minute or two. Without
    ccache the second tree is compiled whole as well.

    \b
    Examples:
      forkguard demo
      forkguard demo --no-build --keep ../story

    Exit status: 0 the story went as told (red before, green after); 1 it did not; 3 it could not be told: no
    network, no space, no cmake, ninja or compiler (which --no-build does without).
    """
    folder = keep.absolute()
    program = program_from(folder)

    with ConsoleTalk(color=color, verbose=verbose) as talk, claimed(folder):

        def tell(event: Event) -> None:
            talk.rest()
            deliver(rendered(demo_event(event, program=program), color=color, output=None), output=None)

        told = run_demo(
            _KeptFolder(folder, shown=keep, talk=talk),
            arch=_ARCH,
            branch=snapshots.PRODUCTION_BRANCH,
            pull=PullNumber(snapshots.PULL),
            builds=not no_build,
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
        self._servers: dict[str, Path] = {}

    def require_tools(self, *, builds: bool) -> None:
        lacking = [] if shutil.which("git") else [no_git()]
        does_without = builds and not lacking
        if builds:
            tools = build_tools(cache_folder(None, None))
            try:
                tools.check(choose_profile(DEFAULT_PROFILE, {}, tools.machine()))
            except CouldNotWork as error:
                lacking.append(error)
        if not lacking:
            return
        hint = " && ".join(together([problem.hint for problem in lacking]))
        if does_without:
            hint += f"\n         or, without building: {program_from(Path.cwd())} demo --no-build"
        raise CouldNotWork("; ".join(problem.what for problem in lacking), hint=hint)

    def sources(self) -> tuple[SourceFacts, ...]:
        cache = ArchiveCache(cache_folder(None, None) / "archives", talk=self._talk)
        archives = []
        for build in (snapshots.OLDER, snapshots.NEWER):
            self._talk.step(f"having the sources of b{build}")
            archives.append(cache.get(build))
        self._archives = tuple(archives)
        return tuple(
            SourceFacts(one.build, one.size, one.sha256, str(one.path), one.fetched) for one in self._archives
        )

    def histories(self) -> HistoryFacts:
        made = not self._fork.is_dir()
        if not self._upstream.is_dir():
            self._talk.note("making the histories (10 s, once)")
            older, newer = (members(archive.path) for archive in self._archives)
            self._talk.step("making upstream's history")
            snapshots.make_upstream(self._upstream, older=older, newer=newer)
        if made:
            self._talk.step("making the fork")
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
            base = fork_base(project)
            return run_drift(
                project.fork_repo,
                fork=project.fork,
                upstream=project.upstream,
                base=base,
                archs=[_ARCH],
                rules=project_rules(project),
                ledger=project_ledger(project, today=clock.today()),
                talk=self._talk,
            )

    def build(self, ref: str) -> BuildResult:
        with open_project(map_file=self._map, fork=self._fork, fork_ref=ref) as project:
            workshop = open_workshop(project, self._talk)
            if not self._servers and not _is_there(workshop, project.fork.commit):
                self._talk.note(how_long())
            built = build_tree(workshop, repository=project.fork_repo.path, commit=project.fork.commit)
        self._servers[ref] = built.server
        return built.result

    def gate(self, ref: str) -> tuple[GateReport, str]:
        with open_project(map_file=self._map, fork=self._fork, fork_ref=ref) as project:
            report, receipt = gate_program(
                project.map,
                project.root,
                GateQuestion(_ARCH, profile=DEFAULT_PROFILE),
                compose_gate.built_tree(project, self._servers[ref]),
                suspects=lambda: compose_gate.drift_suspects(project, _ARCH, today=clock.today()),
                talk=self._talk,
            )
        return report, str(self._shown / receipt.relative_to(self._folder))

    def port(self, pull: PullNumber) -> PortReport:
        with (
            open_project(map_file=self._map, fork=self._fork, fork_ref=snapshots.PRODUCTION_BRANCH) as project,
            GitRepository(project.fork_repo.path) as plain,
            locked(project.state_folder() / "port.lock", purpose="forkguard demo"),
        ):
            tools = port_tools(project, plain, self._talk)
            return port(Wanted(pull=pull), fork=project.fork, upstream=project.upstream, tools=tools)


def how_long() -> str:
    """What is said before the first build; without ccache nothing of it helps the second."""
    return _HOW_LONG.format(more="" if shutil.which("ccache") else _WITHOUT_CCACHE)


def _is_there(workshop: Workshop, commit: CommitHash) -> bool:
    """Whether the commit's server was built before."""
    profile = choose_profile(DEFAULT_PROFILE, workshop.profiles, workshop.tools.machine())
    tree = workshop.trees.path(tree_id(commit, profile))
    return bool(workshop.tools.binaries(tree, profile.targets))


def program_from(folder: Path) -> str:
    """How a person starts forkguard from the kept folder: by its name where the shell finds it."""
    if shutil.which("forkguard") is not None:
        return "forkguard"
    started = Path(sys.argv[0]).absolute()
    if started.name != "forkguard":
        return f"{sys.executable} -m forkguard"
    return min(os.path.relpath(started, folder), str(started), key=len)
