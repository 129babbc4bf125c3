"""Why a model could not be loaded: what the log names, and what the model file's own header adds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from forkguard.core.gate import Arm, LoadFault
from forkguard.core.logfacts import LoadError, LoadProblem, LogSummary

_SAME_ARCHS = tuple(
    frozenset(names.split())
    for names in (
        "dflash dspark dflash-draft",
        "cohere2moe cohere2_moe",
        "gemma4-assistant gemma4_assistant gemma4_mtp",
        "pangu-embedded openpangu",
    )
)
"""Architectures that trees of different owners know under different names, one a line; from public forks' tables."""


def load_fault(log: LogSummary) -> LoadFault | None:
    """The most precise load error of a log, or None."""
    precise = [error for error in log.load_errors if error.problem is not LoadProblem.OTHER]
    for error in (*precise, *log.load_errors):
        return _fault(error)
    return None


def _fault(error: LoadError) -> LoadFault:
    return LoadFault(
        str(error.problem),
        subject=error.subject,
        expected=error.expected,
        got=error.got,
        model=error.model,
        claimed=error.claimed,
        known_as=other_names(error.subject) if error.problem is LoadProblem.UNKNOWN_ARCH else (),
    )


def other_names(arch: str) -> tuple[str, ...]:
    """Names under which other trees have this architecture.

    >>> other_names("dspark"), other_names("gemma4_mtp")
    (('dflash', 'dflash-draft'), ('gemma4-assistant', 'gemma4_assistant'))
    """
    return tuple(sorted(name for same in _SAME_ARCHS if arch in same for name in same - {arch}))


def name_unclaimed(arms: Sequence[Arm], headers: Mapping[str, tuple[str, ...]]) -> tuple[Arm, ...]:
    """The arms, those that failed over the number of tensors with the names that the program did not claim.

    `headers` are the tensor names of the model files by path. The claimed ones stand only in a verbose log, so an
    arm learns from another one that failed in the same way.
    """
    known = [arm.trouble.load for arm in arms if arm.trouble and arm.trouble.load and arm.trouble.load.claimed]
    return tuple(_with_names(arm, known, headers) for arm in arms)


def _with_names(arm: Arm, known: Sequence[LoadFault], headers: Mapping[str, tuple[str, ...]]) -> Arm:
    trouble = arm.trouble
    if trouble is None or trouble.load is None or trouble.load.problem != LoadProblem.TENSOR_COUNT:
        return arm
    load = trouble.load
    told = next((one for one in known if (one.expected, one.got) == (load.expected, load.got)), None)
    if told is None:
        return arm
    names = headers.get(told.model) or next(
        (names for names in headers.values() if len(names) == load.expected and set(told.claimed) <= set(names)), ()
    )
    missing = tuple(name for name in names if name not in set(told.claimed))
    return replace(arm, trouble=replace(trouble, load=replace(load, unclaimed=missing, model=told.model)))


def told_load(load: LoadFault) -> str:
    """What a reader can use beside the server's own line; "" where that line says all."""
    if load.unclaimed:
        return f"the program does not know these tensors of the file: {', '.join(load.unclaimed)}"
    if load.problem == LoadProblem.TENSOR_COUNT:
        return "which tensors is unknown: no verbose log names those that were claimed"
    if load.known_as:
        return f"other trees call {load.subject!r} {' or '.join(repr(name) for name in load.known_as)}"
    return ""
