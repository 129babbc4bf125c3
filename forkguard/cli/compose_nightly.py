"""Wiring of a night: what each step works with, and the project as the candidate would have it."""

import contextlib
import hashlib
import importlib
import os
import traceback
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from forkguard import __version__
from forkguard.adapters.fetching import UpstreamFetch
from forkguard.adapters.files import locked
from forkguard.adapters.mapstore import chosen_map, read_map
from forkguard.adapters.nights import NightFolder
from forkguard.adapters.pushing import push_candidate
from forkguard.adapters.worktrees import Worktrees
from forkguard.cli import clock
from forkguard.cli.compose import (
    STATE_NAME,
    Project,
    open_sides,
    patchset_store,
    project_ledger,
    project_rules,
    receipt_store,
)
from forkguard.cli.compose_nights import NIGHTS, night_folder
from forkguard.cli.compose_notices import tell_people
from forkguard.cli.compose_port import recheck_places
from forkguard.cli.compose_stack import replay_tools
from forkguard.cli.drift_ledger import baseline_path, read_baseline
from forkguard.core.fetches import Fetched, branch_of
from forkguard.core.findings import Base, DriftReport, Side
from forkguard.core.map_models import NightlyTable
from forkguard.core.mapfile import UpstreamMap
from forkguard.core.names import CommitHash
from forkguard.core.night_packets import packet_file
from forkguard.core.nightly import Night, Packet
from forkguard.core.receipts import SUMS_NAME, BadReceipt, digest, read_sums
from forkguard.core.replay import ReplayReport, StackPatch
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.ports import Talk
from forkguard.reports.drift import as_json
from forkguard.reports.night_packet import packet_markdown
from forkguard.reports.replay import replay_json
from forkguard.workflows.drift import run_drift
from forkguard.workflows.night_state import Draft, NightMeans, moment, new_draft
from forkguard.workflows.nightly import close_cut_off, not_opened, run_night
from forkguard.workflows.nightly_packets import Workplace, conflict_packets
from forkguard.workflows.recheck import Rechecked, recheck
from forkguard.workflows.replay import replay

if TYPE_CHECKING:
    from forkguard.cli.compose_candidate import CandidateWork

FETCH_LOG = "fetch.log"


def watched_archs(project: Project) -> tuple[str, ...]:
    """The archs of `[nightly]`, else of `[defaults]`, else all of the map."""
    return project.map.nightly.archs or project.map.watched


