"""What `forkguard build` says: of one build, of the trees on disk, of a prune. Text and JSON from the same values."""

import json
from collections.abc import Sequence
from typing import Any

from forkguard.core.built_trees import BuildResult, PruneResult, TreeInfo, human_size
from forkguard.core.ninja_log import duration

BUILD_SCHEMA = "forkguard/build@1"
TREES_SCHEMA = "forkguard/trees@1"
PRUNE_SCHEMA = "forkguard/prune@1"


def build_text(result: BuildResult) -> str:
    """A few lines for a person: what was built, where it is, how much of it was compiled."""
    lines = [f"built {', '.join(result.targets)} of {result.commit[:12]}, profile {result.profile}"]
    lines += [f"  program: {path}" for path in result.binaries]
    lines.append(f"  tree:    {result.path} ({result.origin})")
    lines.append(f"  log:     {result.log}")
    lines.append(f"  took:    {duration(result.seconds)}, {_work(result)}")
    return "\n".join(lines) + "\n"


def _work(result: BuildResult) -> str:
    if result.steps == 0:
        return "nothing to do"
    said = f"{result.steps} steps"
    if result.cached is None or result.compiled is None:
        return said
    return f"{said}: {result.compiled} compiled, {result.cached} from the compiler cache"


def build_json(result: BuildResult) -> str:
    """`forkguard/build@1`."""
    document = {
        "schema": BUILD_SCHEMA,
        "tree": {"id": result.tree, "path": result.path, "origin": str(result.origin)},
        "commit": result.commit,
        "profile": result.profile,
        "targets": list(result.targets),
        "binaries": list(result.binaries),
        "log": result.log,
        "seconds": round(result.seconds, 3),
        "steps": result.steps,
        "cached": result.cached,
        "compiled": result.compiled,
    }
    return _dump(document)


def trees_text(trees: Sequence[TreeInfo], *, root: str, now: float) -> str:
    """One row per tree, last used first, and the sum of their sizes."""
    if not trees:
        return f"no trees in {root}\n"
    rows = [("TREE", "COMMIT", "PROFILE", "SIZE", "USED", "STATE")]
    for tree in sorted(trees, key=lambda each: (-each.used, each.id)):
        used = f"{duration(max(0.0, now - tree.used))} ago"
        rows.append(
            (tree.id, tree.commit[:12] or "?", tree.profile or "?", human_size(tree.size), used, _state(tree))
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    total = human_size(sum(tree.size for tree in trees))
    return "\n".join([*lines, f"{len(trees)} in {root}, {total}"]) + "\n"


def _state(tree: TreeInfo) -> str:
    words = [str(tree.checkout), "built" if tree.built else "not built whole"]
    if tree.holder:
        words.append("in use")
    return ", ".join(words)


def trees_json(trees: Sequence[TreeInfo], *, root: str) -> str:
    """`forkguard/trees@1`."""
    return _dump({"schema": TREES_SCHEMA, "root": root, "trees": [_tree(tree) for tree in trees]})


def prune_text(result: PruneResult) -> str:
    """What went, what stayed because it is in use, and the space that came free."""
    verb = "would remove" if result.dry_run else "removed"
    lines = [f"{verb} {tree.id} ({human_size(tree.size)})" for tree in result.removed]
    lines += [f"left {tree.id}: {tree.holder}" for tree in result.busy]
    freed = human_size(sum(tree.size for tree in result.removed))
    lines.append(f"{verb} {len(result.removed)} of {len(result.removed) + result.kept} trees, {freed}")
    return "\n".join(lines) + "\n"


def prune_json(result: PruneResult) -> str:
    """`forkguard/prune@1`."""
    document = {
        "schema": PRUNE_SCHEMA,
        "dry_run": result.dry_run,
        "removed": [_tree(tree) for tree in result.removed],
        "busy": [_tree(tree) for tree in result.busy],
        "kept": result.kept,
    }
    return _dump(document)


def _tree(tree: TreeInfo) -> dict[str, Any]:
    return {
        "id": tree.id,
        "path": tree.path,
        "commit": tree.commit,
        "profile": tree.profile,
        "repository": tree.repository,
        "size": tree.size,
        "used": tree.used,
        "checkout": str(tree.checkout),
        "built": tree.built,
        "holder": tree.holder or None,
    }


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
