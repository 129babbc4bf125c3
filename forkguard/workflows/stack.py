"""`forkguard stack list` and `show`: what the patch stack's files say."""

from forkguard.core.patchset import check_name
from forkguard.core.stack import PatchsetInfo, read_patch
from forkguard.ports import PatchsetStore


def list_stack(patchsets: PatchsetStore) -> tuple[PatchsetInfo, ...]:
    """Every patchset: those of `patchsets/series` in its order, then the others by name.

    Raises `UsageProblem` for a bad file, and for a name in the series that has no manifest.
    """
    order = [check_name(entry.name) for entry in patchsets.order()]
    names = dict.fromkeys((*order, *patchsets.names()))
    return tuple(_info(name, order, patchsets) for name in names)


def show_patchset(name: str, patchsets: PatchsetStore) -> PatchsetInfo:
    """One patchset. Raises `UsageProblem` where there is none of this name."""
    return _info(check_name(name), [entry.name for entry in patchsets.order()], patchsets)


def _info(name: str, order: list[str], patchsets: PatchsetStore) -> PatchsetInfo:
    patches = tuple(read_patch(patch, content) for patch, content in patchsets.patches(name))
    position = order.index(name) + 1 if name in order else None
    return PatchsetInfo(name, position, patchsets.manifest(name), patches)
