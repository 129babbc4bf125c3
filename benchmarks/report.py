"""How long the pages of a year of nights take to make, and how large they are."""

import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Measured, median_seconds
from tests.support.yearbook import Yearbook

NIGHTS, PATCHSETS, BY_HAND = 365, 50, 130
_SECONDS, _BYTES = 10.0, 20 << 20
_MAP = '[fork]\npath = "fork"\n\n[upstream]\nremote = "upstream"\nref = "upstream/master"\n'
_READ = "import json, pathlib\nfor one in pathlib.Path('.forkguard').glob('*/*/*.json'): json.loads(one.read_text())"


def year_against_reading() -> Measured:
    """`forkguard report` over a year, its history made anew, against a Python that only reads the records."""
    with tempfile.TemporaryDirectory(prefix="forkguard-year-") as folder:
        desk = Path(folder)
        (desk / "upstream-map.toml").write_text(_MAP)
        Yearbook(desk / ".forkguard").write(nights=NIGHTS, patchsets=PATCHSETS, extra_receipts=BY_HAND)
        forget = ["rm", "-f", *(str(desk / f".forkguard/history.sqlite{end}") for end in ("", "-wal", "-shm"))]
        ours = median_seconds([forget, [sys.executable, "-m", "forkguard", "report"]], cwd=desk)
        bare = median_seconds([[sys.executable, "-c", _READ]], cwd=desk)
        pages = [path.stat() for path in (desk / ".forkguard/report").rglob("*") if path.is_file()]
        size = sum(one.st_size for one in pages)
        receipts = len(list((desk / ".forkguard/receipts").glob("*/receipt.json")))
    return Measured(
        f"report, {NIGHTS} nights, {PATCHSETS} patchsets, {receipts} receipts: {len(pages)} files, "
        f"{size / (1 << 20):.1f} MiB",
        ours, "read the records as JSON", bare, aim="under 10 s and 20 MiB", met=ours < _SECONDS and size < _BYTES,
    )  # fmt: skip
