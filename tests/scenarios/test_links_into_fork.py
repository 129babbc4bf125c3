"""Folders of forkguard's own that lie in the fork, or lead into it by a link: refused, and nothing is written."""

from pathlib import Path

import pytest

from tests.support.nights import Nights, new_nights
from tests.support.porting import Desk, make_desk
from tests.support.repos import MiniHistory
from tests.support.snapshot import fork_as_it_is

IN_WORK_TREE, IN_GIT = "fork/docs", "fork/.git/forkguard"


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Desk:
    return make_desk(tmp_path)


@pytest.mark.parametrize(
    ("link", "target", "there"),
    [
        (".forkguard", IN_WORK_TREE, False),
        (".forkguard", IN_GIT, True),
        ("patchsets", IN_GIT, False),
        ("resolutions", IN_WORK_TREE, True),
        ("patchsets/201", IN_WORK_TREE, False),
        (".forkguard/port.json", IN_WORK_TREE, False),
    ],
)
def test_a_port_through_a_link(desk: Desk, history: MiniHistory, *, link: str, target: str, there: bool) -> None:
    place = desk.path / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(desk.path.parent / target)
    if there:
        (desk.path.parent / target).mkdir(parents=True)
    before = fork_as_it_is(history.fork.path)

    outcome = desk.run("port", "201")

    what, where, following = outcome.told()
    assert outcome.status == 2
    assert what == "this link leads into the fork, which forkguard leaves alone"
    assert where == f"{place} -> {desk.path.parent / target}"
    assert following.startswith(f"rm {place} ")
    assert fork_as_it_is(history.fork.path) == before
    assert history.fork.git("branch", "--list", "forkguard/*") == ""


def test_a_link_to_another_place_is_nobodys_business(desk: Desk, history: MiniHistory) -> None:
    elsewhere = desk.path.parent / "elsewhere"
    elsewhere.mkdir()
    (desk.path / ".forkguard").symlink_to(elsewhere)
    (elsewhere / "round").symlink_to("round")

    assert desk.run("port", "201").status == 0
    assert (elsewhere / "port.lock").is_file()


def test_a_maps_folder_that_is_itself_a_link_into_the_fork(desk: Desk, history: MiniHistory) -> None:
    inside = history.fork.path / "guard"
    inside.mkdir()
    (desk.path / "upstream-map.toml").rename(inside / "upstream-map.toml")
    (inside / "upstream-map.toml").write_text(
        (inside / "upstream-map.toml").read_text().replace('"../', '"../../').replace("../../fork", "..")
    )
    (desk.path.parent / "linked").symlink_to(inside)
    before = fork_as_it_is(history.fork.path)

    outcome = Desk(desk.path.parent / "linked").run("port", "201", "--fork", str(history.fork.path))

    assert outcome.status == 2
    assert outcome.told()[0] == "this folder is inside the fork's own work tree, which forkguard leaves alone"
    assert fork_as_it_is(history.fork.path) == before


@pytest.mark.parametrize(
    ("verb", "target", "key"),
    [
        (("drift", "--arch", "heron"), IN_WORK_TREE, "cache"),
        (("port", "201"), IN_GIT, "cache"),
        (("status",), IN_WORK_TREE, "trees"),
    ],
)
def test_a_cache_in_the_fork(
    desk: Desk, history: MiniHistory, *, verb: tuple[str, ...], target: str, key: str
) -> None:
    map_ = desk.path / "upstream-map.toml"
    text = map_.read_text().replace('cache = "../cache"', f'{key} = "../{target}"')
    assert target in text
    map_.write_text(text)
    before = fork_as_it_is(history.fork.path)

    outcome = desk.run(*verb)

    assert outcome.status == 2, outcome.err
    assert outcome.told()[0] == "the folder of caches or trees is inside the fork, which forkguard leaves alone"
    assert fork_as_it_is(history.fork.path) == before


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return new_nights(tmp_path)


def test_a_night_through_a_link(nights: Nights) -> None:
    state = nights.desk / ".forkguard"
    if state.exists():
        state.rename(nights.desk.parent / "old-state")
    state.symlink_to(nights.fork.path / "docs")
    before = fork_as_it_is(nights.fork.path)

    outcome = nights.run()

    assert outcome.status == 2
    assert outcome.told()[0].startswith("this link leads into the fork")
    assert fork_as_it_is(nights.fork.path) == before
