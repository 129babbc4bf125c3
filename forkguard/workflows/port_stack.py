"""Porting a change with what it needs: its prerequisites first, each as a patchset of its own."""

from dataclasses import replace

from forkguard.core.commits import Commit
from forkguard.core.findings import Side
from forkguard.core.porting import PortOptions, PortReport, PortStatus, Source
from forkguard.errors import CouldNotWork
from forkguard.workflows.closure import find_prerequisites
from forkguard.workflows.find_change import Places, Wanted, find_source
from forkguard.workflows.port import places_of, port
from forkguard.workflows.port_report import changed_files
from forkguard.workflows.port_tools import PLAIN, PortTools

_MOST = 12
"""Prerequisites beyond which a newer base is the better way."""


def port_with_prerequisites(
    wanted: Wanted, *, fork: Side, upstream: Side, tools: PortTools, options: PortOptions = PLAIN
) -> tuple[PortReport, ...]:
    """Port what the change needs and the fork lacks, in upstream's order, then the change, each on top of the other.

    Ends behind the first that does not apply. Raises as `port` does, and `CouldNotWork` where it needs too much.
    """
    places = places_of(tools, fork=fork, upstream=upstream)
    plan: dict[str, Wanted] = {}
    _plan(wanted, places, tools, plan=plan)
    reports: list[PortReport] = []
    onto = fork
    for one in plan.values():
        report = port(one, fork=onto, upstream=upstream, tools=tools, options=options)
        reports.append(report)
        if report.status is PortStatus.APPLIED and report.branch:
            onto = Side(report.branch, report.commits[-1])
        elif report.status is not PortStatus.ALREADY_PRESENT:
            break
    return tuple(reports)


def _plan(wanted: Wanted, places: Places, tools: PortTools, *, plan: dict[str, Wanted]) -> None:
    """Add a change to the plan, behind everything that it needs."""
    source = find_source(wanted, places)
    if source.patchset in plan:
        return
    for commit in _needs(source, places, tools):  # always older than the change, so that this ends
        need = Wanted(pull=commit.pull) if commit.pull else Wanted(commit=commit.id)
        if len(plan) >= _MOST:
            raise CouldNotWork(
                f"{source.label} needs more than {_MOST} other changes",
                where=commit.subject,
                hint="bring the fork to a newer base instead; --dry-run names what it needs",
            )
        _plan(need, places, tools, plan=plan)
    plan[source.patchset] = wanted


def _needs(source: Source, places: Places, tools: PortTools) -> tuple[Commit, ...]:
    found = find_prerequisites(
        source,
        changed_files(source, tools.bench),
        repo=tools.fork,
        bench=tools.bench,
        ours=tools.bench.commit(places.onto).tree,
        base=places.base,
        identifiers=tools.identifiers,
    )
    own = {pick.commit for pick in source.picks}
    commits = {name.commit.id: name.commit for name in found if name.commit and name.commit.id not in own}
    return tuple(commits.values())


def as_one(reports: tuple[PortReport, ...]) -> PortReport:
    """The last report, with those before it in short."""
    return replace(reports[-1], before=reports[:-1])
