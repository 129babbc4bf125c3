"""Resolutions of conflicts as text: what a person made of one file, tied to the very sides that conflicted.

A head of `key: value` lines, an empty line, and the whole file as it was decided; of a file that was removed
only the head.
"""

import hashlib
import re
from dataclasses import dataclass

from forkguard.core.merges import Merged, markers_left
from forkguard.core.names import TreePath

_BEGIN = "# A conflict that was resolved once; forkguard uses it again where the same three sides meet."


@dataclass(frozen=True, slots=True)
class Resolution:
    """What became of one conflicted file; `sides` are the blobs of base, fork and upstream, `content` None where
    it was removed."""

    path: TreePath
    sides: tuple[str, str, str]
    mode: str
    patchset: str
    content: bytes | None


def sides_of(merged: Merged, path: TreePath) -> tuple[str, str, str]:
    """The blobs of a conflicted file: base, fork, upstream; `-` for a side that has none."""
    stages = (merged.side(path, number) for number in (1, 2, 3))
    base, ours, theirs = (stage.blob if stage else "-" for stage in stages)
    return base, ours, theirs


def resolution_name(path: TreePath, sides: tuple[str, str, str]) -> str:
    """The name of the file that keeps a resolution.

    >>> resolution_name(TreePath("src/a b.cpp"), ("1", "2", "3"))
    'a_b.cpp.b6d9379c71'
    """
    digest = hashlib.sha256("\0".join((path, *sides)).encode("utf-8", "surrogateescape")).hexdigest()[:10]
    name = re.sub(r"[^A-Za-z0-9._-]", "_", path.rpartition("/")[2])[:48].lstrip(".-") or "file"
    return f"{name}.{digest}"


def dump_resolution(found: Resolution) -> bytes:
    """A resolution as the bytes of its file. Raises `ValueError` for one with a conflict marker inside."""
    if found.content is not None and markers_left(found.content) is not None:
        raise ValueError("a conflict marker is left")
    head = [_BEGIN, f"path: {found.path}", f"patchset: {found.patchset}"]
    head += [f"{key}: {side}" for key, side in zip(("base", "fork", "upstream"), found.sides, strict=True)]
    head += [f"mode: {found.mode}" if found.content is not None else "removed: yes"]
    text = "\n".join(head).encode("utf-8", "surrogateescape") + b"\n"
    return text if found.content is None else text + b"\n" + found.content


def parse_resolution(content: bytes) -> Resolution | None:
    """Read a resolution; None for what is none, or has a conflict marker inside."""
    head, blank, body = content.partition(b"\n\n")
    fields = dict(
        line.split(": ", 1)
        for line in head.decode("utf-8", "surrogateescape").rstrip("\n").split("\n")
        if ": " in line and not line.startswith("#")
    )
    if not {"path", "base", "fork", "upstream"} <= fields.keys() or markers_left(body) is not None:
        return None
    removed = fields.get("removed") == "yes"
    if not removed and (not blank or fields.get("mode") not in {"100644", "100755"}):
        return None
    return Resolution(
        TreePath(fields["path"]),
        (fields["base"], fields["fork"], fields["upstream"]),
        fields.get("mode", ""),
        fields.get("patchset", ""),
        None if removed else body,
    )
