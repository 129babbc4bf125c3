"""A merge in which nothing stands twice unasked: what the fork has word for word is left out, the rest is marked.

Where git's merge is clean and the result holds something twice (`forkguard.core.doubled`), a person decides.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from forkguard.core.additive import Joined
from forkguard.core.common_words import may_share
from forkguard.core.doubled import Double, Sides, doubled
from forkguard.core.doubled_marks import Marking, lines_in_regions, marked, staying, without_regions
from forkguard.core.hunks import Change, FileChange, FileKind, content_of, lines_of
from forkguard.core.merges import Merged, Stage
from forkguard.core.names import TreeHash, TreePath
from forkguard.core.own_names import is_cxx
from forkguard.core.trees import TreeEntry
from forkguard.ports import Bench
from forkguard.workflows.join_additions import join_additions

Doubles = Mapping[TreePath, tuple[Double, ...]]


@dataclass(frozen=True, slots=True)
class Trees:
    """The three trees of a merge: the change leads from `before` to `after`, and goes onto `ours`."""

    before: TreeHash
    after: TreeHash
    ours: TreeHash


@dataclass(frozen=True, slots=True)
class Settled:
    """A merge, what was joined in it, and what was found to be there already.

    `after` is upstream's tree without what the fork has word for word (`left`). `merged` is None where that leaves
    nothing of the change. `twice` is what is there twice and not left out, as it was found; `merged.twice` as it is
    marked. Their `origin`s are lines of upstream's file with what was left out.
    """

    after: TreeHash
    merged: Merged | None
    joins: Mapping[TreePath, tuple[Joined, ...]]
    left: Doubles
    twice: Doubles


def merge_settled(bench: Bench, trees: Trees, files: Sequence[FileChange], marking: Marking) -> Settled:
    """Merge a change whose files are `files`."""
    merged, joins = _merge(bench, trees, marking)
    found = find_doubles(bench, trees, merged, files=files, marking=marking)
    left = {path: same for path, each in found.items() if (same := tuple(one for one in each if one.same))}
    if left:
        after, stay = _without(bench, trees, left)
        trees = replace(trees, after=after)
        if trees.after == trees.before:
            return Settled(trees.after, None, {}, left, {})
        merged, joins = _merge(bench, trees, marking)
        found = find_doubles(bench, trees, merged, files=files, marking=marking)
        merged = with_marks(bench, trees, merged, found=found, marking=marking)
        told = {path: _back(each, stay[path]) if path in stay else each for path, each in found.items()}
        return Settled(trees.after, merged, joins, left, told)
    merged = with_marks(bench, trees, merged, found=found, marking=marking)
    return Settled(trees.after, merged, joins, {}, found)


def _back(doubles: Sequence[Double], stay: Sequence[int]) -> tuple[Double, ...]:
    """The same with their lines in upstream's file before these lines alone stayed."""
    return tuple(
        replace(each, origin=(stay[each.origin[0] - 1], stay[each.origin[1] - 1]) if each.origin else None)
        for each in doubles
    )


def _merge(bench: Bench, trees: Trees, marking: Marking) -> tuple[Merged, Mapping[TreePath, tuple[Joined, ...]]]:
    one, other = marking.labels
    merged = bench.merge(trees.before, trees.ours, trees.after, ours_label=one, theirs_label=other)
    return join_additions(bench, merged, label=marking.labels[0])


def _without(bench: Bench, trees: Trees, left: Doubles) -> tuple[TreeHash, Mapping[TreePath, Sequence[int]]]:
    """Upstream's tree without these, and the lines of each file that stay."""
    entries = bench.entries(trees.after, list(left))
    contents = bench.blobs(entry.blob for entry in entries.values())
    runs = line_runs(bench, trees.before, trees.after, list(left))
    stay: dict[TreePath, list[int]] = {}
    edits: dict[TreePath, TreeEntry | None] = {}
    for path, entry in entries.items():
        spans = [each.origin for each in left[path] if each.origin]
        lines = lines_of(contents[entry.blob])
        stay[path] = staying(lines, runs[path], spans)
        edits[path] = TreeEntry(entry.mode, bench.put_blob(content_of([lines[at - 1] for at in stay[path]])))
    return bench.edit(trees.after, edits), stay


def find_doubles(
    bench: Bench, trees: Trees, merged: Merged, *, files: Sequence[FileChange], marking: Marking
) -> Doubles:
    """What a merge holds twice in the files that both sides changed.

    Lines of a file with conflicts are those that it has with the fork's side in their places; what is inside of them
    is seen by the person who decides them.
    """
    suspects = _suspects(bench, trees, merged, files)
    if not suspects:
        return {}
    plain = {path: _plain(lines, merged, path, marking) for path, (_, lines, _) in suspects.items()}
    edits: dict[TreePath, TreeEntry | None] = {
        path: TreeEntry("100644", bench.put_blob(content_of(plain[path][0])))
        for path in suspects if path in merged.conflicted
    }  # fmt: skip
    placed = line_runs(bench, trees.ours, bench.edit(merged.tree, edits), list(suspects))
    found: dict[TreePath, tuple[Double, ...]] = {}
    for path, (sides, _, brought) in suspects.items():
        lines, open_lines = plain[path]
        here = replace(sides, result=content_of(lines))
        each = doubled(here, brought=brought, placed=placed[path], python=not is_cxx(path))
        if shown := tuple(one for one in each if one.twin not in open_lines):
            found[path] = shown
    return found


