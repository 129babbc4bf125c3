"""`forkguard stack import --pins`: each request of a list becomes a patchset, on top of those before it."""

import shlex
from dataclasses import replace

from forkguard.core.findings import Side
from forkguard.core.names import CommitHash
from forkguard.core.pins import Pin, PinnedPort, PinsImport, PinStatus
from forkguard.core.porting import NO_ARCH, PortOptions, PortReport, PortStatus
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import PullRemote
from forkguard.workflows.find_pinned import Moved, ask_heads, find_pinned
from forkguard.workflows.port import places_of, port_source, settle_open_port
from forkguard.workflows.port_tools import PLAIN, PortTools


def import_pins(
    pins: tuple[Pin, ...],
    *,
    base: Side,
    upstream: Side,
    tools: PortTools,
    remote: PullRemote | None,
    options: PortOptions = PLAIN,
) -> PinsImport:
    """Port the requests in their order, the first onto `base`, each onto the last one that applied.

    Every request is tried; one that conflicts, or is not to be had, is left out, and said. A list is a decision:
    a patchset that is there is made anew from the commit that the list pins. Raises `UsageProblem` where a port
    is in progress.
    """
    if not options.dry_run:
        settle_open_port(tools)
    options = replace(options, follow=True, pass_over=True, rebuild=True)
    tools = replace(tools, find_base=lambda: base.commit)
    tools.talk.step("asking the remote for the heads of the requests")
    heads = ask_heads(pins, remote)
    found: list[PinnedPort] = []
    onto = base
    for number, pin in enumerate(pins):
        tools.talk.progress(number, len(pins), f"#{pin.pull}")
        try:
            source = find_pinned(pin, places_of(tools, fork=onto, upstream=upstream), heads)
            if isinstance(source, Moved):
                found.append(_moved(pin, source, onto))
                continue
            report = port_source(source, fork=onto, upstream=upstream, tools=tools, options=options)
        except (CouldNotWork, UsageProblem) as problem:
            found.append(PinnedPort(pin, PinStatus.REFUSED, onto.ref, why=problem.what, hint=problem.hint))
            continue
        one = _ported(report, pin=pin, onto=onto, head=heads.found.get(pin.pull))
        applied = one.status is PinStatus.APPLIED and not options.dry_run
        names = tuple(file for file, _ in tools.patchsets.patches(report.patchset)) if applied else ()
        found.append(replace(one, patches=names))
        if report.status is PortStatus.APPLIED and report.branch:
            onto = Side(report.branch, report.commits[-1])
    notes = [f"the remote was not asked where the heads are now: {heads.note}"] if heads.note else []
    notes += _out_of_order(found, tools)
    return PinsImport(base.commit, tuple(found), tuple(notes), dry_run=options.dry_run)


def _out_of_order(found: list[PinnedPort], tools: PortTools) -> list[str]:
    """Said where the stack has them in another order than the list: a patchset keeps its place in the series."""
    wanted = [one.report.patchset for one in found if one.report and one.status is PinStatus.APPLIED]
    there = [entry.name for entry in tools.patchsets.order() if entry.name in wanted]
    if there in ([], wanted):
        return []
    return [f"the stack has them in another order ({', '.join(there)}): forkguard stack reorder"]


def _moved(pin: Pin, moved: Moved, onto: Side) -> PinnedPort:
    hint = f"look at the request; write  {pin.pull} {moved.head}  to take its new head" if moved.head else ""
    return PinnedPort(pin, PinStatus.MOVED, onto.ref, head=moved.head, why=moved.said, hint=hint)


def _ported(report: PortReport, *, pin: Pin, onto: Side, head: CommitHash | None) -> PinnedPort:
    status = PinStatus(report.status.value)
    hint = ""
    if status is PinStatus.CONFLICT and not report.dry_run:
        hint = f"forkguard port {pin.pull} --fork-ref {shlex.quote(onto.ref)}  to resolve it, then import again"
    elif status is PinStatus.BLOCKED:
        hint = "--force  takes it all the same"
    why = "; ".join(note for note in report.notes if note != NO_ARCH)
    return PinnedPort(pin, status, onto.ref, report=report, head=head, why=why, hint=hint)
