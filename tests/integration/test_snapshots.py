"""Histories made from trees: exact content, the same ids everywhere, whole or not at all."""

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkguard.adapters.archive_members import SourceFile
from forkguard.adapters.git import GitRepository
from forkguard.adapters.snapshots import append, make_fork, make_upstream, production_commits, read_file
from forkguard.core.names import TreePath
from forkguard.errors import CouldNotWork

SHARED = {"README.md": b"# machine\n", "tools/run me.sh": b"#!/bin/sh\n", 'odd/\u00e4 "quoted" \\.txt': b"\xff\r\n"}
OLDER = SHARED | {"src/llama-arch.cpp": b"old arch\n", "src/models/lfm2.cpp": b"old\n", "gone.txt": b"bye\n"}
NEWER = SHARED | {"src/llama-arch.cpp": b"new arch\n", "src/models/lfm2.cpp": b"new\n", "added.txt": b"hello\n"}


def files(tree: dict[str, bytes]) -> Iterator[SourceFile]:
    return (SourceFile(TreePath(path), path.endswith(".sh"), data) for path, data in tree.items())


def git(repository: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def upstream(tmp_path: Path) -> Path:
    place = tmp_path / "upstream.git"
    make_upstream(place, older=files(OLDER), newer=files(NEWER))
    return place


def tree_of(repository: Path, commit: str) -> dict[str, bytes]:
    with GitRepository(repository) as opened:
        entries = opened.tree(opened.resolve(commit))
        blobs = opened.blobs(entry.blob for entry in entries.values())
        return {path: blobs[entry.blob] for path, entry in entries.items()}


def test_the_trees_are_byte_for_byte_those_of_the_archives(upstream: Path) -> None:
    assert tree_of(upstream, "b10531") == OLDER
    assert tree_of(upstream, "b10549") == NEWER
    pull = OLDER | {path: NEWER[path] for path in ("src/llama-arch.cpp", "src/models/lfm2.cpp")}
    assert tree_of(upstream, "master~1") == pull
    assert git(upstream, "ls-tree", "master", "tools/run me.sh").startswith("100755 ")
    assert git(upstream, "fsck", "--strict") == ""


def test_the_ids_do_not_depend_on_the_machines_user(
    upstream: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "another home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = Someone\nemail = x@y\n[init]\ndefaultBranch = trunk\n[core]\nautocrlf = true\n"
        "[commit]\ngpgSign = true\n[i18n]\ncommitEncoding = latin1\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_DATE", "1999-01-01T00:00:00+0000")
    again = tmp_path / "again" / "upstream.git"
    make_upstream(again, older=files(OLDER), newer=files(NEWER))
    make_fork(tmp_path / "fork", again)
    monkeypatch.undo()
    make_fork(tmp_path / "other fork", upstream)
    assert git(again, "rev-parse", "master") == git(upstream, "rev-parse", "master")
    productions = {git(tmp_path / name, "rev-parse", "production") for name in ("fork", "other fork")}
    assert len(productions) == 1


def test_the_fork_is_checked_out_two_commits_ahead(upstream: Path, tmp_path: Path) -> None:
    fork = tmp_path / "fork"
    make_fork(fork, upstream)
    assert git(fork, "log", "--format=%s|%an|%ai", "b10531..production").splitlines() == [
        "ops : keep the production server's settings beside the code|Fork owner|2026-08-25 09:00:00 +0000",
        "docs : say that this fork serves production|Fork owner|2026-08-24 09:00:00 +0000",
    ]
    assert git(fork, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/production", "refs/remotes/upstream/master", "refs/tags/b10531", "refs/tags/b10549",
    ]  # fmt: skip
    assert (fork / "src" / "models" / "lfm2.cpp").read_bytes() == b"old\n"
    assert (fork / "README.md").read_bytes().endswith(SHARED["README.md"])
    assert git(fork, "status", "--porcelain") == ""


def test_commits_are_added_without_touching_the_work_tree(upstream: Path, tmp_path: Path) -> None:
    fork = tmp_path / "fork"
    make_fork(fork, upstream)
    with GitRepository(fork) as repository:
        base = repository.resolve("b10549")
        changes = {TreePath("gone.txt"): None, TreePath("added.txt"): None}
        mine = production_commits(repository, base)[0]
        append(repository, [type(mine)("topic", "topic", mine.signature, changes, parent=base)])
        assert tree_of(fork, "topic") == {path: data for path, data in NEWER.items() if path != "added.txt"}
        assert read_file(repository, base, TreePath("tools/run me.sh")).executable
    assert git(fork, "status", "--porcelain") == ""


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[SourceFile]:
        yield from files(OLDER)
        raise OSError(errno.ENOSPC, "No space left on device")

    place = tmp_path / "made" / "upstream.git"
    with pytest.raises(CouldNotWork, match="cannot be made: No space left") as told:
        make_upstream(place, older=failing(), newer=files(NEWER))
    assert told.value.where == str(place)
    assert list((tmp_path / "made").iterdir()) == []
