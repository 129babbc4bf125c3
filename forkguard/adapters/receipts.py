"""The folder of receipts: one folder per gate run, its raw logs beside `receipt.json`."""

from datetime import UTC, datetime
from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.errors import CouldNotWork

RECEIPT_NAME = "receipt.json"
_TRIES = 1000


class ReceiptStore:
    """Receipts under `root` (`.forkguard/receipts`). A folder without `receipt.json` is a run that was cut off."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def make_folder(self, started: datetime, *, name: str) -> Path:
        """A new folder `<utc>-<name>`; a second run in the same second gets a number behind it."""
        stem = f"{started.astimezone(UTC):%Y%m%dT%H%M%SZ}-{name}"
        for number in range(1, _TRIES):
            folder = self._root / (stem if number == 1 else f"{stem}-{number}")
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise CouldNotWork(
                    f"cannot make the receipt's folder: {error.strerror}", where=str(folder),
                    hint="make the map's folder writable",
                ) from error  # fmt: skip
            return folder
        raise CouldNotWork("too many receipts of the same second", where=str(self._root), hint="remove old ones")

    def write(self, folder: Path, text: str) -> Path:
        """Put the receipt into its folder, whole or not at all; the path of the file."""
        path = folder / RECEIPT_NAME
        write_atomic(path, text)
        return path

    def all(self) -> tuple[Path, ...]:
        """The files of all complete receipts, oldest first."""
        return tuple(sorted(self._root.glob(f"*/{RECEIPT_NAME}")))
