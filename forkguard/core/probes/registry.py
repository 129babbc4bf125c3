"""Which probes there are, by arch and size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forkguard.core.probes.lfm2 import SIZES, Lfm2Size, lfm2_probe
from forkguard.core.probes.models import ProbeModels
from forkguard.errors import UsageProblem

DEFAULT_SEED = 1
DEFAULT_SIZE = "small"


@dataclass(frozen=True, slots=True)
class ProbeKind:
    """The probes of one arch: how each size is made from a seed, and the draft's suffix in file names."""

    arch: str
    sizes: Mapping[str, Callable[[int], ProbeModels]]
    draft_suffix: str


def _lfm2(size: Lfm2Size) -> Callable[[int], ProbeModels]:
    return lambda seed: lfm2_probe(size, seed=seed)


PROBES = {
    "lfm2": ProbeKind("lfm2", {name: _lfm2(size) for name, size in SIZES.items()}, draft_suffix="dspark"),
}


def probe_kind(arch: str) -> ProbeKind:
    """The probes of an arch; `UsageProblem` where there are none.

    >>> sorted(probe_kind("lfm2").sizes)
    ['deep', 'small']
    """
    if arch not in PROBES:
        raise UsageProblem(
            f"there is no probe for the arch {arch!r}; there is one for: {', '.join(PROBES)}",
            hint="name model files of your own as target and draft in the arch's [arch.NAME.gate] table of the map",
        )
    return PROBES[arch]


def build_probe(arch: str, *, size: str = DEFAULT_SIZE, seed: int = DEFAULT_SEED) -> ProbeModels:
    """The models of one probe: the same for the same arguments, on every machine.

    `seed` is 0 to 2**63 - 1. `UsageProblem` for an arch or a size that there is not.
    """
    kind = probe_kind(arch)
    if size not in kind.sizes:
        raise UsageProblem(
            f"the probe for {arch} has no size {size!r}; it has: {', '.join(kind.sizes)}",
            hint=f"forkguard probe {arch} --size {DEFAULT_SIZE}",
        )
    if not 0 <= seed < 2**63:
        raise UsageProblem(f"the seed {seed} is out of range", hint="give a seed from 0 to 9223372036854775807")
    return kind.sizes[size](seed)
