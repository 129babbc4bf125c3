"""What of the history is out of date: which records to read again, and what becomes of one that was read."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from forkguard.core.history_rows import NightRow, ReceiptRow, RecordKind, Source, night_row, receipt_row
from forkguard.core.nightly import BadNight, read_night
from forkguard.core.receipt_view import view_receipt
from forkguard.core.receipts import RECEIPT_NAME, SUMS_NAME, BadReceipt, read_sums


@dataclass(frozen=True, slots=True)
class Known:
    """A record as it was when it was read."""

    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that was read: its row, or the words that say why there is none."""

    source: Source
    sha256: str
    content: NightRow | ReceiptRow | str


@dataclass(frozen=True, slots=True)
class Update:
    """What to do: records to read, and records that are gone."""

    read: tuple[Source, ...]
    gone: tuple[tuple[RecordKind, str], ...]


def plan_update(sources: Iterable[Source], known: Mapping[tuple[RecordKind, str], Known]) -> Update:
    """Records that are new, or whose size or time is another, are read; nothing else is."""
    there = {(one.kind, one.name): one for one in sources}
    read = [
        one
        for key, one in there.items()
        if key not in known or (known[key].size, known[key].mtime_ns) != (one.size, one.mtime_ns)
    ]
    return Update(tuple(read), tuple(sorted(known.keys() - there.keys())))


def make_entry(source: Source, content: bytes | str, *, seal: bytes | None = None) -> Entry:
    """A record from its bytes; a `str` says why there are none. `seal` is the `SHA256SUMS` beside a receipt."""
    if isinstance(content, str):
        return Entry(source, "", content)
    sha256 = hashlib.sha256(content).hexdigest()
    try:
        if seal is not None and read_sums(seal.decode("utf-8", "replace")).get(RECEIPT_NAME) != sha256:
            return Entry(source, sha256, f"it is not the receipt that its {SUMS_NAME} names")
        return Entry(source, sha256, _row(source, content))
    except (BadNight, BadReceipt) as error:
        return Entry(source, sha256, str(error))


def _row(source: Source, content: bytes) -> NightRow | ReceiptRow:
    if source.kind is RecordKind.RECEIPT:
        return receipt_row(source.name, view_receipt(content))
    try:
        night = read_night(content.decode())
    except UnicodeDecodeError as error:
        raise BadNight("this is no UTF-8") from error
    if night.id != source.name:
        raise BadNight(f"it says that it is {night.id}")
    return night_row(night)
