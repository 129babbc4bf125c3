"""`forkguard port`."""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from forkguard.adapters.compile_check import CompileCheck
from forkguard.adapters.files import locked
from forkguard.adapters.forge import GITHUB_API, GitHub, check_url
from forkguard.adapters.git import GitRepository
from forkguard.adapters.journals import JournalFile
from forkguard.adapters.resolutions import ResolutionFolder
from forkguard.adapters.trees import TreeStore
from forkguard.adapters.workbench import Workbench
from forkguard.adapters.worktrees import NoCheckouts, Worktrees
from forkguard.cli.compose import Project, fork_base, open_project, patchset_store, project_rules
from forkguard.cli.options import deliver, output_options, project_options
from forkguard.cli.render import rendered
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.findings import Base, Finding, Kind, Side
from forkguard.core.forge import repository_of
from forkguard.core.hunks import FileChange
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import Hazards, PortOptions, PortStatus, archs_touched
from forkguard.core.strangers import Doing
from forkguard.errors import ExitCode, ForkguardError, UsageProblem
from forkguard.reports.port import abort_json, abort_text, port_json, port_text
from forkguard.workflows.drift import archs_at, run_drift
from forkguard.workflows.find_change import Wanted
from forkguard.workflows.port import abort_port, continue_port, port, skip_pick
from forkguard.workflows.port_stack import as_one, port_with_prerequisites
from forkguard.workflows.port_tools import CompileLook, HazardCheck, PortTools

_PULL = re.compile(r"#?([1-9]\d{0,8})")
_HASH = re.compile(r"[0-9a-f]{7,64}")
_MOST_BYTES = 64 << 20
FORGE_VARIABLE = "FORKGUARD_FORGE_API"
TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105  (a name, not a token)


@click.command("port", short_help="Port an upstream pull request onto the fork as a patchset.")
@click.argument("pr", required=False)
@click.option("--continue", "go_on", is_flag=True, help="Go on with the port in progress, its conflicts resolved.")
@click.option("--skip", is_flag=True, help="Leave out the commit that conflicts, and go on with the next.")
@click.option("--abort", "give_up", is_flag=True, help="Take the port in progress back.")
@click.option("--dry-run", is_flag=True, help="Show the plan and every hunk; write nothing.")
@click.option("--with-prerequisites", "needed", is_flag=True, help="Port first what the change needs, as patchsets.")
@click.option("--squash", is_flag=True, help="Make one commit of a request that has several.")
@click.option("--follow", is_flag=True, help="Take an open request whose head moved since it was pinned.")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice([doing.value for doing in Doing]),
    help="What a change that is not merged may do: you have looked at it (repeatable).",
)
@click.option("--force", is_flag=True, help="Port also where it brings a hazard that upstream has not.")
@output_options(("text", "json"))
@project_options
def command(
    pr: str | None,
    go_on: bool,
    skip: bool,
    give_up: bool,
    dry_run: bool,
    needed: bool,
    squash: bool,
    follow: bool,
    allow: tuple[str, ...],
    force: bool,
    format_: str,
    output: Path | None,
    map_file: Path | None,
    fork: Path | None,
    fork_ref: str | None,
    upstream_ref: str | None,
    verbose: bool,
    color: bool | None,
) -> int:
    """Port an upstream pull request onto the production branch, as the branch forkguard/PR and as a patchset.

    PR is the number of a pull request, a commit, a patch file (a mailbox or a diff) or an address. A request is
    found in the local upstream history by a subject that ends in (#PR), else by refs/pull/PR/head, else at the
    forge (GITHUB_TOKEN is used if set). It is applied in memory: your branches, index, work tree,
    remote-tracking refs and configuration stay as they are. patchsets/PR/ gets the patches, for `git am`.

    On a conflict a worktree of forkguard's own holds the marked files. Resolve them there, then --continue;
    or --abort.

    \b
    Examples:
      forkguard port 27383
      forkguard port --continue
      forkguard drift --arch lfm2 --fork-ref forkguard/27383     is it all there now?

    A port that would bring a crash or corruption which upstream has not is refused (a case of the rollback
    switch without the snapshot writes, say); --force ports it all the same. What a person resolved is kept in
    resolutions/ beside the map, and used again where the same sides meet.

    Exit status: 0 ported, or there already; 1 a conflict, refused, or ported and it does not compile; 2 wrong use;
    3 the change is not to be had, or nobody allowed what it does.
    """
    wanted = _wanted(pr)
    pull = wanted.pull if wanted else None
    _check_words(wanted, ways=[go_on, skip, give_up], dry_run=dry_run)
    with contextlib.ExitStack() as stack:
        talk = stack.enter_context(ConsoleTalk(color=color, verbose=verbose))
        project = stack.enter_context(
            open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=upstream_ref)
        )
        if dry_run:
            tools = stack.enter_context(scratch_tools(project, talk))
        else:
            plain = stack.enter_context(GitRepository(project.fork_repo.path))
            stack.enter_context(locked(project.state_folder() / "port.lock", purpose="forkguard port"))
            tools = port_tools(project, plain, talk)
        if give_up:
            aborted = abort_port(pull, tools=tools)
            text = rendered(abort_text(aborted), color=color, output=output)
            deliver(abort_json(aborted) if format_ == "json" else text, output=output)
            return int(ExitCode.CLEAN)
        if go_on:
            report = continue_port(pull, tools=tools, force=force)
        elif skip:
            report = skip_pick(pull, tools=tools)
        else:
            assert wanted is not None  # noqa: S101  (checked above)
            options = PortOptions(force=force, squash=squash, follow=follow, dry_run=dry_run, allow=frozenset(allow))
            sides = {"fork": project.fork, "upstream": project.upstream}
            if needed:
                report = as_one(port_with_prerequisites(wanted, **sides, tools=tools, options=options))
            else:
                report = port(wanted, **sides, tools=tools, options=options)
    text = port_json(report) if format_ == "json" else rendered(port_text(report), color=color, output=output)
    deliver(text, output=output)
    stopped = report.status in (PortStatus.CONFLICT, PortStatus.BLOCKED)
    return int(ExitCode.FINDING if stopped or report.compiled.failed else ExitCode.CLEAN)


