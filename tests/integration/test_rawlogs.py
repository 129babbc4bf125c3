"""The cache of upstream's history: asked of git once per commit, harmless when damaged, small."""

from pathlib import Path

from forkguard.adapters.git import GitRepository
from forkguard.adapters.rawlogs import RawLogs
from forkguard.core.names import CommitHash
from tests.support.repos import MiniHistory


def test_a_history_is_kept_by_its_commit_and_answers_the_same(history: MiniHistory, tmp_path: Path) -> None:
    logs = RawLogs(tmp_path / "kept")
    tip = CommitHash(history.tip)
    with (
        GitRepository(history.upstream.path) as plain,
        GitRepository(history.upstream.path, raw_logs=logs) as keeping,
    ):
        told = plain.raw_log(tip)
        assert keeping.raw_log(tip) == told
        assert (logs.get(tip) or b"").decode() == told
        logs.put(tip, b"commit from the cache\n")
        assert keeping.raw_log(tip) == "commit from the cache\n"
        assert keeping.raw_log(tip, since=CommitHash(history.base)) == plain.raw_log(
            tip, since=CommitHash(history.base)
        )


def test_a_damaged_history_is_asked_again(history: MiniHistory, tmp_path: Path) -> None:
    logs = RawLogs(tmp_path / "kept")
    tip = CommitHash(history.tip)
    logs.put(tip, b"something")
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_bytes(kept.read_bytes()[:-3])
    assert logs.get(tip) is None
    with GitRepository(history.upstream.path, raw_logs=logs) as keeping:
        assert keeping.raw_log(tip).startswith(f"commit {tip}\n")
    assert logs.get(tip) is not None


def test_a_folder_that_cannot_be_written_is_no_error(history: MiniHistory, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with GitRepository(history.upstream.path, raw_logs=RawLogs(blocked)) as keeping:
        assert keeping.raw_log(CommitHash(history.tip)).startswith(f"commit {history.tip}\n")


def test_only_the_newest_few_are_kept(tmp_path: Path) -> None:
    logs = RawLogs(tmp_path)
    for number in range(9):
        logs.put(CommitHash(f"{number:040x}"), b"log")
    assert len(list(tmp_path.iterdir())) == 4
    assert logs.get(CommitHash(f"{8:040x}")) == b"log"
