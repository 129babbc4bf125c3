"""Is this exact binary covered? Receipts and what is there now in, a decision with its reason out."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from forkguard.core.receipts import Link, ReadFile, ReadModel, Receipt
from forkguard.core.server_flags import FlagSet, flag_set

CLOCK_SKEW = timedelta(minutes=5)
"""How much later than our clock another box's may be."""

_SHORT = 12


class Reason(StrEnum):
    """Why a binary is refused."""

    UNKNOWN_BINARY = "unknown-binary"
    OTHER_ARCH = "other-arch"
    CHANGED_MODEL = "changed-model"
    UNLISTED_MODEL = "unlisted-model"
    CHANGED_LIBRARY = "changed-library"
    OTHER_ENVIRONMENT = "other-environment"
    OTHER_FLAGS = "other-flags"
    RED = "red"
    INCONCLUSIVE = "inconclusive"
    STALE = "stale"
    FUTURE = "future"
    EDITED = "edited"
    UNREADABLE = "unreadable"
    BROKEN_CHAIN = "broken-chain"
    CHANGED_LOG = "changed-log"
    UNSIGNED = "unsigned"
    BAD_SIGNATURE = "bad-signature"


class Refused(Exception):
    """The binary must not be started: why, the receipt or file that tells (may be empty), what to type next."""

    def __init__(self, reason: Reason, detail: str, *, where: str = "", hint: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.where = where
        self.hint = hint


@dataclass(frozen=True, slots=True)
class ModelNow:
    """A model that is to be served: its path as given, and its hash now."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class LibrariesNow:
    """Libraries that the binary would load now.

    `beside` are those in its folder, by name; `resolved` those that the loader chooses, by path; `missing` those
    that it does not find. `at` gives the hash of a file, None where there is none.
    """

    beside: Mapping[str, str]
    resolved: Mapping[str, str]
    missing: tuple[str, ...]
    at: Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be started, and how. `flags` None: not compared. `max_age` None: of any age.

    `environment` is the part of it that receipts record; `steering` names variables that would change flags.
    """

    binary: str
    sha256: str
    arch: str | None
    models: tuple[ModelNow, ...]
    flags: FlagSet | None
    environment: Mapping[str, str]
    steering: tuple[str, ...]
    max_age: timedelta | None
    now: datetime

    @property
    def gate(self) -> str:
        """The command that makes a receipt for it."""
        return self.gate_of("NAME")

    def gate_of(self, arch: str) -> str:
        """The same, for `arch` where the question names none."""
        return f"forkguard gate --arch {shlex.quote(self.arch or arch)} --binary {shlex.quote(self.binary)}"


@dataclass(frozen=True, slots=True)
class ChainedReceipt:
    """A receipt at its place in the chain."""

    link: Link
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Judged:
    """A receipt that covers the binary; `signer` is None where signatures were not asked for."""

    link: Link
    receipt: Receipt
    signer: str | None


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The decision: covered by `judged`, or `refusal`. `notes` are worth knowing and change nothing."""

    question: Question
    folder: str
    judged: tuple[Judged, ...]
    refusal: Refused | None
    notes: tuple[str, ...] = ()


def covering(
    chain: Sequence[ChainedReceipt], question: Question, libraries: Callable[[], LibrariesNow]
) -> tuple[ChainedReceipt, ...]:
    """The passing, fresh receipts that cover the question. `chain` is newest first. Raises `Refused`.

    Of each arch, job and set of models the newest receipt counts: none of these may be red, and at least one
    must pass and be fresh. `libraries` is asked only once the binary is known.
    """
    found = _narrow(chain, question, libraries)
    newest: dict[object, ChainedReceipt] = {}
    for each in found:
        receipt = each.receipt
        models = frozenset(model.sha256 for model in receipt.models)
        newest.setdefault((receipt.arch, receipt.job, models), each)
    for each in newest.values():
        _must_pass(each, question)
    fresh = tuple(each for each in newest.values() if _is_fresh(each.receipt, question))
    if not fresh:
        raise _stale(next(iter(newest.values())), question)
    return fresh


def _narrow(
    chain: Sequence[ChainedReceipt], question: Question, libraries: Callable[[], LibrariesNow]
) -> tuple[ChainedReceipt, ...]:
    """Those about this binary, arch, models, libraries, environment and flags; `Refused` names what none matches."""
    tests = (_binary_problem, _arch_problem, _model_problem, _library_problem(libraries), _environment_problem,
             _flag_problem)  # fmt: skip
    found = tuple(chain)
    for test in tests:
        problems = [(each, test(each.receipt, question)) for each in found]
        found = tuple(each for each, problem in problems if problem is None)
        if not found:
            return _refuse(problems, question)
    return found


def _refuse(
    problems: Sequence[tuple[ChainedReceipt, tuple[Reason, str] | None]], question: Question
) -> tuple[ChainedReceipt, ...]:
    for each, problem in problems:
        if problem is not None:
            unknown = problem[0] is Reason.UNKNOWN_BINARY
            gate = question.gate if unknown else question.gate_of(each.receipt.arch)
            raise Refused(*problem, where="" if unknown else each.link.path, hint=_hint(problem[0], gate))
    raise Refused(Reason.UNKNOWN_BINARY, "there is no receipt yet", hint=question.gate)


def _hint(reason: Reason, gate: str) -> str:
    if reason is Reason.OTHER_ENVIRONMENT:
        return f"start it with the environment that was gated, or: {gate}"
    if reason is Reason.OTHER_FLAGS:
        return "start it with flags that were gated, or put these into args of [gate] in the map and gate again"
    return gate


def _binary_problem(receipt: Receipt, question: Question) -> tuple[Reason, str] | None:
    if receipt.tree.binary_sha256 == question.sha256:
        return None
    return Reason.UNKNOWN_BINARY, f"no receipt is for this binary (sha256 {question.sha256[:_SHORT]}…)"


def _arch_problem(receipt: Receipt, question: Question) -> tuple[Reason, str] | None:
    if question.arch in (None, receipt.arch):
        return None
    return Reason.OTHER_ARCH, f"this binary was gated for {receipt.arch}, not for {question.arch}"


def _model_problem(receipt: Receipt, question: Question) -> tuple[Reason, str] | None:
    listed = {model.sha256 for model in receipt.models}
    for model in question.models:
        if model.sha256 not in listed:
            return _other_model(model, receipt.models)
    return None


def _other_model(asked: ModelNow, listed: Sequence[ReadModel]) -> tuple[Reason, str]:
    name = _name(asked.path)
    if any(model.name == name for model in listed):
        return Reason.CHANGED_MODEL, f"{name} has other bytes than when it was gated"
    names = ", ".join(model.name for model in listed) or "no model"
    return Reason.UNLISTED_MODEL, f"{name} was not gated; the receipt lists {names}"


def _library_problem(now: Callable[[], LibrariesNow]) -> Callable[[Receipt, Question], tuple[Reason, str] | None]:
    def problem(receipt: Receipt, _: Question) -> tuple[Reason, str] | None:
        told = changed_library(receipt.tree.libraries, now())
        return (Reason.CHANGED_LIBRARY, told) if told is not None else None

    return problem


def changed_library(listed: Sequence[ReadFile], now: LibrariesNow) -> str | None:
    """What differs between the libraries of a receipt and those of today; None where nothing does.

    A library beside the binary is known by its name, so that a program may be deployed to another folder; under
    a name of its own it counts by its bytes.
    """
    names: dict[str, set[str]] = {}
    for file in listed:
        names.setdefault(_name(file.path), set()).add(file.sha256)
    every = {file.sha256 for file in listed}
    if now.missing:
        return f"{now.missing[0]} is not found by the loader"
    for name, sha256 in (*now.beside.items(), *((_name(path), sha) for path, sha in now.resolved.items())):
        if name not in names and sha256 not in every:
            return f"{name} would be loaded, and was not gated"
        if name in names and sha256 not in names[name]:
            return f"{name} has other bytes than when it was gated"
    for file in listed:
        if _name(file.path) in now.beside:
            continue
        there = now.at(file.path)
        if there != file.sha256:
            return f"{file.path} {'is gone' if there is None else 'has other bytes than when it was gated'}"
    return None


def _environment_problem(receipt: Receipt, question: Question) -> tuple[Reason, str] | None:
    told = [f"{name} is set, which changes the server's flags" for name in question.steering]
    before, now = receipt.environment, question.environment
    told += [
        f"{name} is {_value(now, name)}, and was {_value(before, name)}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    return (Reason.OTHER_ENVIRONMENT, "; ".join(told)) if told else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _value(environment: Mapping[str, str], name: str) -> str:
    return repr(environment[name]) if name in environment else "not set"


def _flag_problem(receipt: Receipt, question: Question) -> tuple[Reason, str] | None:
    """A red receipt is about every flag set: what it did not come to is not excused."""
    if question.flags is None or receipt.verdict != "pass":
        return None
    sets = [flag_set(arm.command[1:]) for arm in receipt.arms if arm.served]
    if question.flags in sets:
        return None
    if not sets:
        return Reason.OTHER_FLAGS, "no server of this receipt ran to its end"
    nearest = min((question.flags.differences(each) for each in sets), key=len)
    return Reason.OTHER_FLAGS, f"no gated server had these flags; the nearest differs in {'; '.join(nearest)}"


def _must_pass(each: ChainedReceipt, question: Question) -> None:
    receipt = each.receipt
    if receipt.verdict != "pass":
        bad = next((check for check in receipt.checks if check.verdict == receipt.verdict), None)
        reason = Reason.RED if receipt.verdict == "fail" else Reason.INCONCLUSIVE
        told = f": {bad.name}, {bad.detail}" if bad is not None else ""
        job = f" (job {receipt.job})" if receipt.job else ""
        verdict = "red" if reason is Reason.RED else "inconclusive"
        raise Refused(
            reason, f"its newest receipt for {receipt.arch}{job} is {verdict}{told}", where=each.link.path,
            hint=f"mend it, then: {question.gate_of(receipt.arch)}",
        )  # fmt: skip
    if receipt.finished > question.now + CLOCK_SKEW:
        moment = receipt.finished.isoformat(timespec="seconds")
        raise Refused(
            Reason.FUTURE,
            f"its receipt is of {moment}, which is yet to come: a clock is wrong",
            where=each.link.path,
            hint=f"set the clock right, or: {question.gate_of(receipt.arch)}",
        )


def _is_fresh(receipt: Receipt, question: Question) -> bool:
    return question.max_age is None or question.now - receipt.finished <= question.max_age


def _stale(each: ChainedReceipt, question: Question) -> Refused:
    age = span(question.now - each.receipt.finished)
    limit = span(question.max_age) if question.max_age is not None else "any"
    return Refused(
        Reason.STALE,
        f"its receipt is {age} old, and may be {limit}",
        where=each.link.path,
        hint=question.gate_of(each.receipt.arch),
    )


def span(time: timedelta) -> str:
    """A span of time in its largest whole unit, with a second one where that says more.

    >>> span(timedelta(days=9, hours=3)), span(timedelta(seconds=50)), span(timedelta(hours=3, minutes=5))
    ('9 d 3 h', '50 s', '3 h 5 min')
    """
    seconds = max(0, int(time.total_seconds()))
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    start = next((number for number, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(f"{count} {unit}" for count, unit in parts[start : start + 2] if count or len(parts) == start + 1)
