"""What `forkguard drift` writes: accepted findings into the map, and the baseline beside it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from forkguard.adapters.files import locked, write_atomic
from forkguard.adapters.mapstore import read_text, write_map
from forkguard.cli.compose import Project
from forkguard.cli.refusals import refuse_inside_fork
from forkguard.core.baseline import Baseline, new_baseline, parse_baseline, render_baseline
from forkguard.core.findings import DriftReport, Severity
from forkguard.core.ledger import known_finding
from forkguard.core.map_edit import add_accept, renew_accept
from forkguard.core.mapfile import parse_map
from forkguard.errors import UsageProblem
from forkguard.reports.drift_text import tally
from forkguard.reports.plain import counted, printable


@dataclass(frozen=True, slots=True)
class Answer:
    """What `--accept` is given: finding ids, the reason, who answers (None: git's user), and until when."""

    ids: tuple[str, ...]
    reason: str
    by: str | None
    until: date | None


def read_answer(
    ids: Sequence[str], *, reason: str | None, by: str | None, until: date | None, today: date
) -> Answer | None:
    """Check the options that belong to `--accept`; None where it was not given. Raises `UsageProblem`."""
    if not ids:
        if reason is not None or by is not None or until is not None:
            raise UsageProblem(
                "--reason, --by and --until belong to --accept", hint="forkguard drift --accept ID --reason TEXT"
            )
        return None
    if reason is None or not reason.strip():
        raise UsageProblem(
            "--accept needs a reason", hint=f"forkguard drift --accept {ids[0]} --reason 'why it may stay'"
        )
    if until is not None and until < today:
        raise UsageProblem(f"--until {until} is past", hint="name the last day on which the acceptance holds")
    return Answer(tuple(dict.fromkeys(ids)), reason, by, until)


def accept(project: Project, report: DriftReport, answer: Answer, *, today: date) -> str:
    """Write the findings into the map's ledger, all or none, and say so.

    Raises `UsageProblem` for an id that the report has not, or that is accepted already.
    """
    for wanted in answer.ids:
        known_finding(wanted, report.findings)
    by = answer.by or project.fork_repo.user_name() or os.environ.get("USER")
    if not by:
        raise UsageProblem("nobody answers for it: git has no user.name here", hint="name someone with --by NAME")
    name = str(project.map_path)
    with locked(project.state_folder() / "map.lock", purpose="forkguard drift --accept"):
        text = read_text(project.map_path)
        for wanted in answer.ids:
            known = next((entry for entry in parse_map(text, name=name).accept if entry.id == wanted), None)
            if known is not None and (known.until is None or known.until >= today):
                raise UsageProblem(
                    f"{wanted} is accepted already, by {known.by}: {known.reason}",
                    where=name,
                    hint="edit its [[accept]]",
                )
            edit = renew_accept if known is not None else add_accept
            text = edit(text, finding=wanted, reason=answer.reason, by=by, until=answer.until, name=name)
        write_map(project.map_path, text)
    held = f" until {answer.until}" if answer.until is not None else ""
    left = sum(finding.counts(strict=False) and finding.id not in answer.ids for finding in report.findings)
    lines = [f"accepted{held}, by {by}: {wanted}" for wanted in answer.ids]
    return printable_lines(
        [*lines, f"{counted(left, 'finding')} of this run still {'counts' if left == 1 else 'count'}"]
    )


def printable_lines(lines: Sequence[str]) -> str:
    """Lines without terminal controls."""
    return "\n".join(map(printable, lines))


# -- baseline ------------------------------------------------------------------------------------------


def baseline_path(project: Project, name: str) -> Path:
    """Where a baseline of this name is: beside the map, unless it is an absolute path."""
    return project.root / name


def read_baseline(project: Project, name: str) -> Baseline:
    """Read a baseline. Raises `UsageProblem` where there is none, or it is no baseline."""
    path = baseline_path(project, name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageProblem(
            f"cannot read the baseline: {reason}",
            where=str(path),
            hint=f"forkguard drift --all --write-baseline --baseline {name}  writes it",
        ) from error
    return parse_baseline(text, name=name)


def write_baseline(project: Project, report: DriftReport, name: str, *, today: date) -> str:
    """Write the findings that count as the baseline, and say what is in it; the worst by name."""
    refuse_inside_fork(project.root, project.fork_repo)
    baseline = new_baseline(report.findings, name=name, fork=report.fork, upstream=report.upstream, written=today)
    write_atomic(baseline_path(project, name), render_baseline(baseline))
    held = [finding for finding in report.findings if finding.id in baseline.entries]
    lines = [f"wrote {name}: {counted(len(held), 'finding')}" + (f" ({tally(held)})" if held else "")]
    lines += [
        f"  {finding.severity.value:<10} {finding.arch}: {finding.title}"
        for finding in held
        if finding.severity in {Severity.CRASH, Severity.CORRUPTION}
    ]
    lines.append(f"only what is new counts in: forkguard drift --all --baseline {name}")
    return printable_lines(lines)
