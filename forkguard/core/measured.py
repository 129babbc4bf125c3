"""What a gate was told by a measurement: checks for the verdict, and what they rest on for the receipt."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from forkguard.core.gate import Check, CheckName, GateReport, Verdict
from forkguard.core.measurements import BadRecord, read_measurement
from forkguard.core.performance import Analysis
from forkguard.core.performance_checks import Previous
from forkguard.core.quality import Graded, Score, scores


@dataclass(frozen=True, slots=True)
class Measured:
    """`checks` has `performance`, `quality` or both; without the one `analysis` is None, without the other
    `graded` is empty. `lost_answers` says which arms could not be asked all questions.
    """

    checks: tuple[Check, ...]
    analysis: Analysis | None = None
    graded: tuple[Graded, ...] = ()
    lost_answers: tuple[str, ...] = ()

    @property
    def scores(self) -> tuple[Score, ...]:
        """The score of each arm that was asked questions."""
        return tuple(scores(self.graded).values())


def previous_measurement(receipt: Mapping[str, object], *, name: str) -> Previous | None:
    """What an earlier receipt (its JSON) measured; None where it measured no speed or holds no record of it."""
    measurements = receipt.get("measurements")
    speed = measurements.get("performance") if isinstance(measurements, dict) else None
    box = receipt.get("box")
    if not isinstance(speed, dict) or not isinstance(box, dict):
        return None
    try:
        return Previous(name, box, read_measurement(speed.get("recorded")))
    except BadRecord:
        return None


def attach(report: GateReport, measured: Measured, *, finished: str) -> GateReport:
    """The report with what was measured in the place of its checks of the same name."""
    found = {check.name: check for check in measured.checks}
    checks = tuple(found.get(check.name, check) for check in report.checks)
    return replace(report, checks=checks, measured=measured, finished=finished)


def not_measured(report: GateReport, names: Collection[CheckName], why: str) -> GateReport:
    """The report with the reason why these checks, which were asked for, could not run."""
    checks = tuple(
        Check(check.name, Verdict.INCONCLUSIVE, "not-measured", f"not measured: {why}")
        if check.name in names
        else check
        for check in report.checks
    )
    return replace(report, checks=checks)
