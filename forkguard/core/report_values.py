"""What a report is made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from forkguard.core.history_rows import History
from forkguard.core.night_view import NightFiles
from forkguard.core.range_diff import RangeDiff
from forkguard.core.receipt_view import ReceiptView
from forkguard.core.wiring import WiringReport


@dataclass(frozen=True, slots=True)
class LogText:
    """The end of a log; `cut` where it is not all of it."""

    name: str
    text: str
    cut: bool


@dataclass(frozen=True, slots=True)
class ReceiptFiles:
    """A receipt and the logs of the servers that misbehaved."""

    view: ReceiptView
    logs: tuple[LogText, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What is read from the fork's repository and not from records: the wiring at the last night's commits, and how
    the patches changed between the last two candidates. `remarks` say what could not be read.
    """

    wiring: WiringReport | None = None
    range_diff: RangeDiff | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The history, and the means to read one record at a time; both means give None where that fails now.

    `cut_off` are nights after the last record whose folder holds none. `titles` are those of the patchsets beside the
    map. `remarks` are said on the first page.
    """

    history: History
    night: Callable[[str], NightFiles | None]
    receipt: Callable[[str], ReceiptFiles | None]
    version: str
    cut_off: tuple[str, ...] = ()
    sources: Sources = Sources()
    titles: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
