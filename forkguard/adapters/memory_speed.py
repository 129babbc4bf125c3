"""How fast this machine's memory is, and how many bytes of a model one token reads: the two halves of a ceiling."""

import glob
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gguf
import numpy as np

from forkguard.core.ceiling import Bandwidth, Source, TensorSize, bytes_per_token
from forkguard.errors import CouldNotWork

_PIECE = 64 << 20
_THREADS = 8
_TRIES = 5
_SHARD = re.compile(r"-\d{5}-of-(\d{5})\.gguf$")


def measure_bandwidth(*, piece: int = _PIECE, tries: int = _TRIES) -> Bandwidth:
    """The best of a few parallel copies in memory, read and written bytes together. Takes about a second."""
    count = min(_THREADS, os.cpu_count() or 1)
    sources = [np.ones(piece, dtype=np.uint8) for _ in range(count)]
    targets = [np.zeros(piece, dtype=np.uint8) for _ in range(count)]
    best = float("inf")
    with ThreadPoolExecutor(count, thread_name_prefix="forkguard-copy") as pool:
        for _ in range(tries):
            begun = time.perf_counter()
            list(pool.map(np.copyto, targets, sources))
            best = min(best, time.perf_counter() - begun)
    return Bandwidth(2.0 * piece * count / best, Source.MEASURED, "this machine's memory")


def model_bytes_per_token(path: Path) -> int:
    """The fewest bytes of weights that one token reads, by the file's tensors and those of its shards.

    Raises `CouldNotWork` for a file that is no whole GGUF file.
    """
    tensors: list[TensorSize] = []
    experts = used = 0
    try:
        for shard in _shards(path):
            reader = gguf.GGUFReader(shard)
            tensors += [TensorSize(tensor.name, int(tensor.n_bytes)) for tensor in reader.tensors]
            experts = max(experts, _number(reader, "expert_count"))
            used = max(used, _number(reader, "expert_used_count"))
    except OSError as error:
        raise CouldNotWork(f"the model file cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, KeyError, IndexError, OverflowError, MemoryError, TypeError) as error:
        raise CouldNotWork(
            f"this is not a whole GGUF model file: {error}", where=str(path), hint="fetch the file again"
        ) from error
    return bytes_per_token(tensors, experts=experts, experts_used=used)


def _number(reader: gguf.GGUFReader, key: str) -> int:
    arch = reader.get_field("general.architecture")
    field = reader.get_field(f"{arch.contents()}.{key}") if arch else None
    value = field.contents() if field else 0
    return int(max(value)) if isinstance(value, list) and value else int(value or 0)


def _shards(path: Path) -> list[Path]:
    named = _SHARD.search(path.name)
    if not named:
        return [path]
    stem = path.name[: named.start()]
    return sorted(path.parent.glob(f"{glob.escape(stem)}-[0-9]*-of-{named[1]}.gguf"))
