"""`forkguard port` of changes that nobody has merged: refused, or shown and confirmed, and carried byte for byte."""

import shlex
from pathlib import Path

import pytest

from tests.support.porting import Desk, make_desk
from tests.support.repos import GitFolder, MiniHistory
from tests.support.snapshot import fork_as_it_is


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


def topic(history: MiniHistory, files: dict[str, str | bytes]) -> GitFolder:
    """Request 400: one commit beside upstream's master, fetched by the fork."""
    upstream = history.upstream
    upstream.git("checkout", "-q", "-B", "topic", history.base)
    upstream.commit("topic", files)
    return publish(history)


def publish(history: MiniHistory) -> GitFolder:
    history.upstream.git("update-ref", "refs/pull/400/head", "HEAD")
    history.fork.git("fetch", "-q", "upstream", "refs/pull/400/head:refs/pull/400/head")
    return history.upstream


def with_entry(history: MiniHistory, mode: str, path: str, content: str) -> None:
    upstream = history.upstream
    upstream.git("checkout", "-q", "-B", "topic", history.base)
    blob = content if mode == "160000" else upstream.git("hash-object", "-w", "--stdin", stdin=content)
    upstream.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
    upstream.git("commit", "-q", "-m", "topic")
    publish(history)


def refused(desk: Desk, fork: GitFolder, word: str = "400") -> tuple[str, str, str]:
    before = fork_as_it_is(fork.path)
    outcome = desk.run("port", word)
    assert outcome.status == 3, outcome.err or outcome.out
    assert fork_as_it_is(fork.path) == before
    assert fork.git("branch", "--list", "forkguard/*") == ""
    assert desk.stack_files() == {}
    assert not desk.journal.exists()
    return outcome.told()


@pytest.mark.parametrize(
    ("mode", "path", "content", "flag"),
    [
        ("100644", ".github/workflows/ci.yml", "on: push\n", "workflows"),
        ("120000", "link", "/etc/passwd", "symlinks"),
        ("160000", "vendor/x", "1" * 40, "submodules"),
        ("100644", ".gitmodules", "[submodule]\n", "submodules"),
        ("100755", "README.md", "a small language machine\nthat runs anywhere\n", "modes"),
        ("100644", "weights.bin", "a\0b", "binary"),
    ],
)
def test_what_nobody_allowed_is_shown_and_can_be_allowed(
    desk: Desk, history: MiniHistory, *, mode: str, path: str, content: str, flag: str
) -> None:
    with_entry(history, mode, path, content)

    what, _, following = refused(desk, history.fork)

    assert repr(path) in what
    assert following.endswith(f"forkguard port 400 --allow {flag}")
    document = desk.json("port", "400", "--allow", flag, status=0)
    assert document["status"] == "applied"
    assert any(repr(path) in note for note in document["notes"])


def test_what_upstream_merged_is_only_shown(desk: Desk, history: MiniHistory) -> None:
    history.upstream.commit("ci (#300)", {".github/workflows/ci.yml": "on: push\n"})
    history.fork.git("fetch", "-q", "upstream")

    document = desk.json("port", "300", status=0)

    assert "it changes what CI runs: '.github/workflows/ci.yml'" in document["notes"]


def test_thousands_of_files(desk: Desk, history: MiniHistory) -> None:
    topic(history, {f"many/{number}.txt": "x\n" for number in range(1001)})

    assert "changes more than 1000 files" in refused(desk, history.fork)[0]


def test_a_path_through_a_symbolic_link_of_the_fork(desk: Desk, history: MiniHistory) -> None:
    (history.fork.path / "out").symlink_to("/tmp")
    history.fork.commit("ours: a link")
    topic(history, {"out/x.txt": "x\n"})

    assert "through 'out'" in refused(desk, history.fork)[0]


DIFF = "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"


@pytest.mark.parametrize("path", ["../out.txt", "/etc/out.txt", ".git/hooks/post-checkout", "a/../../out.txt"])
def test_a_patch_file_with_paths_outside(desk: Desk, history: MiniHistory, path: str) -> None:
    (desk.path / "x.diff").write_text(DIFF.format(path=path))

    refused(desk, history.fork, "x.diff")

    assert not (desk.path.parent / "out.txt").exists()


def test_a_patch_file_that_writes_through_a_link_that_it_makes(desk: Desk, history: MiniHistory) -> None:
    link = DIFF.format(path="l").replace("100644", "120000").replace("+x\n", "+..\n\\ No newline at end of file\n")
    (desk.path / "x.diff").write_text(link + DIFF.format(path="l/out.txt"))

    refused(desk, history.fork, "x.diff")


def test_a_patch_file_named_like_an_option(desk: Desk, history: MiniHistory) -> None:
    (desk.path / "--upload-pack=x").write_text(DIFF.format(path="--upload-pack=y"))

    outcome = desk.run("port", "--", "--upload-pack=x")

    assert outcome.status == 0
    assert "--upload-pack=y" in outcome.out


@pytest.mark.parametrize(
    "content",
    [b"one\r\ntwo\r\n", b"one\ntwo", b"\xff\xfe latin \xe9\n", b"mixed\r\nends\n", b"\n", b"form\x0cfeed\n"],
)
def test_bytes_come_through_as_they_are(desk: Desk, history: MiniHistory, content: bytes) -> None:
    upstream = topic(history, {"bytes.txt": content})
    box = desk.path / "box"
    done = upstream.git("format-patch", "-1", "-o", str(box), "--binary")
    patch = Path(done.splitlines()[0])

    desk.json("port", "400", status=0)
    mailed = desk.json("port", str(patch), status=0)

    for branch in ("forkguard/400", mailed["branch"]):
        assert history.fork.git("rev-parse", f"{branch}:bytes.txt") == upstream.git("rev-parse", "HEAD:bytes.txt")


def test_a_head_with_control_characters_is_shown_plainly(desk: Desk, history: MiniHistory) -> None:
    history.upstream.git("checkout", "-q", "-B", "topic", history.base)
    history.upstream.commit("\x1b[31mred\x07 --exec=x", {"a.txt": "a\n"})
    publish(history)

    assert "\x1b" not in desk.run("port", "400").out


def test_a_file_name_that_is_a_command_is_quoted_where_one_is_told_to_type_it(
    desk: Desk, history: MiniHistory
) -> None:
    name = "a b;touch $(echo owned)"
    history.fork.commit("ours: a file of our own", {name: "ours\n"})
    history.fork.git("rm", "-q", name)
    history.fork.git("commit", "-q", "-m", "ours: and away with it")
    upstream = topic(history, {name: "theirs\n"})
    upstream.commit("topic: on", {name: "theirs, more\n"})
    made = upstream.git("rev-parse", "HEAD")
    history.fork.git("fetch", "-q", "upstream", made)

    assert desk.run("port", made).status == 1
    (place,) = desk.checkouts
    outcome = desk.run("port", "--continue")

    what, _, following = outcome.told()
    assert (outcome.status, what) == (2, f"{name} is not decided: it conflicts as a whole, without markers")
    keep, _, rest = following.partition("  to keep it as it lies there, or ")
    assert shlex.split(keep) == ["git", "-C", str(place), "add", "--", name]
    assert shlex.split(rest.partition(";  ")[0].partition("; then")[0]) == ["git", "-C", str(place), "rm", "--", name]
