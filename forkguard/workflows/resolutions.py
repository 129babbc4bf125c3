"""Keeping what a person decided, and using it again where the same sides meet."""

from forkguard.core.merges import Merged
from forkguard.core.names import TreeHash, TreePath
from forkguard.core.resolutions import Resolution, dump_resolution, parse_resolution, resolution_name, sides_of
from forkguard.core.trees import TreeEntry
from forkguard.ports import Bench, ResolutionStore


def keep_resolutions(bench: Bench, merged: Merged, tree: TreeHash, *, patchset: str, store: ResolutionStore) -> None:
    """Write down what became of each conflicted file in `tree`.

    Nothing is kept where the person changed other files too: the conflict's files alone would not do again.
    """
    changed = {file.path for file in bench.diff(merged.tree, tree, context=0, renames=False)}
    if not changed <= set(merged.conflicted):
        return
    entries = bench.entries(tree, merged.conflicted)
    contents = bench.blobs(entry.blob for entry in entries.values() if entry.is_file)
    for path in merged.conflicted:
        entry = entries.get(path)
        if entry is not None and not entry.is_file:
            continue
        sides = sides_of(merged, path)
        content = contents[entry.blob] if entry else None
        found = Resolution(path, sides, entry.mode if entry else "", patchset, content)
        store.put(resolution_name(path, sides), dump_resolution(found))


def reuse_resolutions(bench: Bench, merged: Merged, store: ResolutionStore) -> tuple[TreeHash | None, str]:
    """The tree with every conflicted file as it was decided before, and what to say; None where one is not known."""
    edits: dict[TreePath, TreeEntry | None] = {}
    names = []
    for path in merged.conflicted:
        sides = sides_of(merged, path)
        name = resolution_name(path, sides)
        content = store.content(name)
        known = parse_resolution(content) if content is not None else None
        if known is None or known.path != path or known.sides != sides:
            return None, ""
        edits[path] = None if known.content is None else TreeEntry(known.mode, bench.put_blob(known.content))
        names.append(name)
    if not names:
        return None, ""
    return bench.edit(merged.tree, edits), f"resolved as before: resolutions/{', resolutions/'.join(names)}"
