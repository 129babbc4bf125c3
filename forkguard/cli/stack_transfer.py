"""`forkguard stack import`, `export` and `range-diff`."""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from forkguard.adapters.files import locked, write_atomic
from forkguard.adapters.git import GitRepository
from forkguard.adapters.patch_folders import mail_patches, quilt_patches
from forkguard.cli.compose import Project, patchset_store
from forkguard.cli.compose_port import port_tools, pull_heads, scratch_tools
from forkguard.cli.compose_stack import Writing, project_base, replay_tools, writing
from forkguard.cli.options import deliver, fork_options, map_option, output_options, talk_options
from forkguard.cli.project_options import ProjectOptions, collected
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.findings import Side
from forkguard.core.names import CommitHash, check_ref
from forkguard.core.patchset import check_name
from forkguard.core.pins import PinsImport, parse_pins
from forkguard.core.porting import PortOptions
from forkguard.core.replay import ReplayReport
from forkguard.core.strangers import Doing
from forkguard.errors import ExitCode, UsageProblem
from forkguard.reports.stack_edit import (
    exported_json,
    exported_text,
    imported_json,
    imported_text,
    range_diff_json,
    range_diff_text,
)
from forkguard.reports.stack_pins import pins_json, pins_status, pins_text
from forkguard.workflows.import_pins import import_pins
from forkguard.workflows.replay import read_patches, replay
from forkguard.workflows.replay_stack import ReplayTools
from forkguard.workflows.stack_export import BRANCH, flat_files, point_branch, whole
from forkguard.workflows.stack_import import Incoming, branch_patches, import_stack


