"""When nights are said to be stale."""

from datetime import UTC, datetime, timedelta

import pytest

from forkguard.core.nightly import Night, NightVerdict
from forkguard.core.watchdog import watch
from tests.unit.test_nightly_record import night

NOW = datetime(2026, 9, 10, 3, tzinfo=UTC)
GREEN, RED, COULD_NOT = NightVerdict.GREEN, NightVerdict.RED, NightVerdict.COULD_NOT_RUN


@pytest.mark.parametrize(
    ("nights", "stale"),
    [
        ([], "no night has come to an answer yet"),
        ([night(9, COULD_NOT)], "no night has come to an answer yet"),
        ([night(9, GREEN)], ""),
        ([night(9, RED)], ""),
        ([night(10, COULD_NOT), night(9, GREEN)], ""),
        ([night(8, GREEN)], "the last answer is of 2026-09-08T03:00:00Z, 48 hours ago"),
        ([night(7, GREEN, hour=4)], "the last answer is of 2026-09-07T04:00:00Z, 71 hours ago"),
        ([night(7, GREEN)], "the last answer is of 2026-09-07T03:00:00Z, 3 days ago"),
        ([night(10, COULD_NOT), night(1, RED)], "the last answer is of 2026-09-01T03:00:00Z, 9 days ago"),
        ([night(11, GREEN)], "the last answer is of the future (2026-09-11T03:00:00Z): a clock is wrong"),
    ],
)
def test_a_watchdog_barks_where_no_answer_came(nights: list[Night], stale: str) -> None:
    assert watch(nights, now=NOW, max_age=timedelta(hours=36)).stale == stale


def test_the_age_itself_is_still_fresh() -> None:
    assert watch([night(9, GREEN)], now=NOW, max_age=timedelta(hours=24)).stale == ""
    assert watch([night(9, GREEN)], now=NOW, max_age=timedelta(hours=23, minutes=59)).stale


@pytest.mark.parametrize(("seconds", "stale"), [(300, False), (301, True)])
def test_a_clock_may_be_five_minutes_ahead(seconds: int, *, stale: bool) -> None:
    told = watch([night(10, GREEN)], now=NOW - timedelta(seconds=seconds), max_age=timedelta(hours=36)).stale
    assert ("is of the future" in told) is stale
