"""Patches in mail form, as people and other tools write them."""

import re

import pytest

from forkguard.core.hunks import FileKind
from forkguard.core.patch_mail import NotAPatch, parse_mail, parse_patch

HEAD = b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
DIFF = (
    b"diff --git a/src/a.c b/src/a.c\nindex 1111111..2222222 100644\n--- a/src/a.c\n+++ b/src/a.c\n"
    b"@@ -3,3 +3,4 @@ int f()\n one\n-two\n+2\n+22\n three\n"
)


def test_a_mail_of_format_patch() -> None:
    mail = parse_mail(
        HEAD + b"From: =?UTF-8?q?Zo=C3=AB?= <zoe@example.org>\nDate: Sun, 26 Apr 2026 08:25:16 +1000\n"
        b"Subject: [PATCH 2/6] moe: support ranking,\n shards\nOrigin: vendor\n\nWhy it is so.\n\nMore.\n---\n"
        b" src/a.c | 3 ++-\n\n" + DIFF + b"-- \n2.39.5\n\nbase-commit: " + b"ab" * 20 + b"\n"
    )

    assert mail.origin == "0123456789" * 4
    assert mail.author == "Zoë <zoe@example.org> 1777155916 +1000".encode()
    assert mail.message == b"moe: support ranking, shards\n\nWhy it is so.\n\nMore.\n"
    assert mail.subject == "moe: support ranking, shards"
    assert mail.base == "ab" * 20
    assert mail.headers["Origin"] == "vendor"
    (file,) = mail.files
    (hunk,) = file.hunks
    assert (file.kind, file.path, file.old_blob, file.mode) == (FileKind.MODIFIED, "src/a.c", "1111111", "100644")
    assert (hunk.start, hunk.before, hunk.after) == (
        2,
        ("one\n", "two\n", "three\n"),
        ("one\n", "2\n", "22\n", "three\n"),
    )
    assert (hunk.changes[0].start, hunk.changes[0].removed, hunk.changes[0].added) == (3, ("two\n",), ("2\n", "22\n"))


def test_new_deleted_renamed_and_files_whose_mode_changes() -> None:
    files, _ = parse_patch(
        b"diff --git a/n b/n\nnew file mode 100755\nindex 0000000..1 \n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"
        b"diff --git a/d b/d\ndeleted file mode 100644\nindex 1..0000000\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        b"diff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\n"
        b"diff --git a/with space b/with space\nold mode 100644\nnew mode 100755\n"
    )

    assert [(file.kind, file.old_path, file.path, file.old_mode, file.mode) for file in files] == [
        (FileKind.ADDED, "n", "n", "000000", "100755"),
        (FileKind.DELETED, "d", "d", "100644", "000000"),
        (FileKind.RENAMED, "o", "p", "100644", "100644"),
        (FileKind.MODIFIED, "with space", "with space", "100644", "100755"),
    ]
    assert [hunk.start for file in files for hunk in file.hunks] == [0, 0]


@pytest.mark.parametrize("path", ["x", "d/x", "a/b/c d/e", "b/b"])
def test_the_path_of_a_file_whose_mode_alone_changes(path: str) -> None:
    ((file,), _) = parse_patch(f"diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n".encode())

    assert (file.old_path, file.path, file.mode) == (path, path, "100755")


def test_bytes_come_back_as_they_were() -> None:
    files, _ = parse_patch(
        b'diff --git "a/\\303\\251" "b/\\303\\251"\nindex 1..2 100644\n--- "a/\\303\\251"\n+++ "b/\\303\\251"\n'
        b"@@ -1,2 +1,2 @@\n-a\xff\r\n+b\xfe\r\n end\x0cof\n\\ No newline at end of file\n"
    )

    assert files[0].path == "é"
    assert files[0].hunks[0].before == ("a\udcff\r\n", "end\x0cof")
    assert files[0].hunks[0].after == ("b\udcfe\r\n", "end\x0cof")


def test_a_missing_line_end_on_one_side() -> None:
    (file,), _ = parse_patch(
        b"diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n"
        b"@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n"
    )

    assert (file.hunks[0].before, file.hunks[0].after) == (("x",), ("x\n",))


