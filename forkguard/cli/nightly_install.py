"""`forkguard nightly --install`: show what holds a night each day, check it, and write it with --write."""

import json
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import platformdirs

from forkguard.adapters import scheduling
from forkguard.adapters.files import write_atomic
from forkguard.adapters.git import GitRepository
from forkguard.adapters.scheduling import Checked
from forkguard.cli.compose import LLAMA_URL, fork_path
from forkguard.cli.compose_nightly import NightPlace
from forkguard.core import schedules
from forkguard.core.forge import repository_of
from forkguard.core.remotes import is_local, shown
from forkguard.core.schedules import Schedule, Scheduler
from forkguard.errors import CouldNotWork, UsageProblem
from forkguard.reports.plain import printable

SCHEMA = "forkguard/nightly-install@1"
DEFAULT_TIME = "03:17"


@dataclass(frozen=True, slots=True)
class Installation:
    """What was made: files by path (`crontab` stands for the user's crontab), the check, and what to type next.

    `notes` say what a person has to put right in the files by hand.
    """

    scheduler: Scheduler
    files: dict[str, str]
    checked: Checked
    written: bool
    next: tuple[str, ...]
    notes: tuple[str, ...] = ()


def install(place: NightPlace, scheduler: Scheduler, *, fork: Path | None, at: str, write: bool) -> Installation:
    """Make what the scheduler needs, check it, and write it where that is asked for and the check found no fault.

    Raises `CouldNotWork` where the check found one, or cron is not there; nothing is written then.
    """
    hour, minute = _time(at)
    map_path = place.map_path.resolve()
    schedule = Schedule(_program(), str(map_path), str(map_path.parent), hour, minute)
    after: tuple[str, ...]
    notes: tuple[str, ...] = ()
    if scheduler is Scheduler.SYSTEMD:
        folder = platformdirs.user_config_path("systemd", appauthor=False) / "user"
        units = schedules.systemd_units(schedule)
        checked = scheduling.check_units(units)
        files = {str(folder / name): text for name, text in units.items()}
        after = ("systemctl --user daemon-reload", f"systemctl --user enable --now {schedules.UNIT}.timer")
    elif scheduler is Scheduler.CRON:
        text = schedules.cron_line(schedule)
        checked = scheduling.check_crontab(text)
        files, after = {"crontab": text}, ("crontab -l",)
    else:
        path, filled, notes = _filled(place, schedule, fork=fork)
        text = schedules.github_workflow(filled)
        checked = scheduling.check_workflow(text)
        files, after = {str(path): text}, (f"git add {shlex.quote(str(path))}",)
    if checked.passed is False:
        raise CouldNotWork(
            f"{checked.validator} found a fault in what would be written: {checked.said}",
            where=next(iter(files)),
            hint="please report this",
        )
    if write:
        _write(schedule, files)
    else:
        after = (f"forkguard nightly --install {scheduler.value} --write",)
    return Installation(scheduler, files, checked, write, after, notes)


def _write(schedule: Schedule, files: dict[str, str]) -> None:
    for name, text in files.items():
        if name == "crontab":
            scheduling.write_crontab(schedules.merged_crontab(scheduling.read_crontab(), schedule))
        else:
            write_atomic(Path(name), text)


def _time(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text)
    if found is None:
        raise UsageProblem(f"{text!r} is no time of the day", hint="write it like --at 03:17")
    return int(found[1]), int(found[2])


def _program() -> tuple[str, ...]:
    """How forkguard is started from anywhere: its script, else this Python."""
    beside = Path(sys.executable).with_name("forkguard")
    script = str(beside) if beside.is_file() else shutil.which("forkguard")
    return (str(Path(script).absolute()),) if script else (sys.executable, "-m", "forkguard")


def _filled(place: NightPlace, schedule: Schedule, *, fork: Path | None) -> tuple[Path, Schedule, tuple[str, ...]]:
    """The workflow's path in the repository that holds the map, the schedule with what the fork tells, and what a
    person has to put right."""
    folder = place.map_path.resolve().parent
    root = folder
    try:
        with GitRepository(folder) as desk:
            root = desk.work_tree or folder
    except CouldNotWork:
        pass  # a map in no repository yet: its own folder is taken for the root
    path = fork_path(fork, place.map, place.map_path)
    with GitRepository(path) as repo:
        remotes = repo.remotes()
        branch = (place.map.fork.ref or repo.current_branch() or "").removeprefix("refs/heads/")
    remote = place.map.upstream.remote or "upstream"
    own = [name for name in remotes if name != remote]
    origin = "origin" if "origin" in own else next(iter(own), "")
    address = remotes.get(remote, LLAMA_URL)
    filled = replace(
        schedule,
        fork_repository=repository_of(remotes.get(origin, "")) or "",
        fork_branch=branch,
        upstream_remote=remote,
        upstream_url=LLAMA_URL if is_local(address) else shown(address),
        map_in_repository=place.map_path.resolve().relative_to(root).as_posix(),
    )
    return root / schedules.WORKFLOW, filled, _by_hand(place, filled, address)


def _by_hand(place: NightPlace, filled: Schedule, address: str) -> tuple[str, ...]:
    """What is to be put right in the workflow, or the map, before GitHub's machines can hold a night.

    `address` is where the fork's remote fetches from.
    """
    found = []
    if not filled.fork_repository:
        found.append("the fork's repository is not known: put it in the place of OWNER/NAME")
    if not filled.fork_branch:
        found.append(f'the production branch is not known: write  ref = "BRANCH"  into [fork] of {place.map_path}')
    if place.map.upstream.path is not None:
        found.append(
            f"GitHub's machines have no {place.map.upstream.path}, which [upstream] of the map names: write  "
            f'remote = "upstream"  in the place of `path`, and  ref = "upstream/BRANCH", into {place.map_path}'
        )
    if is_local(address):
        found.append(
            f"the fork's remote {filled.upstream_remote} fetches from {address}, a folder that GitHub's machines do "
            f"not have: UPSTREAM is {LLAMA_URL} instead, correct it if upstream is elsewhere"
        )
    return tuple(found)


# -- told ------------------------------------------------------------------------------------------------


def install_json(made: Installation) -> str:
    """One JSON document; `docs/schemas/nightly-install.json` is its schema."""
    result = "passed" if made.checked.passed else "not-checked"
    document = {
        "schema": SCHEMA,
        "scheduler": made.scheduler.value,
        "files": [{"path": path, "content": text} for path, text in made.files.items()],
        "check": {"validator": made.checked.validator, "result": result, "detail": made.checked.said},
        "written": made.written,
        "next": list(made.next),
        "notes": list(made.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def install_text(made: Installation) -> str:
    """Each file, what its validator says, and what to type next."""
    lines: list[str] = []
    for path, text in made.files.items():
        head = "written: " if made.written else ""
        lines += [f"-- {head}{printable(path)}", text.rstrip("\n"), ""]
    if made.checked.passed is None:
        lines.append(f"not checked: {made.checked.said}")
    else:
        lines.append(f"checked by {made.checked.validator}")
    lines += [f"by hand: {printable(note)}" for note in made.notes]
    return "\n".join([*lines, "", "Next", *(f"  {step}" for step in made.next)])
