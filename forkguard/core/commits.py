"""What is known of a commit, and the pull request that its subject names."""

import re
from dataclasses import dataclass
from datetime import datetime

from forkguard.core.names import CommitHash, PullNumber

_TRAILING_PULLS = re.compile(r"(?:\s*\(#(\d+)\))+\s*$")
_PULL = re.compile(r"\(#(\d+)\)")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as reports name it; `date` is the author date, ISO 8601 with its zone."""

    id: CommitHash
    date: str
    subject: str

    @property
    def moment(self) -> datetime:
        """The date as a point in time, comparable across zones."""
        return datetime.fromisoformat(self.date)

    @property
    def pull(self) -> PullNumber | None:
        """The request that the subject ends in (the last one, which is the one that was merged)."""
        pulls = pulls_in(self.subject)
        return pulls[-1] if pulls else None


def pulls_in(subject: str) -> tuple[PullNumber, ...]:
    """The pull requests at the end of a squash subject; two when one request carried another's work in.

    >>> pulls_in("spec : DFlash2 (#27342) (#27816)")
    (27342, 27816)
    >>> pulls_in("revert (#12) for now")
    ()
    """
    tail = _TRAILING_PULLS.search(subject)
    return tuple(PullNumber(int(number)) for number in _PULL.findall(tail.group(0))) if tail else ()
