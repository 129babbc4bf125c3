"""Which system this is, and the command that installs a tool on it."""

import contextlib
import os
import platform
import shutil

from forkguard.core.install_hints import install_hint


def os_release() -> dict[str, str]:
    """What `os-release` says of this Linux system; empty where there is no such file."""
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release()
    return {}


def install_command(what: str) -> str:
    """The command that installs a tool here; see `forkguard.core.install_hints.install_hint`.

    Without `sudo` for root where there is none, as in a container.
    """
    release = os_release()
    families = (release.get("ID", ""), *release.get("ID_LIKE", "").split())
    command = install_hint(what, system=platform.system(), families=families)
    needless = os.geteuid() == 0 and shutil.which("sudo") is None
    return command.removeprefix("sudo ") if needless else command


def system_name() -> str:
    """What a person calls this system: `Debian GNU/Linux 12 (bookworm)`, `macOS 15.1`."""
    if platform.system() == "Darwin":
        return f"macOS {platform.mac_ver()[0]}".rstrip()
    return os_release().get("PRETTY_NAME") or f"{platform.system()} {platform.release()}"
