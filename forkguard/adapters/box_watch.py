"""Looks at the machine between two servers of ours: who else computes, clocks, heat, memory, GPUs."""

import contextlib
import os
import time
from pathlib import Path

import psutil

from forkguard.adapters.gpu import GpuTools
from forkguard.core.boxes import BoxState, Resident

_WINDOW = 0.5
"""Seconds over which other processes are watched."""
_SHOWN = 5
_LARGE = 0.05
_PREFERENCE = Path("/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference")


class BoxWatch:
    """`look` takes about `window` seconds. Everything is optional: what a system does not say is None."""

    def __init__(self, gpus: GpuTools | None = None, *, window: float = _WINDOW) -> None:
        self._gpus = gpus if gpus is not None else GpuTools()
        self._window = window

    def look(self, when: str) -> BoxState:
        """The state of the machine now; `when` names the moment."""
        use, residents = _others(self._window)
        memory = psutil.virtual_memory()
        clock = _clock()
        reading = self._gpus.read()
        return BoxState(
            when,
            load=round(os.getloadavg()[0] / (psutil.cpu_count() or 1), 3),
            use=use,
            residents=residents,
            clock=clock[0],
            clock_limit=clock[1],
            temperature=_temperature(),
            memory_available=memory.available,
            memory_total=memory.total,
            swap_used=psutil.swap_memory().used,
            low_power=_saves_power(),
            gpus=reading.gpus,
            remarks=reading.remarks,
        )


def _others(window: float) -> tuple[float, tuple[Resident, ...]]:
    """What was computed while we slept, in percent of the whole processor, and by whom: the busiest and the largest
    processes that are neither we nor below us, by name only, never by arguments."""
    ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    before = {process.pid: _used(process) for process in psutil.process_iter() if process.pid not in ours}
    begun = time.monotonic()
    use = psutil.cpu_percent(interval=window)
    passed = time.monotonic() - begun
    total = psutil.virtual_memory().total
    found: list[Resident] = []
    for process in psutil.process_iter():
        earlier = before.get(process.pid)
        if earlier is None:
            continue
        try:
            share = 100.0 * max(0.0, (_used(process) or 0.0) - earlier) / passed
            resident = Resident(process.name(), round(share, 1), process.memory_info().rss)
        except psutil.Error:
            continue
        if resident.processor >= 1.0 or resident.memory >= _LARGE * total:
            found.append(resident)
    return use, tuple(sorted(found, key=lambda one: (-one.processor, -one.memory))[:_SHOWN])


def _used(process: psutil.Process) -> float | None:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return None
    return float(times.user + times.system)


def _clock() -> tuple[float | None, float | None]:
    try:
        found = psutil.cpu_freq()
        return float(found.current) or None, float(found.max) or None
    except (OSError, NotImplementedError, AttributeError):  # psutil gives None where the system does not say
        return None, None


def _temperature() -> float | None:
    sensors = psutil.sensors_temperatures() if hasattr(psutil, "sensors_temperatures") else {}
    values = [
        one.current for name in ("k10temp", "zenpower", "coretemp", "cpu_thermal") for one in sensors.get(name, ())
    ]
    return max(values, default=None)


def _saves_power() -> bool:
    battery = None
    with contextlib.suppress(OSError, AttributeError):  # a container may lack the folder that psutil lists
        battery = psutil.sensors_battery()
    if battery is not None and battery.power_plugged is False:
        return True
    try:
        return _PREFERENCE.read_text(encoding="utf-8").strip() == "power"
    except OSError:
        return False
