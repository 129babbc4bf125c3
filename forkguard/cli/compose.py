"""Wiring: from options, environment and map to the repositories, refs and folders that the verbs work with.

What only some verbs need is imported where it is used, or stands in a neighbour `compose_*.py`: every verb passes
here.
"""

import contextlib
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from forkguard.adapters.files import write_atomic
from forkguard.adapters.git import GitRepository
from forkguard.adapters.mapstore import chosen_map, read_map, read_text
from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.adapters.rawlogs import RawLogs
from forkguard.cli import refusals
from forkguard.core.findings import Base, Side
from forkguard.core.mapfile import UpstreamMap
from forkguard.core.names import CommitHash, check_ref
from forkguard.errors import CouldNotWork, UnknownRef, UsageProblem
from forkguard.workflows.base import find_base

if TYPE_CHECKING:
    from forkguard.adapters.receipts import ReceiptStore
    from forkguard.core.baseline import Baseline
    from forkguard.core.ledger import Ledger
    from forkguard.core.rules import Rule
    from forkguard.core.status import ReceiptSummary

FORK_VARIABLE = "FORKGUARD_FORK"
STATE_NAME = ".forkguard"
LLAMA_URL = "https://github.com/ggml-org/llama.cpp"


@dataclass(frozen=True, slots=True)
class Project:
    """One opened project: the map, both sides, and the folders that forkguard may write to.

    `fork_repo` sees upstream's objects too. `upstream_repo` is `fork_repo` itself where upstream is a remote.
    """

    map: UpstreamMap
    map_path: Path
    fork_repo: GitRepository
    upstream_repo: GitRepository
    fork: Side
    upstream: Side
    cache: Path
    trees: Path

    @property
    def root(self) -> Path:
        """The map's folder; `patchsets/` is there."""
        return self.map_path.parent

    @property
    def patchsets(self) -> Path:
        """The folder of the patch stack, whether it is there or not."""
        return self.root / "patchsets"

    @property
    def state(self) -> Path:
        """The folder of journals, receipts and history, whether it is there or not; see `state_folder`."""
        return self.root / STATE_NAME

    def state_folder(self) -> Path:
        """The state folder, made when needed.

        Raises `UsageProblem` where it, or another folder of forkguard's beside the map, lies or leads into the fork.
        """
        refusals.refuse_inside_fork(self.root, self.fork_repo)
        refusals.refuse_links_into_fork(self.root, self.fork_repo)
        if not self.state.is_dir():
            write_atomic(self.state / ".gitignore", "*\n")
        return self.state


@contextlib.contextmanager
def open_project(
    *,
    map_file: Path | None = None,
    fork: Path | None = None,
    fork_ref: str | None = None,
    upstream_ref: str | None = None,
) -> Iterator[Project]:
    """Find the map, open both repositories and resolve both refs, once.

    Raises `UsageProblem` (no map, a bad one, not llama.cpp, a ref that is none) or `CouldNotWork` (no fork, no
    upstream, not fetched, a shallow clone, an unknown ref), each with the next command to type.
    """
    map_path = chosen_map(map_file)
    with open_sides(read_map(map_path), map_path, fork=fork, fork_ref=fork_ref, joined=True) as project:
        other = project.upstream_repo if project.upstream_repo is not project.fork_repo else None
        yield replace(project, upstream=upstream_side_of(project.map, project.fork_repo, other, upstream_ref))


@contextlib.contextmanager
def open_sides(
    settings: UpstreamMap, map_path: Path, *, fork: Path | None, fork_ref: str | None, joined: bool
) -> Iterator[Project]:
    """The project before upstream's ref is looked up: the fork's commit stands for it.

    `joined`: the fork sees the objects of upstream's clone, where there is one. Raises as `open_project` does for
    both repositories and the fork's ref.
    """
    with contextlib.ExitStack() as stack:
        other = other_clone(settings, map_path)
        if other is not None:
            stack.enter_context(other)
        cache, trees = cache_folder(settings, map_path), trees_folder(settings, map_path)
        seen = [other.objects] if other is not None and joined else []
        path = fork_path(fork, settings, map_path)
        repo = stack.enter_context(GitRepository(path, alternates=seen, raw_logs=RawLogs(cache / "histories")))
        refusals.refuse_shallow(repo)
        refusals.refuse_cache_inside_fork((cache, trees), repo)
        side = fork_side_of(repo, settings.fork.ref if fork_ref is None else fork_ref)
        yield Project(
            map=settings,
            map_path=map_path,
            fork_repo=repo,
            upstream_repo=other or repo,
            fork=side,
            upstream=side,
            cache=cache,
            trees=trees,
        )


def project_rules(project: Project) -> "tuple[Rule, ...]":
    """The bundled rules with the map's own, less those that the map disables. Raises `UsageProblem` for a bad one."""
    from forkguard.adapters.rulefiles import bundled_rules
    from forkguard.core.rulebook import rulebook

    return rulebook(
        bundled_rules(),
        read_text(project.map_path),
        name=str(project.map_path),
        disabled=project.map.defaults.disabled_rules,
    )


def project_ledger(project: Project, *, today: date, baseline: "Baseline | None" = None) -> "Ledger":
    """The map's accepted findings, as they are to be read on that day."""
    from forkguard.core.ledger import Acceptance, Ledger

    entries = (Acceptance(entry.id, entry.reason, entry.by, entry.until) for entry in project.map.accept)
    return Ledger(today, tuple(entries), baseline)


def patchset_store(project: Project) -> PatchsetFolder:
    """The patch stack beside the map."""
    return PatchsetFolder(project.patchsets)


