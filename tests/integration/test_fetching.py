"""Upstream fetched into refs of forkguard's own: branch, tags, what moved, partial clones, the commit taken."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forkguard.adapters import fetching
from forkguard.adapters.fetching import UpstreamFetch
from forkguard.adapters.git import GitRepository
from forkguard.core.findings import Side
from forkguard.core.names import CommitHash
from forkguard.errors import CouldNotWork, MissingObject
from tests.support.repos import FIRST_DAY, GitFolder, clone, new_repository

PLACE = "refs/forkguard/upstream"


@pytest.fixture
def upstream(tmp_path: Path) -> GitFolder:
    """Five commits an hour apart (`file` holds 1 to 5), tagged b1 to b5; b10 is a side line's."""
    repository = new_repository(tmp_path / "upstream")
    for number in range(1, 6):
        repository.commit(f"number {number}", {"file": f"{number}\n", f"only-{number}": f"{number}\n"})
        repository.git("tag", f"b{number}")
    repository.git("tag", "-a", "-m", "a release", "v1", "b2")
    repository.git("checkout", "-q", "-b", "side", "b3")
    repository.commit("aside", {"aside": "x\n"})
    repository.git("tag", "b10")
    repository.git("checkout", "-q", "master")
    return repository


def hour(number: int) -> datetime:
    """When the commit of that number was made."""
    return FIRST_DAY + timedelta(hours=number)


def fetcher(repo: GitRepository, *, pattern: str = "latest", source: str = "upstream") -> UpstreamFetch:
    log = repo.git_dir.parent.parent / "fetch.log"
    return UpstreamFetch(repo, source=source, branch="master", pattern=pattern, timeout=60, log=log)


def refs(fork: GitFolder) -> dict[str, str]:
    listed = fork.git("for-each-ref", "--format=%(refname) %(objectname)", PLACE).splitlines()
    return {line.split(" ")[0].removeprefix(f"{PLACE}/"): line.split(" ")[1] for line in listed}


def test_only_refs_of_our_own_are_written(upstream: GitFolder, tmp_path: Path) -> None:
    fork = clone(upstream, tmp_path / "fork")
    fork.git("config", "remote.upstream.tagOpt", "--tags")
    fork.git("config", "fetch.prune", "true")
    tip = upstream.commit("number 6", {"file": "6\n"})
    before = fork.snapshot()
    with GitRepository(fork.path) as repo:
        got = fetcher(repo).fetch(repo.resolve("HEAD"))
        assert (got.tip, got.before, got.lost, got.new_tags, got.completed) == (tip, None, 0, 0, 0)
        assert refs(fork) == {"heads/master": tip}
        again = fetcher(repo).fetch(repo.resolve("HEAD"))
        assert (again.tip, again.before) == (tip, tip)
    assert fork.snapshot() == before
    assert not (fork.path / ".git" / "FETCH_HEAD").exists()


def test_tags_of_the_pattern_come_and_those_that_moved_are_said(upstream: GitFolder, tmp_path: Path) -> None:
    fork = clone(upstream, tmp_path / "fork", "--no-tags")
    with GitRepository(fork.path) as repo:
        got = fetcher(repo, pattern="b*").fetch(repo.resolve("HEAD"))
        assert (got.new_tags, got.moved) == (6, ())
        assert sorted(refs(fork)) == ["heads/master", *(f"tags/b{name}" for name in ("1", "10", "2", "3", "4", "5"))]
        upstream.git("tag", "-f", "b4", "b1")
        upstream.git("tag", "b6")
        got = fetcher(repo, pattern="b*").fetch(repo.resolve("HEAD"))
        assert (got.new_tags, got.moved) == (1, ("b4",))
        assert refs(fork)["tags/b4"] == upstream.git("rev-parse", "b1")
    assert fork.git("tag", "--list") == ""


