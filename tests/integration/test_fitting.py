"""Hunks go where `git apply` puts them, and nowhere else; mails are read as `git am` reads them."""

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forkguard.core.fitting import Version, backwards, try_patch
from forkguard.core.names import TreePath
from forkguard.core.patch_mail import parse_mail, parse_patch
from tests.support.repos import frozen_environment, new_repository

A = TreePath("a.txt")
LINES = st.lists(st.sampled_from(["a", "b", "c", "}", ""]), max_size=14)


@st.composite
def edited(draw: st.DrawFn, lines: list[str]) -> list[str]:
    found = list(lines)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(found)))
        if draw(st.booleans()) and at < len(found):
            del found[at]
        else:
            found.insert(at, draw(st.sampled_from(["a", "b", "x", "y", "}"])))
    return found


def body(lines: list[str], *, ended: bool) -> bytes:
    text = "\n".join(lines) + ("\n" if lines and ended else "")
    return text.encode()


def git(folder: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        input=stdin,
        env=frozen_environment(),
        capture_output=True,
        check=False,
        timeout=60,
    )


@given(LINES, st.data(), st.tuples(st.booleans(), st.booleans()))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_patch_does_what_git_apply_does(
    tmp_path: Path, old: list[str], data: st.DataObject, ends: tuple[bool, bool]
) -> None:
    ended, ours_ended = ends
    new = data.draw(edited(old))
    ours = data.draw(edited(old))
    (tmp_path / "old").write_bytes(body(old, ended=ended))
    (tmp_path / "new").write_bytes(body(new, ended=ended))
    diff = git(tmp_path, "diff", "--no-index", "--full-index", "--", "old", "new").stdout
    diff = diff.replace(b"a/old", b"a/a.txt").replace(b"b/new", b"b/a.txt").replace(b"b/old", b"b/a.txt")
    if b"@@" not in diff:
        return
    content = body(ours, ended=ours_ended)
    (tmp_path / "a.txt").write_bytes(content)

    files, _ = parse_patch(diff)
    attempt = try_patch(files, {A: Version("100644", content)})
    status = git(tmp_path, "apply", "--whitespace=nowarn", "-", stdin=diff).returncode

    assert (not attempt.misfits) == (status == 0)
    if status == 0:
        made = attempt.files[A]
        assert made is not None
        assert made.content == (tmp_path / "a.txt").read_bytes()


