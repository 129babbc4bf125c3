"""The files of a patchset after a port: its patches, its series, its manifest, and its line in the stack."""

from collections.abc import Mapping, Sequence

from forkguard.core.journal import Journal
from forkguard.core.names import CommitHash
from forkguard.core.patchset import (
    MANIFEST,
    SERIES,
    Manifest,
    Prerequisite,
    SeriesEntry,
    carried_manifest,
    dep3_fields,
    format_series,
    fresh_manifest,
    new_manifest,
    parse_manifest,
    series_with,
)
from forkguard.core.porting import Pick, PortReport, PullState, Source
from forkguard.errors import UsageProblem
from forkguard.ports import Repository
from forkguard.workflows.port_tools import PortTools

NEAR_BASE = 200
"""Fork commits between base and port up to which the patch names the base: git lists each of them in it."""


def new_files(
    journal: Journal,
    made: Sequence[tuple[CommitHash, Pick]],
    *,
    report: PortReport,
    tools: PortTools,
) -> Mapping[str, bytes | None]:
    """What each file under `patchsets/` shall hold (None: be gone), in the order of writing.

    The stack's own series comes last, so that it never names a patchset whose patches are not there.
    """
    name, merged = journal.patchset, journal.source.state is PullState.MERGED
    patchsets = tools.patchsets
    base = patch_base(journal.base, journal.onto, tools.fork)
    patches: dict[str, bytes | None] = {}
    for number, (commit, pick) in enumerate(made, 1):
        headers = dep3_fields(origin=pick.commit, merged=merged, landed=journal.source.landed)
        file, content = tools.bench.patch(commit, number=number, base=base, headers=headers)
        patches[f"{name}/{file}"] = content
    series = format_series([SeriesEntry(path.partition("/")[2]) for path in patches])
    stale = [path for path in patchsets.files(name) if path not in patches]
    stack = (patchsets.content(SERIES) or b"").decode("utf-8", "surrogateescape")
    with_us = series_with(stack, name, name=str(patchsets.root / SERIES))
    return {
        **patches,
        f"{name}/{SERIES}": series.encode(),
        f"{name}/{MANIFEST}": _manifest(journal, report, tools).encode(),
        **dict.fromkeys(stale),
        SERIES: with_us.encode("utf-8", "surrogateescape"),
    }


def patch_base(base: CommitHash, onto: CommitHash, fork: Repository) -> CommitHash:
    """The commit for `format-patch --base`: upstream's base where it is an ancestor not far away, else the fork's."""
    if fork.is_ancestor(base, onto) and fork.count(base, onto) <= NEAR_BASE:
        return base
    return onto


def known_manifest(source: Source, tools: PortTools) -> Manifest | None:
    """What is written about a change: the stack's own manifest, else the one that ships with forkguard, else None.

    Raises `UsageProblem` for a bad one.
    """
    text = _text(source, tools)
    if text is None:
        return None
    return parse_manifest(text, name=str(tools.patchsets.root / source.patchset / MANIFEST))


def _text(source: Source, tools: PortTools) -> str | None:
    name = f"{source.patchset}/{MANIFEST}"
    content = tools.patchsets.content(name)
    if content is not None:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageProblem("this file is no UTF-8 text", where=str(tools.patchsets.root / name)) from error
    shipped = tools.shipped(source.pull) if source.pull and not source.name else None
    return fresh_manifest(shipped) if shipped else None


def _manifest(journal: Journal, report: PortReport, tools: PortTools) -> str:
    source = journal.source
    text = _text(source, tools) or new_manifest(journal.patchset, title=source.title, pull=source.pull)
    needed = {
        name.commit.id: Prerequisite(pull=name.commit.pull, commit=name.commit.id, symbol=name.symbol)
        for name in reversed(report.missing)
        if name.commit is not None
    }
    return carried_manifest(
        text,
        upstream=[pick.commit for pick in source.picks],
        base=journal.base,
        head=source.head,
        follow_ups=report.follow_ups,
        prerequisites=list(reversed(needed.values())),
    )