@click.command("import", short_help="Carry a branch, a quilt series, mails or pinned requests.")
@click.option("--from-branch", metavar="REF", help="The commits of this branch that upstream has not.")
@click.option(
    "--quilt", type=click.Path(path_type=Path), metavar="DIR", help="A quilt series: the folder of `series`."
)
@click.option("--am", "mails", type=click.Path(path_type=Path), metavar="DIR", help="A folder of numbered mails.")
@click.option(
    "--pins",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Pinned pull requests, NUMBER COMMIT a line; - reads them from stdin.",
)
@click.option("--base", metavar="REF", help="The commit that the patches stand on.  [default: the fork's base]")
@click.option("--name", metavar="NAME", help="One patchset for all.  [default: one for each patch]")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice([doing.value for doing in Doing]),
    help="With --pins: what a request that is not merged may do, as for port (repeatable).",
)
@click.option(
    "--force", is_flag=True, help="With --pins: also where a request brings a hazard that upstream has not."
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@output_options(("text", "json"))
@talk_options
@fork_options
@map_option
@collected
def import_command(
    from_branch: str | None,
    quilt: Path | None,
    mails: Path | None,
    pins: Path | None,
    base: str | None,
    name: str | None,
    allow: tuple[str, ...],
    force: bool,
    dry_run: bool,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> int:
    """Carry patches that were kept in another way, at the end of the stack. Authors, dates and numbers are kept.

    \b
    Examples:
      forkguard stack import --from-branch production
      forkguard stack import --quilt ../debian/patches
      forkguard stack import --am ../queue --base b10531
      forkguard stack import --pins pins.txt

    The requests of --pins are ported in their order, each on top of those before it, as `forkguard port` does it;
    a list that changed is imported again. Each stays at its pinned commit, wherever its head is now.

    Exit status: 0 all applied; 1 some do not apply to the base, and were kept as they came, or a pinned request
    conflicts or moved; 3 a request is not to be had, or nobody allowed what it does.
    """
    _check_sources([from_branch, quilt, mails, pins], pins=pins, name=name, of_pins=bool(allow) or force)
    if pins is not None:
        with (
            options.talk() as talk,
            options.opened() as project,
        ):
            asked = PortOptions(dry_run=dry_run, allow=frozenset(allow), force=force)
            found = _import_pins(project, pins, base=base, options=asked, talk=talk)
        deliver(pins_json(found) if format_ == "json" else pins_text(found), output=output)
        return int(pins_status(found))
    with (
        options.talk() as talk,
        options.opened() as project,
        writing(project, purpose="forkguard stack import") as held,
    ):
        tools = replay_tools(project, talk)
        onto = project.fork_repo.resolve(check_ref(base)) if base else project_base(project)
        if from_branch is not None:
            incoming = _of_branch(project, from_branch, onto, tools)
        elif quilt is not None:
            incoming = tuple(Incoming(each, content, strip) for each, content, strip in quilt_patches(quilt))
        else:
            assert mails is not None  # noqa: S101  (one of the three is given)
            incoming = tuple(Incoming(each, content) for each, content in mail_patches(mails))
        made = import_stack(
            incoming,
            base=onto,
            into=check_name(name) if name else None,
            patchsets=held.patchsets,
            tools=tools,
            keep=lambda tip: held.checkouts.keep(tip, f"refs/forkguard/imported/{tip[:12]}"),
            dry_run=dry_run,
        )
    say = imported_json if format_ == "json" else imported_text
    deliver(say(made.patchsets, made.as_they_came, base=made.base), output=output)
    return int(ExitCode.FINDING if made.as_they_came else ExitCode.CLEAN)


def _check_sources(sources: Sequence[object], *, pins: Path | None, name: str | None, of_pins: bool) -> None:
    if sum(each is not None for each in sources) != 1:
        raise UsageProblem(
            "give one source: --from-branch REF, --quilt DIR, --am DIR or --pins FILE",
            hint="forkguard stack import --from-branch production",
        )
    if pins is not None and name is not None:
        raise UsageProblem("each pinned request is a patchset of its own", hint="leave --name out")
    if pins is None and of_pins:
        raise UsageProblem("--allow and --force are for --pins", hint="forkguard stack import --pins pins.txt")


def _import_pins(
    project: Project, file: Path, *, base: str | None, options: PortOptions, talk: ConsoleTalk
) -> PinsImport:
    text = sys.stdin.read() if str(file) == "-" else _text(file)
    pins = parse_pins(text, name="stdin" if str(file) == "-" else str(file))
    onto = project.fork_repo.resolve(check_ref(base)) if base else project_base(project)
    with contextlib.ExitStack() as stack:
        if options.dry_run:
            tools = stack.enter_context(scratch_tools(project, talk))
            plain = project.fork_repo
        else:
            stack.enter_context(locked(project.state_folder() / "port.lock", purpose="forkguard stack import"))
            plain = stack.enter_context(GitRepository(project.fork_repo.path))
            tools = port_tools(project, plain, talk)
        return import_pins(
            pins,
            base=Side(base or onto[:10], onto),
            upstream=project.upstream,
            tools=tools,
            remote=pull_heads(project, plain, looks_only=options.dry_run),
            options=options,
        )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"this list cannot be read: {error}", where=str(file)) from error


def _of_branch(project: Project, ref: str, base: CommitHash, tools: ReplayTools) -> tuple[Incoming, ...]:
    tip = project.fork_repo.resolve(check_ref(ref))
    if not project.fork_repo.is_ancestor(base, tip):
        raise UsageProblem(
            f"{ref} does not descend from {base[:10]}", hint="name the commit that it was made from with --base REF"
        )
    return branch_patches(tip, base=base, repo=project.fork_repo, tools=tools)


@click.command("export", short_help="The stack as patches, as a bundle or as a branch.")
@click.option("--as", "form", type=click.Choice(["patches", "bundle", "branch"]), required=True, help="What to make.")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), metavar="PATH", help="The folder, or the bundle's file."
)
@click.option("--onto", metavar="REF", help="Another upstream commit than the base, for a bundle or a branch.")
@output_options(("text", "json"))
@talk_options
@fork_options
@map_option
@collected
def export_command(
    form: str,
    target: Path | None,
    onto: str | None,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> None:
    """Write the stack for others: numbered mails for `git am`, a git bundle, or the branch forkguard/stack.

    \b
    Examples:
      forkguard stack export --as patches --to ../queue
      forkguard stack export --as bundle --to stack.bundle
      forkguard stack export --as branch --onto upstream/master
    """
    if (target is None) != (form == "branch"):
        raise UsageProblem(
            "a branch takes no --to" if form == "branch" else f"--as {form} needs --to PATH",
            hint=f"forkguard stack export --as {form}" + ("" if form == "branch" else " --to PATH"),
        )
    with (
        options.talk() as talk,
        options.opened(upstream_ref=onto) as project,
        writing(project, purpose="forkguard stack export") as held,
    ):
        base = project_base(project)
        tools = replay_tools(project, talk)
        goal = project.upstream if onto else Side(base[:10], base)
        report = replay(read_patches(held.patchsets), base=base, onto=goal, tools=tools, bisect=False)
        tip = whole(report)
        where, done = BRANCH, "written"
        if target is None:
            if project.upstream_repo is not project.fork_repo:
                held.checkouts.fetch(project.upstream_repo.path, goal.commit, f"refs/forkguard/base/{goal.commit}")
            done = point_branch(tip, bench=tools.bench, checkouts=held.checkouts)
        elif form == "bundle":
            write_atomic(target, tools.store.bundle(goal.commit, tip, branch=BRANCH))
            where = str(target)
        else:
            _write_patches(target, report, held)
            where = str(target)
    say = exported_json if format_ == "json" else exported_text
    deliver(say(form, where, tip=tip, patches=len(report.results), done=done), output=output)


def _write_patches(target: Path, report: ReplayReport, held: Writing) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageProblem("this folder is not empty", where=str(target), hint="name a folder that is not there yet")
    contents = [
        (result.patch, held.patchsets.content(f"{result.patch.patchset}/{result.patch.name}") or b"")
        for result in report.results
    ]
    for name, content in flat_files(contents).items():
        write_atomic(target / name, content)


@click.command("range-diff", short_help="How the stack's patches differ between two upstream commits.")
@click.argument("one")
@click.argument("other")
@output_options(("text", "json"))
@talk_options
@fork_options
@map_option
@collected
def range_diff_command(
    one: str,
    other: str,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> None:
    """Replay the stack on two upstream commits, and show with git range-diff what each patch became.

    Instead of an upstream commit, ONE or OTHER may be a branch forkguard/...: it is taken as it is.

    \b
    Examples:
      forkguard stack range-diff b10531 upstream/master
      forkguard stack range-diff forkguard/stack upstream/master
    """
    ranges = []
    with options.talk() as talk:
        for ref in (one, other):
            upstream_ref = None if ref.startswith("forkguard/") else ref
            with options.opened(upstream_ref=upstream_ref) as project:
                ranges.append(_range_of(ref, project, replay_tools(project, talk)))
        with options.opened() as project:
            text = replay_tools(project, talk).store.range_diff(ranges[0], ranges[1])
    said = range_diff_json(ranges[0][1], ranges[1][1], text) if format_ == "json" else range_diff_text(text)
    deliver(said, output=output)


def _range_of(ref: str, project: Project, tools: ReplayTools) -> tuple[CommitHash, CommitHash]:
    if ref.startswith("forkguard/"):
        tip = project.fork_repo.resolve(check_ref(ref))
        base = project.fork_repo.merge_base(tip, project.upstream.commit)
        if base is None:
            raise UsageProblem(f"{ref} shares no history with {project.upstream.ref}", hint="forkguard stack export")
        return base, tip
    base = project_base(project)
    patches = read_patches(patchset_store(project))
    report = replay(patches, base=base, onto=project.upstream, tools=tools, bisect=False)
    return project.upstream.commit, report.tip
