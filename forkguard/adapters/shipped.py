"""The manifests of upstream requests that ship with forkguard: `patchsets/` of this project."""

from functools import lru_cache
from importlib import resources
from pathlib import Path

from forkguard.core.names import PullNumber
from forkguard.core.patchset import MANIFEST


@lru_cache(maxsize=8)
def shipped_manifest(pull: PullNumber) -> str | None:
    """What ships about a request, as the text of a manifest; None where nothing does.

    A wheel holds the folder inside the package; in a checkout it lies beside the package.
    """
    beside = Path(__file__).parents[2]
    for root in (resources.files("forkguard"), beside):
        file = root / "patchsets" / str(int(pull)) / MANIFEST
        if file.is_file():
            return file.read_text(encoding="utf-8")
    return None
