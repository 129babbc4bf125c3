"""Reads and writes GGUF model files."""

import hashlib
import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from forkguard.adapters.files import write_atomic
from forkguard.core.probes.models import Key, Model, Stored
from forkguard.errors import CouldNotWork

_TYPES = {
    Stored.U32: gguf.GGUFValueType.UINT32,
    Stored.F32: gguf.GGUFValueType.FLOAT32,
    Stored.BOOL: gguf.GGUFValueType.BOOL,
    Stored.STRING: gguf.GGUFValueType.STRING,
    Stored.ARRAY: gguf.GGUFValueType.ARRAY,
}


def write_model(path: Path, model: Model) -> str:
    """Write the model to `path`, whole or not at all, and return the SHA-256 of the file's bytes.

    The same model gives the same bytes everywhere. Raises `CouldNotWork` when the place cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="forkguard-probe-") as folder:
        draft = Path(folder) / "model.gguf"
        _write(draft, model)
        content = draft.read_bytes()
    write_atomic(path, content)
    return hashlib.sha256(content).hexdigest()


def _write(path: Path, model: Model) -> None:
    logging.getLogger("gguf.gguf_writer").setLevel(logging.WARNING)
    writer = gguf.GGUFWriter(path, model.arch)
    try:
        for key in model.keys:
            writer.add_key_value(key.name, _plain(key), _TYPES[key.stored])
        for tensor in model.tensors:
            writer.add_tensor(tensor.name, np.ascontiguousarray(tensor.data))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def _plain(key: Key) -> object:
    return list(key.value) if key.stored is Stored.ARRAY and not isinstance(key.value, (int, float)) else key.value


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """What the head of a model file says: architecture, name, and the names of its tensors."""

    arch: str
    name: str
    tensors: tuple[str, ...]


def read_header(path: Path) -> ModelHeader:
    """The header of the model file, or `CouldNotWork` for a file that is no (whole) GGUF file."""
    try:
        reader = gguf.GGUFReader(path)
        fields = {name: reader.get_field(name) for name in ("general.architecture", "general.name")}
        arch, name = (str(field.contents()) if field else "" for field in fields.values())
        return ModelHeader(arch, name, tuple(tensor.name for tensor in reader.tensors))
    except OSError as error:
        raise CouldNotWork(f"the model file cannot be read: {error.strerror}", where=str(path)) from error
    except (ValueError, KeyError, IndexError, OverflowError, MemoryError, TypeError) as error:
        raise CouldNotWork(
            f"this is not a whole GGUF model file: {error}", where=str(path), hint="fetch or write the file again"
        ) from error
