"""What is known of a commit, and the pull request that its subject names."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from forkguard.core.names import CommitHash, PullNumber

_TRAILING_PULLS = re.compile(r"(?:\s*\(#(\d+)\))+\s*$")
_PULL = re.compile(r"\(#(\d{1,9})\)")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as reports name it; `date` is the author date, ISO 8601 with its zone."""

    id: CommitHash
    date: str
    subject: str

    @property
    def moment(self) -> datetime:
        """The date as a point in time; see `moment_of`."""
        return moment_of(self.date)

    @property
    def pull(self) -> PullNumber | None:
        """The request that the subject ends in (the last one, which is the one that was merged)."""
        pulls = pulls_in(self.subject)
        return pulls[-1] if pulls else None


def moment_of(date: str) -> datetime:
    """A date of git's as a point in time, comparable across zones; one that no calendar has is the beginning of 1970.

    git takes any number of seconds and any zone, and prints a date that it cannot read as `%aI`.

    >>> moment_of("10000-01-01T00:00:00+00:00") == moment_of("1970-01-01T10:00:00+10:00")
    True
    """
    try:
        found = datetime.fromisoformat(date)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def pulls_in(subject: str) -> tuple[PullNumber, ...]:
    """The pull requests at the end of a squash subject; two when one request carried another's work in.

    >>> pulls_in("spec : DFlash2 (#27342) (#27816)")
    (27342, 27816)
    >>> pulls_in("revert (#12) for now")
    ()
    """
    tail = _TRAILING_PULLS.search(subject)
    return tuple(PullNumber(int(number)) for number in _PULL.findall(tail.group(0))) if tail else ()