def _plain(
    lines: Sequence[str], merged: Merged, path: TreePath, marking: Marking
) -> tuple[Sequence[str], AbstractSet[int]]:
    """A merged file with the fork's side in each conflict, and its lines (from 1) that are inside of one."""
    if path not in merged.conflicted:
        return lines, frozenset()
    plain, kept = without_regions(lines, label=marking.labels[0], first=not marking.first)
    inside = lines_in_regions(lines, label=marking.labels[0])
    return plain, {number for number, at in enumerate(kept, 1) if at in inside}


def _suspects(
    bench: Bench, trees: Trees, merged: Merged, files: Sequence[FileChange]
) -> dict[TreePath, tuple[Sides, list[str], tuple[Change, ...]]]:
    """The sources that both sides changed and in which both may have brought the same.

    With each go the result's lines, and the runs in which the change alters the file.
    """
    paths = [
        file.path
        for file in files
        if file.hunks and file.kind is FileKind.MODIFIED and (is_cxx(file.path) or file.path.endswith(".py"))
    ]
    sides = [bench.entries(tree, paths) for tree in (trees.before, trees.after, trees.ours, merged.tree)]
    blobs = {
        path: [side[path].blob for side in sides]
        for path in paths
        if all(path in side and side[path].is_file for side in sides)
    }
    changed = {path: each for path, each in blobs.items() if each[2] not in (each[0], each[3]) and each[0] != each[1]}
    contents = bench.blobs(blob for each in changed.values() for blob in each)
    runs = line_runs(bench, trees.before, trees.after, list(changed))
    found = {}
    for path, each in changed.items():
        before, after, ours, result = (contents[blob] for blob in each)
        added = (line for run in runs[path] for line in run.added)
        if may_share(added, before=before, ours=ours):
            found[path] = (Sides(before, after, ours, result), lines_of(result), runs[path])
    return found


def line_runs(
    bench: Bench, one: TreeHash, other: TreeHash, paths: Sequence[TreePath]
) -> Mapping[TreePath, tuple[Change, ...]]:
    """The runs of lines in which these files differ from one tree to the other."""
    found: dict[TreePath, tuple[Change, ...]] = dict.fromkeys(paths, ())
    if paths:
        for file in bench.diff(one, other, context=0, renames=False, paths=paths):
            found[file.path] = tuple(change for hunk in file.hunks for change in hunk.changes)
    return found


def with_doubles(
    bench: Bench, trees: Trees, merged: Merged, *, files: Sequence[FileChange], marking: Marking
) -> Merged:
    """The merge with a mark at each thing that it holds twice."""
    found = find_doubles(bench, trees, merged, files=files, marking=marking)
    return with_marks(bench, trees, merged, found=found, marking=marking)


def patch_marking(one: str, other: str, *, first: bool) -> Marking:
    """How doubles are marked where a patch of the fork's goes to upstream; `first`: its side is labelled `one`."""
    return Marking((one, other), "the patch", "upstream", first=first)


def with_marks(bench: Bench, trees: Trees, merged: Merged, *, found: Doubles, marking: Marking) -> Merged:
    """The merge as a conflict at each double; as it is where there is none."""
    if not found:
        return merged
    entries = bench.entries(merged.tree, list(found))
    contents = bench.blobs(entry.blob for entry in entries.values())
    edits: dict[TreePath, TreeEntry | None] = {}
    stages, twice = list(merged.stages), list(merged.twice)
    order = (trees.before, trees.after, trees.ours) if marking.first else (trees.before, trees.ours, trees.after)
    sides = [bench.entries(tree, list(found)) for tree in order]
    for path, doubles in found.items():
        lines = lines_of(contents[entries[path].blob])
        kept = list(range(len(lines)))
        if path in merged.conflicted:
            kept = without_regions(lines, label=marking.labels[0], first=not marking.first)[1]
        else:
            stages += [Stage(path, at, side[path].mode, side[path].blob) for at, side in enumerate(sides, 1)]
        shown, places = marked(path, lines, doubles, kept=kept, marking=marking)
        edits[path] = TreeEntry(entries[path].mode, bench.put_blob(content_of(shown)))
        twice += places
    return Merged(bench.edit(merged.tree, edits), tuple(stages), merged.messages, tuple(twice))
