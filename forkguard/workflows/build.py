"""`forkguard build`: one tree, attached, configured and built; and the care of the trees on disk."""

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forkguard.core.build_profiles import (
    DEFAULT_PROFILE,
    SERVER,
    Profile,
    check_targets,
    check_used,
    choose_profile,
    tree_id,
)
from forkguard.core.built_trees import BuildResult, PruneResult, TreeInfo, prunable
from forkguard.core.map_models import BuildTable
from forkguard.core.names import CommitHash
from forkguard.core.ninja_log import Status, duration
from forkguard.errors import CouldNotWork
from forkguard.ports import BuildTools, Talk, TreeStore


@dataclass(frozen=True, slots=True)
class Workshop:
    """What building needs: the trees, the tools, the map's profiles, and someone to tell."""

    trees: TreeStore
    tools: BuildTools
    profiles: Mapping[str, BuildTable]
    talk: Talk


@dataclass(frozen=True, slots=True)
class BuiltTree:
    """A tree whose targets are built. `server` is there when `llama-server` was among them."""

    path: Path
    server: Path
    commit: CommitHash
    profile: Profile
    log: Path
    result: BuildResult


def build_tree(
    workshop: Workshop,
    *,
    repository: Path,
    commit: CommitHash,
    profile: str = DEFAULT_PROFILE,
    targets: Sequence[str] = (),
    jobs: int | None = None,
    adapt: Callable[[Profile], Profile] = lambda profile: profile,
) -> BuiltTree:
    """Build `targets` (the profile's, where none is named) of `commit` in its own tree, which is kept.

    `adapt` makes another profile of the chosen one (`with_asserts`), hence another tree.
    A tree that is there goes on where it stopped. Raises `CouldNotWork` for a missing tool, a tree that
    another run holds, a failed configure or compile (with the first error), a full disk.
    """
    talk = workshop.talk
    chosen = adapt(choose_profile(profile, workshop.profiles, workshop.tools.machine()))
    label = f"{profile}+{chosen.variant}" if chosen.variant else profile
    wanted = check_targets(targets) or chosen.targets
    for remark in workshop.tools.check(chosen):
        talk.note(remark)
    name = tree_id(commit, chosen)
    tree = workshop.trees.path(name)
    started = time.monotonic()
    with workshop.trees.lock(name, purpose=f"forkguard build of {commit[:12]}, profile {label}"):
        talk.step(f"check out {commit[:12]}")
        origin = workshop.trees.attach(repository, name, commit, profile=label)
        talk.step(f"configure {name}")
        strange = check_used(chosen, workshop.tools.configure(tree, chosen, commit))
        if strange:
            talk.note(f"cmake does not know {', '.join(strange)} of [build.{profile}] in this commit")
        talk.step(f"build {', '.join(wanted)}")
        meter = _Meter(talk)
        counts = workshop.tools.build(tree, chosen, targets=wanted, jobs=jobs, on_status=meter.see)
        binaries = workshop.tools.binaries(tree, wanted)
        server = _server(tree, binaries, wanted)
        workshop.trees.mark_built(name)
    result = BuildResult(
        tree=name,
        path=str(tree),
        commit=commit,
        profile=label,
        targets=wanted,
        binaries=tuple(str(path) for path in binaries),
        log=str(tree / "build.log"),
        origin=origin,
        seconds=time.monotonic() - started,
        steps=meter.steps,
        cached=counts[0] if counts else None,
        compiled=counts[1] if counts else None,
    )
    return BuiltTree(tree, server, commit, chosen, tree / "build.log", result)


def _server(tree: Path, binaries: Sequence[Path], wanted: Sequence[str]) -> Path:
    for path in binaries:
        if path.name == SERVER:
            return path
    place = tree / "build" / "bin" / SERVER
    if SERVER in wanted:
        raise CouldNotWork(
            f"ninja built {SERVER}, but it is not where llama.cpp puts its programs",
            where=str(place),
            hint=f"find {shlex.quote(str(tree / 'build'))} -name {SERVER}",
        )
    return place


class _Meter:
    """Tells ninja's counts as progress, and keeps the last."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.steps = 0

    def see(self, status: Status) -> None:
        self.steps = status.done
        left = f", about {duration(status.seconds_left)} left" if status.elapsed > 1 else ""
        self._talk.progress(status.done, status.total, f"building {status.done}/{status.total}{left}")


def prune(trees: TreeStore, *, now: float, keep: int | None, older_than: float | None, dry_run: bool) -> PruneResult:
    """Remove the trees that `prunable` names, except those in use. Nothing goes with `dry_run`."""
    known = trees.trees()
    doomed = prunable(known, now=now, keep=keep, older_than=older_than)
    removed: list[TreeInfo] = []
    busy: list[TreeInfo] = []
    for info in doomed:
        if info.holder:
            busy.append(info)
            continue
        if not dry_run:
            with trees.lock(info.id, purpose="forkguard build --prune"):
                trees.remove(info.id)
        removed.append(info)
    return PruneResult(tuple(removed), tuple(busy), len(known) - len(removed), dry_run)
