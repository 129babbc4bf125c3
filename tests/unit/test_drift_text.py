"""The text for hundreds of findings: verdict and counts first, long lists cut and said, the commands last."""

import io

from rich.console import Console

from forkguard.core.findings import DriftReport, Finding, Kind, Severity
from forkguard.reports.drift_text import as_text
from tests.support.drift_reports import commit, finding, report


def told(made: DriftReport, *, verbose: bool = False, strict: bool = False) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=120, no_color=True).print(
        as_text(made, verbose=verbose, strict=strict), soft_wrap=True
    )
    return stream.getvalue().splitlines()


def many(
    severity: Severity, number: int, *, rule: str = "layer-input", fix: str = "forkguard port 7"
) -> list[Finding]:
    return [finding(f"heron/{rule}/{n:08}", severity=severity, line=n + 1, fix=fix) for n in range(number)]


HUNDREDS = report(
    *many(Severity.CRASH, 40), *many(Severity.CORRUPTION, 16, rule="rope-type"),
    *many(Severity.SLOW, 15, rule="snapshot-writes", fix="forkguard port 8"),
    *(
        finding(f"otter/statement/{n:08}", severity=Severity.CHANGE, by=commit(f"other : {n} (#{n + 1})"), fix="")
        for n in range(300)
    ),
    archs=(*(f"arch{n}" for n in range(98)), "heron", "otter"),
)  # fmt: skip


def test_the_first_line_is_the_verdict_with_counts() -> None:
    assert told(HUNDREDS)[0] == "100 archs, 2 with drift: 40 crash, 16 corruption, 15 slow, 300 change"
    assert told(report(archs=tuple("abcdefgh")))[0] == "8 archs: clean"
    assert told(report(finding()))[0] == "heron: drift: 1 crash"


def test_fifteen_of_each_severity_are_shown_and_the_rest_is_counted() -> None:
    lines = told(HUNDREDS)
    heads = [line.split()[0] for line in lines if line.startswith(("crash ", "corruption ", "slow "))]
    assert heads == ["crash"] * 15 + ["corruption"] * 15 + ["slow"] * 15
    assert "… 25 more crash, -v or --format json shows all" in lines
    assert "… 1 more corruption, -v or --format json shows all" in lines
    assert not any("more slow" in line for line in lines)
    assert len(lines) < 400


def test_verbose_shows_all_with_ids() -> None:
    lines = told(HUNDREDS, verbose=True)
    assert sum(line.startswith("crash ") for line in lines) == 40
    assert not any("more crash" in line for line in lines)
    assert "  id: heron/layer-input/00000039" in lines


def test_the_reason_of_a_rule_is_given_once() -> None:
    assert told(HUNDREDS).count("  Drafts read it.") == 3, "once for each of the three rules"


def test_changes_are_one_paragraph_for_each_commit_newest_first_and_cut() -> None:
    lines = told(HUNDREDS)
    start = lines.index("Other statements that differ")
    paragraphs = [line for line in lines[start:] if line.startswith("  1 place ")]
    assert len(paragraphs) == 15
    assert "… 285 more commits with 285 places, -v or --format json shows all" in lines


def test_each_line_of_a_commits_places_is_named_once_and_one_that_is_not_known_not_at_all() -> None:
    lines = {"src/a.cpp": (7, 7, None, 9), "src/b.cpp": (None, None)}
    found = [
        finding(f"otter/statement/{path[4]}{n}", severity=Severity.CHANGE, path=path, line=line, by=commit("x (#5)"))
        for path, numbers in lines.items()
        for n, line in enumerate(numbers)
    ]
    told_ = told(report(*found))
    start = next(i for i, line in enumerate(told_) if line.startswith("  6 places "))
    assert [line.strip() for line in told_[start + 1 : start + 3]] == ["src/a.cpp:7, 9", "src/b.cpp"]


def test_the_commands_that_mend_most_come_last() -> None:
    assert told(HUNDREDS)[-3:] == [
        "Next", "  forkguard port 7    mends 56 of 371", "  forkguard port 8    mends 15 of 371",
    ]  # fmt: skip


def test_of_the_baseline_only_the_worst_is_named() -> None:
    based = [
        finding(f"heron/x/{n:08}", severity=severity, kind=Kind.ACCEPTED, ledger="baseline b.json", baselined=True)
        for n, severity in enumerate((Severity.CRASH, Severity.SLOW, Severity.CHANGE))
    ]
    lines = told(report(*based))
    assert lines[0] == "heron: nothing new; 3 findings in the baseline"
    at = lines.index("In the baseline b.json, not counted: 1 crash, 1 slow, 1 change")
    assert lines[at + 1].split()[:2] == ["crash", "heron:"]
    assert lines[at + 2] == ""


def test_what_does_not_count_is_cut_too() -> None:
    notes = many(Severity.NOTE, 20)
    assert "… 14 more not counted, -v or --format json shows all" in told(report(*notes))
    assert told(report(*notes), strict=True)[0] == "heron: drift: 20 note"
