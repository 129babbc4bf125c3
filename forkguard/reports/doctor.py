"""What `forkguard doctor` found, as text and as JSON (`forkguard/doctor@1`)."""

import json
from collections.abc import Mapping

from forkguard.core.doctor import FOR_BUILDING, Check, DoctorReport, Level
from forkguard.core.install_hints import together
from forkguard.reports.plain import printable

SCHEMA = "forkguard/doctor@1"


def doctor_json(report: DoctorReport) -> str:
    """One JSON document; `docs/schemas/doctor.json` is its schema."""
    document = {
        "schema": SCHEMA,
        "forkguard": report.version,
        "system": report.system,
        "checks": [
            {
                "name": check.name,
                "level": check.level.value,
                "found": check.found,
                "why": check.why or None,
                "where": check.where or None,
                "needed_for": list(check.needed_for),
                "fix": check.fix or None,
            }
            for check in report.checks
        ],
        "not_looked_at": [{"name": name, "because": because} for name, because in report.unseen.items()],
        "works": list(report.works),
        "blocked": [{"verb": verb, "by": list(names)} for verb, names in report.blocked.items()],
        "unknown": [{"verb": verb, "by": list(names)} for verb, names in report.unknown.items()],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def doctor_text(report: DoctorReport) -> str:
    """A screen for a person: every check, then what works here, then what to type."""
    width = max(len(check.name) for check in report.checks)
    lines = [f"forkguard {report.version} on {printable(report.system)}", ""]
    for check in report.checks:
        lines += _check(check, width)
    for reason in dict.fromkeys(report.unseen.values()):
        names = [name for name, because in report.unseen.items() if because == reason]
        lines.append(f"  --      not looked at, for {reason} comes first: {', '.join(names)}")
    lines += ["", *_verdict(report)]
    fixes = [check.fix for check in report.checks if check.level is Level.MISSING and check.fix]
    if fixes:
        lines += ["next:", *(f"  {printable(fix)}" for fix in together(fixes))]
    return "\n".join(lines) + "\n"


def _check(check: Check, width: int) -> list[str]:
    head = f"  {check.level.value.ljust(7)} {check.name.ljust(width)}  {printable(check.found)}"
    if check.level is Level.OK:
        return [head]
    told = [check.why, check.where]
    if check.level is Level.MISSING and check.needed_for:
        told.append(f"needed for {', '.join(check.needed_for)}")
    told.append(check.fix)
    return [head, *(" " * (width + 12) + printable(line) for line in told if line)]


def _verdict(report: DoctorReport) -> list[str]:
    works = list(report.works)
    if FOR_BUILDING.issuperset(report.blocked.get("demo", ("",))):
        works.append("demo --no-build")
    lines = [f"works here: {', '.join(works) or 'nothing yet'}"]
    lines += [f"not yet:    {verbs}  ({names})" for names, verbs in _grouped(report.blocked)]
    return lines + [f"not known:  {verbs}  (not looked at: {names})" for names, verbs in _grouped(report.unknown)]


def _grouped(found: Mapping[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    """The verbs that have the same reasons, together."""
    by: dict[tuple[str, ...], list[str]] = {}
    for verb, names in found.items():
        by.setdefault(names, []).append(verb)
    return [(", ".join(names), ", ".join(verbs)) for names, verbs in by.items()]
