"""What a report is made of: the records, the history, the patchsets' titles, the wiring of the last night."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from forkguard import __version__
from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.adapters.history import open_history
from forkguard.adapters.mapstore import chosen_map, read_map
from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.adapters.records import RecordFolder
from forkguard.adapters.site_folder import swap_in
from forkguard.cli.compose import STATE_NAME, Project, fork_path, open_project, project_rules
from forkguard.cli.compose_stack import replay_tools
from forkguard.cli.refusals import refuse_inside_fork
from forkguard.core.findings import Side
from forkguard.core.history_rows import RecordKind, record_order
from forkguard.core.mapfile import UpstreamMap
from forkguard.core.nightly import RECORD_NAME, Night
from forkguard.core.range_diff import RangeDiff, sections
from forkguard.core.receipts import RECEIPT_NAME
from forkguard.core.report_values import ReportInput, Sources
from forkguard.core.wiring import WiringReport
from forkguard.errors import ForkguardError
from forkguard.ports import Talk
from forkguard.reports.site import MARKER, site
from forkguard.workflows.report import Shelves, night_files, prepare_report, require_records
from forkguard.workflows.wiring import run_wiring

REPORT_NAME = "report"
HISTORY_NAME = "history.sqlite"
_WAIT = 60.0
_LOOKED_AT = 30
"""Nights among which the last candidates are looked for."""

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class ReportPlace:
    """The map, the folder of records beside it, and the fork, where it is there."""

    map_path: Path
    map: UpstreamMap
    fork: Path | None

    @property
    def state(self) -> Path:
        """The folder of records."""
        return self.map_path.parent / STATE_NAME

    @property
    def folder(self) -> Path:
        """Where the report goes unless another folder is named."""
        return self.state / REPORT_NAME

    def shelves(self) -> Shelves:
        """The nights and the receipts."""
        return Shelves(
            RecordFolder(self.state / "nightly", kind=RecordKind.NIGHT, file=RECORD_NAME),
            RecordFolder(self.state / "receipts", kind=RecordKind.RECEIPT, file=RECEIPT_NAME),
        )


def report_place(*, map_file: Path | None, fork: Path | None) -> ReportPlace:
    """Find the map. A fork that is not there now is no reason to report nothing. Raises `UsageProblem`."""
    map_path = chosen_map(map_file)
    settings = read_map(map_path)
    try:
        found: Path | None = fork_path(fork, settings, map_path)
    except ForkguardError:
        if fork is not None:
            raise
        found = None
    return ReportPlace(map_path, settings, found)


@contextlib.contextmanager
def open_report(place: ReportPlace, *, sources: bool, talk: Talk) -> Iterator[ReportInput]:
    """Everything that a report is made from; `sources`: also what is read from the fork's repository.

    Raises `CouldNotWork` where there is nothing to report, or the history is locked, and `UsageProblem` where the
    records lie in the fork's work tree.
    """
    shelves = place.shelves()
    require_records(shelves, where=str(place.state))
    for written in (place.state, place.state / HISTORY_NAME):
        _refuse(place, written)
    titles, remarks = _titles(place)
    found = _sources(place, shelves, talk) if sources else Sources()
    with open_history(place.state / HISTORY_NAME) as book:
        yield prepare_report(
            book, shelves, version=__version__, sources=found, titles=titles,
            remarks=(*remarks, *([book.remark] if book.remark else [])), talk=talk,
        )  # fmt: skip


def write_site(place: ReportPlace, report: ReportInput, folder: Path | None) -> tuple[Path, int]:
    """The pages in their folder, and how many bytes they are. Raises what `swap_in` raises.

    The folder must not lie in the fork's work tree.
    """
    chosen = folder if folder is not None else place.folder
    _refuse(place, chosen)
    pages = ((page.path, page.text) for page in site(report))
    with locked(place.state / "report.lock", purpose="forkguard report", wait=_WAIT):
        return chosen, swap_in(chosen, pages, marker=MARKER)


def renew_report(place: ReportPlace, talk: Talk) -> None:
    """Write the pages anew after a night; what is in the way is said, and changes nothing about the night."""
    try:
        with open_report(place, sources=True, talk=talk) as report:
            folder, _ = write_site(place, report, None)
        talk.note(f"the pages: {folder / 'index.html'}")
    except ForkguardError as error:
        talk.note(f"the pages could not be written: {error.what} ({error.where}); forkguard report  tries again")


def _refuse(place: ReportPlace, folder: Path) -> None:
    if place.fork is None:
        return
    with contextlib.ExitStack() as stack:
        try:
            repo = stack.enter_context(GitRepository(place.fork))
        except ForkguardError:
            return
        refuse_inside_fork(folder, repo)


def _titles(place: ReportPlace) -> tuple[dict[str, str], list[str]]:
    folder = PatchsetFolder(place.map_path.parent / "patchsets")
    titles, remarks = {}, []
    try:
        for name in folder.names():
            titles[name] = folder.manifest(name).title
    except ForkguardError as error:
        remarks.append(f"the titles of the patchsets are not all known: {error.what} ({error.where})")
    return titles, remarks


def _sources(place: ReportPlace, shelves: Shelves, talk: Talk) -> Sources:
    """The wiring at the commits of the last night that had both, and the range-diff of the last two candidates."""
    nights = tuple(_nights(shelves))
    last = next((one for one in nights if one.fork is not None and one.upstream is not None), None)
    if last is None:
        return Sources()
    if place.fork is None:
        return Sources(remarks=("the fork is not there: without it there is no wiring and no range-diff",))
    try:
        with open_project(map_file=place.map_path, fork=place.fork) as project:
            wiring, remark = _tried(lambda: _wiring(place, project, last, talk), "the wiring of that night's commits")
            diff, other = _tried(lambda: _range_diff(project, nights, talk), "the patches of the last two candidates")
    except ForkguardError as error:
        return Sources(remarks=(f"the fork could not be read: {error.what}",))
    return Sources(wiring, diff, tuple(one for one in (remark, other) if one))


def _tried(make: Callable[[], _Made], what: str) -> tuple[_Made | None, str]:
    try:
        return make(), ""
    except ForkguardError as error:
        return None, f"{what} could not be read: {error.what}"


def _wiring(place: ReportPlace, project: Project, night: Night, talk: Talk) -> WiringReport | None:
    if night.fork is None or night.upstream is None:
        return None
    archs = tuple(night.drift.archs) if night.drift is not None else tuple(place.map.arch)
    fork = Side(night.fork.ref, project.fork_repo.resolve(night.fork.commit))
    upstream = Side(night.upstream.ref, project.fork_repo.resolve(night.upstream.to))
    rules = project_rules(project)
    return run_wiring(
        project.fork_repo, fork=fork, upstream=upstream, archs=archs, draft=None, rules=rules, talk=talk
    )  # fmt: skip


def _range_diff(project: Project, nights: Sequence[Night], talk: Talk) -> RangeDiff | None:
    """`nights` are the newest first."""
    made = {
        one.candidate.commit: one
        for one in reversed(nights)
        if one.candidate is not None and one.upstream is not None
    }
    if len(made) < 2:
        return None
    since, until = sorted(made.values(), key=lambda night: record_order(night.id))[-2:]
    ranges = [
        (project.fork_repo.resolve(one.upstream.to), project.fork_repo.resolve(one.candidate.commit))
        for one in (since, until)
        if one.upstream is not None and one.candidate is not None
    ]
    text = replay_tools(project, talk).store.range_diff(ranges[0], ranges[1])
    return RangeDiff(since.id, until.id, sections(text))


def _nights(shelves: Shelves) -> Iterator[Night]:
    """The newest nights that can be read, newest first."""
    for source in reversed(shelves.nights.sources()[-_LOOKED_AT:]):
        files = night_files(shelves.nights, source.name)
        if files is not None:
            yield files.night
