"""The files of a gate as a receipt names them: programs, libraries and models, by their hashes."""

import hashlib
import re
from pathlib import Path

from forkguard.adapters.gguf_files import read_header
from forkguard.adapters.hashing import hash_file
from forkguard.core.gate import FileHash, ModelFile
from forkguard.errors import CouldNotWork

_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
_LIBRARY = re.compile(r"\.so(\.\d+)*$|\.dylib$")


def hash_libraries(binary: Path, loaded: tuple[str, ...]) -> tuple[FileHash, ...]:
    """The libraries beside the program, and those that its process had loaded, each once under its real path."""
    beside = [path for path in binary.resolve().parent.iterdir() if _LIBRARY.search(path.name)]
    paths = {path.resolve() for path in (*beside, *map(Path, loaded)) if path.is_file()}
    return tuple(FileHash(str(path), hash_file(path)) for path in sorted(paths))


def read_model(path: Path) -> ModelFile:
    """A GGUF file's architecture and hash; a sharded model's hash is that of its shards' hashes in order.

    Raises `CouldNotWork` for a file that is not there or no GGUF file.
    """
    header = read_header(path)
    if not header.arch:
        raise CouldNotWork("this GGUF file names no architecture", where=str(path), hint="name a model file")
    shards = _shards(path)
    try:
        digests = [hash_file(shard) for shard in shards]
    except OSError as error:
        raise CouldNotWork(
            f"a part of this model cannot be read: {error.strerror}", where=str(path), hint="fetch the model again"
        ) from error
    whole = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return ModelFile(path.name, str(path), whole, header.arch)


def _shards(path: Path) -> list[Path]:
    named = _SHARD.search(path.name)
    if not named:
        return [path]
    stem, count = path.name[: named.start()], int(named[2])
    return [path.with_name(f"{stem}-{number:05d}-of-{named[2]}.gguf") for number in range(1, count + 1)]
