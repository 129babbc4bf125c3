"""Reports of gates that never ran: a tree, and the checks that are given."""

from forkguard.core.determinism import NEAR_TIE_NATS
from forkguard.core.gate import Check, CheckName, GatedTree, GateReport, GateSettings, Verdict

PASSED = {
    CheckName.CRASH: (Verdict.PASS, None),
    CheckName.LIVENESS: (Verdict.PASS, None),
    CheckName.DETERMINISM: (Verdict.PASS, "identical"),
    CheckName.FALLBACK: (Verdict.PASS, None),
}


def gate_report(**changed: tuple[Verdict, str | None]) -> GateReport:
    """A passing report, with these checks (by name) instead."""
    told = PASSED | {CheckName(name): value for name, value in changed.items()}
    checks = tuple(Check(name, verdict, kind, "") for name, (verdict, kind) in told.items())
    return GateReport(
        settings=GateSettings("otter", near_tie=NEAR_TIE_NATS, probe=True),
        tree=GatedTree("/bin/llama-server", "0" * 64),
        models=(), libraries=(), arms=(), checks=checks, not_run=(), box={}, environment={},
        started="2026-09-01T12:00:00+00:00", finished="2026-09-01T12:00:01+00:00", version="1",
    )  # fmt: skip
