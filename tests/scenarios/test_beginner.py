"""What a beginner mistypes or forgets: every error names the next command, and what was probably meant."""

from pathlib import Path

import pytest

from tests.support.commands import forkguard
from tests.support.repos import MiniHistory


@pytest.fixture
def desk(tmp_path: Path, history: MiniHistory) -> Path:
    folder = tmp_path / "desk"
    folder.mkdir()
    assert forkguard("init", "--fork", "../fork", "--arch", "heron", cwd=folder).status == 0
    return folder


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (("drfit",), "No such command 'drfit'. Did you mean drift?"),
        (("statsu",), "No such command 'statsu'. Did you mean status?"),
        (("stack", "lst"), "No such command 'lst'. Did you mean list?"),
        (("drift", "--aarch", "heron"), "No such option '--aarch'. Did you mean '--arch'?"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_right_one(
    words: tuple[str, ...], proposed: str, tmp_path: Path
) -> None:
    outcome = forkguard(*words, cwd=tmp_path)
    assert outcome.status == 2
    assert proposed in outcome.err


def test_a_command_like_no_other_is_answered_with_the_help(tmp_path: Path) -> None:
    outcome = forkguard("zzz", cwd=tmp_path)
    assert outcome.status == 2
    assert "No such command 'zzz'." in outcome.err
    assert "Did you mean" not in outcome.err
    assert "Try 'forkguard --help' for help." in outcome.err


def test_init_in_the_clone_itself_says_where_else(history: MiniHistory) -> None:
    fork = history.fork.path
    what, where, following = forkguard("init", cwd=fork / "src").told()
    assert what == "this folder is inside the fork's own work tree, which forkguard leaves alone"
    assert where == str(fork / "src")
    assert following.startswith(f"mkdir -p {fork}-forkguard && cd {fork}-forkguard")
    assert following.endswith(f"--fork {fork}")


def test_init_elsewhere_asks_for_the_fork(tmp_path: Path) -> None:
    assert forkguard("init", cwd=tmp_path).told()[0] == "no fork is named"


def test_a_mistyped_arch(desk: Path) -> None:
    outcome = forkguard("drift", "--arch", "hern", cwd=desk)
    assert outcome.status == 1
    assert "the fork has heron, heronmoe: did you mean one of these?" in outcome.out
    assert forkguard("drift", "--arch", "lfm2", cwd=desk).out.count("did you mean") == 0


def test_a_gate_of_one_of_several_archs_wants_its_name(desk: Path) -> None:
    what, _, following = forkguard("gate", cwd=desk).told()
    assert what == "the map watches 3 archs, and none is named"
    assert following == "forkguard gate --arch otter, or list archs in [defaults] of the map"


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (("--fork-ref", "prodution"), "did you mean production?"),
        (("--upstream-ref", "upstream/mster"), "did you mean upstream/master?"),
    ],
)
def test_a_mistyped_ref(words: tuple[str, ...], proposed: str, desk: Path) -> None:
    outcome = forkguard("status", *words, cwd=desk)
    assert outcome.status == 3
    assert proposed in outcome.told()[2]


def test_a_ref_like_no_other(desk: Path, history: MiniHistory) -> None:
    following = forkguard("status", "--fork-ref", "zzzz", cwd=desk).told()[2]
    assert following == f"git -C {history.fork.path} branch --all  lists what there is"


@pytest.mark.parametrize(
    ("user", "sudo", "asked"),
    [(1000, True, "sudo apt install"), (1000, False, "sudo apt install"), (0, True, "sudo apt install"),
     (0, False, "apt install")],
)  # fmt: skip
def test_missing_tools_are_told_at_once_with_one_command(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, user: int, sudo: bool, asked: str
) -> None:
    (tmp_path / "bin").mkdir()
    for name, program in (("git", "git"), ("env", "env"), *([("sudo", "true")] if sudo else [])):
        (tmp_path / "bin" / name).symlink_to(f"/usr/bin/{program}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "debian"})
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("os.geteuid", lambda: user)
    outcome = forkguard("build", cwd=desk)
    assert outcome.status == 3
    what, _, following = outcome.told()
    assert what.startswith(
        "cmake is not installed (cmake); ninja is not installed (ninja or ninja-build); a C compil"
    )
    assert following == f"{asked} cmake ninja-build build-essential"