def receipt_store(project: Project) -> "ReceiptStore":
    """The receipts of the project's gate runs."""
    from forkguard.adapters.receipts import ReceiptStore

    return ReceiptStore(project.state / "receipts")


def latest_receipt(project: Project) -> "ReceiptSummary | None":
    """The newest complete receipt, None where no gate ran. Raises `CouldNotWork` for one that is damaged."""
    from forkguard.core.status import parse_receipt

    files = receipt_store(project).all()
    if not files:
        return None
    return parse_receipt(files[-1].read_text(encoding="utf-8", errors="replace"), path=str(files[-1]))


def fork_base(project: Project) -> Base:
    """The upstream commit that the project's fork descends from; see `forkguard.workflows.base.find_base`."""
    return find_base(
        project.fork_repo, fork=project.fork, upstream=project.upstream, configured=project.map.upstream.base
    )


def fork_path(option: Path | None, settings: UpstreamMap, map_path: Path) -> Path:
    """`--fork`, else `FORKGUARD_FORK`, else the map's. Raises `CouldNotWork` where no folder is there."""
    path, source = named_fork(option)
    if path is None and settings.fork.path is not None:
        path, source = map_path.parent / Path(settings.fork.path).expanduser(), f"fork.path of {map_path}"
    return existing_fork(path, source)


def named_fork(option: Path | None) -> tuple[Path | None, str]:
    """`--fork`, else `FORKGUARD_FORK`, and which of them names it; None where neither does."""
    if option is not None:
        return option.expanduser(), "--fork"
    named = os.environ.get(FORK_VARIABLE)
    return (Path(named).expanduser(), FORK_VARIABLE) if named else (None, "")


def existing_fork(path: Path | None, source: str) -> Path:
    """The fork's folder, which is there; `source` says who names it. Raises `UsageProblem` and `CouldNotWork`."""
    if path is None:
        raise UsageProblem("no fork is named", hint=f"name its clone with --fork PATH, or set {FORK_VARIABLE}")
    whole = Path(os.path.normpath(path.absolute()))
    if not whole.is_dir():
        raise CouldNotWork(
            f"the fork's folder is not there ({source} names it)",
            where=str(whole),
            hint=f"name the fork's clone with --fork PATH, or set {FORK_VARIABLE}",
        )
    return whole


def fork_side_of(repo: GitRepository, ref: str | None) -> Side:
    """The production branch: the ref, else the branch checked out, else HEAD; and that it is llama.cpp's tree."""
    chosen = check_ref(ref) if ref is not None else repo.current_branch() or "HEAD"
    side = Side(chosen, repo.resolve(chosen))
    if not repo.tree(side.commit, under=refusals.SIGNS_OF_LLAMA):
        raise UsageProblem(
            f"{chosen} is no llama.cpp tree: it has no src/llama-arch.cpp",
            where=str(repo.path),
            hint="name a clone of the llama.cpp fork with --fork PATH, and its branch with --fork-ref REF",
        )
    return side


def cache_folder(settings: UpstreamMap | None, map_path: Path | None) -> Path:
    """`[defaults] cache`, else the user's cache folder for forkguard."""
    named = folder_of(settings.defaults.cache, map_path) if settings and map_path else None
    return named or platformdirs.user_cache_path("forkguard", appauthor=False)


def trees_folder(settings: UpstreamMap | None, map_path: Path | None) -> Path:
    """`[defaults] trees`, else `trees` in the cache folder."""
    named = folder_of(settings.defaults.trees, map_path) if settings and map_path else None
    return named or cache_folder(settings, map_path) / "trees"


def folder_of(text: str | None, map_path: Path) -> Path | None:
    """A folder that the map names, None where it names none; relative ones are relative to the map."""
    return Path(os.path.normpath(map_path.parent.absolute() / Path(text).expanduser())) if text else None


def other_clone(settings: UpstreamMap, map_path: Path) -> GitRepository | None:
    """The clone that the map names as upstream, None where upstream is a remote. Raises `CouldNotWork`."""
    path = folder_of(settings.upstream.path, map_path)
    if path is None:
        return None
    if not path.is_dir():
        raise CouldNotWork(
            "upstream's clone is not there", where=str(path), hint=f"correct upstream.path in {map_path}"
        )
    repo = GitRepository(path)
    refusals.refuse_shallow(repo)
    return repo


def upstream_side_of(
    settings: UpstreamMap, fork_repo: GitRepository, other: GitRepository | None, asked: str | None
) -> Side:
    """Upstream's ref, asked for or the map's, at its commit. Raises `CouldNotWork` where it is not fetched."""
    ref = check_ref(settings.upstream.ref if asked is None else asked)
    if other is not None:
        return Side(ref, other.resolve(ref))
    return Side(ref, resolve_of_remote(fork_repo, settings.upstream.remote or "", ref))


def resolve_of_remote(repo: GitRepository, remote: str, ref: str) -> CommitHash:
    """The commit of a remote's ref. Raises `CouldNotWork` with the command that fetches it."""
    try:
        return repo.resolve(ref)
    except UnknownRef as error:
        where = str(repo.path)
        if remote not in repo.remotes():
            raise CouldNotWork(
                f"the fork has no remote named {remote}, and no ref {ref}",
                where=where,
                hint=f"git -C {shlex.quote(where)} remote add -f {shlex.quote(remote)} {LLAMA_URL}",
            ) from error
        raise UnknownRef(
            f"the fork has no {ref}: the remote {remote} is not fetched, or has no such branch",
            where=where,
            hint=f"git -C {shlex.quote(where)} fetch {shlex.quote(remote)}"
            + (f"  ({error.hint})" if "did you mean" in error.hint else ""),
        ) from error
