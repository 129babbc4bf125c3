"""What the map asks of a gate: `[gate]`, and over it `[arch.<name>.gate]`."""

import posixpath
from collections.abc import Callable, Sequence
from typing import TypeVar

from forkguard.core.determinism import NEAR_TIE_NATS
from forkguard.core.gate import DEFAULT_CHECKS, CheckName, GateSettings, Policy
from forkguard.core.gateplan import arm_word
from forkguard.core.map_models import DraftTable, GateTable, UpstreamMap
from forkguard.core.server_flags import gates_own, needs_file
from forkguard.errors import UsageProblem

_Value = TypeVar("_Value")

DEFAULT_WIDTHS = (3, 7)
DEFAULT_SLOTS = (1, 2)
DEFAULT_SPEC_TYPE = "draft-dspark"


def gate_table(map_: UpstreamMap, arch: str) -> GateTable:
    """The gate's table for one arch: its own values, and those of `[gate]` where it has none.

    Raises `UsageProblem` for an arch that the map does not have, for a target without a draft, and for args that
    the gate gives itself.
    """
    if arch not in map_.arch:
        known = ", ".join(sorted(map_.arch)) or "none"
        raise UsageProblem(
            f"the map has no arch {arch!r}", hint=f"name one of its archs ({known}), or add [arch.{arch}] to it"
        )
    own = map_.arch[arch].gate
    written = {name: getattr(own, name) for name in own.model_fields_set} if own is not None else {}
    table = map_.gate.model_copy(update=written)
    for name, why in gates_own(table.args):
        raise UsageProblem(
            f"{name} cannot be among args of [gate] for {arch}: {why}", hint=f"take {name} out of args"
        )
    if bool(target_files(table)) != bool(drafts_of(table)):
        missing = "draft" if target_files(table) else "target"
        raise UsageProblem(
            f"the gate of {arch} names one model and lacks the other",
            hint=f"add {missing} to [arch.{arch}.gate], or remove both and use the probe",
        )
    return table


def target_files(table: GateTable) -> tuple[str, ...]:
    """The target files of a table, as written, each once."""
    first = (table.target,) if table.target is not None else ()
    return tuple(dict.fromkeys((*first, *table.targets)))


def drafts_of(table: GateTable) -> tuple[DraftTable, ...]:
    """The drafts of a table, each once and with its type; one type that needs no file is a draft by itself."""
    kind = table.spec_type or DEFAULT_SPEC_TYPE
    first = (DraftTable(file=table.draft),) if table.draft is not None else ()
    listed = tuple(
        dict.fromkeys(DraftTable(file=one.file, spec_type=one.spec_type or kind) for one in (*first, *table.drafts))
    )
    if not listed and target_files(table) and not needs_file(kind):
        return (DraftTable(spec_type=kind),)
    return listed


def named_targets(table: GateTable) -> dict[str, str]:
    """Each target file by the word that arms and jobs use: its stem, nothing for the only one."""
    return _named(target_files(table), _stem, what="target")


def named_drafts(table: GateTable) -> dict[str, DraftTable]:
    """Each draft in the same way; one without a file is called after its type."""
    return _named(drafts_of(table), lambda one: _stem(one.file) if one.file else one.spec_type or "", what="draft")


def _stem(file: str) -> str:
    return posixpath.splitext(posixpath.basename(file))[0]


def _named(values: Sequence[_Value], word: Callable[[_Value], str], *, what: str) -> dict[str, _Value]:
    if len(values) < 2:
        return dict.fromkeys(("",), values[0]) if values else {}
    named = {word(value): value for value in values}
    if len({arm_word(name) for name in named}) < len(values):
        raise UsageProblem(
            f"two {what} files have the same name", hint=f"rename one: arms are called after their {what}s"
        )
    return named


def gate_settings(table: GateTable, arch: str, *, upstream: bool = False) -> GateSettings:
    """How the gate judges, by its table. Without models in the table the probe is used.

    With upstream's arms the policy is `differential` where the table names none. Raises `UsageProblem` for that
    policy without such arms.
    """
    policy = Policy(table.policy) if table.policy else Policy.DIFFERENTIAL if upstream else Policy.NEAR_TIE
    if policy is Policy.DIFFERENTIAL and not upstream:
        raise UsageProblem(
            "the policy `differential` needs upstream's arms",
            hint="forkguard gate --upstream, or upstream = true beside the policy in the map",
        )
    return GateSettings(
        arch,
        near_tie=NEAR_TIE_NATS if table.near_tie_gap is None else table.near_tie_gap,
        probe=not target_files(table),
        checks=tuple(CheckName(name) for name in table.checks) or DEFAULT_CHECKS,
        fallback_fails=table.fallback == "fail",
        policy=policy,
    )
