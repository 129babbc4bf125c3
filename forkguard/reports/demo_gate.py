"""The demo's builds and gates, each in a few lines."""

import textwrap

from rich.text import Text

from forkguard.core.built_trees import BuildResult
from forkguard.core.demo import Built, Gated, check_of, first_trouble
from forkguard.core.gate import CheckName, GateReport, Verdict
from forkguard.core.gatechecks import WHEN
from forkguard.core.ninja_log import duration
from forkguard.reports.plain import counted, printable

_COLUMNS = 80
_INDENT = " " * 9
_ALWAYS_RUN = 1
"""Steps of a build in which nothing is left to do: upstream's look for its web pages."""


def built_lines(event: Built) -> list[Text]:
    """What was built, and how much of it had to be compiled."""
    result = event.result
    what = ", ".join(result.targets)
    return [
        Text(f"  {what} of {event.ref} ({result.commit[:12]})"),
        Text(f"  {_work(result)}, {duration(result.seconds)}"),
    ]


def _work(result: BuildResult) -> str:
    if result.steps <= _ALWAYS_RUN:
        return "it was built before"
    if result.cached is None or result.compiled is None:
        return f"{result.steps} steps"
    return f"{counted(result.compiled, 'file')} compiled, {result.cached} from the compiler cache"


def gate_lines(event: Gated) -> list[Text]:
    """The verdict and its reason, what mends it, and the receipt."""
    tell = _passed if event.report.verdict is Verdict.PASS else _not_passed
    return [*tell(event.report), Text(f"  {event.receipt}", style="dim")]


def wrapped(first: str, text: str, *, style: str = "") -> list[Text]:
    """`first` and then the text, in lines that an 80-column terminal holds; the later ones start below the text."""
    lines = textwrap.wrap(
        printable(text), _COLUMNS, initial_indent=first, subsequent_indent=" " * len(first),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [Text(line, style=style) for line in lines]


def _passed(report: GateReport) -> list[Text]:
    same, alive = check_of(report, CheckName.DETERMINISM), check_of(report, CheckName.LIVENESS)
    told = f"{same.kind}: {same.detail}" if same is not None else "every check passed"
    lines = wrapped("  GREEN  ", told, style="bold green")
    return lines + (wrapped(_INDENT, alive.detail) if alive is not None else [])


def _not_passed(report: GateReport) -> list[Text]:
    reason, first = report.reason, first_trouble(report)
    verdict = "  RED    " if report.verdict is Verdict.FAIL else "  INCONCLUSIVE  "
    if reason is None:
        return wrapped(verdict, "no check ran", style="bold red")
    if reason.name is not CheckName.CRASH or first is None:
        return wrapped(verdict, f"{reason.name}: {reason.detail}", style="bold red")
    arm, trouble = first
    alone = ", and only with the draft" if arm.plan.drafts else ""
    told = f"{reason.name}: {trouble.failure} {WHEN[trouble.stage]}{alone}"
    lines = [*wrapped(verdict, told, style="bold red"), *wrapped(_INDENT, trouble.text)]
    for suspect in reason.suspects:
        lines += wrapped(f"{_INDENT}drift finding:  ", f"{suspect.title}, {suspect.place}")
        lines += wrapped(f"{_INDENT}what mends it:  ", suspect.mend, style="green")
    return lines
