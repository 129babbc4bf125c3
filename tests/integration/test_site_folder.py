"""A folder of pages swapped in: whole or not at all, whatever kills the writer; nothing of a user's is removed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkguard.adapters.site_folder import swap_in
from forkguard.errors import CouldNotWork, UsageProblem
from tests.support.stopping_site import MARKER, NEW, OLD

PROJECT = Path(__file__).parents[2]
STEPS = 7


def content(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def failing() -> Iterator[tuple[str, str]]:
    yield "index.html", "new"
    raise CouldNotWork("no more pages")


def killed(step: int, folder: Path) -> bool:
    """Whether the writer was killed before that step; else it came to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.stopping_site", str(step), str(folder)], cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode == -signal.SIGKILL


def test_a_kill_before_any_step_leaves_one_whole_folder_once_the_next_run_is_done(tmp_path: Path) -> None:
    step = 0
    while True:
        place = tmp_path / str(step) / "report"
        swap_in(place, OLD, marker=MARKER)
        if not killed(step, place):
            break
        seen = content(place) if place.exists() else None
        assert seen in (None, dict(OLD), dict(NEW)), step
        swap_in(place, NEW, marker=MARKER)
        assert content(place) == dict(NEW), step
        assert [path.name for path in place.parent.iterdir()] == ["report"], step
        step += 1
    assert step == STEPS


def test_pages_that_cannot_be_made_leave_the_old_folder(tmp_path: Path) -> None:
    place = tmp_path / "report"
    swap_in(place, OLD, marker=MARKER)
    with pytest.raises(CouldNotWork, match="no more pages"):
        swap_in(place, failing(), marker=MARKER)
    assert content(place) == dict(OLD)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


@pytest.mark.parametrize("kind", ["file", "link", "papers"])
def test_what_is_no_report_is_refused(tmp_path: Path, kind: str) -> None:
    place, other = tmp_path / "report", tmp_path / "other"
    swap_in(other, OLD, marker=MARKER)
    if kind == "file":
        place.write_text("mine")
    elif kind == "link":
        place.symlink_to(other)
    else:
        place.mkdir()
        (place / "thesis.txt").write_text("mine")
    with pytest.raises(UsageProblem):
        swap_in(place, NEW, marker=MARKER)
    assert content(other) == dict(OLD)
    assert place.is_symlink() == (kind == "link")


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    place = tmp_path / "report"
    place.mkdir()
    assert swap_in(place, NEW, marker=MARKER) == len("new") * 2
    assert content(place) == dict(NEW)


def test_a_folder_that_a_kill_moved_away_is_back_even_where_the_next_run_fails(tmp_path: Path) -> None:
    place = tmp_path / "report"
    swap_in(place, OLD, marker=MARKER)
    place.rename(tmp_path / ".report.old")
    with pytest.raises(CouldNotWork):
        swap_in(place, failing(), marker=MARKER)
    assert content(place) == dict(OLD)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
