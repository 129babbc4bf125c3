"""`forkguard drift`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import click

from forkguard import __version__
from forkguard.cli import clock
from forkguard.cli.compose import Project, fork_base, project_ledger, project_rules
from forkguard.cli.drift_fixes import show_fixes
from forkguard.cli.drift_ledger import Answer, accept, read_answer, read_baseline, write_baseline
from forkguard.cli.options import deliver, output_options
from forkguard.cli.project_options import ProjectOptions, project_options
from forkguard.cli.render import rendered
from forkguard.core.baseline import BASELINE_NAME
from forkguard.core.findings import DriftReport
from forkguard.core.registry_differences import SPECULATIVE
from forkguard.core.rules import Rule
from forkguard.errors import ExitCode, UsageProblem
from forkguard.ports import Talk
from forkguard.reports.drift import as_json
from forkguard.reports.drift_junit import as_junit
from forkguard.reports.drift_markdown import as_markdown
from forkguard.reports.drift_sarif import as_sarif
from forkguard.reports.drift_text import as_text
from forkguard.workflows.drift import run_drift


@click.command()
@click.option(
    "--arch",
    "archs",
    multiple=True,
    metavar="NAME",
    help="An arch, by its name in LLM_ARCH_NAMES; repeatable.  [default: those that the map watches]",
)
@click.option("--all", "all_archs", is_flag=True, help="Every arch that the fork makes a model of.")
@click.option("--strict", is_flag=True, help="Count accepted drift, notes and hazards that upstream has too.")
@click.option(
    "--accept", "ids", multiple=True, metavar="ID", help="Write this finding into the map's ledger; repeatable."
)
@click.option("--reason", metavar="TEXT", help="With --accept: why it may stay.")
@click.option("--by", metavar="NAME", help="With --accept: who answers for it.  [default: git's user.name]")
@click.option(
    "--until", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE",
    help="With --accept: the last day on which that holds, such as 2026-12-31.",
)  # fmt: skip
@click.option(
    "--baseline", metavar="[FILE]", is_flag=False, flag_value=BASELINE_NAME,
    help=f"Count only what is not in this file, which lies beside the map.  [without FILE: {BASELINE_NAME}]",
)  # fmt: skip
@click.option(
    "--write-baseline", "writes", is_flag=True, help="With --all: write what counts today into the baseline."
)
@click.option(
    "--fixes", is_flag=True, help="List upstream's later fixes of code that the fork carries instead, gravest first."
)
@output_options(["text", "json", "sarif", "junit", "markdown"])
@project_options
def command(
    archs: tuple[str, ...],
    all_archs: bool,
    strict: bool,
    ids: tuple[str, ...],
    reason: str | None,
    by: str | None,
    until: datetime | None,
    baseline: str | None,
    writes: bool,
    fixes: bool,
    format_: str,
    output: Path | None,
    options: ProjectOptions,
) -> int:
    """What the fork lacks or lost of an arch, by whom it came upstream, and how to mend it.

    Both trees are compared by syntax: white space, comments, moved code and renamed local variables make
    no difference. An arch stands for all that share its graph (lfm2 for lfm2moe too).

    \b
    Examples:
      forkguard drift                             the archs of the map
      forkguard drift --arch lfm2 --arch qwen35 --format json
      forkguard drift --all --format sarif --output drift.sarif
      forkguard drift --fixes                     what did upstream repair since?
      forkguard drift --accept lfm2/layer-input/1a2b3c4d --reason "no drafts here" --until 2026-12-31
      forkguard drift --all --write-baseline      once, on a fork with hundreds of findings;
      forkguard drift --all --baseline            then only new ones count

    Exit status: 0 clean, accepted or written; 1 a finding, or an arch that the fork does not have. Accepted
    drift, the baseline, notes and hazards that upstream has too are told but not counted, unless --strict.
    """
    today = clock.today()
    answer = read_answer(ids, reason=reason, by=by, until=until.date() if until else None, today=today)
    _check(archs, all_archs=all_archs, answer=answer, writes=writes, fixes=fixes, format_=format_)
    with options.talk() as talk, options.opened() as project:
        if fixes:
            return show_fixes(
                project,
                talk,
                archs=archs,
                format_=format_,
                output=output,
                verbose=options.verbose,
                color=options.color,
            )
        names = None if all_archs else archs or _archs_of(answer) or project.map.watched
        if names is not None and not names and answer is None:
            raise UsageProblem(
                "no arch is named",
                where=str(project.map_path),
                hint="forkguard drift --arch NAME, or --all, or add [arch.NAME] to the map",
            )
        run = _Run(project, names, project_rules(project), None if writes else baseline, today)
        report = run.report(talk)
        if answer is not None:
            deliver(accept(project, report, answer, today=today), output=output)
            return int(ExitCode.CLEAN)
        if writes:
            deliver(write_baseline(project, report, baseline or BASELINE_NAME, today=today), output=output)
            return int(ExitCode.CLEAN)
    if format_ == "text":
        text = rendered(as_text(report, strict=strict, verbose=options.verbose), color=options.color, output=output)
    else:
        text = _formatted(report, run.rules, format_, strict=strict)
    deliver(text, output=output)
    return int(ExitCode.CLEAN if report.clean(strict=strict) else ExitCode.FINDING)


def _check(
    archs: Sequence[str], *, all_archs: bool, answer: Answer | None, writes: bool, fixes: bool, format_: str
) -> None:
    """Options that do not go together."""
    if archs and all_archs:
        raise UsageProblem("--all and --arch do not go together", hint="forkguard drift --all, or --arch NAME")
    if writes and not all_archs:
        raise UsageProblem("a baseline is of all archs", hint="forkguard drift --all --write-baseline")
    if fixes and (answer is not None or writes):
        raise UsageProblem("--fixes lists, it writes nothing", hint="forkguard drift --fixes, by itself")
    if answer is not None and writes:
        raise UsageProblem("--accept and --write-baseline do not go together", hint="accept first, then write")
    if (answer is not None or writes) and format_ != "text":
        option = "--write-baseline" if writes else "--accept"
        raise UsageProblem(
            f"{option} writes and says so; --format {format_} is for a report", hint="run drift again for the report"
        )


def _archs_of(answer: Answer | None) -> tuple[str, ...]:
    """The archs that ids name; lists of speculative types are compared whatever archs are."""
    return tuple(dict.fromkeys(key.split("/")[0] for key in answer.ids)) if answer is not None else ()


@dataclass(frozen=True, slots=True)
class _Run:
    """One comparison; `archs` None are all."""

    project: Project
    archs: tuple[str, ...] | None
    rules: tuple[Rule, ...]
    baseline: str | None
    today: date

    def report(self, talk: Talk) -> DriftReport:
        project = self.project
        known = read_baseline(project, self.baseline) if self.baseline is not None else None
        base = fork_base(project)
        return run_drift(
            project.fork_repo,
            fork=project.fork,
            upstream=project.upstream,
            base=base,
            archs=None if self.archs is None else [name for name in self.archs if name != SPECULATIVE],
            rules=self.rules,
            ledger=project_ledger(project, today=self.today, baseline=known),
            talk=talk,
        )


def _formatted(report: DriftReport, rules: Sequence[Rule], format_: str, *, strict: bool) -> str:
    if format_ == "sarif":
        return as_sarif(report, rules, version=__version__, strict=strict)
    if format_ == "junit":
        return as_junit(report, rules, strict=strict)
    return as_markdown(report, strict=strict) if format_ == "markdown" else as_json(report, strict=strict)
