"""The ids of nights: they sort as the nights came, whatever the clock said."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

_ID = re.compile(r"\d{8}T\d{6}Z(-[1-9]\d*)?")


def night_id(started: datetime) -> str:
    """The id of a night, which sorts by time; a second one of the same second gets `-2`, and so on.

    >>> night_id(datetime(2026, 9, 1, 3, 0, 5, tzinfo=UTC))
    '20260901T030005Z'
    """
    return f"{started.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def is_night_id(text: str) -> bool:
    """Whether a folder's name is the id of a night.

    >>> is_night_id("20260901T030005Z-2"), is_night_id("20260901")
    (True, False)
    """
    return _ID.fullmatch(text) is not None


def night_order(night: str) -> tuple[str, int]:
    """A key that sorts ids as the nights came.

    >>> sorted(["20260901T030005Z-10", "20260901T030005Z", "20260901T030005Z-2"], key=night_order)
    ['20260901T030005Z', '20260901T030005Z-2', '20260901T030005Z-10']
    """
    stamp, _, number = night.partition("-")
    return stamp, int(number or 1)


def next_id(now: datetime, *, after: Sequence[str]) -> str:
    """The id of a new night, behind the last one of `after` (oldest first) whatever the clock says.

    >>> next_id(datetime(2026, 9, 1, 3, tzinfo=UTC), after=["20260902T030000Z"])
    '20260902T030000Z-2'
    """
    fresh = night_id(now)
    if not after or night_order(fresh) > night_order(after[-1]):
        return fresh
    stamp, number = night_order(after[-1])
    return f"{stamp}-{number + 1}"
