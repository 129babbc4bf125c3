"""`forkguard port`."""

import re
from pathlib import Path

import click

from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.adapters.journals import JournalFile
from forkguard.adapters.workbench import Workbench
from forkguard.adapters.worktrees import Worktrees
from forkguard.cli.compose import Project, open_project, patchset_store, project_rules
from forkguard.cli.options import deliver, output_options, project_options
from forkguard.cli.render import rendered
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.findings import Base, Kind, Side
from forkguard.core.hunks import FileChange
from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import Hazards, PortStatus, archs_touched
from forkguard.errors import ExitCode, ForkguardError, UsageProblem
from forkguard.reports.port import abort_json, abort_text, port_json, port_text
from forkguard.workflows.base import find_base
from forkguard.workflows.drift import run_drift
from forkguard.workflows.port import HazardCheck, PortTools, abort_port, continue_port, port

_PULL = re.compile(r"#?([1-9]\d{0,8})")


@click.command("port", short_help="Port an upstream pull request onto the fork as a patchset.")
@click.argument("pr", required=False)
@click.option("--continue", "go_on", is_flag=True, help="Go on with the port in progress, its conflicts resolved.")
@click.option("--abort", "give_up", is_flag=True, help="Take the port in progress back.")
@output_options(("text", "json"))
@project_options
def command(
    pr: str | None,
    go_on: bool,
    give_up: bool,
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

    The change is found in the local upstream history by a subject that ends in (#PR), else by
    refs/pull/PR/head. It is applied in memory: your branches, index, work tree, remote-tracking refs and
    configuration stay as they are. patchsets/PR/ beside the map gets the patches, for `git am`.

    On a conflict a worktree of forkguard's own holds the marked files. Resolve them there, then --continue;
    or --abort.

    \b
    Examples:
      forkguard port 27383
      forkguard port --continue
      forkguard drift --arch lfm2 --fork-ref forkguard/27383     is it all there now?

    Exit status: 0 ported, or there already; 1 a conflict; 2 wrong use; 3 the request is not known here.
    """
    pull = _pull(pr)
    if go_on and give_up:
        raise UsageProblem("--continue and --abort exclude each other", hint="forkguard port --continue")
    if pull is None and not (go_on or give_up):
        raise UsageProblem("no pull request is named", hint="forkguard port 27383")
    with (
        ConsoleTalk(color=color, verbose=verbose) as talk,
        open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=upstream_ref) as project,
        GitRepository(project.fork_repo.path) as plain,
        locked(project.state_folder() / "port.lock", purpose="forkguard port"),
    ):
        tools = port_tools(project, plain, talk)
        if give_up:
            aborted = abort_port(pull, tools=tools)
            text = (
                abort_json(aborted)
                if format_ == "json"
                else rendered(abort_text(aborted), color=color, output=output)
            )
            deliver(text, output=output)
            return int(ExitCode.CLEAN)
        if go_on:
            report = continue_port(pull, tools=tools)
        else:
            assert pull is not None  # noqa: S101  (checked above)
            report = port(pull, fork=project.fork, upstream=project.upstream, tools=tools)
    text = port_json(report) if format_ == "json" else rendered(port_text(report), color=color, output=output)
    deliver(text, output=output)
    return int(ExitCode.FINDING if report.status in (PortStatus.CONFLICT, PortStatus.BLOCKED) else ExitCode.CLEAN)


def port_tools(project: Project, plain: GitRepository, talk: ConsoleTalk) -> PortTools:
    """Everything that a port works with; `plain` is the fork without upstream's objects: it is written to."""
    folder = project.cache / "worktrees"
    base = _Base(project)
    return PortTools(
        fork=project.fork_repo,
        upstream=project.upstream_repo,
        bench=Workbench(plain, folder),
        checkouts=Worktrees(plain, folder),
        journal=JournalFile(project.state / "port.json"),
        patchsets=patchset_store(project),
        talk=talk,
        find_base=lambda: base.value.commit,
        hazards=_hazard_check(project, base, talk),
        identifiers=project.map.port.identifiers,
    )


class _Base:
    """The fork's base, looked for once and only when somebody asks."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._found: Base | None = None

    @property
    def value(self) -> Base:
        if self._found is None:
            project = self._project
            self._found = find_base(
                project.fork_repo, fork=project.fork, upstream=project.upstream, configured=project.map.upstream.base
            )
        return self._found


def _hazard_check(project: Project, base: _Base, talk: ConsoleTalk) -> HazardCheck:
    known = {name: (arch.enum, arch.files) for name, arch in project.map.arch.items()}

    def check(commit: CommitHash, files: tuple[FileChange, ...]) -> Hazards:
        archs = archs_touched(files, known)
        if not archs:
            return Hazards(notes=("no arch of the map is touched, so no wiring rule was looked at",))
        try:
            report = run_drift(
                project.fork_repo,
                fork=Side(project.fork.ref, commit),
                upstream=project.upstream,
                base=base.value,
                archs=archs,
                rules=project_rules(project),
                talk=talk,
            )
        except ForkguardError as problem:
            return Hazards(archs=archs, notes=(f"hazards were not looked for: {problem.what}",))
        found = tuple(finding for finding in report.findings if finding.kind is Kind.HAZARD)
        return Hazards(found, archs)

    return check


def _pull(text: str | None) -> PullNumber | None:
    if text is None:
        return None
    found = _PULL.fullmatch(text)
    if found is None:
        raise UsageProblem(f"{text!r} is not the number of a pull request", hint="forkguard port 27383")
    return PullNumber(int(found[1]))
