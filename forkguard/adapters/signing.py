"""Signatures over receipts: `ssh-keygen -Y`, with an SSH key and a file of allowed signers."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from forkguard.adapters import proc
from forkguard.adapters.files import write_atomic
from forkguard.adapters.system import install_command
from forkguard.core.receipts import SIGNED_FOR, BadReceipt
from forkguard.errors import CouldNotWork, ProcessFailed

_TIMEOUT = 30.0
_PROGRAM = "ssh-keygen"


class SshSigner:
    """Signs with `key`: a private key file without passphrase, or a public one whose private half an agent holds."""

    def __init__(self, key: Path) -> None:
        self._key = key.absolute()

    def check(self) -> None:
        """Sign something of no worth now, so that an hour of gating does not end at a missing key."""
        self.sign(b"")

    def sign(self, content: bytes) -> bytes:
        """The armoured signature. Raises `CouldNotWork` where the key is not there or does not sign."""
        if not self._key.is_file():
            raise CouldNotWork(
                "the key that signs receipts is not there", where=str(self._key), hint="correct sign_key in the map"
            )
        try:
            done = _keygen(("-Y", "sign", "-q", "-f", str(self._key), "-n", SIGNED_FOR), stdin=content)
        except ProcessFailed as error:
            raise CouldNotWork(
                f"the receipt could not be signed: {error.stderr.strip() or 'no reason was given'}",
                where=str(self._key),
                hint="give sign_key a key without passphrase, or a public key whose private half ssh-agent holds",
            ) from error
        return done.stdout


class SshVerifier:
    """Checks signatures against a file of allowed signers (see ssh-keygen(1), ALLOWED SIGNERS)."""

    def __init__(self, allowed: Path) -> None:
        self._allowed = allowed.absolute()
        if not allowed.is_file():
            raise CouldNotWork(
                "the file of allowed signers is not there", where=str(allowed), hint="correct --allowed-signers"
            )

    def signer(self, content: bytes, signature: bytes) -> str:
        """Who signed; the name is the allowed signers' own. Raises `BadReceipt` for any other signature."""
        with tempfile.TemporaryDirectory(prefix="forkguard-") as folder:
            file = Path(folder) / "signature"
            write_atomic(file, signature)
            common = ("-f", str(self._allowed), "-s", str(file))
            try:
                found = _keygen(("-Y", "find-principals", "-n", SIGNED_FOR, *common), stdin=b"")
                for principal in found.text().splitlines():
                    _keygen(("-Y", "verify", "-n", SIGNED_FOR, "-I", principal, *common), stdin=content)
                    return principal
            except ProcessFailed as error:
                last = (error.stderr.strip() or "no signer matches").splitlines()[-1]
                raise BadReceipt(f"its signature is not one of an allowed signer: {last}") from error
        raise BadReceipt("its signature is not one of an allowed signer")


def _keygen(words: Sequence[str], *, stdin: bytes) -> proc.Completed:
    env = {**proc.inherited_environment(), "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"}
    env.pop("DISPLAY", None)
    try:
        return proc.run((_PROGRAM, *words), cwd=Path(os.sep), timeout=_TIMEOUT, env=env, stdin=stdin)
    except ProcessFailed:
        raise
    except CouldNotWork as error:
        raise CouldNotWork(f"{_PROGRAM} could not be run: {error.what}", hint=install_command(_PROGRAM)) from error
