"""Commit objects as bytes: what is read of upstream's commits, and the commits that forkguard makes.

A made commit depends on nothing but its inputs, so the same port made twice gives the same commit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from forkguard.core.names import CommitHash, TreeHash

IDENTITY = b"forkguard <forkguard@localhost>"
"""Who commits what forkguard makes; authors stay who they are."""

PATCHSET_TRAILER = "Forkguard-Patchset"
_TRAILER_LINE = re.compile(rb"^(?:[A-Za-z0-9-]+: \S.*|\(cherry picked from commit [0-9a-f]+\)|[ \t]+\S.*)$")


@dataclass(frozen=True, slots=True)
class RawCommit:
    """The parts of a commit object. `author` and `committer` are raw: name, address, seconds, zone."""

    tree: TreeHash
    parents: tuple[CommitHash, ...]
    author: bytes
    committer: bytes
    message: bytes

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.decode("utf-8", "replace").strip().split("\n", 1)[0]

    @property
    def committed(self) -> bytes:
        """When it was committed, as git stores it: seconds and zone."""
        return b" ".join(self.committer.rsplit(b" ", 2)[1:])


def parse_commit(content: bytes) -> RawCommit:
    """Read a commit object; a message in another encoding becomes UTF-8."""
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, []).append(value)
    encoding = fields.get(b"encoding", [b"utf-8"])[0].decode("ascii", "replace")
    return RawCommit(
        TreeHash(fields[b"tree"][0].decode()),
        tuple(CommitHash(parent.decode()) for parent in fields.get(b"parent", [])),
        _utf8(fields[b"author"][0], encoding),
        _utf8(fields[b"committer"][0], encoding),
        _utf8(message, encoding),
    )


def _utf8(text: bytes, encoding: str) -> bytes:
    try:
        return text.decode(encoding).encode()
    except (LookupError, ValueError):  # a codec may raise any ValueError, and give what is no text
        return text.decode("utf-8", "replace").encode()


def commit_bytes(
    tree: TreeHash, parents: Sequence[CommitHash], *, author: bytes, committed: bytes, message: bytes
) -> bytes:
    """The object of a commit that forkguard makes; `committed` is seconds and zone."""
    lines = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    lines += [b"author " + author, b"committer " + IDENTITY + b" " + committed]
    return b"\n".join(lines) + b"\n\n" + message


def ported_message(message: bytes, *, origin: CommitHash, patchset: str) -> bytes:
    r"""Upstream's message with the two trailers that name where it comes from.

    >>> ported_message(b"one (#7)\n", origin=CommitHash("ab"), patchset="7")
    b'one (#7)\n\n(cherry picked from commit ab)\nForkguard-Patchset: 7\n'
    >>> ported_message(b"one\n\ntext\n\nFixes: 3\n", origin=CommitHash("ab"), patchset="7").splitlines()[-3:]
    [b'Fixes: 3', b'(cherry picked from commit ab)', b'Forkguard-Patchset: 7']
    """
    text = message.replace(b"\0", b"").rstrip() or b"(no message)"
    paragraphs = text.split(b"\n\n")
    last = paragraphs[-1].split(b"\n")
    in_block = len(paragraphs) > 1 and all(_TRAILER_LINE.match(line) for line in last)
    trailers = f"(cherry picked from commit {origin})\n{PATCHSET_TRAILER}: {patchset}\n".encode()
    return text + (b"\n" if in_block else b"\n\n") + trailers
