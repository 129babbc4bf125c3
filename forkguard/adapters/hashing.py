"""Hashes of files; a module of its own, so that who needs one does not import what reads models."""

import hashlib
from pathlib import Path


def hash_file(path: Path) -> str:
    """SHA-256 of the file's bytes, in hexadecimal; raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
