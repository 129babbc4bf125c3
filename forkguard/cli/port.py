"""`forkguard port`."""

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

import click

from forkguard.adapters.files import locked
from forkguard.adapters.forge import check_url
from forkguard.adapters.git import GitRepository
from forkguard.cli.compose_port import port_tools, scratch_tools
from forkguard.cli.compose_replay import say_open_replay
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.cli.render import rendered
from forkguard.core.names import PullNumber
from forkguard.core.porting import PortOptions, PortStatus
from forkguard.core.strangers import Doing
from forkguard.errors import ExitCode, UsageProblem
from forkguard.reports.port import abort_json, abort_text, port_json, port_text
from forkguard.workflows.find_change import Wanted
from forkguard.workflows.port import abort_port, continue_port, port, skip_pick
from forkguard.workflows.port_stack import as_one, port_with_prerequisites

_PULL = re.compile(r"#?([1-9]\d{0,8})")
_HASH = re.compile(r"[0-9a-f]{7,64}")
_MOST_BYTES = 64 << 20


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
    options: ProjectOptions,
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
        talk = stack.enter_context(options.talk())
        project = stack.enter_context(options.opened())
        say_open_replay(project, talk)
        if dry_run:
            tools = stack.enter_context(scratch_tools(project, talk))
        else:
            plain = stack.enter_context(GitRepository(project.fork_repo.path))
            stack.enter_context(locked(project.state_folder() / "port.lock", purpose="forkguard port"))
            tools = port_tools(project, plain, talk)
        if give_up:
            aborted = abort_port(pull, tools=tools)
            text = rendered(abort_text(aborted), color=options.color, output=output)
            deliver(abort_json(aborted) if format_ == "json" else text, output=output)
            return int(ExitCode.CLEAN)
        if go_on:
            report = continue_port(pull, tools=tools, force=force)
        elif skip:
            report = skip_pick(pull, tools=tools)
        else:
            assert wanted is not None  # noqa: S101  (checked above)
            asked = PortOptions(force=force, squash=squash, follow=follow, dry_run=dry_run, allow=frozenset(allow))
            sides = {"fork": project.fork, "upstream": project.upstream}
            if needed:
                report = as_one(port_with_prerequisites(wanted, **sides, tools=tools, options=asked))
            else:
                report = port(wanted, **sides, tools=tools, options=asked)
    text = port_json(report) if format_ == "json" else rendered(port_text(report), color=options.color, output=output)
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
