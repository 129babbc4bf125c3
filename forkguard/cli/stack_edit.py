"""`forkguard stack reorder`, `drop`, `disable`, `enable` and `retire`: what changes the stack's files."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.cli.compose import Project
from forkguard.cli.compose_stack import Writing, project_base, replay_tools, writing
from forkguard.cli.options import deliver, fork_options, map_option, output_options
from forkguard.cli.project_options import ProjectOptions, collected
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.findings import Side
from forkguard.core.patchset import check_name
from forkguard.core.replay import PatchResult, PatchStatus
from forkguard.core.stack_edit import End, Place
from forkguard.errors import UsageProblem
from forkguard.reports.stack_edit import edited_json, edited_text
from forkguard.workflows.replay import read_patches, replay
from forkguard.workflows.stack_edit import Edited, OrderCheck, disable, drop, enable, reorder, retire


@contextlib.contextmanager
def _editing(options: ProjectOptions, verb: str, *, onto: str | None = None) -> Iterator[tuple[Project, Writing]]:
    """The project, and its stack to be written with the lock held by that verb."""
    with options.opened(upstream_ref=onto) as project, writing(project, purpose=f"forkguard stack {verb}") as tools:
        yield project, tools


def _tell(edited: Edited, format_: str, output: Path | None) -> None:
    say = edited_json if format_ == "json" else edited_text
    deliver(say(edited.name, edited.done, order=edited.order, notes=edited.notes), output=output)


@click.command("reorder", short_help="Put a patchset at another place of the stack.")
@click.argument("name")
@click.option("--before", metavar="NAME", help="In front of this patchset.")
@click.option("--after", metavar="NAME", help="Behind this patchset.")
@click.option("--first", "end", flag_value="first", help="At the bottom: applied first.")
@click.option("--last", "end", flag_value="last", help="On top: applied last.")
@click.option("--force", is_flag=True, help="Also where a patch does not apply in that order.")
@output_options(("text", "json"))
@fork_options
@map_option
@collected
def reorder_command(
    name: str,
    before: str | None,
    after: str | None,
    end: str | None,
    force: bool,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> None:
    """Put a patchset at another place of the stack, if every patch still applies in that order.

    \b
    Examples:
      forkguard stack reorder 27383 --first
      forkguard stack reorder 27383 --after 27342
    """
    if sum(each is not None for each in (before, after, end)) != 1:
        raise UsageProblem(
            "give one place: --before NAME, --after NAME, --first or --last",
            hint=f"forkguard stack reorder {name} --first",
        )
    place = Place(before, after, End(end) if end else None)
    with options.talk() as talk, _editing(options, "reorder") as (project, tools):
        check = _order_check(project, tools, talk)
        edited = reorder(check_name(name), place, patchsets=tools.patchsets, check=check, force=force)
    _tell(edited, format_, output)


@click.command("drop", short_help="Remove a patchset; its files are kept aside.")
@click.argument("name")
@output_options(("text", "json"))
@fork_options
@map_option
@collected
def drop_command(name: str, format_: str, output: Path | None, options: ProjectOptions) -> None:
    """Remove a patchset from the stack and from patchsets/. Its files are kept in .forkguard/dropped/."""
    with _editing(options, "drop") as (project, tools):
        edited = drop(check_name(name), patchsets=tools.patchsets, kept=PatchsetFolder(project.state / "dropped"))
    _tell(edited, format_, output)


@click.command("disable", short_help="Leave a patchset out of the stack for now.")
@click.argument("name")
@click.option("--reason", required=True, help="Why; kept in patchset.toml.")
@output_options(("text", "json"))
@fork_options
@map_option
@collected
def disable_command(name: str, reason: str, format_: str, output: Path | None, options: ProjectOptions) -> None:
    """Leave a patchset out of the stack for now; its place in the order stays. `forkguard stack enable` undoes it."""
    with _editing(options, "disable") as (_, tools):
        edited = disable(check_name(name), reason=_said(reason), patchsets=tools.patchsets)
    _tell(edited, format_, output)


@click.command("enable", short_help="Take a disabled or retired patchset in again.")
@click.argument("name")
@output_options(("text", "json"))
@fork_options
@map_option
@collected
def enable_command(name: str, format_: str, output: Path | None, options: ProjectOptions) -> None:
    """Take a disabled or retired patchset in again: at its place, or on top where the series does not list it."""
    with _editing(options, "enable") as (_, tools):
        edited = enable(check_name(name), patchsets=tools.patchsets)
    _tell(edited, format_, output)


@click.command("retire", short_help="Take out a patchset that upstream has now.")
@click.argument("name")
@click.option("--onto", metavar="REF", help="Where it must have landed.  [default: the map's upstream ref]")
@click.option("--force", is_flag=True, help="Retire it though it has not landed; needs --reason.")
@click.option("--reason", help="Why; kept in patchset.toml.")
@output_options(("text", "json"))
@fork_options
@map_option
@collected
def retire_command(
    name: str,
    onto: str | None,
    force: bool,
    reason: str | None,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> None:
    """Take a patchset out of the stack because upstream has its change, by patch id or by content.

    Its files stay in patchsets/, as state "retired". Do it together with moving to that upstream: on the old base the
    stack is one change short.

    \b
    Examples:
      forkguard stack retire 27383
      forkguard stack retire 27383 --force --reason "replaced by our own"
    """
    check_name(name)
    if force and not (reason or "").strip():
        raise UsageProblem("--force needs a reason", hint=f"forkguard stack retire {name} --force --reason WHY")
    with options.talk() as talk, _editing(options, "retire", onto=onto) as (project, tools):
        tools.patchsets.manifest(name)
        results = () if force else _classes(name, project, tools, talk)
        edited = retire(
            name, results=results, onto=project.upstream.ref, reason=reason, force=force, patchsets=tools.patchsets
        )
    _tell(edited, format_, output)


def _order_check(project: Project, tools: Writing, talk: ConsoleTalk) -> OrderCheck:
    """Makes the stack on its base in another order, in memory."""

    def check(names: Sequence[str]) -> list[str]:
        patches = read_patches(tools.patchsets)
        base = project_base(project)
        report = replay(
            sorted(patches, key=lambda patch: names.index(patch.patchset)),
            base=base,
            onto=Side(base[:10], base),
            tools=replay_tools(project, talk),
            bisect=False,
        )
        fine = (PatchStatus.APPLIES, PatchStatus.ADDITIVE)
        return [f"{one.patch.label} ({one.status.value})" for one in report.results if one.status not in fine]

    return check


def _classes(name: str, project: Project, tools: Writing, talk: ConsoleTalk) -> tuple[PatchResult, ...]:
    """The classes of a patchset's patches, replayed in their place of the stack."""
    report = replay(
        read_patches(tools.patchsets),
        base=project_base(project),
        onto=project.upstream,
        tools=replay_tools(project, talk),
        bisect=False,
    )
    return tuple(result for result in report.results if result.patch.patchset == name)


def _said(reason: str) -> str:
    if not reason.strip():
        raise UsageProblem("the reason is empty", hint='--reason "what is wrong with it"')
    return reason.strip()
