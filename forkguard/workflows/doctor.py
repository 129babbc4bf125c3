"""`forkguard doctor`: look at one thing after the other; what stands on something unfit is not looked at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from forkguard.core.doctor import Check, DoctorReport, Level, needing
from forkguard.errors import ForkguardError


@dataclass(frozen=True, slots=True)
class Look:
    """One thing to look at, once the checks that it stands on (`after`) are not missing.

    `look` returns what is there, or a whole check; a `ForkguardError` that it raises says what is missing.
    """

    name: str
    look: Callable[[], str | Check]
    after: tuple[str, ...] = ()


def examine(looks: Sequence[Look], *, version: str, system: str, verbs: Sequence[str]) -> DoctorReport:
    """Every look in order. Nothing is written, nothing is fetched."""
    checks: dict[str, Check] = {}
    unseen: dict[str, str] = {}
    for look in looks:
        reason = next((name for name in look.after if _unfit(name, checks, unseen)), None)
        if reason is not None:
            unseen[look.name] = unseen.get(reason, reason)
            continue
        checks[look.name] = _checked(look, verbs)
    return DoctorReport(version, system, tuple(_weighed(check) for check in checks.values()), tuple(verbs), unseen)


def _weighed(check: Check) -> Check:
    """What none of the verbs asked for needs is worth a note."""
    return replace(check, level=Level.NOTE) if check.level is Level.MISSING and not check.needed_for else check


def _unfit(name: str, checks: dict[str, Check], unseen: dict[str, str]) -> bool:
    return name in unseen or (name in checks and checks[name].level is Level.MISSING)


def _checked(look: Look, verbs: Sequence[str]) -> Check:
    needed_for = needing(look.name, verbs)
    try:
        found = look.look()
    except ForkguardError as problem:
        return Check(look.name, Level.MISSING, problem.what, needed_for, where=problem.where, fix=problem.hint)
    return found if isinstance(found, Check) else Check(look.name, Level.OK, found, needed_for)
