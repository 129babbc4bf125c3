"""What `make bench BENCH="--record ..."` puts into the page."""

import json
from pathlib import Path

from benchmarks.timing import Measured, record

PAGE = """# Performance

<!-- make bench: begin -->

| what | seconds | against | seconds | ratio | aim |
|---|---|---|---|---|---|
| help | 0.10 | pass | 0.05 | 2.00 | under 0.2 s: met |
| report: 862 files, 11.9 MiB | 4.00 | read | 2.00 | 2.00 | under 3 s: **not met** |

<!-- make bench: end -->

Behind it.
"""


def test_rows_that_were_measured_take_the_place_of_theirs_and_the_others_stay(tmp_path: Path) -> None:
    page, baseline = tmp_path / "page.md", tmp_path / "baseline.json"
    page.write_text(PAGE)
    baseline.write_text('{"help": 2.0, "year": 2.0}')
    report = Measured("report: 870 files, 12.0 MiB", 1.0, "read", 2.0, "under 3 s", met=True)
    night = Measured("a night", 0.5, "fetch", 0.25, "under 2 s", met=True)
    record({"year": report, "nightly": night}, baseline=baseline, page=page)
    old = "| report: 862 files, 11.9 MiB | 4.00 | read | 2.00 | 2.00 | under 3 s: **not met** |\n"
    new = (
        "| report: 870 files, 12.0 MiB | 1.00 | read | 2.00 | 0.50 | under 3 s: met |\n"
        "| a night | 0.50 | fetch | 0.25 | 2.00 | under 2 s: met |\n"
    )
    assert page.read_text() == PAGE.replace(old, new)
    assert json.loads(baseline.read_text()) == {"help": 2.0, "year": 0.5, "nightly": 2.0}
