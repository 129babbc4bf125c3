"""Looking at a stranger's change before it is applied."""

import shlex
from collections.abc import Collection, Sequence

from forkguard.core.hunks import FileChange
from forkguard.core.names import TreeHash
from forkguard.core.porting import PullState, Source
from forkguard.core.strangers import Doing, Found, doings, parents, why_not
from forkguard.errors import CouldNotWork
from forkguard.ports import Bench


def check_change(
    source: Source, files: Sequence[FileChange], *, bench: Bench, ours: TreeHash, allow: Collection[str]
) -> tuple[str, ...]:
    """Refuse what no checkout may hold, and what nobody allowed; the rest is returned in words.

    Of a change that upstream merged, upstream's maintainers allowed it. Raises `CouldNotWork`.
    """
    check_paths(files)
    paths = sorted({path for file in files for path in (file.path, file.old_path)})
    links = [path for path, entry in bench.entries(ours, parents(paths)).items() if entry.mode == "120000"]
    if links:
        raise CouldNotWork(
            f"the change writes through {links[0]!r}, which is a symbolic link in the fork",
            hint="do not port this change as it is; look at it with git show",
        )
    found = [*doings(files), *_binary(files, bench)]
    wanted = [one for one in found if one.doing not in allow and source.state is not PullState.MERGED]
    if wanted:
        flags = " ".join(f"--allow {one.doing.value}" for one in wanted)
        raise CouldNotWork(
            f"the change was not applied, since nobody allowed this: {'; '.join(one.said for one in wanted)}",
            where=source.where,
            hint=f"look at it; if it is wanted: forkguard port {shlex.quote(source.word)} {flags}",
        )
    return tuple(one.said for one in found)


def check_paths(files: Sequence[FileChange]) -> None:
    """Raise `CouldNotWork` for a change that writes where a checkout must not: outside, or into `.git`."""
    for file in files:
        for path in (file.path, file.old_path):
            reason = why_not(path)
            if reason is not None:
                raise CouldNotWork(
                    f"the change writes to {path!r}, which no checkout may hold: {reason}",
                    hint="do not port this change; look at it with git show",
                )


def _binary(files: Sequence[FileChange], bench: Bench) -> tuple[Found, ...]:
    """New files that are no text."""
    added = [file for file in files if set(file.old_blob) == {"0"} and not file.hunks and file.mode.startswith("100")]
    contents = bench.blobs(file.blob for file in added)
    paths = tuple(file.path for file in added if b"\0" in contents[file.blob])
    return (Found(Doing.BINARY, paths),) if paths else ()
