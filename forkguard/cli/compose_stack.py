"""Wiring for the verbs of `forkguard stack` that look at both sides."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.adapters.journals import JournalFile
from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.adapters.replay_bench import ReplayBench
from forkguard.adapters.replay_store import ReplayStore
from forkguard.adapters.resolutions import ResolutionFolder
from forkguard.adapters.workbench import Workbench
from forkguard.adapters.worktrees import Worktrees
from forkguard.cli.compose import Project, fork_base, patchset_store
from forkguard.core.journal import Phase
from forkguard.core.names import CommitHash
from forkguard.errors import UsageProblem
from forkguard.ports import Talk
from forkguard.workflows.replay_stack import ReplayTools


def replay_tools(project: Project, talk: Talk) -> ReplayTools:
    """What a replay works with: the fork's objects and upstream's."""
    folder = project.cache / "worktrees"
    bench = Workbench(project.fork_repo, folder)
    return ReplayTools(
        repo=project.fork_repo,
        bench=bench,
        store=ReplayStore(project.fork_repo, *bench.place),
        talk=talk,
        port=ReplayBench(project.fork_repo, folder),
        resolutions=ResolutionFolder(project.root / "resolutions"),
    )


def project_base(project: Project) -> CommitHash:
    """The upstream commit that the stack stands on."""
    return fork_base(project).commit


@dataclass(frozen=True, slots=True)
class Writing:
    """The patch stack's files and the fork's `forkguard/…` branches, with the lock held."""

    patchsets: PatchsetFolder
    checkouts: Worktrees


@contextlib.contextmanager
def writing(project: Project, *, purpose: str) -> Iterator[Writing]:
    """Hold the lock of ports and of the stack. Raises `UsageProblem` while a port is half written."""
    with (
        locked(project.state_folder() / "port.lock", purpose=purpose),
        GitRepository(project.fork_repo.path) as plain,
    ):
        journal = JournalFile(project.state / "port.json").read()
        if journal is not None and journal.phase is Phase.FINISHING:
            raise UsageProblem(
                f"a port of #{journal.source.pull} was cut short while writing",
                hint="forkguard port --continue  finishes it, forkguard port --abort  takes it back",
            )
        yield Writing(patchset_store(project), Worktrees(plain, project.cache / "worktrees"))
