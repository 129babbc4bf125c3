"""`forkguard stack replay`: the stack on another upstream commit."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from forkguard.cli.compose import Project, patchset_store
from forkguard.cli.compose_replay import replay_in_progress, resolving
from forkguard.cli.compose_stack import project_base, replay_tools
from forkguard.cli.options import deliver, fork_options, map_option, output_options, talk_options
from forkguard.cli.project_options import ProjectOptions, collected
from forkguard.cli.render import rendered
from forkguard.core.open_work import open_replay
from forkguard.core.replay import ReplayReport
from forkguard.errors import ExitCode, UsageProblem
from forkguard.ports import Talk
from forkguard.reports.replay import conflict_text, replay_end_json, replay_end_text, replay_json, replay_text
from forkguard.workflows.replay import read_patches, replay
from forkguard.workflows.replay_resolve import continue_replay, end_replay, open_conflict, skip_patch
from forkguard.workflows.replay_resolve import resolve as begin_resolving


@click.command("replay", short_help="Try the stack on another upstream commit, in memory.")
@click.option("--onto", metavar="REF", help="The upstream commit, spelled as in the fork.  [default: the map's ref]")
@click.option("--bisect/--no-bisect", default=True, help="Look for the upstream commit that broke each conflict.")
@click.option("--resolve", metavar="PATCHSET[/PATCH]", help="Open the conflict of this patch in a worktree.")
@click.option("--continue", "go_on", is_flag=True, help="Keep what you resolved, and go on to the next conflict.")
@click.option("--skip", is_flag=True, help="Leave the open patch out, and go on to the next conflict.")
@click.option("--quit", "leave", is_flag=True, help="Stop here; the resolutions that you made stay.")
@click.option("--abort", "give_up", is_flag=True, help="Back to the start: the resolutions of this replay go too.")
@output_options(("text", "json"))
@talk_options
@fork_options
@map_option
@collected
def replay_command(
    onto: str | None,
    bisect: bool,
    resolve: str | None,
    go_on: bool,
    skip: bool,
    leave: bool,
    give_up: bool,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> int:
    """Try every patch of the stack on an upstream commit. Nothing is checked out, and no branch is made.

    A patch that fails is left out, and the ones behind it are tried all the same. Each gets a class: applies,
    additive (both sides only add), landed (upstream has it, by patch id or by content), conflict, missing-blob
    (this clone lacks what a merge needs), untested (it needs one that failed).

    --resolve makes a worktree of forkguard's own that holds the marked files of one conflict, on top of the patches
    before it. Resolve them there, then --continue: the resolution is kept in resolutions/ beside the map and used
    by every replay in which the same sides meet; then the next conflict behind it is opened.

    \b
    Examples:
      forkguard stack replay
      forkguard stack replay --onto b10600 --format json
      forkguard stack replay --onto upstream/master --resolve my-fix
      forkguard stack replay --continue

    Exit status: 0 all apply or landed; 1 a conflict, a missing blob or an untested patch.
    """
    ways = {
        "--resolve": resolve is not None,
        "--continue": go_on,
        "--skip": skip,
        "--quit": leave,
        "--abort": give_up,
    }
    _check_ways([name for name, given in ways.items() if given], onto=onto)
    with (
        options.talk() as talk,
        options.opened(upstream_ref=onto) as project,
    ):
        if leave or give_up:
            with resolving(project, talk) as tools:
                end = end_replay(tools, keep=leave)
            deliver(replay_end_json(end) if format_ == "json" else replay_end_text(end), output=output)
            return int(ExitCode.CLEAN)
        if resolve is not None or go_on or skip:
            report = _deciding(project, talk, resolve=resolve, skip=skip)
        else:
            report = _trying(project, talk, bisect=bisect)
    shown = conflict_text if resolve is not None or go_on or skip else replay_text
    text = replay_json(report) if format_ == "json" else rendered(shown(report), color=options.color, output=output)
    deliver(text, output=output)
    return int(ExitCode.FINDING if report.failed else ExitCode.CLEAN)


def _check_ways(given: Sequence[str], *, onto: str | None) -> None:
    if len(given) > 1:
        raise UsageProblem(f"{' and '.join(given)} exclude each other", hint="forkguard stack replay --continue")
    if given and given[0] != "--resolve" and onto is not None:
        raise UsageProblem(
            f"{given[0]} goes on where the replay began: --onto is not for it",
            hint=f"forkguard stack replay {given[0]}",
        )


def _deciding(project: Project, talk: Talk, *, resolve: str | None, skip: bool) -> ReplayReport:
    """The replay with one more conflict opened or decided."""
    with resolving(project, talk) as tools:
        if resolve is not None:
            return begin_resolving(resolve, base=project_base(project), onto=project.upstream, tools=tools)
        return skip_patch(tools) if skip else continue_replay(tools)


def _trying(project: Project, talk: Talk, *, bisect: bool) -> ReplayReport:
    """The replay in memory; one that is open is said."""
    patches = read_patches(patchset_store(project))
    tools = replay_tools(project, talk)
    report = replay(patches, base=project_base(project), onto=project.upstream, tools=tools, bisect=bisect)
    journal = replay_in_progress(project)
    if journal is None:
        return report
    work = open_replay(journal)
    return replace(report, open=open_conflict(journal), notes=(*report.notes, f"{work.what}: {work.hint}"))


def replayed(options: ProjectOptions, *, onto: str) -> ReplayReport:
    """The stack on another upstream commit, without a search for who broke what."""
    with (
        options.talk() as talk,
        options.opened(upstream_ref=onto) as project,
    ):
        return replay(
            read_patches(patchset_store(project)),
            base=project_base(project),
            onto=project.upstream,
            tools=replay_tools(project, talk),
            bisect=False,
        )
