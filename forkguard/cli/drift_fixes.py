"""`forkguard drift --fixes`."""

from collections.abc import Sequence
from pathlib import Path

from forkguard.cli.compose import Project, fork_base
from forkguard.cli.options import deliver
from forkguard.cli.render import rendered
from forkguard.core.fixes import Rank
from forkguard.errors import ExitCode, UsageProblem
from forkguard.ports import Talk
from forkguard.reports import fixes as report_fixes
from forkguard.workflows.fixes import find_fixes


def show_fixes(
    project: Project,
    talk: Talk,
    *,
    archs: Sequence[str],
    format_: str,
    output: Path | None,
    verbose: bool,
    color: bool | None,
) -> int:
    """List upstream's fixes of code that the fork carries; 1 where one of them is more than a change."""
    if format_ not in {"text", "json"}:
        raise UsageProblem(f"--fixes has no form {format_}", hint="forkguard drift --fixes --format json")
    base = fork_base(project)
    fixes = find_fixes(
        project.fork_repo, fork=project.fork, upstream=project.upstream, base=base, archs=archs, talk=talk
    )
    if format_ == "json":
        text = report_fixes.as_json(fixes, fork=project.fork, upstream=project.upstream, base=base)
    else:
        report = report_fixes.as_text(fixes, base=base, upstream=project.upstream, verbose=verbose)
        text = rendered(report, color=color, output=output)
    deliver(text, output=output)
    urgent = any(fix.rank in {Rank.GRAVE, Rank.FIX} for fix in fixes)
    return int(ExitCode.FINDING if urgent else ExitCode.CLEAN)