def test_a_plain_diff_gets_its_paths_stripped() -> None:
    plain = b"Fix it\n\n--- old/src/a.c\t2026-01-01\n+++ new/src/a.c\n@@ -1 +1 @@\n-x\n+y\n"
    plain += b"--- /dev/null\n+++ new/b\n@@ -0,0 +1 @@\n+z\n"

    mail = parse_mail(b"Subject: s\n\n" + plain)
    deep = parse_mail(b"Subject: s\n\n" + plain.replace(b"new/b", b"new/src/b"), strip=2)

    assert [(file.path, file.kind) for file in mail.files] == [("src/a.c", FileKind.MODIFIED), ("b", FileKind.ADDED)]
    assert deep.files[0].path == "a.c"
    assert mail.message == b"s\n\nFix it\n"


def test_base64_bodies_are_decoded() -> None:
    import base64  # noqa: PLC0415

    body = base64.encodebytes(b"why\n---\n\n" + DIFF)
    mail = parse_mail(b"Subject: s\nContent-Transfer-Encoding: base64\n\n" + body)

    assert mail.message == b"s\n\nwhy\n"
    assert mail.files[0].hunks[0].after[1] == "2\n"


@pytest.mark.parametrize(
    ("head", "author"),
    [
        (b"Date: x\n", b"unknown <> 0 +0000"),
        (b"From: " + b"(" * 5000 + b"\n", b"unknown <> 0 +0000"),
        (b"From: " + b"<a" * 3000 + b"\nDate: x\n", None),
        (b"From: A <a@b.c>\nDate: Sun, 26 Apr 99999 08:25:16 +1000\n", b"A <a@b.c> 0 +0000"),
        (b"From: A <a@b.c>\nDate: Sun, 26 Apr 2026 08:25:16 +9999\n", b"A <a@b.c> 0 +0000"),
        (b"From: A <a@b.c>\nDate: Thu, 1 Jan 1970 01:00:00 +0100\n", b"A <a@b.c> 0 +0100"),
        (b"From: A <a@b.c>\nDate: Thu, 1 Jan 1970 00:59:59 +0100\n", b"A <a@b.c> 0 +0000"),
        (b"From: A <a@b.c>\nDate: Sun, 26 Apr 2026 08:25:16 -0930\n", b"A <a@b.c> 1777226116 -0930"),
        (b"From: A <a@b.c>\nDate: " + b"9" * 5000 + b"\n", b"A <a@b.c> 0 +0000"),
        (b"From: =?\xff?q?x?= <a@b.c>\n", None),
        (b"From: A\0B <a@b.c\0\n>\n", None),
    ],
)
def test_an_author_of_a_stranger_is_one_that_git_can_hold(head: bytes, author: bytes | None) -> None:
    found = parse_mail(head + b"Subject: s\n\n---\n" + DIFF).author

    assert re.fullmatch(rb"[^<>\n\0]+ <[^<>\s\0]*> \d+ [+-]\d{4}", found)
    assert author is None or found == author


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no diff"),
        (b"Subject: s\n\nonly words\n", "no diff"),
        (b"Subject: s\n\n---\n" + DIFF[:-8], "ends before its last line"),
        (b"Subject: s\n\n---\n" + DIFF.replace(b"+22\n", b"?22\n"), "begins with '?'"),
        (b"Subject: s\n\n---\n" + DIFF + b"@@ -9 +9,x @@\n-a\n+b\n", "begins with '@@ -9 +9,x @@'"),
        (b"Subject: s\n\n---\n" + DIFF.replace(b"-3,3", b"-" + b"9" * 5000 + b",3"), "begins with '@@ -9999"),
        (b"Subject: s\n\n---\n" + DIFF.replace(b"src/a.c", b"../a.c"), "'../a.c'"),
        (b"Subject: s\n\n---\n" + DIFF.replace(b"src/a.c", b".git/config"), "'.git/config'"),
        (b"Subject: s\n\n---\n" + DIFF.replace(b"src/a.c", b"x/.GIT./c"), "'x/.GIT./c'"),
        (b"Subject: s\n\n---\n" + DIFF.replace(b"src/a.c", b"/etc/passwd"), "'/etc/passwd'"),
        (b"Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n--b--\n", "attachments"),
    ],
)
def test_what_is_no_patch_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(NotAPatch) as refusal:
        parse_mail(content)

    assert said in refusal.value.what
