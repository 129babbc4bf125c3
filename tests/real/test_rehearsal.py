"""Seven real builds as seven nights over one stack: what each night must say was found out by hand.

Upstream stands at b10531, then at one later build after the other; the fork stays where it is.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forkguard.adapters.archives import ArchiveCache
from tests.real.conftest import CACHE, StderrTalk
from tests.support.nights import outcomes
from tests.support.rehearsal import BUILDS, PATCHSETS, Rehearsal, make_rehearsal

pytestmark = pytest.mark.real

APPLIES = dict.fromkeys(PATCHSETS, "applies")
NEWER = APPLIES | {"27383": "landed", "mmproj": "landed", "flow": "conflict"}
ADDED = NEWER | {"own-arch": "additive", "badge": "conflict"}
EDITED = ADDED | {"hexagon": "conflict", "expert-width": "conflict"}
STACK = {10531: APPLIES, 10549: NEWER, 10615: ADDED, 10705: ADDED, 10883: EDITED, 11104: EDITED, 11434: EDITED}
BROKEN = {"flow": 10549, "badge": 10615, "hexagon": 10883, "expert-width": 10883}

SPLIT = ("not-ported", "llama_meta_device_get_split_state")
BUDGET = ("accepted", "llama_context::graph_max_nodes")
TENSORS = ("not-ported", "MODEL_TENSORS")
FIRST_DRIFT = {BUDGET: 2, ("lost", "llm_arch_supports_sm_tensor"): 2}
NEWER_DRIFT = {BUDGET: 2, SPLIT: 2}
MTP_DRIFT = NEWER_DRIFT | {("not-ported", "common_init_result::common_init_result"): 1}
WIDTH_DRIFT = MTP_DRIFT | {
    TENSORS: 2,
    ("changed", "llama_model_lfm2moe::load_arch_hparams"): 1,
    ("not-ported", "llama_model_lfm2moe::load_arch_hparams"): 1,
    ("changed", "llama_model::print_info"): 1,
}
DRIFT = {
    10531: FIRST_DRIFT, 10549: NEWER_DRIFT, 10615: MTP_DRIFT, 10705: MTP_DRIFT,
    10883: WIDTH_DRIFT, 11104: WIDTH_DRIFT, 11434: WIDTH_DRIFT,
}  # fmt: skip


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    cache = ArchiveCache(CACHE / "archives", talk=StderrTalk())
    return make_rehearsal(
        tmp_path_factory.mktemp("rehearsal"), {build: cache.get(build).path for build in BUILDS}
    )  # fmt: skip


def counted(document: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """The findings that say something of a place, notes left out."""
    found: dict[tuple[str, str], int] = {}
    for each in document["findings"]:
        if each["severity"] != "note":
            key = (each["kind"], each["symbol"])
            found[key] = found.get(key, 0) + 1
    return found


def test_every_night_over_seven_real_builds_says_what_is_true(rehearsal: Rehearsal) -> None:
    repeats = 0
    before = rehearsal.nights.fork.snapshot()
    for build in BUILDS:
        first = build == BUILDS[0]
        night = rehearsal.hold(build, status=0 if first else 1)
        assert (night["verdict"], night["upstream"]["to"]) == (
            "green" if first else "red", rehearsal.tips[build],
        )  # fmt: skip
        assert {each["patchset"]: each["status"] for each in night["stack"]} == STACK[build], build
        expected = {
            name: rehearsal.tips[since] if STACK[build][name] == "conflict" else None
            for name, since in BROKEN.items()
        }
        assert {each["patchset"]: each["breaking_commit"] for each in night["stack"]} == (
            dict.fromkeys(PATCHSETS) | expected
        ), build
        assert counted(rehearsal.drift(night)) == DRIFT[build], build
        assert [each["patchset"] for each in night["retire"]] == ([] if first else ["27383", "mmproj"])
        assert {each["patchset"] for each in night["packets"]} == {
            name for name, status in STACK[build].items() if status == "conflict"
        }
        assert (night["candidate"] is not None, night["uncovered"]) == (first, [])
        assert outcomes(night)["replay"] == ("done" if first else "found")
        repeats = repeats + 1 if build in (10705, 11104, 11434) else 0
        assert (night["repeats"], night["days_red"]) == (repeats, 0 if first else 1), build
    assert rehearsal.nights.fork.snapshot() == before


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("build_turn")
def test_the_night_between_two_builds_is_built_and_gated_beside_upstream(
    real_archives: tuple[Path, Path], tmp_path: Path
) -> None:
    names = ("own-notes", "27383", "mmproj", "expert-width")
    rehearsal = make_rehearsal(
        tmp_path, dict(zip(BUILDS, real_archives, strict=False)), names=names, build=True
    )  # fmt: skip
    night = rehearsal.hold(10549, status=0)
    steps = outcomes(night)
    assert (night["verdict"], steps["build"], steps["gate"]) == ("green", "done", "done")
    assert {each["patchset"]: each["status"] for each in night["stack"]} == {
        "own-notes": "applies", "27383": "landed", "mmproj": "landed", "expert-width": "applies",
    }  # fmt: skip
    candidate = night["candidate"]
    assert rehearsal.nights.candidates() == {candidate["branch"]: candidate["commit"]}
    (gate,) = night["gate"]
    checks = {check["name"]: (check["verdict"], check["class"]) for check in gate["checks"]}
    assert (gate["arch"], gate["verdict"]) == ("lfm2", "pass")
    assert checks["determinism"] == ("pass", "identical")
    receipt = json.loads((rehearsal.nights.desk / ".forkguard" / "receipts" / gate["receipt"]).read_text())
    assert receipt["tree"]["commit"] == candidate["commit"]
    assert {arm["side"] for arm in receipt["arms"]} == {"fork", "upstream"}
