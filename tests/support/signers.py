"""SSH keys made for one test, and a file that allows some of them."""

import subprocess
from pathlib import Path

from tests.support.programs import need


def make_key(folder: Path, name: str) -> Path:
    """A new key without passphrase; its public half lies beside it."""
    need("ssh-keygen")
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(key)], check=True, timeout=60
    )
    return key


def allow(folder: Path, **signers: Path) -> Path:
    """A file of allowed signers: `ada=key` allows that key as `ada@example.org`."""
    lines = [
        f"{name}@example.org {key.with_name(key.name + '.pub').read_text().strip()}\n"
        for name, key in signers.items()
    ]
    path = folder / "allowed_signers"
    path.write_text("".join(lines))
    return path
