"""Which of a fork's remotes is its upstream, and which ref of it to compare with."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_UPSTREAM_URL = re.compile(r"[/:](?:ggml-org|ggerganov)/llama\.cpp(?:\.git)?/?$")
_ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]*://|^[\w.-]+@[\w.-]+:", re.IGNORECASE)
_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://|[^/]+:(?!//)")
_CREDENTIALS = re.compile(r"(?<=://)[^/]*@")
_USUAL_BRANCHES = ("master", "main")


@dataclass(frozen=True, slots=True)
class RemoteChoice:
    """A remote's name, and why it is taken for upstream."""

    name: str
    why: str


def choose_remote(remotes: Mapping[str, str], *, own: Collection[str] = ()) -> RemoteChoice | None:
    """The upstream among remotes (name to URL); `own` are those that hold the fork's own branch.

    In this order: the one named `upstream`, one whose URL is llama.cpp's, the only one that is not the fork's
    own. None where that decides nothing.

    >>> choose_remote({"origin": "git@host:me/llama.cpp", "ggml": "https://host/ggml-org/llama.cpp.git"}).name
    'ggml'
    """
    if "upstream" in remotes:
        return RemoteChoice("upstream", f"the remote named upstream ({shown(remotes['upstream'])})")
    official = [name for name in sorted(remotes) if _UPSTREAM_URL.search(remotes[name])]
    if official:
        return RemoteChoice(
            official[0], f"the remote {official[0]} fetches llama.cpp itself ({shown(remotes[official[0]])})"
        )
    others = [name for name in sorted(remotes) if name not in own]
    if len(others) > 1:
        others = [name for name in others if name != "origin"]
    if len(others) == 1:
        return RemoteChoice(others[0], f"the only remote that is not the fork's own ({shown(remotes[others[0]])})")
    return None


def choose_branch(branches: Collection[str], *, head: str | None) -> str | None:
    """The branch of upstream to compare with: the one its HEAD names, else `master`, `main`, or the only one.

    >>> choose_branch(["topic", "master"], head=None)
    'master'
    """
    if head in branches:
        return head
    usual = [name for name in _USUAL_BRANCHES if name in branches]
    if usual:
        return usual[0]
    return next(iter(branches)) if len(branches) == 1 else None


def is_address(text: str) -> bool:
    """Whether this is where a remote fetches from, and no name of a remote or folder.

    >>> is_address("https://host/llama.cpp"), is_address("git@host:a/llama.cpp"), is_address("../llama.cpp")
    (True, True, False)
    """
    return _ADDRESS.match(text) is not None


def remote_of_address(remotes: Mapping[str, str], url: str) -> str | None:
    """The remote that fetches from there, if any; who asks and a `.git` at the end make no difference.

    >>> remote_of_address({"up": "https://me:secret@host/llama.cpp.git"}, "https://host/llama.cpp/")
    'up'
    """
    return next((name for name in sorted(remotes) if _plain(remotes[name]) == _plain(url)), None)


def _plain(url: str) -> str:
    return shown(url).rstrip("/").removesuffix(".git")


def is_local(url: str) -> bool:
    """Whether a remote's URL is a folder of this machine, as git reads it.

    >>> [is_local(url) for url in ("../upstream", "/srv/llama.cpp", "file:///srv/llama.cpp")]
    [True, True, True]
    >>> [is_local(url) for url in ("https://host/llama.cpp", "git@host:llama.cpp", "host:/srv/llama.cpp")]
    [False, False, False]
    """
    return _ELSEWHERE.match(url) is None


def shown(url: str) -> str:
    """A remote's URL as it may be printed: without a user name, a password or a token.

    >>> shown("https://me:secret@host/llama.cpp")
    'https://host/llama.cpp'
    """
    return _CREDENTIALS.sub("", url)