@dataclass(frozen=True, slots=True)
class NightWork:
    """The work of a night's steps on one project, whose fork sees its own objects alone."""

    project: Project
    talk: Talk

    @property
    def settings(self) -> NightlyTable:
        """`[nightly]` of the map."""
        return self.project.map.nightly

    def fetcher(self, night: str) -> UpstreamFetch:
        """Who fetches, with its log beside the record of that night."""
        upstream = self.project.map.upstream
        root = self.project.root
        source = upstream.remote or str((root / Path(upstream.path or "").expanduser()).resolve())
        return UpstreamFetch(
            self.project.fork_repo,
            source=source,
            branch=branch_of(upstream.ref, remote=upstream.remote),
            pattern=self.settings.target,
            timeout=self.settings.fetch_timeout,
            log=night_folder(self.project).path(night, FETCH_LOG),
        )

    def fetch(self, night: str) -> Fetched:
        """Bring upstream into the fork's refs of forkguard's own; maps of one fork, with one cache, take turns."""
        fork, wait = self.project.fork_repo.git_dir, self.settings.fetch_timeout
        lock = self.project.cache / "worktrees" / f"fetch-{zlib.crc32(os.fsencode(fork)):08x}.lock"
        with locked(lock, purpose=f"forkguard nightly --map {self.project.map_path}, fetching", wait=wait):
            return self.fetcher(night).fetch(self.project.fork.commit)

    def choose(self, fetched: Fetched, when: datetime) -> Side:
        """The commit to look at."""
        oldest = when - timedelta(hours=self.settings.min_age_hours)
        return self.fetcher("").choose(fetched, oldest=oldest, name=self.project.map.upstream.ref)

    def key(self, target: Side) -> str:
        """A hash of all that the results depend on: commits, files beside the map, version, expired entries."""
        project = self.project
        today = clock.today()
        over = sorted(entry.id for entry in project.map.accept if entry.until is not None and entry.until < today)
        facts = [__version__, project.fork.ref, project.fork.commit, target.ref, target.commit, *over]
        total = hashlib.sha256("\0".join(facts).encode())
        files = [project.map_path, *_files(project.patchsets), *_files(project.root / "resolutions")]
        if self.settings.baseline is not None:
            files.append(baseline_path(project, self.settings.baseline))
        for path in files:
            total.update(f"\0{os.path.relpath(path, project.root)}\0".encode("utf-8", "surrogateescape"))
            total.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
        for path in _gate_files(project):  # models may be large: their size and time stand for them
            about = path.stat()
            total.update(f"\0{path}\0{about.st_size}\0{about.st_mtime_ns}".encode("utf-8", "surrogateescape"))
        return total.hexdigest()

    def recheck(self, target: Side) -> Rechecked:
        """What came after the requests that the stack carries, on the target."""
        project = self.project
        return recheck(patchset_store(project), fork=project.fork, upstream=target, places=recheck_places(project))

    def asks_forge(self) -> bool:
        """Whether looking requests up asks a forge; a cache that cannot be written is told by the look-up itself."""
        try:
            return recheck_places(self.project).forge is not None
        except OSError:
            return True

    def drift(self, target: Side, base: Base) -> tuple[DriftReport, str]:
        """The production branch against the target."""
        project, settings = self.project, self.settings
        archs = watched_archs(project)
        if not archs:
            raise UsageProblem(
                "no arch is named",
                where=str(project.map_path),
                hint="list archs in [defaults] or [nightly] of the map",
            )
        known = read_baseline(project, settings.baseline) if settings.baseline is not None else None
        report = run_drift(
            project.fork_repo,
            fork=project.fork,
            upstream=target,
            base=base,
            archs=archs,
            rules=project_rules(project),
            ledger=project_ledger(project, today=clock.today(), baseline=known),
            talk=self.talk,
        )
        return report, as_json(report)

    def replay(self, patches: Sequence[StackPatch], base: Base, target: Side) -> tuple[ReplayReport, str]:
        """The stack on the target."""
        report = replay(patches, base=base.commit, onto=target, tools=replay_tools(self.project, self.talk))
        return report, replay_json(report)

    def packets(self, report: ReplayReport, base: Base) -> tuple[tuple[Packet, str], ...]:
        """A packet for each patch that failed, and its text."""
        project = self.project
        place = Workplace(project.fork_repo.path, project.patchsets)
        patches = [result.patch for result in report.results]
        tools = replay_tools(project, self.talk)
        found = []
        for number, packet in enumerate(
            conflict_packets(patches, report, base=base.commit, tools=tools, place=place), 1
        ):
            patch = packet.result.patch
            file = packet_file(number, patch.patchset, patch.name)
            found.append((Packet(patch.patchset, patch.name, file, packet.resume[0]), packet_markdown(packet)))
        return tuple(found)

    def push(self, commit: CommitHash, expected: CommitHash | None) -> None:
        """The candidate to the branch that the map names."""
        where = self.settings.push
        assert where is not None  # noqa: S101  (the step asked)
        if self.project.fork.ref.removeprefix("refs/heads/") == where.branch.removeprefix("refs/heads/"):
            raise UsageProblem(
                f"[nightly] push names {where.branch}, the production branch, which a night never moves",
                where=str(self.project.map_path),
                hint='name another branch: push = { remote = "origin", branch = "forkguard-candidate" }',
            )
        push_candidate(
            self.project.fork_repo,
            remote=where.remote,
            branch=where.branch.removeprefix("refs/heads/"),
            commit=commit,
            expected=expected,
            timeout=self.settings.fetch_timeout,
        )

    def intact(self, receipt: str) -> str:
        """What is wrong with a receipt: "" for nothing."""
        store = receipt_store(self.project)
        try:
            store.head()
            content, sums = store.receipt(receipt), store.beside(receipt, SUMS_NAME)
            if content is None or sums is None:
                return "it is gone"
            own = read_sums(sums.decode("utf-8", "replace")).get("receipt.json")
            return "" if own == digest(content) else "it was changed"
        except (BadReceipt, CouldNotWork) as error:
            return str(error)

    def on_bug(self, night: str, error: Exception) -> str:
        """Keep the details of a bug beside the record; where they are."""
        path = night_folder(self.project).path(night, "bug.log")
        try:
            path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        except OSError:
            return ""
        return str(path)


