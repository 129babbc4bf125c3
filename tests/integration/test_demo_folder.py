"""The demo keeps to a folder of its own."""

import contextlib
from pathlib import Path

import pytest

from forkguard.adapters.demo_folder import MARK, claimed
from forkguard.errors import CouldNotWork, UsageProblem


def test_a_new_folder_is_made_and_taken_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "kept"
    with claimed(folder):
        (folder / "mine").write_text("1")
    with claimed(folder):
        assert (folder / "mine").read_text() == "1"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    with claimed(tmp_path):
        assert (tmp_path / MARK).is_file()


def test_somebody_elses_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageProblem, match="not the demo's own"), claimed(tmp_path):
        raise AssertionError
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    with pytest.raises(UsageProblem), claimed(tmp_path / "kept"):
        raise AssertionError


def test_a_folder_that_cannot_be_made_is_could_not_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CouldNotWork, match="cannot be made"), claimed(tmp_path / "file" / "kept"):
        raise AssertionError


def test_what_a_killed_run_left_half_made_goes(tmp_path: Path) -> None:
    with claimed(tmp_path):
        (tmp_path / ".upstream.git-x1").mkdir()
        (tmp_path / ".llama.cpp-x1" / "llama.cpp").mkdir(parents=True)
    with claimed(tmp_path):
        assert not list(tmp_path.glob(".*-x1"))


def test_a_new_folder_in_which_nothing_was_made_goes_again(tmp_path: Path) -> None:
    with pytest.raises(CouldNotWork, match="no cmake"), claimed(tmp_path / "kept"):
        raise CouldNotWork("no cmake")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays_and_so_does_what_was_made(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(CouldNotWork), claimed(tmp_path / "mine"):
        raise CouldNotWork("no cmake")
    with contextlib.suppress(CouldNotWork), claimed(tmp_path / "kept"):
        (tmp_path / "kept" / "upstream.git").mkdir()
        raise CouldNotWork("no network")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "mine"]


def test_two_runs_at_once_are_told_of_each_other(tmp_path: Path) -> None:
    with claimed(tmp_path), pytest.raises(CouldNotWork, match="forkguard demo"), claimed(tmp_path):
        raise AssertionError
