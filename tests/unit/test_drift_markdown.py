"""Markdown for a comment: short, folded, and inert whatever the sources and subjects hold."""

import re

import pytest

from forkguard.core.findings import Kind, Severity
from forkguard.reports.drift_markdown import as_markdown, code, fenced
from tests.support.drift_reports import commit, finding, report


def test_a_finding_is_a_row_and_a_folded_detail() -> None:
    assert (
        as_markdown(report(finding(fix="mend")))
        == """\
### forkguard: drift: 1 crash

`heron`; fork `production` at `aaaaaaaaaa`, upstream `upstream/master` at `bbbbbbbbbb`, base `cccccccccc`.

| severity | arch | what | where | upstream | mend |
|---|---|---|---|---|---|
| **crash** | `heron` | `missing: the layer loop publishes its input` | `src/models/heron.cpp:12` | `#7` | `mend` |

<details><summary>crash <code>heron</code>: <code>missing: the layer loop publishes its input</code></summary>

```cpp
res->t_layer_inp[il] = cur;
```

- upstream: `#7, 2026-03-01: heron : wire it (#7)`
- why: `Drafts read it.`
- mend: `mend`
- id: `heron/layer-input/00000001`

</details>
"""
    )


def test_a_clean_report_is_two_lines_and_an_absent_arch_is_named() -> None:
    assert as_markdown(report()).splitlines()[0] == "### forkguard: clean"
    absent = as_markdown(report(absent=("crane",), archs=()))
    assert absent.splitlines()[0] == "### forkguard: absent"
    assert "- `crane` is absent: the fork has no such arch; `upstream has it`" in absent


@pytest.mark.parametrize(
    ("text", "fence"), [("a", "```"), ("```\nx\n```", "````"), ("`" * 7, "`" * 8), ("a `b` c", "```")]
)
def test_a_fence_is_longer_than_what_it_holds(text: str, fence: str) -> None:
    first, *lines, last = fenced(text)
    assert (first, last) == (f"{fence}cpp", fence)
    assert lines == text.split("\n")


@pytest.mark.parametrize("text", ["x", "a`b", "`", "``a```", "a``", "a | b"])
def test_a_code_span_is_longer_than_what_it_holds(text: str) -> None:
    shown = code(text)
    mark = re.match("`+", shown)
    assert mark is not None
    inner = shown[len(mark[0]) : -len(mark[0])]
    assert mark[0] not in re.findall("`+", inner)
    assert inner.strip() == text


def test_strangers_words_make_no_mention_no_markup_and_no_cell() -> None:
    hostile = "@everyone <img src=x onerror=alert(1)> | **bold** ` #1 \x1b[2J"
    text = as_markdown(report(finding(title=hostile, text=f"// {hostile}\n```\n</details>", by=commit(hostile))))
    row = next(line for line in text.splitlines() if line.startswith("| **crash**"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 7
    outside = re.sub(r"<code>.*?</code>", "", text)
    outside = re.sub(r"(`+)cpp\n.*?\n\1", "", outside, flags=re.DOTALL)
    outside = re.sub(r"(?s)(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)
    assert "@" not in outside
    assert "<img" not in outside
    assert "\x1b" not in text
    summary = next(line for line in text.splitlines() if line.startswith("<details>"))
    assert "&lt;img" in summary
    assert text.count("\n</details>") == 2, "one of ours, one inside the fence"
    assert "````cpp" in text


def test_many_findings_stay_below_what_a_forge_takes_and_the_rest_is_counted() -> None:
    many = [finding(f"heron/statement/{n:08}", severity=Severity.CHANGE, text="x" * 900) for n in range(300)]
    text = as_markdown(report(*many))
    assert len(text) < 65_536
    assert "… 275 more; `forkguard drift --format json` shows all." in text
    shown = text.count("<details>")
    assert 25 < shown < 300
    assert f"… the details of {300 - shown} more findings are left out." in text


def test_what_does_not_count_is_a_figure_and_a_crash_in_the_baseline_is_named() -> None:
    based = finding(kind=Kind.ACCEPTED, ledger="baseline b.json", baselined=True)
    shared = finding("heron/rollback-without-node-budget/00000004", kind=Kind.HAZARD, also_upstream=True)
    note = finding("heron/statement/00000005", severity=Severity.NOTE)
    text = as_markdown(report(based, shared, note, warnings=("rule x is disarmed",)))
    assert text.startswith("### forkguard: nothing new; 1 finding in the baseline\n")
    assert "Not counted: 1 accepted, 1 hazard that upstream has too, 1 note." in text
    assert "- in the baseline: **crash** `heron` `missing: the layer loop publishes its input`" in text
    assert "- note: `rule x is disarmed`" in text
