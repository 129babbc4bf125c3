"""The one clock of the verbs. They ask it by its module (`clock.now()`), so that a test sets it in one place."""

from datetime import UTC, date, datetime


def now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


def today() -> date:
    """The day on this machine, by which accepted findings expire."""
    return now().astimezone().date()
