"""The state of the GPUs, by `nvidia-smi` and `rocm-smi` where they are there."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from forkguard.adapters import proc
from forkguard.core.boxes import NVIDIA_FIELDS, GpuState, parse_nvidia, parse_rocm
from forkguard.errors import CouldNotWork

_TIMEOUT = 20.0
_NVIDIA = ("nvidia-smi", f"--query-gpu={','.join(NVIDIA_FIELDS)}", "--format=csv,noheader,nounits")
_ROCM = (
    "rocm-smi", "--showproductname", "--showuse", "--showmeminfo", "vram", "gtt", "--showclocks", "--showpower",
    "--showtemp", "--json",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class GpuReading:
    """The GPUs that were found, and what went wrong with a tool that is installed."""

    gpus: tuple[GpuState, ...]
    remarks: tuple[str, ...] = ()


class GpuTools:
    """The two tools, looked for along `search` (a `PATH`; None: ours). They only read."""

    def __init__(self, search: str | None = None) -> None:
        self._search = search

    def read(self) -> GpuReading:
        """All GPUs as they are now. A machine without either tool has none that we know of; that is no error."""
        found: list[GpuState] = []
        remarks: list[str] = []
        for words, parse in ((_NVIDIA, parse_nvidia), (_ROCM, parse_rocm)):
            program = shutil.which(words[0], path=self._search)
            if program is None:
                continue
            try:
                text = proc.run((program, *words[1:]), cwd=Path(program).parent, timeout=_TIMEOUT).text()
            except CouldNotWork as error:
                remarks.append(f"{words[0]} does not tell: {error.what}")
                continue
            gpus = parse(text)
            found += gpus
            remarks += [] if gpus else [f"{words[0]} names no GPU"]
        return GpuReading(tuple(found), tuple(remarks))
