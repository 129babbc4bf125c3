"""`forkguard stack replay` and `verify`: the stack against both sides, read only."""

from pathlib import Path

import click

from forkguard.cli.compose import open_project, patchset_store
from forkguard.cli.compose_stack import project_base, replay_tools
from forkguard.cli.options import (
    deliver,
    fork_options,
    map_option,
    output_options,
    project_options,
    talk_options,
)
from forkguard.cli.render import rendered
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.replay import ReplayReport
from forkguard.errors import ExitCode
from forkguard.reports.replay import replay_json, replay_text
from forkguard.reports.stack_verify import verify_json, verify_text
from forkguard.workflows.replay import read_patches, replay
from forkguard.workflows.stack_verify import verify


@click.command("replay", short_help="Try the stack on another upstream commit, in memory.")
@click.option("--onto", metavar="REF", help="The upstream commit, spelled as in the fork.  [default: the map's ref]")
@click.option("--bisect/--no-bisect", default=True, help="Look for the upstream commit that broke each conflict.")
@output_options(("text", "json"))
@talk_options
@fork_options
@map_option
def replay_command(
    onto: str | None,
    bisect: bool,
    format_: str,
    output: Path | None,
    map_file: Path | None,
    fork: Path | None,
    fork_ref: str | None,
    verbose: bool,
    color: bool | None,
) -> int:
    """Try every patch of the stack on an upstream commit. Nothing is checked out, and no branch is made.

    A patch that fails is left out, and the ones behind it are tried all the same. Each gets a class: applies,
    additive (both sides only add), landed (upstream has it, by patch id or by content), conflict, missing-blob
    (this clone lacks what a merge needs), untested (it needs one that failed).

    \b
    Examples:
      forkguard stack replay
      forkguard stack replay --onto upstream/master~100
      forkguard stack replay --onto b10600 --format json

    Exit status: 0 all apply or landed; 1 a conflict, a missing blob or an untested patch.
    """
    with (
        ConsoleTalk(color=color, verbose=verbose) as talk,
        open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=onto) as project,
    ):
        patches = read_patches(patchset_store(project))
        report = replay(
            patches,
            base=project_base(project),
            onto=project.upstream,
            tools=replay_tools(project, talk),
            bisect=bisect,
        )
    text = replay_json(report) if format_ == "json" else rendered(replay_text(report), color=color, output=output)
    deliver(text, output=output)
    return int(ExitCode.FINDING if report.failed else ExitCode.CLEAN)


def replayed(
    *, map_file: Path | None, fork: Path | None, fork_ref: str | None, onto: str, color: bool | None
) -> ReplayReport:
    """The stack on another upstream commit, without a search for who broke what."""
    with (
        ConsoleTalk(color=color, verbose=False) as talk,
        open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=onto) as project,
    ):
        return replay(
            read_patches(patchset_store(project)),
            base=project_base(project),
            onto=project.upstream,
            tools=replay_tools(project, talk),
            bisect=False,
        )


@click.command("verify", short_help="Do series, files, exports, base and production branch agree?")
@output_options(("text", "json"))
@project_options
def verify_command(
    format_: str,
    output: Path | None,
    map_file: Path | None,
    fork: Path | None,
    fork_ref: str | None,
    upstream_ref: str | None,
    verbose: bool,
    color: bool | None,
) -> int:
    """Check the stack against its files, its base and the production branch.

    Series, numbers and files agree; each patch file is what git makes of its commit, byte for byte. The patches
    apply in order to the base; each has its DEP-3 fields; none takes upstream's lines away without saying so
    (removes = ["FILE"] in patchset.toml, a Removes: field, or the file's name in the message); and base plus
    stack is the tree of the production branch, or else the commits that no patchset covers are listed.

    Exit status: 0 the stack is whole; 1 a finding.
    """
    with (
        ConsoleTalk(color=color, verbose=verbose) as talk,
        open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=upstream_ref) as project,
    ):
        report = verify(
            patchset_store(project),
            base=project_base(project),
            fork=project.fork,
            tools=replay_tools(project, talk),
        )
    text = verify_json(report) if format_ == "json" else rendered(verify_text(report), color=color, output=output)
    deliver(text, output=output)
    return int(ExitCode.FINDING if report.findings else ExitCode.CLEAN)
