"""Which probes there are, by name, size and draft type."""

from collections.abc import Mapping

from forkguard.core.probes.build import make_probe
from forkguard.core.probes.describe import Family
from forkguard.core.probes.families import ATTENTIVE
from forkguard.core.probes.models import ProbeModels
from forkguard.core.probes.recurrent_families import STATEFUL
from forkguard.errors import UsageProblem

DEFAULT_SEED = 1
DEFAULT_SIZE = "small"

PROBES: Mapping[str, Family] = {
    family.name: family for family in sorted((*ATTENTIVE, *STATEFUL), key=lambda one: one.name)
}


def probe_family(arch: str) -> Family:
    """The probes of an arch; `UsageProblem` where there are none.

    >>> [size.name for size in probe_family("lfm2").sizes]
    ['small', 'deep']
    """
    if arch not in PROBES:
        raise UsageProblem(
            f"there is no probe for the arch {arch!r}; there is one for: {', '.join(PROBES)}",
            hint="name model files of your own as target and draft in the arch's [arch.NAME.gate] table of the map",
        )
    return PROBES[arch]


def draft_word(family: Family, draft: str | None) -> str:
    """The family's draft type of that name: the first one without a name, and with or without `draft-` before it.

    Raises `UsageProblem` for a type that the family has not.

    >>> draft_word(probe_family("lfm2"), "draft-dspark")
    'dspark'
    """
    if draft is None:
        return family.drafts[0]
    word = draft.removeprefix("draft-")
    if word not in family.drafts:
        raise UsageProblem(
            f"the probe for {family.name} has no draft of the type {draft!r}; it has: {', '.join(family.drafts)}",
            hint=f"forkguard probe {family.name} --draft {family.drafts[0]}",
        )
    return word


def build_probe(
    arch: str, *, size: str = DEFAULT_SIZE, draft: str | None = None, seed: int = DEFAULT_SEED
) -> ProbeModels:
    """The models of one probe: the same for the same arguments, on every machine.

    `draft` is a draft type as `draft_word` takes it, `seed` is 0 to 2**63 - 1. `UsageProblem` for an arch, a size or
    a draft type that there is not.
    """
    family = probe_family(arch)
    sizes = {one.name: one for one in family.sizes}
    if size not in sizes:
        raise UsageProblem(
            f"the probe for {arch} has no size {size!r}; it has: {', '.join(sizes)}",
            hint=f"forkguard probe {arch} --size {DEFAULT_SIZE}",
        )
    if not 0 <= seed < 2**63:
        raise UsageProblem(f"the seed {seed} is out of range", hint="give a seed from 0 to 9223372036854775807")
    return make_probe(family, sizes[size], draft_word(family, draft), seed=seed)
