"""What becomes of the checks that measure, once something was measured or could not be."""

from forkguard.core.gate import Check, CheckName, GatedTree, GateReport, GateSettings, Verdict
from forkguard.core.measured import Measured, attach, not_measured

CRASH = Check(CheckName.CRASH, Verdict.PASS, None, "none")
SPEED = Check(CheckName.PERFORMANCE, Verdict.INCONCLUSIVE, "not-measured", "not yet")
REPORT = GateReport(
    GateSettings("heron", near_tie=0.05, probe=False), GatedTree("server", "0" * 64), (), (), (), (CRASH, SPEED), (),
    {}, {}, "a", "b", "1",
)  # fmt: skip


def test_what_was_measured_takes_the_place_of_the_check_of_that_name_alone() -> None:
    faster = Check(CheckName.PERFORMANCE, Verdict.PASS, "faster", "1.3 times as fast")
    measured = Measured((faster, Check(CheckName.QUALITY, Verdict.FAIL, "worse", "fewer right")))
    found = attach(REPORT, measured, finished="c")
    assert (found.checks, found.measured, found.finished, found.started) == ((CRASH, faster), measured, "c", "a")


def test_checks_that_could_not_run_are_inconclusive_with_the_reason_and_the_others_stay() -> None:
    found = not_measured(REPORT, {CheckName.PERFORMANCE, CheckName.QUALITY}, "the box is busy")
    told = Check(CheckName.PERFORMANCE, Verdict.INCONCLUSIVE, "not-measured", "not measured: the box is busy")
    assert found.checks == (CRASH, told)
    assert found.verdict is Verdict.INCONCLUSIVE
