"""Wiring for replays whose conflicts a person decides, and for saying what is open."""

import contextlib
from collections.abc import Iterator

from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.adapters.journals import JournalFile, ReplayJournalFile
from forkguard.adapters.resolutions import ResolutionFolder
from forkguard.adapters.worktrees import Worktrees
from forkguard.cli.compose import Project, patchset_store
from forkguard.cli.compose_stack import replay_tools
from forkguard.core.open_work import OpenWork, open_port, open_replay
from forkguard.core.replay_journal import ReplayJournal
from forkguard.ports import Talk
from forkguard.workflows.replay_resolve import VERB, ResolveTools


@contextlib.contextmanager
def resolving(project: Project, talk: Talk) -> Iterator[ResolveTools]:
    """Everything that deciding conflicts works with, with the lock of ports and of the stack held."""
    with (
        GitRepository(project.fork_repo.path) as plain,
        locked(project.state_folder() / "port.lock", purpose=VERB),
    ):
        yield ResolveTools(
            replay=replay_tools(project, talk),
            checkouts=Worktrees(plain, project.cache / "worktrees", verb=VERB),
            journal=_replay_journal(project),
            patchsets=patchset_store(project),
            resolutions=ResolutionFolder(project.root / "resolutions"),
            other=project.upstream_repo.path if project.upstream_repo is not project.fork_repo else None,
        )


def replay_in_progress(project: Project) -> ReplayJournal | None:
    """The replay that waits for a person or was cut short."""
    return _replay_journal(project).read()


def open_works(project: Project) -> tuple[OpenWork, ...]:
    """What was begun in this project and is not finished."""
    port = JournalFile(project.state / "port.json").read()
    replay = replay_in_progress(project)
    return (*((open_port(port),) if port else ()), *((open_replay(replay),) if replay else ()))


def say_open_replay(project: Project, talk: Talk) -> None:
    """Tell a person of a replay that waits, where another verb goes on beside it."""
    journal = replay_in_progress(project)
    if journal is not None:
        work = open_replay(journal)
        talk.note(f"{work.what}: {work.hint}")


def _replay_journal(project: Project) -> ReplayJournalFile:
    return ReplayJournalFile(project.state / "replay.json")
