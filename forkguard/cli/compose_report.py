"""What a report is made of: the records, the history, the patchsets' titles, the wiring of the last night."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forkguard import __version__
from forkguard.adapters.files import locked
from forkguard.adapters.git import GitRepository
from forkguard.adapters.history import open_history
from forkguard.adapters.mapstore import find_map, read_map
from forkguard.adapters.patchsets import PatchsetFolder
from forkguard.adapters.records import RecordFolder
from forkguard.adapters.site_folder import swap_in
from forkguard.cli.compose import STATE_NAME, fork_path, open_project, project_rules
from forkguard.cli.refusals import refuse_inside_fork
from forkguard.core.findings import Side
from forkguard.core.history_rows import RecordKind
from forkguard.core.mapfile import UpstreamMap
from forkguard.core.names import CommitHash
from forkguard.core.nightly import RECORD_NAME, Night
from forkguard.core.receipts import RECEIPT_NAME
from forkguard.core.report_values import ReportInput
from forkguard.core.wiring import WiringReport
from forkguard.errors import ForkguardError
from forkguard.ports import Talk
from forkguard.reports.site import MARKER, site
from forkguard.workflows.report import Shelves, night_files, prepare_report, require_records
from forkguard.workflows.wiring import run_wiring

REPORT_NAME = "report"
_WAIT = 60.0


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
    map_path = map_file.absolute() if map_file else find_map(Path.cwd())
    settings = read_map(map_path)
    try:
        found: Path | None = fork_path(fork, settings, map_path)
    except ForkguardError:
        if fork is not None:
            raise
        found = None
    return ReportPlace(map_path, settings, found)


@contextlib.contextmanager
def open_report(place: ReportPlace, *, wiring: bool, talk: Talk) -> Iterator[ReportInput]:
    """Everything that a report is made from; `wiring` reads the sources of the last night's commits as well.

    Raises `CouldNotWork` where there is nothing to report, or the history is locked.
    """
    shelves = place.shelves()
    require_records(shelves, where=str(place.state))
    titles, remarks = _titles(place)
    matrix: WiringReport | None = None
    if wiring:
        matrix, remark = _wiring(place, shelves, talk)
        remarks += [remark] if remark else []
    with open_history(place.state / "history.sqlite") as book:
        yield prepare_report(
            book,
            shelves,
            version=__version__,
            wiring=matrix,
            titles=titles,
            remarks=(*remarks, *([book.remark] if book.remark else [])),
            talk=talk,
        )


def write_site(place: ReportPlace, report: ReportInput, folder: Path | None) -> tuple[Path, int]:
    """The pages in their folder, and how many bytes they are. Raises what `swap_in` raises.

    The folder must not lie in the fork's work tree.
    """
    chosen = folder if folder is not None else place.folder
    _refuse(place, chosen)
    pages = ((page.path, page.text) for page in site(report))
    with locked(place.state / "report.lock", purpose="forkguard report", wait=_WAIT):
        return chosen, swap_in(chosen, pages, marker=MARKER)


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


def _wiring(place: ReportPlace, shelves: Shelves, talk: Talk) -> tuple[WiringReport | None, str]:
    """The wiring of the map's archs at the commits of the last night that had both; and why there is none."""
    night = _last_night(shelves)
    if night is None or night.fork is None or night.upstream is None:
        return None, ""
    if place.fork is None:
        return None, "the fork is not there, so the archs' wiring is left out"
    archs = tuple(night.drift.archs) if night.drift is not None else tuple(place.map.arch)
    try:
        with open_project(map_file=place.map_path, fork=place.fork) as project:
            sides = [
                Side(ref, CommitHash(project.fork_repo.resolve(commit)))
                for ref, commit in (
                    (night.fork.ref, night.fork.commit),
                    (night.upstream.ref, night.upstream.to),
                )
            ]
            found = run_wiring(
                project.fork_repo, fork=sides[0], upstream=sides[1], archs=archs, draft=None,
                rules=project_rules(project), talk=talk,
            )  # fmt: skip
    except ForkguardError as error:
        return None, f"the wiring of that night's commits could not be read: {error.what}"
    return found, ""


def _last_night(shelves: Shelves) -> Night | None:
    for source in reversed(shelves.nights.sources()):
        files = night_files(shelves.nights, source.name)
        if files is not None and files.night.fork is not None and files.night.upstream is not None:
            return files.night
    return None