@given(LINES, st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_patch_backwards_takes_itself_back(tmp_path: Path, old: list[str], data: st.DataObject) -> None:
    new = data.draw(edited(old))
    (tmp_path / "old").write_bytes(body(old, ended=True))
    (tmp_path / "new").write_bytes(body(new, ended=True))
    diff = git(tmp_path, "diff", "--no-index", "--", "old", "new").stdout.replace(b"a/old", b"a/a.txt")
    diff = diff.replace(b"b/new", b"b/a.txt")
    if b"@@" not in diff:
        return
    files, _ = parse_patch(diff)

    back = try_patch([backwards(file) for file in files], {A: Version("100644", body(new, ended=True))})

    made = back.files[A]
    assert made is not None
    assert made.content == body(old, ended=True)


def test_hunks_with_many_like_places_take_the_nearest(tmp_path: Path) -> None:
    dice = random.Random(5)  # noqa: S311
    block = ["{", "x", "y", "z", "}"]
    old = block * 30
    (tmp_path / "old").write_bytes(body(old, ended=True))
    for _ in range(12):
        new = list(old)
        new.insert(dice.randrange(10, 140), "here")
        (tmp_path / "new").write_bytes(body(new, ended=True))
        diff = git(tmp_path, "diff", "--no-index", "--", "old", "new").stdout
        diff = diff.replace(b"a/old", b"a/a.txt").replace(b"b/new", b"b/a.txt")
        ours = old[dice.randrange(0, 20) :]
        (tmp_path / "a.txt").write_bytes(body(ours, ended=True))
        attempt = try_patch(parse_patch(diff)[0], {A: Version("100644", body(ours, ended=True))})
        assert git(tmp_path, "apply", "-", stdin=diff).returncode == 0
        assert attempt.files[A] == Version("100644", (tmp_path / "a.txt").read_bytes())


@pytest.mark.parametrize(
    ("author", "message"),
    [
        ("Ada Otter <ada@example.org>", "one change\n\nbecause of it\n\n- a list\n- of two\n"),
        ("Zoë Ünlü <zoe@example.org>", "größer : näher (#12) (#13)\n\nFixes: 3\n"),
        (
            "O'Neil, J. <j@example.org>",
            "a subject that is so long that git folds it in the mail and joins it when it is read\n",
        ),
        ("x <x@y>", "no body\n"),
    ],
)
def test_a_mail_says_what_git_am_takes_from_it(tmp_path: Path, author: str, message: str) -> None:
    repo = new_repository(tmp_path / "one")
    repo.commit("first", {"a.txt": "a\n"})
    repo.write({"a.txt": "b\n"})
    repo.git("commit", "-q", "-a", f"--author={author}", "-F", "-", stdin=message)
    mail = repo.git("format-patch", "-1", "--stdout") + "\n"
    repo.git("checkout", "-q", "HEAD~1")
    repo.git("am", "-q", stdin=mail)
    raw = repo.git("cat-file", "commit", "HEAD")

    read = parse_mail(mail.encode())

    assert f"\nauthor {read.author.decode()}\n" in raw
    assert raw.split("\n\n", 1)[1] == read.message.decode().rstrip("\n")


def hand_made(tmp_path: Path, ours: list[str], hunks: str) -> tuple[bool, bytes | None, bytes | None]:
    """Whether git takes a patch made by hand; what git, and what we, make of the file."""
    content = body(ours, ended=True)
    diff = f"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n{hunks}".encode()
    (tmp_path / "a.txt").write_bytes(content)
    taken = git(tmp_path, "apply", "-", stdin=diff).returncode == 0
    made = try_patch(parse_patch(diff)[0], {A: Version("100644", content)}).files.get(A)
    return taken, (tmp_path / "a.txt").read_bytes() if taken else None, made.content if made else None


def test_of_two_places_equally_near_the_one_below_is_taken(tmp_path: Path) -> None:
    block = ["p", "q", "r"]
    ours = ["0", *block, "1", "2", "3", *block, "4"]

    taken, theirs, mine = hand_made(tmp_path, ours, "@@ -5,3 +5,4 @@\n p\n q\n+new\n r\n")

    assert taken
    assert mine == theirs == body([*ours[:9], "new", *ours[9:]], ended=True)


def test_no_hunk_takes_lines_that_another_one_wrote(tmp_path: Path) -> None:
    ours = ["0", "p", "q", "r", "s", "1"]
    hunks = "@@ -2,3 +2,4 @@\n p\n+new\n q\n r\n@@ -9,3 +10,4 @@\n q\n r\n+more\n s\n"

    assert hand_made(tmp_path, ours, hunks) == (False, None, None)


PLAIN = b"From: A <a@b.c>\nDate: Mon, 1 Jun 2026 12:00:00 +0200\nSubject: [PATCH] s\n"
CHANGE = (
    b"---\n a.txt | 2 +-\n\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n-- \n2.40\n"
)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (PLAIN, b"From: Real, Author <real@x.org>\n\nwhy\n"),
        (PLAIN, b"\nFrom: A\n B <real@x.org>\nDate: Tue, 2 Jun 2026 12:00:00 +0000\nSubject: other\nwhy\n"),
        (PLAIN, b"why\n\nFrom: not at the beginning\n"),
        (PLAIN, b"Subject: one\nSubject: two\n"),
        (PLAIN, b"first\n\n-- a remark behind dashes\nlast\n"),
        (PLAIN, b"first\n---- a line\nlast\n"),
        (PLAIN, b"first\n--- \nleft out\n"),
        (PLAIN, b"first\ndiff -u as somebody typed it\nleft out\n"),
        (PLAIN.replace(b"A <", b"=?UTF-8?q?M=C3=BCller=2C=20J=C3=B6rg?= <"), b""),
        (PLAIN.replace(b"A <", b"=?UTF-8?q?J=C3=B6rg?=\n =?UTF-8?q?=20M=C3=BCller?= <"), b""),
        (PLAIN.replace(b"A <", b'"Otter, Ada (\\"ada\\")" <'), b""),
        (PLAIN.replace(b"A <a@b.c>", b"a@b.c (Ada Otter)"), b""),
        (PLAIN.replace(b"A <a@b.c>", b"a@b.c"), b""),
        (PLAIN.replace(b"A <", "José <".encode()).replace(b"] s", "] größer".encode()), "größer\n".encode()),
        (PLAIN.replace(b"From:", b"from:").replace(b"Subject:", b"SUBJECT:").replace(b"Date:", b"date:"), b"why\n"),
        (PLAIN.replace(b"[PATCH]", b"Re: [PATCH 1/2] [server]"), b"why\n"),
        (PLAIN + b"Content-Type: text/plain; charset=ISO-8859-1\n", b"gr\xf6\xdfer\n"),
        (PLAIN, b"gr\xf6\xdfer\n"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_strangers_mail_says_what_git_am_takes_from_it(
    tmp_path: Path, head: bytes, said: bytes, end: bytes
) -> None:
    repo = new_repository(tmp_path / "one")
    repo.commit("first", {"a.txt": "a\n"})
    mail = (head + b"\n" + said + CHANGE).replace(b"\n", end)
    assert git(repo.path, "am", "-q", stdin=mail).returncode == 0
    raw = git(repo.path, "cat-file", "commit", "HEAD").stdout

    read = parse_mail(mail)

    assert b"\nauthor %s\n" % read.author in raw
    assert raw.split(b"\n\n", 1)[1] == read.message
    made = try_patch(read.files, {A: Version("100644", b"a\n")}).files[A]
    assert made == Version("100644", b"b\n")
