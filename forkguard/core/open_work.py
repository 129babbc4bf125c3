"""What was begun and waits for a person or for the next run: a port, a replay."""

from dataclasses import dataclass

from forkguard.core.journal import Journal
from forkguard.core.journal import Phase as PortPhase
from forkguard.core.replay_journal import ReplayJournal, ReplayPhase


@dataclass(frozen=True, slots=True)
class OpenWork:
    """What is open, where it waits (empty: nowhere yet), and the commands that go on with it."""

    what: str
    where: str
    hint: str


def open_port(journal: Journal) -> OpenWork:
    """The port of a journal."""
    label = journal.source.label
    if journal.phase is PortPhase.CONFLICT:
        what = f"a port of {label} waits for its conflicts to be resolved"
    elif journal.phase is PortPhase.FINISHING:
        what = f"a port of {label} was cut short while writing"
    else:
        what = f"a port of {label} was cut short before its worktree was ready"
    return OpenWork(what, journal.worktree or "", "forkguard port --continue, or --abort")


def open_replay(journal: ReplayJournal) -> OpenWork:
    """The replay of a journal."""
    about = f"a replay on {journal.onto_ref}"
    if journal.phase is ReplayPhase.CONFLICT:
        what = f"{about} waits for the conflict of {journal.patch} to be resolved"
        return OpenWork(what, journal.worktree, "forkguard stack replay --continue, --skip, --quit or --abort")
    where = "while it kept a resolution" if journal.phase is ReplayPhase.KEEPING else "before its worktree was ready"
    what = f"{about} was cut short {where}, at {journal.patch}"
    return OpenWork(what, journal.worktree, "forkguard stack replay --continue, --quit or --abort")


def open_night(night: str, place: str) -> OpenWork:
    """A night without a record."""
    what = f"the night {night} is at work, or was cut off"
    return OpenWork(what, place, "wait for it; if it was cut off, the next forkguard nightly closes it")
