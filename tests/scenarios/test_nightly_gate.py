"""Nights that build and gate: the receipt is named, and what the gate could not do is never green."""

import json
import os
from pathlib import Path

import pytest

from tests.support.gating import processes_left
from tests.support.nights import Nights, copy_nights, detail, new_gated_nights, outcomes, serve
from tests.support.programs import BUILDING
from tests.support.repos import new_repository
from tests.support.scripted_server import Behaviour
from tests.support.stacks import NOTES, notes

pytestmark = pytest.mark.needs(*BUILDING)


@pytest.fixture(scope="module")
def _first(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    return new_gated_nights(tmp_path_factory.mktemp("nights"))


@pytest.fixture
def nights(_first: Nights, tmp_path: Path) -> Nights:
    return copy_nights(_first, tmp_path)


def receipts(nights: Nights) -> list[Path]:
    return sorted((nights.desk / ".forkguard" / "receipts").glob("*/receipt.json"))


def test_a_candidate_that_passes_is_gated_beside_upstream_and_pushed(nights: Nights) -> None:
    tip = nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    remote = new_repository(nights.desk.parent / "remote")
    nights.fork.git("remote", "add", "origin", f"file://{remote.path}")
    path = nights.desk / "upstream-map.toml"
    path.write_text(
        path.read_text().replace('ref = "upstream/master"', f'ref = "upstream/master"\nbase = "{nights.queue.base}"')
    )
    nights.settings('push = { remote = "origin", branch = "candidate" }')
    before = nights.fork.snapshot()
    night = nights.night(status=0)
    assert (night["verdict"], night["reason"].partition("; ")[2]) == ("green", "gated: heron")
    assert outcomes(night) == dict.fromkeys(outcomes(night), "done")
    (path,) = receipts(nights)
    receipt = json.loads(path.read_text())
    (gate,) = night["gate"]
    assert (gate["arch"], gate["verdict"], gate["receipt"]) == ("heron", "pass", f"{path.parent.name}/receipt.json")
    assert {check["name"] for check in gate["checks"]} >= {"crash", "liveness", "determinism"}
    candidate = night["candidate"]
    assert (receipt["tree"]["commit"], receipt["tree"]["patchsets"]) == (candidate["commit"], ["one"])
    assert (night["base"]["how"], receipt["upstream"]["commit"]) == ("configured", tip), "the candidate stands on tip"
    assert (night["build"]["profile"], Path(night["build"]["binary"]).is_file()) == ("cpu", True)
    assert (candidate["pushed"], remote.git("rev-parse", "candidate")) == ("origin/candidate", candidate["commit"])
    assert nights.fork.snapshot() == before
    again = nights.night(status=0)
    assert (again["reused"], again["gate"]) == (night["id"], night["gate"])
    assert len(receipts(nights)) == 1


@pytest.mark.parametrize("name", ["target.gguf", "prompts.toml"])
def test_models_and_prompts_that_changed_are_gated_again(nights: Nights, name: str) -> None:
    nights.settings("build = false")
    first = nights.night(status=0)
    assert nights.night(status=0)["reused"] == first["id"]
    os.utime(nights.desk / name, ns=(1, 1))
    assert nights.night(status=0)["reused"] is None


def test_so_many_trees_stay_as_the_map_says(nights: Nights) -> None:
    nights.settings("gate = false\nkeep_trees = 1")
    nights.night(status=0)
    nights.upstream.commit("notes: thirty (#7)", {NOTES: notes({30: "theirs: thirty"})})
    night = nights.night(status=0)
    assert detail(night, "build").endswith(", trees removed: 1")
    trees = (nights.desk.parent / "cache" / "trees").glob("[0-9a-f]*-cpu-*")
    assert [path.name for path in trees] == [night["build"]["tree"]]


def test_a_remote_branch_that_somebody_moved_is_no_green_night(nights: Nights) -> None:
    remote = new_repository(nights.desk.parent / "remote")
    theirs = remote.commit("theirs", {"a": "1\n"})
    remote.git("branch", "candidate")
    nights.fork.git("remote", "add", "origin", f"file://{remote.path}")
    nights.settings('build = false\npush = { remote = "origin", branch = "candidate" }')
    night = nights.night(status=3)
    assert detail(night, "push") == (
        f"origin/candidate is at {theirs[:10]}, and no night has put it there: it was not pushed"
    )
    assert remote.git("rev-parse", "candidate") == theirs
    nights.settings('build = false\npush = { remote = "origin", branch = "production" }')
    assert "the production branch" in detail(nights.night(status=3), "push")


def test_a_red_gate_makes_a_red_night_and_pushes_nothing(nights: Nights) -> None:
    serve(nights, Behaviour(answers=("abort",), only_drafting=True))
    nights.settings('push = { remote = "origin", branch = "candidate" }')
    night = nights.night(status=1)
    assert night["verdict"] == "red"
    assert night["reason"].startswith("the gate of heron is red (crash")
    assert (outcomes(night)["gate"], detail(night, "push")) == ("found", "the candidate did not pass")
    assert night["candidate"] is not None
    again = nights.night(status=1)
    assert (again["reused"], again["story"], again["repeats"]) == (night["id"], night["story"], 1)


def test_a_server_that_leaves_children_leaves_none_behind(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORKGUARD_TEST", str(nights.desk))
    serve(nights, Behaviour(child="daemon"))
    night = nights.night(status=1)
    crash = next(check for check in night["gate"][0]["checks"] if check["name"] == "crash")
    assert (crash["verdict"], crash["class"]) == ("fail", "left-behind")
    assert processes_left(nights.desk) == []


def test_a_gate_that_proves_nothing_is_not_green(nights: Nights) -> None:
    serve(nights, Behaviour(unstable=True))
    night = nights.night(status=3)
    assert (night["verdict"], night["gate"][0]["verdict"]) == ("could-not-run", "inconclusive")
    assert night["reason"] == "gate: heron inconclusive"


def test_a_build_that_fails_could_not_run(nights: Nights) -> None:
    nights.upstream.commit(
        "break the build (#9)", {"CMakeLists.txt": "project(scripted NONE)\nmessage(FATAL_ERROR no)\n"}
    )
    night = nights.night(status=3)
    assert night["verdict"] == "could-not-run"
    assert (outcomes(night)["build"], outcomes(night)["gate"]) == ("could-not", "skipped")


def test_an_arch_that_nothing_can_gate_is_not_green(nights: Nights) -> None:
    path = nights.desk / "upstream-map.toml"
    head, _, tail = path.read_text().partition("[arch.heron.gate]")
    path.write_text(head + "\n[nightly]" + tail.partition("[nightly]")[2])
    night = nights.night(status=3)
    assert detail(night, "gate") == "no arch can be gated: heron: no models, no probe"
    nights.settings("gate = false")
    assert nights.night(status=0)["reason"].endswith("not gated, as the map says ([nightly] gate)")


def test_a_corrupt_receipt_is_no_result_to_take_over(nights: Nights) -> None:
    nights.night(status=0)
    (path,) = receipts(nights)
    path.write_text(path.read_text().replace('"verdict": "fail"', '"verdict": "pass"') + "\n")
    night = nights.night(status=0)
    assert night["reused"] is None
    assert night["notes"] == [
        f"the receipt {path.parent.name}/receipt.json is not intact (it was changed): all was done again"
    ]
    assert len(receipts(nights)) == 2
    (path.parent.parent / "HEAD").unlink()
    broken = nights.night(status=3)
    assert broken["reused"] is None
    assert detail(broken, "gate").startswith("the chain of receipts is damaged")


def test_a_candidate_that_was_moved_is_made_again(nights: Nights) -> None:
    first = nights.night(status=0)
    branch = first["candidate"]["branch"]
    nights.fork.git("update-ref", f"refs/heads/{branch}", "production")
    night = nights.night(status=0)
    assert night["reused"] is None
    assert (night["candidate"]["branch"], night["candidate"]["commit"]) == (
        f"{branch}-2",
        first["candidate"]["commit"],
    )
    assert nights.fork.git("rev-parse", branch) == nights.fork.git("rev-parse", "production")
