"""What both sides only added to one list is joined in a conflicted merge; see `forkguard.core.additive`."""

from collections.abc import Mapping, Sequence

from forkguard.core.additive import Joined, joined
from forkguard.core.hunks import content_of, lines_of
from forkguard.core.merges import Merged, Region, regions
from forkguard.core.names import TreePath
from forkguard.core.own_names import is_cxx
from forkguard.core.trees import TreeEntry
from forkguard.ports import Bench


def join_additions(
    bench: Bench, merged: Merged, *, label: str
) -> tuple[Merged, Mapping[TreePath, tuple[Joined, ...]]]:
    """The merge with such regions joined, and what was joined in each file.

    A file whose every region is joined conflicts no longer. `label` is the fork's name on the markers.
    """
    whole = [path for path in merged.conflicted if all(merged.side(path, number) for number in (1, 2, 3))]
    entries = bench.entries(merged.tree, [path for path in whole if is_cxx(path) or _is_python(path)])
    contents = bench.blobs(entry.blob for entry in entries.values() if entry.is_file)
    edits: dict[TreePath, TreeEntry | None] = {}
    joins: dict[TreePath, tuple[Joined, ...]] = {}
    solved: list[TreePath] = []
    for path, entry in entries.items():
        lines = lines_of(contents.get(entry.blob, b""))
        found = regions(lines, label=label)
        done = tuple(
            join
            for region in found
            if (join := joined(region, above=lines[: region.line - 1], python=_is_python(path)))
        )
        if done:
            joins[path] = done
            edits[path] = TreeEntry(entry.mode, bench.put_blob(content_of(_with(lines, done))))
            solved += [path] if len(done) == len(found) else []
    stages = tuple(stage for stage in merged.stages if stage.path not in solved)
    messages = tuple(text for text in merged.messages if not _is_about(text, solved))
    return Merged(bench.edit(merged.tree, edits), stages, messages), joins


def _is_python(path: TreePath) -> bool:
    return path.endswith(".py")


def _with(lines: Sequence[str], joins: Sequence[Joined]) -> list[str]:
    result = list(lines)
    for join in sorted(joins, key=lambda join: join.region.line, reverse=True):
        result[join.region.line - 1 : join.region.line - 1 + _height(join.region)] = join.lines
    return result


def _height(region: Region) -> int:
    """The lines of a marked region, its four markers included."""
    return len(region.ours) + len(region.base) + len(region.theirs) + 4


def _is_about(message: str, paths: Sequence[TreePath]) -> bool:
    return message.startswith("CONFLICT (content)") and any(message.endswith(f" {path}") for path in paths)
