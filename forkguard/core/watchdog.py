"""Whether nights still come to an answer: what `forkguard status --max-age` says."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from forkguard.core.nightly import Night, NightVerdict

_SKEW = timedelta(minutes=5)
"""How far the clocks of two machines may be apart."""


@dataclass(frozen=True, slots=True)
class Watch:
    """The answer: `stale` is a sentence, empty where a night was green or red within `max_age`."""

    max_age: timedelta
    stale: str


def watch(nights: Iterable[Night], *, now: datetime, max_age: timedelta) -> Watch:
    """Look for the last night, `nights` being newest first, that came to an answer: green or red.

    A night that could not run is none, and one that the clock says is still to come proves nothing.
    """
    last = next((night for night in nights if night.verdict is not NightVerdict.COULD_NOT_RUN), None)
    if last is None:
        return Watch(max_age, "no night has come to an answer yet")
    age = now - datetime.fromisoformat(last.finished)
    if age < -_SKEW:
        return Watch(max_age, f"the last answer is of the future ({last.finished}): a clock is wrong")
    if age > max_age:
        return Watch(max_age, f"the last answer is of {last.finished}, {_hours(age)} ago")
    return Watch(max_age, "")


def _hours(age: timedelta) -> str:
    hours = int(age.total_seconds() // 3600)
    return f"{hours} hours" if hours < 72 else f"{hours // 24} days"
