"""Does the gate turn red where it must? The values of one self-test. JSON: self-test@1."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from forkguard.core.findings import Side
from forkguard.core.gate import CheckName, GateReport, Verdict
from forkguard.core.mutations import MUTATIONS, Mutation
from forkguard.errors import UsageProblem


class Outcome(StrEnum):
    """What came of one mutation. `caught` is a red gate of the expected class; `not-run` counts for nothing.

    `not-green`: the gate said what it must, which is no more than that it has no verdict.
    """

    CAUGHT = "caught"
    NOT_GREEN = "not-green"
    OTHERWISE = "otherwise"
    MISSED = "missed"
    NOT_RUN = "not-run"

    @property
    def failed(self) -> bool:
        """Whether the gate did not do what it must: it passed the mutant, or blamed it for something else."""
        return self in (Outcome.OTHERWISE, Outcome.MISSED)


@dataclass(frozen=True, slots=True)
class Gated:
    """One gate run of a self-test or a bisection: what it came to, in words too, and where its receipt is."""

    verdict: Verdict
    said: str
    receipt: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One mutation, the commit that holds it, and what the gate said; `reason` is why it did not run."""

    mutation: Mutation
    outcome: Outcome
    commit: str | None = None
    gated: Gated | None = None
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SelfTestReport:
    """A whole self-test. `controls` are the gates of the tree itself; without a pass of theirs nothing is shown.

    `chosen` says that the user named the mutations: then each of these must run, and else the gate must be red for at
    least `fewest`.
    """

    arch: str
    fork: Side
    profile: str
    controls: tuple[Gated, ...]
    trials: tuple[Trial, ...]
    fewest: int
    chosen: bool
    seconds: float

    @property
    def ran(self) -> tuple[Trial, ...]:
        """The mutations that were gated."""
        return tuple(trial for trial in self.trials if trial.outcome is not Outcome.NOT_RUN)

    @property
    def red(self) -> tuple[Trial, ...]:
        """The mutations for which the gate was red as it must."""
        return tuple(trial for trial in self.trials if trial.outcome is Outcome.CAUGHT)

    @property
    def verdict(self) -> Verdict:
        """`pass` where the gate let no mutant through, and was red often enough."""
        if not self.controls or self.controls[0].verdict is not Verdict.PASS:
            return Verdict.INCONCLUSIVE
        if any(trial.outcome.failed for trial in self.trials):
            return Verdict.FAIL
        enough = len(self.ran) == len(self.trials) if self.chosen else len(self.red) >= self.fewest
        return Verdict.PASS if self.trials and enough else Verdict.INCONCLUSIVE


def chosen_mutations(names: Sequence[str]) -> tuple[Mutation, ...]:
    """The mutations of these names in the order of the list, or all. Raises `UsageProblem` for an unknown name."""
    known = {mutation.name for mutation in MUTATIONS}
    for name in names:
        if name not in known:
            raise UsageProblem(
                f"there is no mutation {name!r}", hint=f"the mutations are: {', '.join(sorted(known))}"
            )
    return tuple(mutation for mutation in MUTATIONS if not names or mutation.name in names)


def said(report: GateReport, check: CheckName | None = None) -> str:
    """What a gate said, in a few words: of one check, or of the one that decided.

    A pass is told with the classes of its checks, for `checkpoints` or a near tie may explain it.
    """
    one = next((each for each in report.checks if each.name is check), None) or report.reason
    if one is None or (check is None and report.verdict is Verdict.PASS):
        kinds = [each.kind for each in report.checks if each.kind]
        return "pass" + (f" ({', '.join(kinds)})" if kinds else "")
    return f"{one.name}: {one.kind or one.verdict}"


def judged(mutation: Mutation, report: GateReport) -> tuple[Outcome, str]:
    """What a gate's report means for a mutation, and what the gate said of it."""
    wanted = mutation.expected
    check = next((each for each in report.checks if each.name is wanted.check), None)
    if report.verdict is Verdict.PASS:
        return Outcome.MISSED, said(report)
    if check is not None and check.verdict in wanted.verdicts and check.kind in wanted.kinds:
        red = check.verdict is Verdict.FAIL
        return Outcome.CAUGHT if red else Outcome.NOT_GREEN, said(report, wanted.check)
    return Outcome.OTHERWISE, said(report)


def falls_back(report: GateReport) -> str:
    """The fallback that a tree takes by itself, "" where it takes none."""
    found = next((check for check in report.checks if check.name is CheckName.FALLBACK), None)
    return (found.kind or "") if found is not None else ""
