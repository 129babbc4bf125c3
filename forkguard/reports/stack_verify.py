"""`forkguard stack verify`, as JSON (`forkguard/stack-verify@1`) and as text."""

import json
from collections import Counter

from rich.console import Group, RenderableType
from rich.text import Text

from forkguard.core.stack_check import VerifyReport
from forkguard.reports.plain import counted, printable

SCHEMA = "forkguard/stack-verify@1"


def verify_json(report: VerifyReport) -> str:
    """The whole report."""
    document = {
        "schema": SCHEMA,
        "base": report.base.id,
        "fork": {"ref": report.fork.ref, "commit": report.fork.commit},
        "patches": report.patches,
        "same_tree": report.same_tree,
        "tip": report.tip,
        "findings": [
            {"kind": each.problem.value, "where": each.where, "what": each.what, "fix": each.fix}
            for each in report.findings
        ],
        "uncovered": [
            {"commit": commit.id, "date": commit.date, "subject": commit.subject, "pr": commit.pull}
            for commit in report.uncovered
        ],
        "checked": dict(report.checked),
        "notes": list(report.notes),
    }
    return json.dumps(document, indent=2)


def verify_text(report: VerifyReport) -> RenderableType:
    """The findings one by one, then what was looked at."""
    parts: list[RenderableType] = []
    for each in report.findings:
        text = Text.assemble(
            (f"{each.problem.value:<9}", "red"), f" {printable(each.where)}\n  {printable(each.what)}"
        )
        if each.fix:
            text.append(f"\n  mend: {printable(each.fix)}", style="dim")
        parts.append(text)
    if parts:
        parts.append("")
    looked = f"{counted(report.patches, 'patch', 'patches')} on {report.base.id[:10]}, {report.fork.ref}"
    verdict = _tally(report) if report.findings else "the stack is whole"
    parts.append(Text(f"{verdict}: {printable(looked)}", style="bold"))
    if report.same_tree:
        parts.append(Text(f"  base plus stack is the tree of {printable(report.fork.ref)}"))
    parts += [Text(f"  {printable(note)}", style="dim") for note in report.notes]
    return Group(*parts)


def _tally(report: VerifyReport) -> str:
    """How many findings, and of which kinds where there are several."""
    kinds = Counter(each.problem.value for each in report.findings)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return counted(len(report.findings), "finding") + (f" ({told})" if len(kinds) > 1 else "")