def _check_words(wanted: Wanted | None, *, ways: Sequence[bool], dry_run: bool) -> None:
    if sum(ways) > 1:
        raise UsageProblem("--continue, --skip and --abort exclude each other", hint="forkguard port --continue")
    if dry_run and any(ways):
        raise UsageProblem("--dry-run is for a port that is not begun yet", hint="forkguard port --dry-run 27383")
    if wanted is None and not any(ways):
        raise UsageProblem("no pull request is named", hint="forkguard port 27383")


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
        forge=_forge(project),
        identifiers=project.map.port.identifiers,
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
                return Hazards(notes=("no arch is touched, so no wiring rule was looked at",))
            found = found_at(commit, archs)
            old = found_at(onto, archs) if any(not finding.also_upstream for finding in found) else ()
        except ForkguardError as problem:
            return Hazards(archs=archs, notes=(f"hazards were not looked for: {problem.what}",))
        before = {finding.id for finding in old}
        return Hazards(found, frozenset(finding.id for finding in found if finding.id not in before), archs)

    return check


def _forge(project: Project) -> GitHub | None:
    """The forge that the map names, or whose repository upstream's remote is; None where there is none."""
    settings = project.map.forge
    urls = project.upstream_repo.remotes()
    named = urls.get(project.map.upstream.remote or "origin", "")
    repository = settings.repository or repository_of(named)
    if repository is None:
        return None
    api = os.environ.get(FORGE_VARIABLE) or settings.api or GITHUB_API
    token = os.environ.get(TOKEN_VARIABLE) or None
    return GitHub(api=api, repository=repository, cache=project.cache / "forge", token=token)


def _wanted(text: str | None) -> Wanted | None:
    if text is None:
        return None
    if found := _PULL.fullmatch(text):
        return Wanted(pull=PullNumber(int(found[1])))
    if re.match(r"https?://", text):
        return Wanted(url=check_url(text))
    if _HASH.fullmatch(text):
        return Wanted(commit=text)
    file = Path(text)
    if file.is_file():
        return Wanted(patch=(text, _content(file)))
    raise UsageProblem(
        f"{text!r} is no number of a pull request, no commit, no address, and there is no such patch file",
        hint="forkguard port 27383",
    )


def _content(file: Path) -> bytes:
    if file.stat().st_size > _MOST_BYTES:
        raise UsageProblem(f"this patch is larger than {_MOST_BYTES >> 20} MiB", where=str(file))
    return file.read_bytes()
