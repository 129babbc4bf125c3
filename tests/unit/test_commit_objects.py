"""Commit objects: read from git's bytes, made from nothing but the inputs."""

import pytest

from forkguard.core.commit_objects import commit_bytes, parse_commit, ported_message
from forkguard.core.names import CommitHash, TreeHash

OBJECT = (
    b"tree aa\nparent bb\nparent cc\nauthor A B <a@b> 1700000000 +0100\n"
    b"committer C <c@d> 1700000001 -0230\nencoding ISO-8859-1\ngpgsig x\n y\n\nsubject gr\xfc\xdfe\n\nbody\n"
)


def test_a_commit_is_read_in_utf8() -> None:
    raw = parse_commit(OBJECT)

    assert (raw.tree, raw.parents) == ("aa", ("bb", "cc"))
    assert raw.author == b"A B <a@b> 1700000000 +0100"
    assert raw.committed == b"1700000001 -0230"
    assert raw.subject == "subject grüße"
    assert raw.message == "subject grüße\n\nbody\n".encode()


@pytest.mark.parametrize("encoding", [b"idna", b"unicode_escape", b"undefined", b"base64", b"no\\such", b"utf-7"])
def test_no_encoding_of_a_strangers_commit_raises(encoding: bytes) -> None:
    content = OBJECT.replace(b"ISO-8859-1", encoding).replace(b"body", b"a..b \\ud800 " + b"x" * 70)
    assert parse_commit(content).subject.startswith("subject gr")


def test_bytes_in_no_known_encoding_become_utf8() -> None:
    raw = parse_commit(OBJECT.replace(b"ISO-8859-1", b"no-such"))

    assert raw.subject == "subject gr��e"


def test_a_made_commit_is_read_back() -> None:
    made = commit_bytes(
        TreeHash("aa"), [CommitHash("bb")], author=b"A <a@b> 1 +0000", committed=b"2 +0000", message=b"m\n"
    )

    assert made == (
        b"tree aa\nparent bb\nauthor A <a@b> 1 +0000\ncommitter forkguard <forkguard@localhost> 2 +0000\n\nm\n"
    )
    assert parse_commit(made).parents == ("bb",)


def test_trailers_join_a_block_of_trailers_only() -> None:
    origin = CommitHash("ab")
    block = b"s\n\nSigned-off-by: A <a@b>\nCo-authored-by: B <b@c>\n"
    prose = b"s\n\nNote: this is prose\nand goes on\n"

    assert ported_message(block, origin=origin, patchset="7").count(b"\n\n") == 1
    assert ported_message(prose, origin=origin, patchset="7").count(b"\n\n") == 2
    subject = ported_message(b"moe: a subject is no trailer\n", origin=origin, patchset="7")
    assert subject.startswith(b"moe: a subject is no trailer\n\n(cherry picked")
    assert ported_message(b"", origin=origin, patchset="7").startswith(b"(no message)\n\n")