def test_what_came_before_a_fetch_was_cut_off_stays(
    upstream: GitFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_GROUP", 2)
    fork = clone(upstream, tmp_path / "fork", "--no-tags")
    ticks = iter([0.0, 0.0, 0.0, 0.0, *[99.0] * 9])
    with GitRepository(fork.path) as repo:
        short = UpstreamFetch(
            repo, source="upstream", branch="master", pattern="b*", timeout=60, log=tmp_path / "log",
            clock=lambda: next(ticks),
        )  # fmt: skip
        with pytest.raises(CouldNotWork, match="did not end within 60 s"):
            short.fetch(repo.resolve("HEAD"))
        assert sorted(refs(fork)) == ["tags/b1", "tags/b2"]
        assert fetcher(repo, pattern="b*").fetch(repo.resolve("HEAD")).new_tags == 4


@pytest.mark.parametrize(
    ("pattern", "oldest", "wanted"),
    [
        ("latest", 9, ("upstream/master", "b5")),
        ("latest", 4, ("upstream/master", "b4")),
        ("b*", 9, ("b5", "b5")),
        ("b*", 3, ("b3", "b3")),
        ("b2", 9, ("b2", "b2")),
        ("v*", 9, ("v1", "b2")),
    ],
)
def test_the_newest_that_is_old_enough_is_taken(
    upstream: GitFolder, tmp_path: Path, *, pattern: str, oldest: int, wanted: tuple[str, str]
) -> None:
    fork = clone(upstream, tmp_path / "fork")
    with GitRepository(fork.path) as repo:
        work = fetcher(repo, pattern=pattern)
        chosen = work.choose(work.fetch(repo.resolve("HEAD")), oldest=hour(oldest), name="upstream/master")
    assert chosen == Side(wanted[0], CommitHash(upstream.git("rev-parse", f"{wanted[1]}^{{commit}}")))


@pytest.mark.parametrize("pattern", ["latest", "b*", "c*"])
def test_nothing_that_is_old_enough_is_said(upstream: GitFolder, tmp_path: Path, pattern: str) -> None:
    fork = clone(upstream, tmp_path / "fork")
    with GitRepository(fork.path) as repo:
        work = fetcher(repo, pattern=pattern)
        got = work.fetch(repo.resolve("HEAD"))
        with pytest.raises(CouldNotWork) as problem:
            work.choose(got, oldest=datetime(2020, 1, 1, tzinfo=UTC), name="upstream/master")
    assert "min_age_hours" in problem.value.hint


def test_a_partial_clone_is_completed(upstream: GitFolder, tmp_path: Path) -> None:
    upstream.git("config", "uploadpack.allowFilter", "true")
    upstream.git("config", "uploadpack.allowAnySHA1InWant", "true")
    fork = clone(upstream, tmp_path / "fork", "--filter=blob:none", "--no-checkout")
    fork.git("update-ref", "refs/heads/production", "refs/remotes/upstream/master~2")
    tip = upstream.commit("number 6", {"file": "6\n"})
    production = CommitHash(fork.git("rev-parse", "production"))
    with GitRepository(fork.path) as repo:
        tree = repo.tree(production)
        with pytest.raises(MissingObject):
            repo.blobs(entry.blob for entry in tree.values())
        got = fetcher(repo).fetch(production)
        assert got.completed > 0
        for commit in (production, CommitHash(tip)):
            assert len(repo.blobs(entry.blob for entry in repo.tree(commit).values())) >= 3
        log = repo.patches(production, CommitHash(tip), ["file"])
        assert ("+5" in log, "+6" in log) == (True, True)
        assert fetcher(repo).fetch(production).completed == 0


def test_a_lock_of_our_own_refs_that_a_kill_left_is_no_obstacle(upstream: GitFolder, tmp_path: Path) -> None:
    fork = clone(upstream, tmp_path / "fork")
    with GitRepository(fork.path) as repo:
        fetcher(repo).fetch(repo.resolve("HEAD"))
        lock = fork.path / ".git" / PLACE / "heads" / "master.lock"
        lock.write_text("")
        tip = upstream.commit("number 6", {"file": "6\n"})
        assert fetcher(repo).fetch(repo.resolve("HEAD")).tip == tip


@pytest.mark.parametrize(
    ("source", "said"), [("upstream", "has no branch master"), ("/nowhere/at/all", "could not be fetched")]
)
def test_what_is_not_there_is_said(upstream: GitFolder, tmp_path: Path, source: str, said: str) -> None:
    fork = clone(upstream, tmp_path / "fork")
    upstream.git("branch", "-q", "-m", "master", "trunk")
    with GitRepository(fork.path) as repo, pytest.raises(CouldNotWork, match=said):
        fetcher(repo, source=source).fetch(repo.resolve("HEAD"))


def test_no_password_of_an_address_is_told(upstream: GitFolder, tmp_path: Path) -> None:
    fork = clone(upstream, tmp_path / "fork")
    fork.git("remote", "set-url", "upstream", "http://someone:geheim@127.0.0.1:9/x.git")
    with GitRepository(fork.path) as repo, pytest.raises(CouldNotWork) as problem:
        fetcher(repo).fetch(repo.resolve("HEAD"))
    told = f"{problem.value.what} {problem.value.where} {problem.value.hint}"
    assert "127.0.0.1" in told
    assert "geheim" not in told
    assert not (tmp_path / "fetch.log").exists() or "geheim" not in (tmp_path / "fetch.log").read_text()


def test_hooks_and_upload_packs_of_others_do_not_run(upstream: GitFolder, tmp_path: Path) -> None:
    fork = clone(upstream, tmp_path / "fork")
    hook = fork.path / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    fork.git("remote", "set-url", "upstream", f"ext::sh -c 'touch {tmp_path}/ran'")
    with GitRepository(fork.path) as repo, pytest.raises(CouldNotWork):
        fetcher(repo).fetch(repo.resolve("HEAD"))
    fork.git("remote", "set-url", "upstream", f"file://{upstream.path}")
    hook.chmod(0o755)
    with GitRepository(fork.path) as repo:
        fetcher(repo).fetch(repo.resolve("HEAD"))
    assert not (tmp_path / "ran").exists()
