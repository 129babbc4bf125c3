"""Wiring for `forkguard port`, and for whatever else ports a change."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from forkguard.adapters.compile_check import CompileCheck
from forkguard.adapters.forge import GITHUB_API, GitHub
from forkguard.adapters.git import GitRepository
from forkguard.adapters.journals import JournalFile
from forkguard.adapters.open_pulls import OpenRequests
from forkguard.adapters.pull_heads import PullHeads
from forkguard.adapters.resolutions import ResolutionFolder
from forkguard.adapters.shipped import shipped_manifest
from forkguard.adapters.trees import TreeStore
from forkguard.adapters.workbench import Workbench
from forkguard.adapters.worktrees import NoCheckouts, Worktrees
from forkguard.cli.compose import Project, fork_base, patchset_store, project_rules
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.findings import Base, Finding, Kind, Side
from forkguard.core.forge import repository_of
from forkguard.core.hunks import FileChange
from forkguard.core.names import CommitHash
from forkguard.core.porting import NO_ARCH, Hazards, archs_touched
from forkguard.errors import ForkguardError
from forkguard.workflows.drift import archs_at, run_drift
from forkguard.workflows.port_tools import CompileLook, HazardCheck, PortTools
from forkguard.workflows.recheck import Places

FORGE_VARIABLE = "FORKGUARD_FORGE_API"
TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105  (a name, not a token)


@contextlib.contextmanager
def scratch_tools(project: Project, talk: ConsoleTalk) -> Iterator[PortTools]:
    """Tools whose objects go to a folder that is gone afterwards, and that are asked for nothing else to write."""
    with tempfile.TemporaryDirectory(prefix="forkguard-dry-") as folder:
        scratch = Path(folder) / "objects"
        scratch.mkdir()
        seen = [scratch, project.upstream_repo.objects]
        with GitRepository(project.fork_repo.path, alternates=seen) as repo:
            bench = Workbench(repo, Path(folder), objects=scratch, alternates=[repo.objects, *seen[1:]])
            looking = replace(project, fork_repo=repo, upstream_repo=_same_or(project, repo))
            tools = port_tools(looking, repo, talk)
            compiles = _compile_look(project, bench)
            yield replace(tools, bench=bench, compiles=compiles, checkouts=NoCheckouts(repo, Path(folder)))


def _same_or(project: Project, repo: GitRepository) -> GitRepository:
    return repo if project.upstream_repo is project.fork_repo else project.upstream_repo


def port_tools(project: Project, plain: GitRepository, talk: ConsoleTalk) -> PortTools:
    """Everything that a port works with; `plain` is the fork without upstream's objects: it is written to."""
    folder = project.cache / "worktrees"
    base = _Base(project)
    bench = Workbench(plain, folder)
    return PortTools(
        fork=project.fork_repo,
        upstream=project.upstream_repo,
        bench=bench,
        checkouts=Worktrees(plain, folder),
        journal=JournalFile(project.state / "port.json"),
        patchsets=patchset_store(project),
        resolutions=ResolutionFolder(project.root / "resolutions"),
        talk=talk,
        find_base=lambda: base.value.commit,
        hazards=_hazard_check(project, base, talk),
        compiles=_compile_look(project, bench),
        forge=project_forge(project),
        open_requests=open_requests(project),
        identifiers=project.map.port.identifiers,
        shipped=shipped_manifest,
    )


def _compile_look(project: Project, bench: Workbench) -> CompileLook:
    look = CompileCheck(TreeStore(project.trees), bench, project.fork_repo.path)
    return lambda commit, onto, paths: look.check(commit, paths, onto=onto)


class _Base:
    """The fork's base, looked for once and only when somebody asks."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: Base | None = None

    @property
    def value(self) -> Base:
        if self._found is None:
            project = self._project
            self._found = fork_base(project)
        return self._found


def _hazard_check(project: Project, base: _Base, talk: ConsoleTalk) -> HazardCheck:
    def found_at(commit: CommitHash, archs: tuple[str, ...]) -> tuple[Finding, ...]:
        report = run_drift(
            project.fork_repo,
            fork=Side(project.fork.ref, commit),
            upstream=project.upstream,
            base=base.value,
            archs=archs,
            rules=project_rules(project),
            talk=talk,
        )
        return tuple(finding for finding in report.findings if finding.kind is Kind.HAZARD)

    def check(commit: CommitHash, onto: CommitHash, files: tuple[FileChange, ...]) -> Hazards:
        archs: tuple[str, ...] = ()
        try:
            archs = archs_touched(files, archs_at(project.fork_repo, commit))
            if not archs:
                return Hazards(notes=(NO_ARCH,))
            found = found_at(commit, archs)
            old = found_at(onto, archs) if any(not finding.also_upstream for finding in found) else ()
        except ForkguardError as problem:
            return Hazards(archs=archs, notes=(f"hazards were not looked for: {problem.what}",))
        before = {finding.id for finding in old}
        return Hazards(found, frozenset(finding.id for finding in found if finding.id not in before), archs)

    return check


def pull_heads(project: Project, plain: GitRepository, *, looks_only: bool) -> PullHeads | None:
    """Upstream's remote, asked by git for the heads of requests; None where there is no remote."""
    url = _upstream_url(project)
    return PullHeads(plain, source=project.upstream_repo, url=url, looks_only=looks_only) if url else None


def recheck_places(project: Project) -> Places:
    """Where carried requests are looked up again; see `forkguard.workflows.recheck.recheck`. Nothing is fetched."""
    return Places(
        repo=project.fork_repo,
        bench=Workbench(project.fork_repo, project.cache / "worktrees"),
        remote=pull_heads(project, project.fork_repo, looks_only=True),
        forge=project_forge(project) if _asks_forge(project) else None,
        open_requests=open_requests(project),
    )


def _asks_forge(project: Project) -> bool:
    """Whether the map or a token says that the forge is to be asked for more than what is not here."""
    settings = project.map.forge
    return bool(settings.repository or settings.api or os.environ.get(TOKEN_VARIABLE))


def _upstream_url(project: Project) -> str:
    urls = project.upstream_repo.remotes()
    return urls.get(project.map.upstream.remote or "origin", "")


def open_requests(project: Project) -> OpenRequests | None:
    """The forge's open requests; None where neither `[forge]` of the map nor a token says that it is to be asked."""
    budget = project.map.forge.open_requests
    forge = project_forge(project) if budget and _asks_forge(project) else None
    if forge is None:
        return None
    return OpenRequests(forge, cache=project.cache / "forge", budget=budget)


def project_forge(project: Project) -> GitHub | None:
    """The forge that the map names, or whose repository upstream's remote is; None where there is none."""
    settings = project.map.forge
    repository = settings.repository or repository_of(_upstream_url(project))
    if repository is None:
        return None
    api = os.environ.get(FORGE_VARIABLE) or settings.api or GITHUB_API
    token = os.environ.get(TOKEN_VARIABLE) or None
    return GitHub(api=api, repository=repository, cache=project.cache / "forge", token=token)
