"""The ledger and the baseline: what they cover, and what is said of entries that no longer do."""

from datetime import date

import pytest

from forkguard.core.baseline import BASELINE_NAME, Baseline, new_baseline, parse_baseline, render_baseline
from forkguard.core.findings import Kind, Severity, Side
from forkguard.core.ledger import Acceptance, Ledger, known_finding, settle
from forkguard.core.names import CommitHash
from forkguard.errors import UsageProblem
from tests.support.drift_reports import FORK, UPSTREAM, finding

TODAY = date(2026, 9, 1)
ONE, TWO, THREE = (f"heron/layer-input/0000000{number}" for number in (1, 2, 3))
SIDES = {"fork": Side("production", FORK), "upstream": Side("upstream/master", UPSTREAM)}


def baseline(*names: str) -> Baseline:
    return new_baseline(map(finding, names), name=BASELINE_NAME, written=TODAY, **SIDES)


def test_an_entry_covers_its_finding_until_the_day_itself() -> None:
    for until, kind in ((None, Kind.ACCEPTED), (TODAY, Kind.ACCEPTED), (date(2026, 8, 31), Kind.NOT_PORTED)):
        ledger = Ledger(TODAY, (Acceptance(ONE, "no drafts", "Ada", until),))
        (settled,), remarks = settle([finding(ONE)], ledger, examined={"heron"})
        assert settled.kind is kind
        assert settled.ledger == ("no drafts" if kind is Kind.ACCEPTED else None)
        expired = f"the acceptance of {ONE} expired on 2026-08-31, so it counts again"
        assert [remark.split(";")[0] for remark in remarks] == ([] if kind is Kind.ACCEPTED else [expired])


def test_an_entry_that_matches_nothing_is_said_where_its_arch_was_looked_at() -> None:
    ledger = Ledger(TODAY, (Acceptance(ONE, "no drafts"),))
    said = (f"accepted {ONE} matches nothing any more: its [[accept]] can go from the map",)
    assert settle([], ledger, examined={"heron"}) == ((), said)
    assert settle([], ledger, examined=None) == ((), said)
    assert settle([], ledger, examined={"otter"}) == ((), ())


def test_the_baseline_covers_what_it_holds_and_the_ledger_goes_before_it() -> None:
    ledger = Ledger(TODAY, (Acceptance(ONE, "no drafts"),), baseline(ONE, TWO))
    settled, remarks = settle([finding(ONE), finding(TWO), finding(THREE)], ledger, examined={"heron"})
    assert [(one.kind, one.ledger, one.baselined) for one in settled] == [
        (Kind.ACCEPTED, "no drafts", False),
        (Kind.ACCEPTED, f"baseline {BASELINE_NAME}", True),
        (Kind.NOT_PORTED, None, False),
    ]
    assert [one.counts(strict=False) for one in settled] == [False, False, True]
    assert remarks == ()


def test_what_left_the_baseline_is_counted_and_some_of_it_named() -> None:
    names = [f"heron/statement/{number:08}" for number in range(7)]
    ledger = Ledger(TODAY, baseline=baseline(*names, "otter/statement/00000000"))
    (remark,) = settle([finding(names[0])], ledger, examined={"heron"})[1]
    assert remark.startswith(f"baseline {BASELINE_NAME}: 6 of its 8 findings match nothing any more ({names[1]}, ")
    assert "and 1 more)" in remark
    assert names[0] not in remark
    assert "otter" not in remark


def test_a_baseline_holds_what_counts_and_is_read_as_it_was_written() -> None:
    made = new_baseline(
        [
            finding(TWO, severity=Severity.SLOW, title='say "h\u00e9ron"'),
            finding(ONE),
            finding("heron/statement/00000004", severity=Severity.NOTE),
            finding("heron/x/00000005", kind=Kind.ACCEPTED, ledger="mine"),
            finding("heron/x/00000006", also_upstream=True),
        ],
        name="b.json", written=TODAY, **SIDES,
    )  # fmt: skip
    assert set(made.entries) == {ONE, TWO}
    text = render_baseline(made)
    assert parse_baseline(text, name="b.json") == made
    assert [line.split('"')[3] for line in text.splitlines() if '"id"' in line] == [ONE, TWO], "one a line, sorted"
    empty = new_baseline([], name="b.json", written=TODAY, **SIDES)
    assert parse_baseline(render_baseline(empty), name="b.json") == empty


@pytest.mark.parametrize(
    "change",
    [("drift-baseline@1", "drift-baseline@9"), ('"crash"', '"dire"'), (CommitHash("a" * 40), "main"), ("]", "],"),
     ('"written"', '"when"'), ('"title"', '"titel"')],
)  # fmt: skip
def test_anything_else_is_refused_by_name(change: tuple[str, str]) -> None:
    text = render_baseline(baseline(ONE))
    assert change[0] in text
    with pytest.raises(UsageProblem) as caught:
        parse_baseline(text.replace(*change), name="b.json")
    assert caught.value.what.startswith("this is no baseline of forkguard")
    assert (caught.value.where, caught.value.hint.split("  ")[0]) == (
        "b.json",
        "forkguard drift --all --write-baseline",
    )


def test_an_unknown_id_is_refused_with_those_close_to_it() -> None:
    found = [finding(ONE), finding(TWO), finding("otter/statement/00000009")]
    assert known_finding(TWO, found) is found[1]
    with pytest.raises(UsageProblem) as caught:
        known_finding("heron/layer-input/ffffffff", found)
    assert "heron/layer-input/ffffffff" in caught.value.what
    assert caught.value.hint == f"close to it: {ONE}, {TWO}"
    with pytest.raises(UsageProblem) as caught:
        known_finding("zzz", [])
    assert caught.value.hint.startswith("forkguard drift -v")
