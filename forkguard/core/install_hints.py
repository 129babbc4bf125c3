"""The command that installs a tool, by system."""

import re
from collections.abc import Sequence

_PACKAGES = {
    "git": {"debian": "git", "fedora": "git", "arch": "git", "brew": "git"},
    "pip": {"debian": "python3-pip", "fedora": "python3-pip", "arch": "python-pip", "brew": "python"},
    "ssh-keygen": {"debian": "openssh-client", "fedora": "openssh-clients", "arch": "openssh", "brew": "openssh"},
    "cmake": {"debian": "cmake", "fedora": "cmake", "arch": "cmake", "brew": "cmake"},
    "ninja": {"debian": "ninja-build", "fedora": "ninja-build", "arch": "ninja", "brew": "ninja"},
    "ccache": {"debian": "ccache", "fedora": "ccache", "arch": "ccache", "brew": "ccache"},
    "a C compiler": {"debian": "build-essential", "fedora": "gcc", "arch": "base-devel"},
    "a C++ compiler": {"debian": "build-essential", "fedora": "gcc-c++", "arch": "base-devel"},
}
_COMMANDS = {
    "debian": "sudo apt install",
    "ubuntu": "sudo apt install",
    "fedora": "sudo dnf install",
    "rhel": "sudo dnf install",
    "centos": "sudo dnf install",
    "arch": "sudo pacman -S",
}
_SAME_PACKAGES = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora"}


def install_hint(tool: str, *, system: str, families: Sequence[str]) -> str:
    """The command for `tool` on `system` (`Linux`, `Darwin`) of these families (`ID` and `ID_LIKE` of os-release).

    >>> install_hint("ninja", system="Linux", families=["mint", "ubuntu", "debian"])
    'sudo apt install ninja-build'
    >>> install_hint("a C++ compiler", system="Darwin", families=[])
    'xcode-select --install'
    >>> install_hint("ninja", system="Linux", families=["nixos"])
    'install ninja-build (Debian), ninja (Arch, Homebrew), then try again'
    """
    packages = _PACKAGES[tool]
    if system == "Darwin":
        return f"brew install {packages['brew']}" if "brew" in packages else "xcode-select --install"
    for family in families:
        if family in _COMMANDS:
            return f"{_COMMANDS[family]} {packages[_SAME_PACKAGES.get(family, family)]}"
    return f"install {packages['debian']} (Debian), {packages['arch']} (Arch, Homebrew), then try again"


def together(fixes: Sequence[str]) -> tuple[str, ...]:
    """Commands, those of one package manager joined, each package named once.

    >>> together(["sudo apt install ninja-build", "git fetch", "sudo apt install ccache ninja-build"])
    ('sudo apt install ninja-build ccache', 'git fetch')
    """
    packages: dict[str, dict[str, None]] = {}
    for fix in fixes:
        command, install, rest = fix.partition(" install ") if " install " in fix else fix.partition(" -S ")
        simple = install and not re.search(r"[^\w .+-]", rest)
        key = command + install if simple else fix
        packages.setdefault(key, {}).update(dict.fromkeys(rest.split() if simple else ()))
    return tuple(key + " ".join(names) for key, names in packages.items())
