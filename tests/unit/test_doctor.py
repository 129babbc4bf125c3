"""What `doctor` makes of what it finds: versions, free space, age, and which verbs it matters to."""

from datetime import UTC, datetime

import pytest

from forkguard.cli.main import VERBS
from forkguard.core.doctor import (
    Check,
    DoctorReport,
    Level,
    judge_age,
    judge_disk,
    judge_version,
    needing,
)
from forkguard.core.install_hints import install_hint, together
from forkguard.errors import CouldNotWork
from forkguard.reports.doctor import doctor_text
from forkguard.workflows.doctor import Look, examine

GIB = 1 << 30
NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "level", "found"),
    [
        ("git version 2.39.5", Level.OK, "2.39.5"),
        ("git version 2.39.0.windows.1", Level.OK, "2.39.0"),
        ("git version 2.50.1 (Apple Git-155)", Level.OK, "2.50.1"),
        ("git version 3.0", Level.OK, "3.0"),
        ("git version 2.39", Level.OK, "2.39"),
        ("git version 2.38.9", Level.MISSING, "2.38.9 is too old: 2.39 or newer is needed"),
        ("git version 2.4.11", Level.MISSING, "2.4.11 is too old: 2.39 or newer is needed"),
        ("hello", Level.NOTE, "it does not say its version"),
    ],
)
def test_a_version_is_compared_number_by_number(text: str, level: Level, found: str) -> None:
    check = judge_version("git", text, oldest=(2, 39), fix="newer", needed_for=("drift",))
    assert (check.level, check.found) == (level, found)
    assert check.fix == ("newer" if level is Level.MISSING else "")


@pytest.mark.parametrize(
    ("free", "level"),
    [(GIB - 1, Level.MISSING), (GIB, Level.NOTE), (5 * GIB - 1, Level.NOTE), (5 * GIB, Level.OK)],
)
def test_the_free_space_that_building_takes(free: int, level: Level) -> None:
    assert judge_disk(free, where="/x", needed_for=("build",)).level is level


@pytest.mark.parametrize(
    ("date", "level"),
    [
        ("2026-08-25T12:00:01+00:00", Level.OK),
        ("2026-08-25T14:00:01+02:00", Level.OK),
        ("2026-08-25T12:00:00+00:00", Level.NOTE),
        ("2027-01-01T00:00:00+00:00", Level.OK),
    ],
)
def test_an_upstream_of_a_week_ago_is_stale(date: str, level: Level) -> None:
    check = judge_age("upstream/master", date=date, now=NOW, fix="git fetch")
    assert check.level is level
    assert check.found == f"upstream/master ends on {date[:10]}"


def test_what_each_verb_needs() -> None:
    verbs = [verb for verb in VERBS if verb != "doctor"]
    assert set(needing("git", verbs)) >= {"init", "drift", "port", "demo"}
    assert not {"probe", "verify"} & set(needing("git", verbs))
    assert set(needing("ninja", verbs)) & {"build", "gate", "demo", "drift"} == {"build", "gate", "demo"}
    assert set(needing("map", verbs)) & {"init", "demo", "probe", "drift", "verify"} == {"drift", "verify"}
    assert set(needing("history", verbs)) & {"init", "demo", "verify", "status"} == {"init", "status"}
    assert set(needing("state folder", verbs)) & {"port", "drift", "gate"} == {"port", "gate"}
    assert needing("ccache", verbs) == ()


def test_commands_of_one_package_manager_become_one() -> None:
    debian = [install_hint(tool, system="Linux", families=["debian"]) for tool in ("ninja", "a C compiler")]
    arch = [install_hint(tool, system="Linux", families=["arch"]) for tool in ("git", "ninja")]
    assert together([*debian, "git -C /x fetch", *debian]) == (
        "sudo apt install ninja-build build-essential",
        "git -C /x fetch",
    )
    assert together(arch) == ("sudo pacman -S git ninja",)
    odd = "sudo apt install git  (or a newer one: https://git-scm.com/downloads)"
    assert together([odd, "sudo apt install ninja-build"]) == (odd, "sudo apt install ninja-build")


@pytest.mark.parametrize("tool", ["git", "pip", "ssh-keygen", "cmake", "ninja", "ccache", "a C compiler"])
@pytest.mark.parametrize(
    ("system", "families", "start"),
    [
        ("Linux", ["ubuntu", "debian"], "sudo apt install "),
        ("Linux", ["fedora"], "sudo dnf install "),
        ("Linux", ["rocky", "rhel", "centos", "fedora"], "sudo dnf install "),
        ("Linux", ["arch"], "sudo pacman -S "),
        ("Darwin", [], ("brew install ", "xcode-select --install")),
        ("Linux", ["gentoo"], "install "),
    ],
)
def test_every_tool_has_a_command_on_every_system(
    tool: str, system: str, families: list[str], start: str | tuple[str, ...]
) -> None:
    assert install_hint(tool, system=system, families=families).startswith(start)


def fails() -> str:
    raise CouldNotWork("it is not here", where="/x", hint="fetch it")


def report(*looks: Look, verbs: tuple[str, ...] = ("init", "drift", "demo")) -> DoctorReport:
    return examine(looks, version="1", system="Linux", verbs=verbs)


def test_what_stands_on_something_missing_is_not_looked_at() -> None:
    told = report(
        Look("git", fails), Look("fork", fails, after=("git",)), Look("history", fails, after=("fork",)),
        Look("pip", lambda: "pip"),
    )  # fmt: skip
    assert [check.name for check in told.checks] == ["git", "pip"]
    assert told.unseen == {"fork": "git", "history": "git"}
    assert told.blocked == {"init": ("git",), "drift": ("git",), "demo": ("git",)}
    assert told.works == ()
    assert "not looked at, for git comes first: fork, history" in doctor_text(told)


def test_a_verb_that_needs_what_was_not_looked_at_is_not_said_to_work() -> None:
    told = report(Look("map", fails), Look("fork", fails, after=("map",)))
    assert told.blocked == {"drift": ("map",)}
    assert told.unknown == {"init": ("fork",)}
    assert told.works == ("demo",)
    assert "not known:  init  (not looked at: fork)" in doctor_text(told)


def test_what_no_verb_asked_for_needs_is_a_note() -> None:
    told = report(Look("map", fails), Look("fork", lambda: "/fork", after=()), verbs=("init",))
    assert told.checks[0] == Check("map", Level.NOTE, "it is not here", (), "", "/x", "fetch it")
    assert told.works == ("init",)
    assert "next:" not in doctor_text(told)


def test_a_note_holds_nothing_up() -> None:
    note = Check("history", Level.NOTE, "long", fix="cut it")
    told = report(Look("history", lambda: note), Look("upstream", lambda: "there", after=("history",)))
    assert [check.name for check in told.checks] == ["history", "upstream"]
    assert told.works == ("init", "drift", "demo")


def test_without_a_compiler_the_short_demo_is_named() -> None:
    text = doctor_text(report(Look("ninja", fails), Look("disk", lambda: "5 GiB")))
    assert "works here: init, drift, demo --no-build\nnot yet:    demo  (ninja)" in text
    assert "demo --no-build" not in doctor_text(report(Look("git", fails)))


def test_nothing_found_can_paint_the_terminal() -> None:
    text = doctor_text(report(Look("fork", lambda: "/evil\x1b[2J")))
    assert "\x1b" not in text
    assert "/evil\ufffd[2J" in text
