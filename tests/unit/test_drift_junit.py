"""JUnit: a case for each arch and rule; failed, skipped or passed, and never passed unchecked."""

from xml.etree import ElementTree

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.findings import DriftReport, Kind, Severity
from forkguard.reports.drift_junit import as_junit
from tests.support.drift_reports import finding, report

RULES = bundled_rules()


def suites(made: DriftReport, *, strict: bool = False) -> ElementTree.Element:
    return ElementTree.fromstring(as_junit(made, RULES, strict=strict))  # noqa: S314  (our own text)


def case(root: ElementTree.Element, name: str, *, arch: str = "heron") -> ElementTree.Element:
    (found,) = root.findall(f".//testcase[@classname='{arch}'][@name='{name}']")
    return found


def counts(element: ElementTree.Element) -> tuple[int, ...]:
    return tuple(int(element.get(key, "-1")) for key in ("tests", "failures", "skipped", "errors"))


def test_every_arch_has_a_case_for_every_rule() -> None:
    root = suites(report(archs=("heron", "otter")))
    names = [*(rule.id for rule in RULES), "statement"]
    for suite in root:
        assert [one.get("name") for one in suite.findall("testcase")] == names
        assert counts(suite) == (len(names), 0, 0, 0)
    assert [suite.get("name") for suite in root] == ["heron", "otter"]
    assert counts(root) == (2 * len(names), 0, 0, 0)


def test_a_finding_fails_its_case_and_says_all() -> None:
    root = suites(report(finding(), finding("heron/layer-input/00000002", kind=Kind.LOST)))
    first, second = case(root, "layer-input").findall("failure")
    assert first.get("type") == "crash not-ported"
    assert second.get("type") == "crash lost"
    assert first.get("message") == "missing: the layer loop publishes its input"
    assert (first.text or "").splitlines() == [
        "src/models/heron.cpp:12  missing: the layer loop publishes its input",
        "res->t_layer_inp[il] = cur;",
        "upstream #7, 2026-03-01: heron : wire it (#7)",
        "Drafts read it.",
        "mend: forkguard port 7",
        "id: heron/layer-input/00000001",
    ]
    assert counts(root)[1] == 1, "two findings of one rule fail one case"
    assert not case(root, "logits-output").findall("failure")


def test_accepted_findings_make_a_case_skipped_and_shared_hazards_are_told() -> None:
    accepted = finding(kind=Kind.ACCEPTED, ledger="no drafts | here")
    shared = finding("heron/rollback-without-node-budget/00000003", kind=Kind.HAZARD, also_upstream=True)
    root = suites(report(accepted, shared))
    (skipped,) = case(root, "layer-input").findall("skipped")
    assert skipped.get("message") == "accepted: no drafts | here"
    told = case(root, "rollback-without-node-budget")
    assert [one.tag for one in told] == ["system-out"]
    assert counts(root)[1:3] == (0, 1)
    assert counts(suites(report(accepted, shared), strict=True))[1] == 2


def test_a_disarmed_rule_is_skipped_and_an_absent_arch_fails() -> None:
    root = suites(report(disarmed=("rope-type",), absent=("crane",), warnings=("rule rope-type is disarmed",)))
    (skipped,) = case(root, "rope-type").findall("skipped")
    assert "it checked nothing" in (skipped.get("message") or "")
    (failure,) = case(root, "present", arch="crane").findall("failure")
    assert "the fork has no such arch" in (failure.get("message") or "")
    assert (root[0].findtext("system-out") or "") == "rule rope-type is disarmed"


def test_lists_of_speculative_types_have_cases_for_their_own_findings_only() -> None:
    one = finding("speculative/speculative-state/00000009", severity=Severity.SLOW)
    root = suites(report(one, archs=("heron", "speculative")))
    assert [found.get("name") for found in root[1]] == ["speculative-state"]


def test_what_xml_cannot_hold_is_replaced() -> None:
    odd = finding(text='cb(cur, "\x1b[31m\x00", il); // <&"\udce9 ]]>', path="src/models/h\udce9ron.cpp")
    (failure,) = case(suites(report(odd)), "layer-input").findall("failure")
    assert 'cb(cur, "\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}", il); // <&"' in (failure.text or "")
