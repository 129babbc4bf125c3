"""The workbench of a replay that applies patches by port's means."""

from forkguard.adapters.workbench import Workbench
from forkguard.core.merges import Merged
from forkguard.core.names import TreeHash


class ReplayBench(Workbench):
    """A workbench on which upstream's tree stands where port has the fork's.

    Port merges upstream's change into the fork; a replay merges the fork's change into upstream. Labels and stages
    of a merge say which side is whose, and joined lists have upstream's entries first, so the sides are
    exchanged here. What was read once is kept: many patches of a stack look at the same files.
    """

    exchanged = True

    def merge(
        self, base: TreeHash, ours: TreeHash, theirs: TreeHash, *, ours_label: str, theirs_label: str
    ) -> Merged:
        """As `Workbench.merge`; `theirs` is the fork's change, and is called `ours_label`."""
        return super().merge(base, theirs, ours, ours_label=ours_label, theirs_label=theirs_label)
