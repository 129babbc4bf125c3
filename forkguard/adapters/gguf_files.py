"""Reads and writes GGUF model files."""

import hashlib
import logging
import mmap
import os
import tempfile
from pathlib import Path
from typing import BinaryIO

import gguf
import numpy as np

from forkguard.adapters.files import write_atomic
from forkguard.core.gguf_header import ModelHeader, parse_header
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


def read_header(path: Path) -> ModelHeader:
    """The header of the model file, or `CouldNotWork` for a file that is no (whole) GGUF file."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")
        with path.open("rb") as file, _mapped(file) as data:
            return parse_header(data, {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()})
    except OSError as error:
        raise CouldNotWork(f"the model file cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise CouldNotWork(
            f"this is not a whole GGUF model file: {error}", where=str(path), hint="fetch or write the file again"
        ) from error


def _mapped(file: BinaryIO) -> mmap.mmap:
    if os.fstat(file.fileno()).st_size == 0:
        raise ValueError("it is empty")
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
