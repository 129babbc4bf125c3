"""Commands that are told to be typed hold names of strangers as one word each."""

import shlex
from dataclasses import replace
from datetime import UTC, datetime

from forkguard.core.findings import ArchReport, ArchStatus, Base, DriftReport, Side
from forkguard.core.gate import Verdict
from forkguard.core.names import CommitHash
from forkguard.core.verify import Question
from forkguard.reports.gate import to_text
from forkguard.workflows.nightly_looks import drift_command
from tests.support.gate_reports import gate_report

NAME = "x; touch 'owned'"
ZERO = CommitHash("0" * 40)


def test_a_night_names_an_arch_as_one_word() -> None:
    side = Side("r", ZERO)
    archs = (ArchReport(NAME, ArchStatus.ABSENT, (), ""),)
    report = DriftReport(side, side, Base(ZERO, "merge-base"), archs, (), ())
    words = ["forkguard", "drift", "--arch", NAME, "--upstream-ref", "0" * 12]
    assert shlex.split(drift_command(report)) == words


def test_a_gate_names_an_arch_as_one_word() -> None:
    report = gate_report(crash=(Verdict.FAIL, "abort"))
    report = replace(report, settings=replace(report.settings, arch=NAME))
    last = to_text(report, receipt=None).splitlines()[-1]
    assert shlex.split(last.removeprefix("next: ")) == ["forkguard", "drift", "--arch", NAME]


def test_a_deployment_check_names_a_program_as_one_word() -> None:
    asked = Question("/opt/my llama/server", "1" * 64, NAME, (), None, {}, (), None, datetime(2026, 9, 2, tzinfo=UTC))
    assert shlex.split(asked.gate) == ["forkguard", "gate", "--arch", NAME, "--binary", "/opt/my llama/server"]
