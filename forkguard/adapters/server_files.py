"""The files of a gate as a receipt names them: programs, libraries and models, by their hashes."""

import hashlib
import re
from pathlib import Path

import gguf

from forkguard.core.gate import FileHash, ModelFile
from forkguard.errors import UsageProblem

_CHUNK = 1 << 20
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
_LIBRARY = re.compile(r"\.so(\.\d+)*$|\.dylib$")


def hash_file(path: Path) -> str:
    """SHA-256 of the file's bytes, in hexadecimal. Raises `UsageProblem` where it cannot be read."""
    digest = hashlib.sha256()
    _add(digest, path)
    return digest.hexdigest()


def hash_libraries(binary: Path, loaded: tuple[str, ...]) -> tuple[FileHash, ...]:
    """The libraries beside the program, and those that its process had loaded, each once under its real path."""
    beside = [path for path in binary.resolve().parent.iterdir() if _LIBRARY.search(path.name)]
    paths = {path.resolve() for path in (*beside, *map(Path, loaded)) if path.is_file()}
    return tuple(FileHash(str(path), hash_file(path)) for path in sorted(paths))


def read_model(path: Path) -> ModelFile:
    """A GGUF file's architecture and hash; a sharded model's hash is over all shards in order.

    Raises `UsageProblem` for a file that is not there or no GGUF file.
    """
    digest = hashlib.sha256()
    for shard in _shards(path):
        _add(digest, shard)
    try:
        field = gguf.GGUFReader(path).get_field("general.architecture")
        arch = field.contents() if field is not None else None
    except Exception as error:  # the library raises whatever a broken file makes it stumble on
        raise UsageProblem(
            f"this is no GGUF file that can be read: {error}",
            where=str(path),
            hint="name a model as `target` or `draft`",
        ) from error
    if not isinstance(arch, str):
        raise UsageProblem("this GGUF file names no architecture", where=str(path), hint="name a model file")
    return ModelFile(path.name, str(path), digest.hexdigest(), arch)


def _shards(path: Path) -> list[Path]:
    named = _SHARD.search(path.name)
    if not named:
        return [path]
    stem, count = path.name[: named.start()], int(named[2])
    return [path.with_name(f"{stem}-{number:05d}-of-{named[2]}.gguf") for number in range(1, count + 1)]


def _add(digest: "hashlib._Hash", path: Path) -> None:
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise UsageProblem(
            f"cannot read this file: {error.strerror}", where=str(path), hint="correct the path, or its permissions"
        ) from error
