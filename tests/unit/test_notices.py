"""When somebody is told of a night."""

from dataclasses import replace

import pytest

from forkguard.core.nightly import Night, NightVerdict
from forkguard.core.notices import worth_telling
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
