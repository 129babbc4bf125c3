"""The drift report as JUnit XML: a test case for each arch and rule; what was not checked is skipped, not passed."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from forkguard.core.findings import ArchReport, ArchStatus, DriftReport, Finding, Kind
from forkguard.core.registry_differences import SPECULATIVE
from forkguard.core.rules import Rule
from forkguard.reports.drift_text import came_with, commit_name
from forkguard.reports.plain import printable

STATEMENT = "statement"


def as_junit(report: DriftReport, rules: Sequence[Rule], *, strict: bool = False) -> str:
    """One suite per arch. A case fails where a finding counts, and is skipped where all are accepted."""
    root = ET.Element("testsuites", name="forkguard drift")
    names = [*(rule.id for rule in rules), STATEMENT]
    for arch in report.archs:
        suite = ET.SubElement(root, "testsuite", name=_xml(arch.name))
        if arch.status is ArchStatus.ABSENT:
            _absent(suite, arch)
        else:
            mine = [finding for finding in report.findings if finding.arch == arch.name]
            for name in names if arch.name != SPECULATIVE else dict.fromkeys(finding.rule for finding in mine):
                found = [finding for finding in mine if finding.rule == name]
                _case(suite, arch.name, name, found, disarmed=name in report.disarmed, strict=strict)
        _count(suite, [suite])
    _count(root, list(root))
    remarks = "\n".join(report.warnings)
    if remarks and len(root):
        ET.SubElement(root[0], "system-out").text = _xml(remarks)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _absent(suite: ET.Element, arch: ArchReport) -> None:
    case = ET.SubElement(suite, "testcase", classname=_xml(arch.name), name="present")
    ET.SubElement(case, "failure", type="absent", message=_xml(f"the fork has no such arch; {arch.remark}"))


def _case(suite: ET.Element, arch: str, rule: str, found: Sequence[Finding], *, disarmed: bool, strict: bool) -> None:
    case = ET.SubElement(suite, "testcase", classname=_xml(arch), name=rule)
    counting = [finding for finding in found if finding.counts(strict=strict)]
    for finding in counting:
        failure = ET.SubElement(
            case, "failure", type=f"{finding.severity.value} {finding.kind.value}", message=_xml(finding.title)
        )
        failure.text = _xml(_told(finding))
    rest = [finding for finding in found if not finding.counts(strict=strict)]
    if not counting and disarmed:
        ET.SubElement(case, "skipped", message="the rule is disarmed: it checked nothing")
    elif not counting and any(finding.kind is Kind.ACCEPTED for finding in rest):
        reasons = dict.fromkeys(finding.ledger or "" for finding in rest if finding.kind is Kind.ACCEPTED)
        ET.SubElement(case, "skipped", message=_xml(f"accepted: {'; '.join(reasons)}"))
    if rest:
        ET.SubElement(case, "system-out").text = _xml("\n\n".join(map(_told, rest)))


def _told(finding: Finding) -> str:
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    lines = [f"{place}  {finding.title}", finding.text]
    if came := came_with(finding):
        lines.append(f"upstream {came}")
    lines += [f"later: {commit_name(commit)}" for commit in finding.follow_ups]
    lines += [line for line in (finding.why, f"mend: {finding.fix}" if finding.fix else "") if line]
    return "\n".join([*lines, f"id: {finding.id}"])


def _count(element: ET.Element, suites: Sequence[ET.Element]) -> None:
    for key, tag in (("tests", "testcase"), ("failures", "testcase[failure]"), ("skipped", "testcase[skipped]")):
        element.set(key, str(sum(len(suite.findall(tag)) for suite in suites)))
    element.set("errors", "0")


def _xml(text: str) -> str:
    """The text without what XML 1.0 cannot hold and what a terminal would obey."""
    return "".join(letter if letter in "\t\n" else printable(letter) for letter in text)
