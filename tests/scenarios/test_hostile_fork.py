"""A fork whose hooks, configuration and attributes run programs, and an environment that steers git elsewhere."""

from pathlib import Path

import pytest

from tests.support.nights import Nights, new_nights
from tests.support.porting import make_desk
from tests.support.repos import GitFolder, MiniHistory
from tests.support.snapshot import fork_as_it_is

HOOKS = (
    "post-checkout",
    "reference-transaction",
    "post-index-change",
    "pre-push",
    "post-merge",
    "fsmonitor-watchman",
)
STEERING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


def arm(fork: GitFolder, marks: Path) -> None:
    """Let everything in the fork that can run a program leave a mark."""
    marks.mkdir()
    hooks = fork.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in HOOKS:
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {marks}/{hook}\n")
        (hooks / hook).chmod(0o755)
    included = marks.parent / "included"
    included.write_text(
        f"[core]\n\tpager = touch {marks}/pager; cat\n\tfsmonitor = touch {marks}/included-fsmonitor\n"
    )
    for key, value in {
        "core.fsmonitor": f"touch {marks}/fsmonitor",
        "core.hooksPath": str(hooks),
        "core.editor": f"touch {marks}/editor",
        "core.attributesFile": str(marks.parent / "attributes"),
        "includeIf.gitdir:/.path": str(included),
        "diff.external": f"touch {marks}/diff",
        "diff.x.textconv": f"touch {marks}/textconv; cat",
        "filter.x.smudge": f"touch {marks}/smudge; cat",
        "filter.x.clean": f"touch {marks}/clean; cat",
        "filter.x.process": f"touch {marks}/process",
        "merge.x.driver": f"touch {marks}/merge",
        "gpg.program": f"touch {marks}/gpg",
        "commit.gpgSign": "true",
        "tag.gpgSign": "true",
        "log.showSignature": "true",
        "alias.log": f"!touch {marks}/alias",
        "gc.auto": "1",
        "gc.recentObjectsHook": f"touch {marks}/gc",
        "uploadpack.packObjectsHook": f"touch {marks}/pack",
        "protocol.ext.allow": "always",
        "fetch.recurseSubmodules": "true",
    }.items():
        fork.git("config", key, value)
    (fork.path / ".git/info").mkdir(exist_ok=True)
    (fork.path / ".git/info/attributes").write_text("* filter=x merge=x diff=x\n")
    for mark in marks.iterdir():
        mark.unlink()


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return new_nights(tmp_path)


def test_nothing_of_the_fork_runs_in_a_night(nights: Nights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm(nights.fork, tmp_path / "marks")
    nights.upstream.commit("more (#99)", {"docs/more.md": "more\n"})
    before = fork_as_it_is(nights.fork.path)
    for name in STEERING:
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {tmp_path}/marks/environment")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {tmp_path}/marks/external")

    night = nights.night(status=0)

    assert night["verdict"] == "green"
    assert sorted(mark.name for mark in (tmp_path / "marks").iterdir()) == []
    for name in STEERING:
        monkeypatch.delenv(name)
    assert fork_as_it_is(nights.fork.path) == before


@pytest.mark.parametrize("verb", [("port", "201"), ("stack", "list"), ("drift", "--arch", "heron")], ids=" ".join)
def test_variables_of_a_hook_steer_no_verb(
    verb: tuple[str, ...], history: MiniHistory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path)
    other = fork_as_it_is(history.upstream.path)
    for name in STEERING:
        monkeypatch.setenv(name, str(history.upstream.path / ".git"))
    outcome = desk.run(*verb)
    for name in STEERING:
        monkeypatch.delenv(name)

    assert outcome.status in (0, 1), outcome.err
    assert fork_as_it_is(history.upstream.path) == other
    assert (history.fork.git("branch", "--list", "forkguard/*") != "") == (verb[0] == "port")


@pytest.mark.parametrize("url", ["ext::touch {mark}", "-utouch {mark}", "--upload-pack=touch {mark}"])
def test_an_upstream_address_that_is_a_command_is_not_run(nights: Nights, tmp_path: Path, url: str) -> None:
    mark = tmp_path / "mark"
    nights.fork.git("config", "remote.upstream.url", url.format(mark=mark))
    nights.fork.git("config", "protocol.ext.allow", "always")

    night = nights.night(status=3)

    assert night["verdict"] == "could-not-run"
    assert not mark.exists()


@pytest.mark.parametrize("name", ["-x", "--upload-pack=x", "a\nb", "ext::x"])
def test_a_remote_whose_name_is_odd_is_refused_by_its_name(nights: Nights, name: str) -> None:
    map_ = nights.desk / "upstream-map.toml"
    quoted = name.replace("\n", "\\n")
    map_.write_text(map_.read_text().replace('remote = "upstream"', f'remote = "{quoted}"'))
    before = fork_as_it_is(nights.fork.path)

    outcome = nights.run()

    assert outcome.status in (2, 3), outcome.out
    assert "Traceback" not in outcome.err
    assert fork_as_it_is(nights.fork.path) == before
