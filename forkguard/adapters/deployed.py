"""What a program would load if it were started now: libraries in its folder, and those that the loader chooses."""

import re
from pathlib import Path

from forkguard.adapters import proc
from forkguard.adapters.hashing import hash_file
from forkguard.core.verify import LibrariesNow
from forkguard.errors import CouldNotWork

_LIBRARY = re.compile(r"\.so(\.\d+)*$|\.dylib$")
_LOADED = re.compile(r"^\s*(?:\S+ => )?(/.+?) \(0x[0-9a-f]+\)$", re.MULTILINE)
_MISSING = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)
_TIMEOUT = 60.0


def libraries_now(binary: Path) -> LibrariesNow:
    """Hash what the program would load, with this process's environment.

    The loader is asked by `ldd`; where that is not there, or the program is no dynamic one, it chooses nothing.
    Call it for a program that may run, since `ldd` may run it. Raises `CouldNotWork` for a file that cannot be read.
    """
    folder = binary.resolve().parent
    known: dict[str, str] = {}

    def at(path: str) -> str | None:
        real = Path(path).resolve()
        if not real.is_file():
            return None
        if str(real) not in known:
            try:
                known[str(real)] = hash_file(real)
            except OSError as error:
                raise CouldNotWork(
                    f"a library cannot be read: {error.strerror}", where=path, hint="run this as a user who may"
                ) from error
        return known[str(real)]

    beside = {path.resolve().name: at(str(path)) for path in folder.iterdir() if _LIBRARY.search(path.name)}
    chosen, missing = _resolved(binary)
    resolved = {str(Path(path).resolve()): at(path) for path in chosen}
    return LibrariesNow(
        beside={name: sha256 for name, sha256 in beside.items() if sha256 is not None},
        resolved={path: sha256 for path, sha256 in resolved.items() if sha256 is not None},
        missing=missing,
        at=at,
    )


def _resolved(binary: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        text = proc.run(("ldd", binary), cwd=binary.parent, timeout=_TIMEOUT, allowed=(0, 1)).text()
    except CouldNotWork:
        return (), ()
    return tuple(_LOADED.findall(text)), tuple(_MISSING.findall(text))