def _gate_files(project: Project) -> list[Path]:
    """The files that the gates of the map name: models, prompts, questions."""
    tables = [project.map.gate, *(arch.gate for arch in project.map.arch.values() if arch.gate is not None)]
    values = [value for table in tables for value in table.model_dump(exclude_unset=True).values()]
    words = [word for value in values for word in (value if isinstance(value, tuple) else (value,))]
    paths = {project.root / Path(word).expanduser() for word in words if isinstance(word, str)}
    return sorted(path for path in paths if path.is_file())


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@dataclass(frozen=True, slots=True)
class NightPlace:
    """Where the nights of a map are kept. `state` is there already, or may be made once the fork is known."""

    map: UpstreamMap
    map_path: Path

    @property
    def state(self) -> Path:
        """The state folder beside the map."""
        return self.map_path.parent / STATE_NAME

    @property
    def nights(self) -> NightFolder:
        """The records."""
        return NightFolder(self.state / NIGHTS)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of nights. Raises `CouldNotWork` that says who holds it, or why it cannot be had."""
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self.state / "nightly.lock", purpose="forkguard nightly"))
            except OSError as error:
                raise CouldNotWork(
                    f"the lock of nights cannot be written: {error.strerror or error}", where=str(self.state),
                    hint="make the map's folder writable, with room on its disk",
                ) from error  # fmt: skip
            yield

    def told(self, night: Night) -> Night:
        """The night, once those whom the map names were told of it."""
        return tell_people(night, self.nights, self.map.nightly, root=self.map_path.parent)


def find_place(map_file: Path | None) -> NightPlace:
    """The map, and where its nights are kept. Raises `UsageProblem` for no map or a bad one."""
    map_path = chosen_map(map_file)
    return NightPlace(read_map(map_path), map_path)


def hold_night(place: NightPlace, talk: Talk, *, fork: Path | None, fork_ref: str | None, fresh: bool) -> Night:
    """One night from begin to end, with the lock held. Raises `CouldNotWork` where another one is at work.

    Where the fork cannot be opened the night could not run; where no night was ever held here, that is raised.
    """
    with contextlib.ExitStack() as stack:
        try:
            opening = open_sides(place.map, place.map_path, fork=fork, fork_ref=fork_ref, joined=False)
            project = stack.enter_context(opening)
            project.state_folder()
        except CouldNotWork as error:
            if not place.state.is_dir():
                raise
            stack.enter_context(place.locked())
            return place.told(not_opened(place.nights, _draft(place, None), error, now=clock.now))
        stack.enter_context(place.locked())
        draft = _draft(place, project.fork)
        return place.told(run_night(night_means(project, talk), draft, fresh=fresh))


def _draft(place: NightPlace, fork: Side | None) -> Draft:
    nights = place.nights
    said = close_cut_off(nights)
    last, wrong = nights.last()
    said = (*said, *wrong)
    started = clock.now()
    if last is not None and last.started > moment(started):
        said = (*said, f"the clock is behind that of the night {last.id}, which began at {last.started}")
    return new_draft(
        nights.begin(started), started, version=__version__, settings=place.map.nightly,
        configured_base=place.map.upstream.base, last=last, fork=fork, notes=said,
    )  # fmt: skip


def night_means(project: Project, talk: Talk) -> NightMeans:
    """What a night on this project needs."""

    def candidates() -> "CandidateWork":
        """What builds and gates is loaded only where that is done: a night with nothing new is quick."""
        module = importlib.import_module("forkguard.cli.compose_candidate")
        made: CandidateWork = module.CandidateWork(project, talk)
        return made

    return NightMeans(
        repo=project.fork_repo,
        patchsets=patchset_store(project),
        nights=night_folder(project),
        branches=Worktrees(project.fork_repo, project.cache / "worktrees"),
        talk=talk,
        now=clock.now,
        archs=watched_archs(project),
        work=NightWork(project, talk),
        candidates=candidates,
    )
