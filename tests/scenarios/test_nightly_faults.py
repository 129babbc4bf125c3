"""Nights that go wrong: nothing is lost, nothing is green, and the next night starts clean."""

import json
import os
import shutil
import subprocess
import sys
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forkguard.adapters.files import locked
from forkguard.cli import clock
from forkguard.core.replay import StackPatch
from forkguard.ports import PatchsetStore
from forkguard.workflows import nightly_looks
from forkguard.workflows.replay import read_patches
from tests.support.commands import forkguard
from tests.support.nights import Nights, detail, outcomes
from tests.support.repos import frozen_environment
from tests.support.small_disk import fill, small_disk
from tests.support.stacks import NOTES, SCHEMAS, notes


def test_a_night_killed_at_any_write_is_told_and_the_next_one_is_whole(nights: Nights) -> None:
    tip = nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    before = nights.fork.snapshot()
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.stopping_night", str(nights.desk)],
        env=frozen_environment() | {"PYTHONPATH": str(SCHEMAS.parents[1])},
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    *killed, last = [json.loads(line) for line in done.stdout.splitlines()]
    assert (last["killed"], last["after"]) == (0, 0)
    assert len(killed) == 17, "begin, 11 times the part, fetch, 2 documents, the branch, the record"
    for stop in killed:
        assert (stop["killed"], stop["after"]) == (-9, 0)
        assert "night.json" not in stop["records"], "a night that was killed left no record"
        *cut, whole = stop["nights"]
        assert (whole["verdict"], whole["upstream"]["to"], stop["parts"]) == ("green", tip, [])
        assert len(cut) == (1 if stop["records"] else 0)
        for night in cut:
            assert (night["verdict"], night["days_red"]) == ("could-not-run", 1)
            assert night["reason"].startswith("it was cut off ")
            assert any(night["id"] in note and "did not end" in note for note in whole["notes"])
        assert stop["end"] == last["end"]
    assert nights.fork.snapshot() == before


def test_two_nights_at_once_and_the_second_says_who_holds_the_lock(nights: Nights) -> None:
    nights.night(status=0)
    with locked(nights.desk / ".forkguard" / "nightly.lock", purpose="forkguard nightly"):
        outcome = nights.run()
    assert (outcome.status, outcome.out) == (3, "")
    assert f"forkguard nightly (process {os.getpid()} on " in outcome.told()[0]
    assert len(list(nights.folder.iterdir())) == 1


@pytest.fixture
def backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is a day earlier each night."""
    start = datetime(2026, 9, 9, 3, tzinfo=UTC)
    times = (start - timedelta(hours=hour) for hour in range(10_000))
    monkeypatch.setattr(clock, "now", lambda: next(times))


@pytest.mark.usefixtures("backwards")
def test_a_clock_that_goes_backwards_hides_no_night(nights: Nights) -> None:
    nights.fork.commit("ours: a service file", {"deploy/server.service": "[Service]\n"})
    found = [nights.night(status=3) for _ in range(3)]
    assert [night["id"] for night in found] == ["20260909T030000Z", "20260909T030000Z-2", "20260909T030000Z-3"]
    assert [night["repeats"] for night in found] == [0, 1, 2]
    assert [night["started"] for night in found] == sorted((night["started"] for night in found), reverse=True)
    assert found[2]["notes"][0].startswith("the clock is behind that of the night 20260909T030000Z-2")
    assert all(night["finished"] >= night["started"] for night in found), "a night does not end before it began"


def test_a_fetch_that_hangs_is_ended_with_its_children(
    nights: Nights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", f"sh -c 'echo $$ > {tmp_path}/pid; sleep 3600 & sleep 3600' ssh")
    nights.fork.git("remote", "set-url", "upstream", "ssh://nowhere.invalid/x")
    nights.settings("build = false\nfetch_timeout = 0.5")
    night = nights.night(status=3)
    assert detail(night, "fetch") == "fetching from upstream did not end within 0.5 s"
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()
    assert night["steps"][0]["hint"].startswith("the next night goes on")


def test_nights_of_two_maps_do_not_fetch_into_one_fork_at_once(nights: Nights, tmp_path: Path) -> None:
    """Each removes locks that a killed git left on these refs, and would remove the other's."""
    other = tmp_path / "other desk"
    shutil.copytree(nights.desk, other)
    nights.settings("build = false\nfetch_timeout = 0.2")
    fork = zlib.crc32(os.fsencode((nights.fork.path / ".git").resolve()))
    lock = tmp_path / "cache" / "worktrees" / f"fetch-{fork:08x}.lock"
    with locked(lock, purpose="forkguard nightly --map other, fetching"):
        night = nights.night(status=3)
    assert detail(night, "fetch").startswith(
        "another forkguard run is at work: forkguard nightly --map other, fetching"
    )
    assert forkguard("nightly", cwd=other).status == 0


