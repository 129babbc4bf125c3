"""`forkguard init`: read both trees at their commits, and draft the map."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from forkguard.core.archs import CXX_SUFFIXES, SOURCE_FOLDERS, ArchIndex, read_archs
from forkguard.core.findings import Side
from forkguard.core.map_draft import MapDraft, changed_archs, draft_archs, with_family
from forkguard.core.names import CommitHash, TreePath
from forkguard.core.registries import find_registries
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import Repository, Talk
from forkguard.workflows.base import find_base

_MOST_BY_CHANGE = 12
"""A fork that changed more archs than this has reformatted; listing them all would say nothing."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where both sides are, as the map will name them. Exactly one of `remote` and `upstream_path` is not None."""

    fork_path: str
    fork: Side
    fork_why: str
    remote: str | None
    upstream_path: str | None
    upstream: Side
    upstream_why: str


def draft_map(repo: Repository, places: Places, *, wanted: Sequence[str], talk: Talk) -> MapDraft:
    """Draft a map for the archs that are `wanted`, and for those whose files the fork changed since its base.

    `repo` sees both sides' objects. Raises `UsageProblem` for a wanted arch that neither side has.
    """
    talk.note(f"fork: {places.fork.ref} at {places.fork.commit[:12]} ({places.fork_why})")
    talk.note(f"upstream: {places.upstream.ref} at {places.upstream.commit[:12]} ({places.upstream_why})")
    talk.step("reading the fork's tree")
    fork_files = read_sources(repo, places.fork.commit)
    fork = read_archs(fork_files)
    talk.step("reading upstream's tree")
    upstream_files = read_sources(repo, places.upstream.commit)
    upstream = read_archs(upstream_files)
    registries = (*find_registries(fork_files), *find_registries(upstream_files))
    places_that_list = {place.name for place in registries}
    talk.note(
        f"archs: {_built(fork)} in the fork, {_built(upstream)} upstream; "
        f"{len(places_that_list)} registries list them"
    )
    names = _named(wanted, fork=fork, upstream=upstream)
    for name, reason in _changed(repo, places, fork, talk).items():
        names.setdefault(name, reason)
    archs = draft_archs(names, fork=fork, upstream=upstream, registries=registries)
    for arch in archs:
        talk.note(f"  {arch.name}: {arch.remark}")
    if not archs:
        talk.note("no arch is watched yet: add some with --arch NAME (again with --force)")
    return MapDraft(
        fork_path=places.fork_path,
        fork_ref=places.fork.ref,
        fork_why=places.fork_why,
        remote=places.remote,
        upstream_path=places.upstream_path,
        upstream_ref=places.upstream.ref,
        upstream_why=places.upstream_why,
        archs=archs,
    )


def read_sources(repo: Repository, commit: CommitHash) -> dict[TreePath, bytes]:
    """The C++ files of a commit in which archs and registries live."""
    tree = repo.tree(commit, under=SOURCE_FOLDERS)
    wanted = {path: entry.blob for path, entry in tree.items() if entry.is_file and path.endswith(CXX_SUFFIXES)}
    contents = repo.blobs(wanted.values())
    return {path: contents[blob] for path, blob in wanted.items()}


def _built(index: ArchIndex) -> int:
    """Archs that a model is made for; the table of names also holds placeholders."""
    return sum(arch.cls is not None for arch in index.archs.values())


def _named(wanted: Sequence[str], *, fork: ArchIndex, upstream: ArchIndex) -> dict[str, str]:
    names: dict[str, str] = {}
    for name in wanted:
        index = fork if name in fork.archs else upstream
        if name not in index.archs:
            known = list(dict.fromkeys((*fork.archs, *upstream.archs)))
            near = difflib.get_close_matches(name, known, n=3)
            raise UsageProblem(
                f"neither the fork nor upstream has an arch named {name}",
                where="LLM_ARCH_NAMES of both trees",
                hint=f"did you mean {' or '.join(near)}?" if near else "take a name from LLM_ARCH_NAMES",
            )
        reason = "named with --arch" + ("" if index is fork else "; upstream has it, the fork does not")
        names |= with_family(index, {name: reason}) | {name: reason}
    return names


def _changed(repo: Repository, places: Places, fork: ArchIndex, talk: Talk) -> dict[str, str]:
    talk.step("finding the base")
    try:
        base = find_base(repo, fork=places.fork, upstream=places.upstream)
    except CouldNotWork as error:
        talk.note(f"{error.what}; so the fork's own changes are not told apart here")
        return {}
    talk.note(f"base: {base.commit[:12]} (by {base.how})")
    changed = changed_archs(
        fork,
        base=repo.tree(base.commit, under=SOURCE_FOLDERS),
        fork=repo.tree(places.fork.commit, under=SOURCE_FOLDERS),
    )
    if len(changed) > _MOST_BY_CHANGE:
        talk.note(
            f"the fork changed the files of {len(changed)} archs since its base: too many to choose from; "
            "name those that you serve with --arch NAME"
        )
        return {}
    return changed
