"""Entries of a git tree, and the lookups that the comparisons make in them."""

from collections.abc import Mapping
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