@pytest.mark.parametrize("free", [0, 12], ids=lambda free: f"{free}k")
def test_a_full_disk_is_no_green_night_and_the_next_one_works(nights: Nights, free: int) -> None:
    with small_disk(nights.desk / ".forkguard", kilobytes=512) as disk:
        first = nights.night(status=0)
        fill(disk)
        os.truncate(disk / "filler", (disk / "filler").stat().st_size - free * 1024)
        outcome = nights.run("--fresh")
        assert (outcome.status, outcome.out) == (3, "")
        assert "No space left on device" in outcome.err
        (disk / "filler").unlink()
        again = nights.night("--fresh", status=0)
        kept = [json.loads(path.read_text()) for path in sorted(nights.folder.glob("*/night.json"))]
        assert [night["verdict"] for night in kept if night["id"] in (first["id"], again["id"])] == ["green", "green"]
        assert all(night["verdict"] == "could-not-run" for night in kept[1:-1])
        assert not list(nights.folder.glob("*/night.part.json"))


def test_a_cache_that_cannot_be_written_is_a_night_that_could_not_run(nights: Nights) -> None:
    cache = nights.desk.parent / "cache"
    cache.write_text("no folder\n")
    night = nights.night(status=3)
    assert night["verdict"] == "could-not-run"
    assert nights.candidates() == {}
    cache.unlink()
    assert nights.night(status=0)["verdict"] == "green"


def test_a_read_only_cache_is_a_night_that_could_not_run(nights: Nights) -> None:
    with small_disk(nights.desk.parent / "cache", kilobytes=8192) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=60)
        night = nights.night(status=3)
        assert night["verdict"] == "could-not-run"
        assert "ead-only file system" in night["reason"]
        assert nights.candidates() == {}
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True, timeout=60)
        assert nights.night(status=0)["verdict"] == "green"


def test_a_folder_that_cannot_be_written_is_said(nights: Nights) -> None:
    with small_disk(nights.desk / ".forkguard", kilobytes=512) as disk:
        nights.night(status=0)
        for name in ("nightly.lock", "nightly.lock.holder"):
            (disk / name).unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, timeout=60)
        outcome = nights.run()
        assert (outcome.status, outcome.out) == (3, "")
        assert "ead-only file system" in outcome.told()[0]


def test_a_bug_is_no_green_night_and_its_details_are_kept(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(nightly_looks, "read_status", broken)
    night = nights.night(status=3)
    step = next(step for step in night["steps"] if step["name"] == "coverage")
    assert (step["outcome"], step["detail"]) == ("could-not", "a bug in forkguard: ZeroDivisionError: odd")
    assert "ZeroDivisionError: odd" in Path(step["where"]).read_text()
    assert (outcomes(night)["drift"], outcomes(night)["candidate"]) == ("skipped", "skipped")


def test_a_damaged_record_is_no_last_night(nights: Nights) -> None:
    first = nights.night(status=0)
    path = nights.folder / first["id"] / "night.json"
    path.write_text(path.read_text()[:-40])
    night = nights.night(status=0)
    assert night["reused"] is None
    assert any(str(path) in note for note in night["notes"])


def test_a_stack_that_is_edited_meanwhile_is_no_green_night(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_then_edited(patchsets: PatchsetStore) -> tuple[StackPatch, ...]:
        patches = read_patches(patchsets)
        with (nights.desk / "patchsets" / "series").open("a") as file:
            file.write("# a port is at work\n")
        return patches

    monkeypatch.setattr(nightly_looks, "read_patches", read_then_edited)
    night = nights.night(status=3)
    assert detail(night, "replay") == "the stack or the map was changed while the night looked at it"
    assert (outcomes(night)["candidate"], nights.candidates()) == ("skipped", {})


def test_a_patch_file_that_is_gone_is_said(nights: Nights) -> None:
    for path in (nights.desk / "patchsets" / "one").glob("*.patch"):
        path.unlink()
    night = nights.night(status=3)
    assert detail(night, "replay") == "the series names a patch that is not there"
