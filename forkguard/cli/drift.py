"""`forkguard drift`."""

from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path

import click

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.cli.compose import open_project
from forkguard.cli.options import deliver, output_options, project_options
from forkguard.cli.render import rendered
from forkguard.cli.talk import ConsoleTalk
from forkguard.core.map_models import AcceptTable
from forkguard.errors import ExitCode, UsageProblem
from forkguard.reports import drift as report_drift
from forkguard.workflows.base import find_base
from forkguard.workflows.drift import run_drift


@click.command()
@click.option(
    "--arch", "archs", multiple=True, metavar="NAME", help="An arch, by its name in LLM_ARCH_NAMES; repeatable."
)
@click.option("--strict", is_flag=True, help="Count accepted drift, notes and hazards that upstream has too.")
@output_options(["text", "json"])
@project_options
def command(
    archs: tuple[str, ...],
    strict: bool,
    format_: str,
    output: Path | None,
    map_file: Path | None,
    fork: Path | None,
    fork_ref: str | None,
    upstream_ref: str | None,
    verbose: bool,
    color: bool | None,
) -> int:
    """What the fork lacks or lost of an arch, by whom it came upstream, and how to mend it.

    Both trees are compared by syntax: white space, comments, moved code and renamed local variables make
    no difference. An arch stands for all that share its graph (lfm2 for lfm2moe too).

    \b
    Examples:
      forkguard drift --arch lfm2
      forkguard drift --arch lfm2 --arch qwen35 --format json
      forkguard drift --arch lfm2 --fork-ref forkguard/27383

    Exit status: 0 clean; 1 a finding, or an arch that the fork does not have. Accepted drift, notes and
    hazards that upstream has too are told but not counted, unless --strict.
    """
    talk = ConsoleTalk(verbose=verbose, color=color)
    with open_project(map_file=map_file, fork=fork, fork_ref=fork_ref, upstream_ref=upstream_ref) as project, talk:
        names = archs or project.map.defaults.archs
        if not names:
            raise UsageProblem(
                "no arch is named",
                where=str(project.map_path),
                hint="forkguard drift --arch lfm2, or list archs in [defaults] of the map",
            )
        base = find_base(
            project.fork_repo, fork=project.fork, upstream=project.upstream, configured=project.map.upstream.base
        )
        report = run_drift(
            project.fork_repo,
            fork=project.fork,
            upstream=project.upstream,
            base=base,
            archs=names,
            rules=bundled_rules(),
            ledger=accepted(project.map.accept, today=datetime.now().astimezone().date()),
            talk=talk,
        )
    if format_ == "json":
        deliver(report_drift.as_json(report, strict=strict), output=output)
    else:
        deliver(
            rendered(report_drift.as_text(report, strict=strict, verbose=verbose), color=color, output=output),
            output=output,
        )
    return int(ExitCode.CLEAN if report.clean(strict=strict) else ExitCode.FINDING)


def accepted(entries: Iterable[AcceptTable], *, today: date) -> dict[str, str]:
    """The ledger's entries that still hold: finding id to reason. An expired one counts no more."""
    return {entry.id: entry.reason for entry in entries if entry.until is None or entry.until >= today}
