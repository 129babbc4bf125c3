"""The folder that the demo makes and keeps: its own, or refused."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from forkguard.adapters.files import locked, write_atomic
from forkguard.errors import CouldNotWork, UsageProblem

MARK = ".forkguard-demo"
_MARK_TEXT = "forkguard demo made this folder; remove it whenever you like\n"


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold `folder` as the demo's own while the block runs: made when needed, or marked by an earlier run.

    What a killed run left half made in it is removed, and so is a new folder in which the block left nothing
    before it raised: a person would go on in it in vain. Raises `UsageProblem` for a folder with somebody
    else's files, `CouldNotWork` where another run holds it or it cannot be made.
    """
    mark = folder / MARK
    try:
        foreign = folder.is_dir() and not mark.is_file() and any(folder.iterdir())
        if foreign or (folder.exists() and not folder.is_dir()):
            raise UsageProblem(
                "this folder is not the demo's own, and not empty",
                where=str(folder),
                hint="forkguard demo --keep DIR  with a new DIR",
            )
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if not mark.is_file():
            write_atomic(mark, _MARK_TEXT)
    except OSError as error:
        raise CouldNotWork(
            f"the demo's folder cannot be made: {error.strerror}",
            where=str(folder),
            hint="forkguard demo --keep DIR  with a DIR that you can write to",
        ) from error
    with locked(folder / f"{MARK}.lock", purpose="forkguard demo"):
        for half_made in (*folder.glob(".upstream.git-*"), *folder.glob(".llama.cpp-*")):
            shutil.rmtree(half_made, ignore_errors=True)
        try:
            yield
        except BaseException:
            if made and all(path.name.startswith(MARK) for path in folder.iterdir()):
                shutil.rmtree(folder, ignore_errors=True)
            raise
