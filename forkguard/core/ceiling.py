"""What a machine's memory allows: each pass of the target reads its weights once, so a speed has a ceiling.

A ceiling here is an upper bound and never an estimate: where something is uncertain, the higher speed is
taken as possible, so that an honest run is not refused.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

GB = 1e9
MEASURED_SLACK = 1.5
"""A copy in memory shows less than what a read alone can reach."""
FITS_A_CACHE = 512 << 20
"""Weights up to this size may be read from a processor's caches; memory then bounds nothing."""

_DEVICES = (
    ("h200", 4800.0),
    ("h100 nvl", 3938.0),
    ("h100 pcie", 2039.0),
    ("h100", 3352.0),
    ("gh200", 4900.0),
    ("a100", 2039.0),
    ("l40s", 864.0),
    ("l4", 300.0),
    ("rtx 5090", 1792.0),
    ("rtx 4090", 1008.0),
    ("rtx 3090", 1008.0),
    ("gb10", 273.0),
    ("mi325x", 6000.0),
    ("mi300x", 5325.0),
    ("mi300a", 5325.0),
    ("mi250", 3277.0),
    ("mi250x", 3277.0),
    ("mi210", 1638.0),
    ("7900 xtx", 960.0),
    ("9070 xt", 645.0),
    ("ai max+ 395", 256.0),
    ("radeon 8060s", 256.0),
    ("gfx1151", 256.0),
)
"""Part of a device's name, and its memory's bandwidth in GB/s by data sheet; the largest of the models so named."""


class Source(StrEnum):
    """How a bandwidth is known."""

    MAP = "map"
    DEVICE = "device"
    MEASURED = "measured"


_TOLD = {Source.MAP: "as the map says", Source.DEVICE: "by its data sheet", Source.MEASURED: "as measured"}


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Bytes per second that memory can deliver. `device` names what it belongs to."""

    bytes_per_second: Annotated[float, Field(gt=0)]
    source: Source
    device: str

    @property
    def at_most(self) -> float:
        """Bytes per second that are believed to be possible."""
        return self.bytes_per_second * (MEASURED_SLACK if self.source is Source.MEASURED else 1.0)


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The fewest bytes of weights that one token needs, and how fast they can come."""

    bytes_per_token: Annotated[int, Field(gt=0)]
    bandwidth: Bandwidth

    @property
    def rate(self) -> float:
        """Passes of the target per second that are possible: without a draft, tokens per second."""
        return self.bandwidth.at_most / self.bytes_per_token

    def told(self) -> str:
        """The ceiling in words."""
        found = self.bandwidth
        slack = f", times {MEASURED_SLACK:g}" if found.source is Source.MEASURED else ""
        return (
            f"{self.rate:.1f} passes of the target per second ({found.bytes_per_second / GB:.3g} GB/s of "
            f"{found.device}, {_TOLD[found.source]}{slack}, over {self.bytes_per_token / GB:.3g} GB a token)"
        )


@dataclass(frozen=True, slots=True)
class TensorSize:
    """A tensor of a model file: its name, and its data in bytes."""

    name: str
    size: int


def known_bandwidth(devices: Sequence[str]) -> Bandwidth | None:
    """What data sheets give the devices (as their tools name them) together; None if one is not in the table.

    >>> known_bandwidth(["NVIDIA GB10"]).bytes_per_second
    273000000000.0
    """
    found = [_device_bandwidth(name) for name in devices]
    if not found or any(one is None for one in found):
        return None
    return Bandwidth(sum(one for one in found if one is not None) * GB, Source.DEVICE, " + ".join(devices))


def _device_bandwidth(name: str) -> float | None:
    words = f" {' '.join(name.lower().replace('-', ' ').split())} "
    matches = [(len(part), rate) for part, rate in _DEVICES if f" {part}" in words and _ends(words, part)]
    return max(matches)[1] if matches else None


def _ends(words: str, part: str) -> bool:
    behind = words[words.index(f" {part}") + 1 + len(part)]
    return not (behind.isdigit() or (part[-1].isdigit() and behind.isalpha()))


def bytes_per_token(tensors: Iterable[TensorSize], *, experts: int = 0, experts_used: int = 0) -> int:
    """The fewest bytes that one pass of the target reads: of the experts those in use, of an embedding one row.

    The token embedding counts in full where the model has no output matrix of its own, since it then is that.
    """
    sizes = {tensor.name: tensor.size for tensor in tensors}
    total = 0
    for name, size in sizes.items():
        if name == "token_embd.weight" and "output.weight" in sizes:
            continue
        expert = "_exps." in name and experts > 0
        total += size * min(experts_used, experts) // experts if expert else size
    return total


def ceiling(
    bytes_per_token: int | None, *, given: float | None, known: Bandwidth | None, measured: Bandwidth | None
) -> Ceiling | None:
    """The ceiling by the map's GB/s, else by the data sheet or by what was measured, whichever is more.

    None where the bytes or all of the bandwidths are unknown, or where weights this small may sit in a cache
    (unless the map gives the bandwidth).
    """
    if not bytes_per_token:
        return None
    if given is not None:
        return Ceiling(bytes_per_token, Bandwidth(given * GB, Source.MAP, "this machine"))
    found = [one for one in (known, measured) if one is not None]
    if not found or bytes_per_token <= FITS_A_CACHE:
        return None
    return Ceiling(bytes_per_token, max(found, key=lambda one: one.at_most))
