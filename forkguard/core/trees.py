"""Entries of a git tree, and the lookups that the comparisons make in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forkguard.core.names import BlobHash, TreePath


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """`mode` as git prints it (`100644`, `120000`, `160000`), and the object's id."""

    mode: str
    blob: BlobHash

    @property
    def is_file(self) -> bool:
        """Whether the entry is an ordinary file, not a symbolic link and not a submodule."""
        return self.mode.startswith("100")


Tree = Mapping[TreePath, TreeEntry]


def listed(listing: bytes) -> Iterator[tuple[TreePath, TreeEntry]]:
    r"""The entries of `git ls-tree -z`, by path.

    >>> dict(listed(b"100644 blob ab\ta.cpp\0"))
    {'a.cpp': TreeEntry(mode='100644', blob='ab')}
    """
    for record in listing.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        meta, path = record.split("\t", 1)
        mode, _, blob = meta.split(" ")
        yield TreePath(path), TreeEntry(mode, BlobHash(blob))
