"""Facts about this machine for receipts, and the environment that a server under test gets."""

import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

import psutil

from forkguard.adapters.gpu import GpuTools
from forkguard.adapters.hashing import hash_file

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_STEERS_SERVER = ("GIT_", "LLAMA_ARG_", "HF_")
_RECORDED = re.compile(r"^(GGML|LLAMA|CUDA|HIP|HSA|ROCR|ROCM|AMD|NVIDIA|GPU|VK|OMP|GOMP|KMP|MALLOC|LD)_")


def describe_box() -> dict[str, object]:
    """The machine: processor, cores, memory in bytes, load averages, kernel, GPUs. No host name, no user."""
    memory = psutil.virtual_memory()
    return {
        "cpu": _processor(),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(),
        "memory": memory.total,
        "memory_available": memory.available,
        "load": [round(load, 2) for load in os.getloadavg()],
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "gpus": [gpu.name for gpu in GpuTools().read().gpus],
        "python": platform.python_version(),
    }


def server_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a server under test inherits: no secrets, nothing that would change its arguments."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(_STEERS_SERVER) and not _SECRET.search(name)
    }


def recorded_environment(environment: Mapping[str, str], *, system: Path = Path("/etc")) -> dict[str, str]:
    """The part of a server's environment that changes what it computes or loads, for the receipt.

    The files from which a llama-server takes flags by itself are among it, by the hash of what is in them.
    """
    kept = server_environment(environment)
    return {name: value for name, value in sorted(kept.items()) if _RECORDED.match(name)} | _config_files(
        environment, system
    )


def _config_files(environment: Mapping[str, str], system: Path) -> dict[str, str]:
    """`llama.cpp/config.ini` of the system and of the user, as far as they are there."""
    home = environment.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  (no home at all is no error here)
    user = environment.get("XDG_CONFIG_HOME") or f"{home}/.config"
    found = {}
    for whose, folder in (("system", system), ("user", Path(user))):
        file = folder / "llama.cpp" / "config.ini"
        try:
            if file.is_file():
                found[f"config.ini of the {whose}"] = f"sha256 {hash_file(file)[:16]}"
        except OSError:
            found[f"config.ini of the {whose}"] = "not readable"
    return found


def _processor() -> str:
    table = Path("/proc/cpuinfo")
    if table.is_file():
        for line in table.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
