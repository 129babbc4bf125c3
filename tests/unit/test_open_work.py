"""What is said of work that waits: what it is, where, and the commands that go on with it."""

import pytest

from forkguard.core.journal import Journal, Phase
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.open_work import OpenWork, open_night, open_port, open_replay
from forkguard.core.porting import PullState, Source, SourceKind
from forkguard.core.replay_journal import ReplayJournal, ReplayPhase

HASH = CommitHash("a" * 40)
SOURCE = Source(PullNumber(7), PullState.MERGED, SourceKind.HISTORY, "a title", (), "upstream")
PORT = Journal(
    phase=Phase.CONFLICT, source=SOURCE, fork="/f", fork_ref="production", onto=HASH, base=HASH, branch="forkguard/7",
    patchset="7", worktree="/w",
)  # fmt: skip
REPLAY = ReplayJournal(
    phase=ReplayPhase.CONFLICT, fork="/f", base=HASH, onto_ref="upstream/master", onto=HASH, first="one/0001-x.patch",
    patch="one/0002-y.patch", worktree="/w",
)  # fmt: skip


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (Phase.CONFLICT, "a port of #7 waits for its conflicts to be resolved"),
        (Phase.FINISHING, "a port of #7 was cut short while writing"),
        (Phase.OPENING, "a port of #7 was cut short before its worktree was ready"),
    ],
)
def test_a_port(phase: Phase, said: str) -> None:
    found = open_port(PORT.model_copy(update={"phase": phase}))
    assert found == OpenWork(said, "/w", "forkguard port --continue, or --abort")
    assert open_port(PORT.model_copy(update={"worktree": None})).where == ""


@pytest.mark.parametrize(
    ("phase", "said", "next_"),
    [
        (ReplayPhase.CONFLICT, "waits for the conflict of one/0002-y.patch to be resolved", "--skip, --quit"),
        (ReplayPhase.KEEPING, "was cut short while it kept a resolution, at one/0002-y.patch", "--quit"),
        (ReplayPhase.OPENING, "was cut short before its worktree was ready, at one/0002-y.patch", "--quit"),
    ],
)
def test_a_replay(phase: ReplayPhase, said: str, next_: str) -> None:
    found = open_replay(REPLAY.model_copy(update={"phase": phase}))
    assert found == OpenWork(
        f"a replay on upstream/master {said}", "/w", f"forkguard stack replay --continue, {next_} or --abort"
    )


def test_a_night() -> None:
    assert open_night("20260901T030000Z", "/n") == OpenWork(
        "the night 20260901T030000Z is at work, or was cut off", "/n",
        "wait for it; if it was cut off, the next forkguard nightly closes it",
    )  # fmt: skip
