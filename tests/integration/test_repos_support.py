"""The builder that other tests stand on gives the same history everywhere."""

from pathlib import Path

from tests.support.repos import MiniHistory, mini_history


def test_the_history_is_what_it_says(history: MiniHistory) -> None:
    fork = history.fork
    assert fork.git("merge-base", "production", "upstream/master") == history.base
    assert fork.git("rev-parse", "upstream/master") == history.tip
    assert fork.git("rev-list", "--count", f"{history.base}..upstream/master") == "3"
    assert fork.git("rev-parse", "production") == history.own[1]
    assert fork.git("branch", "--format=%(refname:short)") == "production"
    assert "t_layer_inp" not in fork.text("src/models/heron.cpp")
    assert "t_layer_inp" in fork.text("src/models/heron.cpp", ref="upstream/master")


def test_ids_do_not_depend_on_the_place(tmp_path: Path) -> None:
    one, other = mini_history(tmp_path / "one"), mini_history(tmp_path / "other")
    assert (one.tip, one.own) == (other.tip, other.own)
