"""`forkguard build`: an isolated tree, built; and the list and the pruning of the trees."""

import time
from dataclasses import dataclass
from pathlib import Path

import click

from forkguard.cli.compose import Project
from forkguard.cli.compose_build import open_workshop
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.core.build_profiles import DEFAULT_PROFILE
from forkguard.core.built_trees import parse_age
from forkguard.errors import UsageProblem
from forkguard.reports import build as report
from forkguard.workflows.build import Workshop, build_tree, prune

DEFAULT_AGE = "14d"


@dataclass(frozen=True, slots=True)
class _PruneOptions:
    keep: int | None
    older_than: float | None
    dry_run: bool


@click.command()
@project_options
@click.option(
    "--profile", default=DEFAULT_PROFILE, show_default=True, metavar="NAME",
    help="cpu, cuda, hip, vulkan, metal, or one of the map's [build.NAME].",
)  # fmt: skip
@click.option(
    "--target", "targets", multiple=True, metavar="NAME",
    help="What to build; may be repeated.  [default: the profile's, else llama-server]",
)  # fmt: skip
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N",
    help="Compilers at once.  [default: the profile's, else what processors and memory allow]",
)  # fmt: skip
@click.option("--list", "list_", is_flag=True, help="List the trees: size, commit, profile, age, state.")
@click.option("--prune", "prune_", is_flag=True, help="Remove trees; without more options those unused for 14 days.")
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="With --prune: keep the N last used.")
@click.option("--older-than", metavar="AGE", help="With --prune: only trees unused for so long (14d, 12h).")
@click.option("--dry-run", is_flag=True, help="With --prune: say what would go.")
@output_options(("text", "json"))
def command(
    options: ProjectOptions,
    profile: str,
    targets: tuple[str, ...],
    jobs: int | None,
    list_: bool,
    prune_: bool,
    keep: int | None,
    older_than: str | None,
    dry_run: bool,
    format_: str,
    output: Path | None,
) -> None:
    """Build the fork in an isolated tree.

    There is one tree per commit and build profile: a detached worktree and its build beside it. The fork's own
    work tree is not touched. A second tree compiles only what differs, when ccache is there; a build that was
    interrupted goes on where it stopped.

    \b
      forkguard build                          the production branch, profile cpu
      forkguard build --fork-ref topic -j 4
      forkguard build --list
      forkguard build --prune --keep 3 --dry-run
    """
    pruning = _prune_options(prune_, list_, keep, older_than, dry_run)
    with (
        options.talk() as talk,
        options.opened() as project,
    ):
        workshop = open_workshop(project, talk)
        if pruning is not None:
            text = _prune(workshop, pruning, format_)
        elif list_:
            text = _list(workshop, format_)
        else:
            text = _build(project, workshop, format_, profile=profile, targets=targets, jobs=jobs)
    deliver(text, output=output)


def _prune_options(
    wanted: bool, listing: bool, keep: int | None, older_than: str | None, dry_run: bool
) -> _PruneOptions | None:
    if wanted and listing:
        raise UsageProblem("--list and --prune are two commands", hint="forkguard build --prune --dry-run")
    if not wanted:
        if keep is not None or older_than is not None or dry_run:
            raise UsageProblem(
                "--keep, --older-than and --dry-run belong to --prune", hint="forkguard build --prune --dry-run"
            )
        return None
    if keep is None and older_than is None:
        older_than = DEFAULT_AGE
    return _PruneOptions(keep, parse_age(older_than) if older_than is not None else None, dry_run)


def _build(
    project: Project, workshop: Workshop, format_: str, *, profile: str, targets: tuple[str, ...], jobs: int | None
) -> str:
    built = build_tree(
        workshop,
        repository=project.fork_repo.path,
        commit=project.fork.commit,
        profile=profile,
        targets=targets,
        jobs=jobs,
    )
    return report.build_json(built.result) if format_ == "json" else report.build_text(built.result)


def _list(workshop: Workshop, format_: str) -> str:
    trees = workshop.trees.trees()
    root = str(workshop.trees.root)
    if format_ == "json":
        return report.trees_json(trees, root=root)
    return report.trees_text(trees, root=root, now=time.time())


def _prune(workshop: Workshop, options: _PruneOptions, format_: str) -> str:
    result = prune(
        workshop.trees, now=time.time(), keep=options.keep, older_than=options.older_than, dry_run=options.dry_run
    )
    return report.prune_json(result) if format_ == "json" else report.prune_text(result)
