"""When somebody is told of a night."""

import json
from dataclasses import replace

import pytest

from forkguard.core.nightly import Candidate, Night, NightPatch, NightSide, NightUpstream, NightVerdict
from forkguard.core.notices import notice, worth_telling
from forkguard.core.replay import PatchStatus
from tests.unit.test_nightly_record import night

GREEN = night(1, NightVerdict.GREEN, "")
RED = night(2, story="s")
COULD_NOT = night(2, NightVerdict.COULD_NOT_RUN, "n")


@pytest.mark.parametrize(
    ("now", "earlier", "told"),
    [
        (GREEN, [], False),
        (GREEN, [GREEN], False),
        (GREEN, [RED, GREEN], True),
        (GREEN, [COULD_NOT], True),
        (GREEN, [replace(GREEN, notified=False), RED], True),
        (GREEN, [replace(GREEN, notified=True), RED], False),
        (RED, [], True),
        (RED, [GREEN], True),
        (RED, [replace(COULD_NOT, notified=True)], True),
        (replace(RED, repeats=1), [replace(RED, notified=True)], False),
        (replace(RED, repeats=2), [replace(RED, repeats=1), replace(RED, notified=True), GREEN], False),
        (replace(RED, repeats=1), [replace(RED, notified=False), GREEN], True),
        (replace(RED, repeats=1), [RED], True),
        (RED, [COULD_NOT, replace(RED, notified=True)], True),
    ],
)
def test_a_story_is_told_once(now: Night, earlier: list[Night], *, told: bool) -> None:
    assert worth_telling(now, earlier, policy="changes") is told
    assert worth_telling(now, earlier, policy="always")


def test_what_is_told() -> None:
    told = night(
        story="conflict:one", fork=NightSide("production", "a" * 40),
        upstream=NightUpstream("upstream/master", "b" * 40, "c" * 40, 3, 7),
        stack=(
            NightPatch("one", "0001-x.patch", PatchStatus.APPLIES),
            NightPatch("one", "0002-y.patch", PatchStatus.CONFLICT),
        ),
        candidate=Candidate("forkguard/candidate/2026-09-01", "d" * 40),
    )  # fmt: skip
    assert json.loads(notice(told, steps=["forkguard status"])) == {
        "schema": "forkguard/notice@1", "night": "20260901T030000Z", "verdict": "red", "reason": "a reason",
        "story": "conflict:one", "repeats": 0, "days_red": 0,
        "started": "2026-09-01T03:00:00Z", "finished": "2026-09-01T03:00:00Z",
        "fork": {"ref": "production", "commit": "a" * 40}, "upstream": {"ref": "upstream/master", "commit": "c" * 40},
        "candidate": "forkguard/candidate/2026-09-01", "failing": ["one/0002-y.patch: conflict"],
        "next": ["forkguard status"],
    }  # fmt: skip
    early = json.loads(notice(COULD_NOT, steps=[]))
    assert (early["fork"], early["upstream"], early["candidate"], early["failing"]) == (None, None, None, [])
