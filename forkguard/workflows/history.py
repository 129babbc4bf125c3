"""The history brought up to date: only records that are new or changed are read."""

from collections.abc import Sequence

from forkguard.core.history_rows import History, RecordKind
from forkguard.core.history_update import Entry, make_entry, plan_update
from forkguard.core.receipts import SUMS_NAME
from forkguard.ports import HistoryStore, RecordShelf, Talk


def read_history(book: HistoryStore, shelves: Sequence[RecordShelf], *, talk: Talk) -> History:
    """Take in what the shelves hold, and return all of it.

    A record that cannot be read is kept as skipped, with the reason. Raises what the store raises.
    """
    known = book.known()
    shelf_of = {shelf.kind: shelf for shelf in shelves}
    update = plan_update((source for shelf in shelves for source in shelf.sources()), known)
    entries: list[Entry] = []
    touched = []
    for number, source in enumerate(update.read):
        talk.progress(number, len(update.read), f"reading {source.kind} {source.name}")
        shelf = shelf_of[source.kind]
        seal = shelf.beside(source.name, SUMS_NAME) if source.kind is RecordKind.RECEIPT else None
        entry = make_entry(source, shelf.read(source.name), seal=seal)
        before = known.get((source.kind, source.name))
        if before is not None and before.sha256 and before.sha256 == entry.sha256:
            touched.append(source)
        else:
            entries.append(entry)
    if entries or touched or update.gone:
        book.write(entries, touched=touched, gone=update.gone)
    return book.read()
