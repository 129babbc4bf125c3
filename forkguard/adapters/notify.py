"""Telling people of a night: a command of theirs, a webhook with a signed body, GitHub's step summary.

Each returns what went wrong ("" for nothing): a notice that does not arrive never changes what the night came to.
"""

import hashlib
import hmac
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from forkguard.adapters import proc
from forkguard.adapters.forge import check_url
from forkguard.errors import ForkguardError

COMMAND_TIMEOUT = 120.0
"""Seconds that the user's command may take."""
SIGNATURE = "X-Forkguard-Signature-256"
_TIMEOUT = httpx.Timeout(20.0, connect=10.0)
_TRIES = 3
_AGAIN = frozenset({408, 425, 429})


def run_command(argv: Sequence[str], body: str, *, facts: Mapping[str, str], cwd: Path) -> str:
    """Run the user's command in the map's folder, with the notice on its stdin and `facts` in its environment."""
    env = proc.inherited_environment() | dict(facts)
    try:
        proc.run(argv, cwd=cwd, timeout=COMMAND_TIMEOUT, env=env, stdin=body.encode("utf-8", "replace"))
    except (ForkguardError, OSError) as error:
        return f"notify_command: {error}"
    return ""


def sign(body: bytes, key: bytes) -> str:
    """The signature of a body, as its header has it: HMAC with SHA-256.

    >>> sign(b"x", b"k")[:15]
    'sha256=c38edc88'
    """
    return f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"


def post(
    url: str, body: str, *, delivery: str, key_name: str | None, pause: Callable[[float], None] = time.sleep
) -> str:
    """Send the notice, at most three times; `key_name` names the environment variable that holds the key.

    The address is in no message, for it may hold a token. A redirect is not followed.
    """
    content = body.encode("utf-8", "replace")
    headers = {"Content-Type": "application/json", "User-Agent": "forkguard", "X-Forkguard-Delivery": delivery}
    if key_name is not None:
        key = os.environ.get(key_name, "")
        if not key:
            return f"webhook: {key_name}, which holds the key of the signature, is not set"
        headers[SIGNATURE] = sign(content, key.encode())
    try:
        check_url(url)
    except ForkguardError as error:
        return f"webhook: {error.what.replace(url, 'it')}"
    host = urlsplit(url).hostname
    problem = ""
    for number in range(_TRIES):
        if number:
            pause(2.0**number)
        try:
            # Only the status counts: a body, which may never end, is not read.
            with httpx.stream("POST", url, content=content, headers=headers, timeout=_TIMEOUT) as answer:
                status = answer.status_code
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            problem = type(error).__name__
            continue
        if status < 300:
            return ""
        problem = f"it answered {status}"
        if status < 500 and status not in _AGAIN:
            break
    return f"webhook: {host} was not told: {problem}"


def append_summary(path: Path, text: str) -> str:
    """Add to the file that GitHub shows as the step's summary."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"the step summary cannot be written: {error.strerror}"
    return ""
