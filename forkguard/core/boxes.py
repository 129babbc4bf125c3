"""The state of a machine while something is measured on it, and what makes it busy: the tools' text comes in."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_BUSY_LOAD = 0.5
_BUSY_PROCESS = 25.0
_BUSY_USE = 20.0
_BUSY_GPU = 10.0
_LOW_MEMORY = 0.10
_SLOW_CLOCK = 0.7
_HOT = 90.0
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
NVIDIA_FIELDS = (
    "name", "utilization.gpu", "memory.used", "memory.total", "clocks.sm", "clocks.max.sm", "power.draw",
    "temperature.gpu",
)  # fmt: skip
"""The fields that `parse_nvidia` expects, in this order."""


@dataclass(frozen=True, slots=True)
class GpuState:
    """One GPU; None where the tool does not say. Percent, bytes, MHz, watts, degrees Celsius."""

    name: str
    use: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    clock: float | None = None
    clock_limit: float | None = None
    power: float | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Resident:
    """A process of somebody else: its program's name, percent of one core, resident bytes."""

    name: str
    processor: float
    memory: int


@dataclass(frozen=True, slots=True)
class BoxState:
    """The machine at one moment, before a server of ours was started (or after the last had ended).

    `when` says which; `load` is the load average of one minute over the threads; `use` is what others computed at
    that moment, in percent of the whole processor; `residents` are the other processes that used most of it or of
    memory, the busiest first. MHz, degrees Celsius, bytes; None where the system does not say. `low_power` says
    that it saves energy. `remarks` tell what could not be read.
    """

    when: str
    load: float
    use: float | None = None
    residents: tuple[Resident, ...] = ()
    clock: float | None = None
    clock_limit: float | None = None
    temperature: float | None = None
    memory_available: int | None = None
    memory_total: int | None = None
    swap_used: int | None = None
    low_power: bool = False
    gpus: tuple[GpuState, ...] = ()
    remarks: tuple[str, ...] = ()


def busy_marks(states: Sequence[BoxState]) -> tuple[str, ...]:
    """What made the machine busy or slow, worst first within its kind, each told once; empty for a quiet one."""
    marks: list[str] = []
    if not states:
        return ()
    load = max(state.load for state in states)
    heavy = [one for state in states for one in state.residents if one.processor >= _BUSY_PROCESS]
    if heavy:
        worst = max(heavy, key=lambda one: one.processor)
        names = ", ".join(dict.fromkeys(one.name for one in sorted(heavy, key=lambda one: -one.processor)))
        marks.append(f"others computed: {names} (up to {worst.processor:.0f} % of a core)")
    use = max((state.use or 0.0 for state in states), default=0.0)
    if use >= _BUSY_USE and not heavy:
        marks.append(f"others used up to {use:.0f} % of the processor, in short-lived processes")
    if states[0].load >= _BUSY_LOAD:
        marks.append(f"the load was {states[0].load:.2f} per thread before the first run (at most {load:.2f} later)")
    for mark in (_memory_mark(states), _clock_mark(states), _heat_mark(states)):
        marks += [mark] if mark else []
    marks += [_gpu_mark(gpu) for state in states for gpu in state.gpus if (gpu.use or 0.0) >= _BUSY_GPU][:1]
    if any(state.low_power for state in states):
        marks.append("the machine saves power")
    return tuple(marks)


def _memory_mark(states: Sequence[BoxState]) -> str:
    for state in states:
        if state.memory_available is not None and state.memory_total:
            share = state.memory_available / state.memory_total
            if share < _LOW_MEMORY:
                return f"only {share:.0%} of memory was free ({state.when})"
    return ""


def _clock_mark(states: Sequence[BoxState]) -> str:
    for state in states:
        for gpu in state.gpus:
            if gpu.clock and gpu.clock_limit and (gpu.use or 0.0) >= _BUSY_GPU:
                share = gpu.clock / gpu.clock_limit
                if share < _SLOW_CLOCK:
                    return f"{gpu.name} ran at {share:.0%} of its clock"
    return ""


def _heat_mark(states: Sequence[BoxState]) -> str:
    heat = [(state.temperature, "the processor") for state in states]
    heat += [(gpu.temperature, gpu.name) for state in states for gpu in state.gpus]
    hot = [(degrees, what) for degrees, what in heat if degrees is not None and degrees >= _HOT]
    return f"{max(hot)[1]} was at {max(hot)[0]:.0f} degrees Celsius" if hot else ""


def _gpu_mark(gpu: GpuState) -> str:
    return f"{gpu.name} was in use already ({gpu.use:.0f} %)"


def same_box(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether two receipts' `box` facts are those of the same machine: processor, memory, GPUs; never a name.

    >>> same_box({"cpu": "x", "memory": 100}, {"cpu": "x", "memory": 101, "load": [1]})
    True
    """
    if any(one.get(key) != other.get(key) for key in ("cpu", "cores", "threads", "machine")):
        return False
    if (one.get("gpus") or []) != (other.get("gpus") or []):
        return False
    ours, theirs = one.get("memory"), other.get("memory")
    if not isinstance(ours, int) or not isinstance(theirs, int):
        return ours == theirs
    return abs(ours - theirs) <= 0.02 * max(ours, theirs)


def parse_nvidia(text: str) -> tuple[GpuState, ...]:
    """The GPUs by `nvidia-smi --query-gpu=<NVIDIA_FIELDS> --format=csv,noheader,nounits`; other lines are skipped."""
    found = []
    for line in text.splitlines():
        row = line.split(",")
        if len(row) != len(NVIDIA_FIELDS) or not row[0].strip():
            continue
        use, used, total, clock, limit, power, degrees = (_number(cell) for cell in row[1:])
        found.append(
            GpuState(row[0].strip(), use, _bytes(used, 1 << 20), _bytes(total, 1 << 20), clock, limit, power, degrees)
        )
    return tuple(found)


def parse_rocm(text: str) -> tuple[GpuState, ...]:
    """The GPUs by `rocm-smi --json`; its keys differ between releases, so each is looked for by its words.

    Text that is no such JSON gives none.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(document, dict):
        return ()
    cards = [card for name, card in sorted(document.items()) if name.startswith("card") and isinstance(card, dict)]
    return tuple(_rocm_card({str(key).lower(): str(value) for key, value in card.items()}) for card in cards)


def _rocm_card(card: Mapping[str, str]) -> GpuState:
    def named(*words: str) -> float | None:
        values = (_number(value) for key, value in card.items() if all(word in key for word in words))
        return next((value for value in values if value is not None), None)

    vram, shared = named("vram total memory"), named("gtt total memory")
    heap = (
        "gtt" if (shared or 0.0) > (vram or 0.0) else "vram"
    )  # of a chip with unified memory, gtt is the one in use
    names = (card.get(key, "") for key in ("card series", "card model", "gfx version"))
    name = next((name for name in names if name and name.upper() != "N/A"), "AMD GPU")
    gfx = card.get("gfx version", "")
    return GpuState(
        name if not gfx or gfx in name else f"{name} {gfx}",
        use=named("gpu use"),
        memory_used=_bytes(named(heap, "used memory"), 1),
        memory_total=_bytes(named(heap, "total memory (b)"), 1),
        clock=named("sclk clock speed"),
        power=named("graphics package power"),
        temperature=named("temperature", "edge") or named("temperature"),
    )


def _number(text: str) -> float | None:
    match = _NUMBER.search(text)
    value = float(match[0]) if match else math.nan
    return value if math.isfinite(value) else None


def _bytes(value: float | None, unit: int) -> int | None:
    return None if value is None else int(value * unit)
