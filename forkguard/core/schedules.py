"""Units of systemd, a line for cron and a workflow for GitHub that hold a night each day. Pure text."""

import json
import shlex
from dataclasses import dataclass
from enum import StrEnum


class Scheduler(StrEnum):
    """Who starts the nights."""

    SYSTEMD = "systemd"
    CRON = "cron"
    GITHUB = "github"


UNIT = "forkguard-nightly"
WORKFLOW = ".github/workflows/forkguard-nightly.yml"


@dataclass(frozen=True, slots=True)
class Schedule:
    """What is to be scheduled: the program (absolute words), the map (an absolute path), the time of the day.

    `folder` is the map's. For GitHub: the fork's repository (`owner/name`; empty: not known) and branch, upstream's
    remote and its address, and the map's place in its own repository.
    """

    program: tuple[str, ...]
    map_path: str
    folder: str
    hour: int
    minute: int
    fork_repository: str = ""
    fork_branch: str = ""
    upstream_remote: str = ""
    upstream_url: str = ""
    map_in_repository: str = ""


_SERVICE = """\
# A night of forkguard. It exits 0 for green, 1 for red and 3 where it could not run: the last two fail this unit.
[Unit]
Description=forkguard nightly ({folder})
Documentation=man:systemd.service(5)
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
WorkingDirectory={workdir}
ExecStart={command}
TimeoutStartSec=12h
Nice=10
IOSchedulingClass=idle
"""
_TIMER = """\
[Unit]
Description=forkguard nightly, each day

[Timer]
OnCalendar=*-*-* {hour:02}:{minute:02}:00
RandomizedDelaySec=10min
Persistent=true

[Install]
WantedBy=timers.target
"""
_GITHUB = """\
# A night of forkguard. The fork is checked out beside the map; records and caches are kept between the nights.
name: forkguard nightly
on:
  schedule:
    - cron: "{minute} {hour} * * *"
  workflow_dispatch:
permissions:
  contents: read
concurrency:
  group: forkguard-nightly
  cancel-in-progress: false
jobs:
  nightly:
    runs-on: ubuntu-latest
    timeout-minutes: 350
    steps:
      - uses: actions/checkout@v4
      - uses: actions/checkout@v4
        with:
          repository: {repository}
          ref: {branch}
          path: .fork
          fetch-depth: 0
      - run: git -C .fork remote add "$REMOTE" "$UPSTREAM" && git -C .fork checkout -B "$BRANCH"
        env:
          REMOTE: {remote}
          UPSTREAM: {url}
          BRANCH: {branch}
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: sudo apt-get install -y --no-install-recommends ccache cmake ninja-build && pip install forkguard
      - uses: actions/cache@v4
        with:
          path: |
            ~/.cache/forkguard
            {state}
          key: forkguard-${{{{ github.run_id }}}}
          restore-keys: forkguard-
      - run: forkguard nightly --map "$MAP" --fork .fork
        env:
          MAP: {map}
          GITHUB_TOKEN: ${{{{ github.token }}}}
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: forkguard-nightly
          path: |
            {state}/nightly
            {state}/receipts
          include-hidden-files: true
"""


def systemd_units(schedule: Schedule) -> dict[str, str]:
    """The service and its timer, by file name."""
    words = (*schedule.program, "nightly", "--map", schedule.map_path)
    service = _SERVICE.format(
        folder=_unit_text(schedule.folder),
        workdir=_unit_text(schedule.folder),
        command=" ".join(_unit_word(word) for word in words),
    )
    timer = _TIMER.format(hour=schedule.hour, minute=schedule.minute)
    return {f"{UNIT}.service": service, f"{UNIT}.timer": timer}


def _unit_text(text: str) -> str:
    return text.replace("%", "%%")


def _unit_word(word: str) -> str:
    r"""One word of a command line of systemd's.

    >>> print(_unit_word('/a b/50%'), _unit_word('x"$y'))
    "/a b/50%%" "x\"$$y"
    """
    escaped = _unit_text(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return escaped if escaped == word and not set(word) & set(" \t;'") else f'"{escaped}"'


def cron_line(schedule: Schedule) -> str:
    """The line of a crontab, behind a comment that names the map; cron mails what it prints."""
    words = (*schedule.program, "nightly", "--map", schedule.map_path)
    command = " ".join(shlex.quote(word) for word in words).replace("%", "\\%")
    return f"{cron_mark(schedule)}\n{schedule.minute} {schedule.hour} * * * {command}\n"


def cron_mark(schedule: Schedule) -> str:
    """The comment in front of the line, by which the next `--write` finds it."""
    return f"# forkguard nightly: {schedule.map_path}"


def merged_crontab(crontab: str, schedule: Schedule) -> str:
    """A crontab with the line for this map: in the place of the one before, or at the end.

    >>> one = Schedule(("/bin/forkguard",), "/d/upstream-map.toml", "/d", 3, 17)
    >>> print(merged_crontab("0 0 * * * x", one), end="")
    0 0 * * * x
    # forkguard nightly: /d/upstream-map.toml
    17 3 * * * /bin/forkguard nightly --map /d/upstream-map.toml
    >>> merged_crontab(merged_crontab("", one), one) == merged_crontab("", one)
    True
    """
    lines = crontab.splitlines()
    mark = cron_mark(schedule)
    kept = [line for at, line in enumerate(lines) if line != mark and (at == 0 or lines[at - 1] != mark)]
    return "".join(f"{line}\n" for line in kept) + cron_line(schedule)


def github_workflow(schedule: Schedule) -> str:
    """The workflow, for the repository that holds the map."""
    folder, _, _ = schedule.map_in_repository.rpartition("/")
    return _GITHUB.format(
        hour=schedule.hour,
        minute=schedule.minute,
        repository=json.dumps(schedule.fork_repository or "OWNER/NAME"),
        branch=json.dumps(schedule.fork_branch),
        remote=json.dumps(schedule.upstream_remote),
        url=json.dumps(schedule.upstream_url),
        map=json.dumps(schedule.map_in_repository),
        state=f"{folder}/.forkguard" if folder else ".forkguard",
    )
