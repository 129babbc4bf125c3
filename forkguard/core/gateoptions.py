"""What the map asks of a gate: `[gate]`, and over it `[arch.<name>.gate]`."""

from forkguard.core.determinism import NEAR_TIE_NATS
from forkguard.core.gate import DEFAULT_CHECKS, CheckName, GateSettings, Policy
from forkguard.core.map_models import GateTable, UpstreamMap
from forkguard.errors import UsageProblem

DEFAULT_WIDTHS = (3, 7)
DEFAULT_SLOTS = (1, 2)
DEFAULT_SPEC_TYPE = "draft-dspark"


def gate_table(map_: UpstreamMap, arch: str) -> GateTable:
    """The gate's table for one arch: its own values, and those of `[gate]` where it has none.

    Raises `UsageProblem` for an arch that the map does not have, and for a target without a draft.
    """
    if arch not in map_.arch:
        known = ", ".join(sorted(map_.arch)) or "none"
        raise UsageProblem(
            f"the map has no arch {arch!r}", hint=f"name one of its archs ({known}), or add [arch.{arch}] to it"
        )
    own = map_.arch[arch].gate
    table = map_.gate.model_copy(update=own.model_dump(exclude_unset=True)) if own is not None else map_.gate
    if (table.target is None) != (not draft_names(table)):
        missing = "target" if table.target is None else "draft"
        raise UsageProblem(
            f"the gate of {arch} names one model and lacks the other",
            hint=f"add {missing} to [arch.{arch}.gate], or remove both and use the probe",
        )
    return table


def draft_names(table: GateTable) -> tuple[str, ...]:
    """The draft files of a table, as written, each once."""
    first = (table.draft,) if table.draft is not None else ()
    return tuple(dict.fromkeys((*first, *table.drafts)))


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
        probe=table.target is None,
        checks=tuple(CheckName(name) for name in table.checks) or DEFAULT_CHECKS,
        fallback_fails=table.fallback == "fail",
        policy=policy,
    )
