"""The map as a file: where it is found, how it is read and written."""

from pathlib import Path

from forkguard.adapters.files import write_atomic
from forkguard.core.mapfile import MAP_NAME, UpstreamMap, parse_map
from forkguard.errors import UsageProblem


def chosen_map(option: Path | None) -> Path:
    """The map that `--map` names, else the nearest one. Raises `UsageProblem` where there is none."""
    return option.absolute() if option is not None else find_map(Path.cwd())


def find_map(start: Path) -> Path:
    """The nearest `upstream-map.toml` at or above a folder. Raises `UsageProblem`."""
    for folder in (start, *start.parents):
        candidate = folder / MAP_NAME
        if candidate.is_file():
            return candidate
    raise UsageProblem(
        f"there is no {MAP_NAME} here or in a folder above",
        where=str(start),
        hint="forkguard init --fork PATH  (or name a map with --map FILE)",
    )


def read_text(path: Path) -> str:
    """The text of a map. Raises `UsageProblem` where it is not there or no UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageProblem(
            "the map is no UTF-8 text", where=f"{path}:{line}", hint="save the file as UTF-8"
        ) from error
    except OSError as error:
        raise UsageProblem(
            f"cannot read the map: {error.strerror or error}", where=str(path), hint="forkguard init --fork PATH"
        ) from error


def read_map(path: Path) -> UpstreamMap:
    """Read and check a map. Raises `UsageProblem` naming file, line and key."""
    return parse_map(read_text(path), name=str(path))


def write_map(path: Path, text: str) -> UpstreamMap:
    """Check the text, then put it in place at once; a text that does not parse never reaches the file."""
    parsed = parse_map(text, name=str(path))
    write_atomic(path, text)
    return parsed
