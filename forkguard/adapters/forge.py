"""The forge's API over HTTP: bounded in time, size, redirects and retries; answers are kept with their ETag.

The token goes to the API's own host only, and is in no message.
"""

import base64
import hashlib
import ipaddress
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from forkguard.adapters.files import write_atomic
from forkguard.core.forge import PullInfo, parse_pull
from forkguard.core.names import PullNumber
from forkguard.errors import CouldNotWork, UsageProblem

GITHUB_API = "https://api.github.com"
_TIMEOUT = httpx.Timeout(20.0, connect=10.0)
_TRIES = 3
_REDIRECTS = 5
_MOST_BYTES = 64 << 20
_JSON = "application/vnd.github+json"
_PATCH = "application/vnd.github.patch"


class GitHub:
    """The pull requests of one repository. `pause` waits between tries (seconds)."""

    def __init__(
        self,
        *,
        api: str,
        repository: str,
        cache: Path,
        token: str | None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api = check_url(api).rstrip("/")
        self._repository = repository
        self._cache = cache
        self._token = token
        self._pause = pause

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self._repository} at {urlsplit(self._api).hostname}"

    def pull(self, number: PullNumber) -> PullInfo:
        """What is known of a request. Raises `CouldNotWork` where there is none, or no answer."""
        url = f"{self._api}/repos/{self._repository}/pulls/{number}"
        return parse_pull(self._get(url, accept=_JSON, missing=f"there is no #{number} in {self.name}"), where=url)

    def patch(self, number: PullNumber) -> bytes:
        """A request as mails, one per commit."""
        url = f"{self._api}/repos/{self._repository}/pulls/{number}"
        return self._get(url, accept=_PATCH, missing=f"there is no #{number} in {self.name}")

    def listing(self, path: str) -> bytes:
        """What the API answers for a path below the repository, as JSON."""
        url = f"{self._api}/repos/{self._repository}/{path}"
        return self._get(url, accept=_JSON, missing=f"{self.name} has no {path.partition('?')[0]}")

    def download(self, url: str) -> bytes:
        """What lies at any address."""
        return self._get(check_url(url), accept="*/*", missing="there is nothing at this address")

    # -- one question --------------------------------------------------------------------------------

    def _get(self, url: str, *, accept: str, missing: str) -> bytes:
        kept = self._kept(url, accept)
        headers = {"Accept": accept, "User-Agent": "forkguard"}
        if kept is not None:
            headers["If-None-Match"] = kept[0]
        status, answer, content = self._ask(url, headers)
        if status == 304 and kept is not None:
            return kept[1]
        if status == 200:
            if answer.get("etag"):
                self._keep(url, accept, etag=answer["etag"], content=content)
            return content
        raise _refusal(status, answer, url=url, missing=missing, has_token=self._token is not None)

    def _ask(self, url: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        problem = "it did not answer"
        for number in range(_TRIES):
            if number:
                self._pause(2.0**number)
            try:
                status, answer, content = self._follow(url, headers)
            except httpx.TimeoutException:
                problem = "it did not answer in time"
            except httpx.HTTPError as error:
                problem = f"{type(error).__name__}"
            else:
                if status < 500:
                    return status, answer, content
                problem = f"it answered {status}"
        raise CouldNotWork(
            f"the forge could not be asked, {_TRIES} times: {problem}", where=url, hint="try again later"
        )

    def _follow(self, url: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        with httpx.Client(timeout=_TIMEOUT, follow_redirects=False, trust_env=True) as client:
            for _ in range(_REDIRECTS + 1):
                status, answer, content = _read(client, url, self._headers(url, headers))
                if status not in {301, 302, 303, 307, 308} or "location" not in answer:
                    return status, answer, content
                url = check_url(urljoin(url, answer["location"]))
        raise CouldNotWork(f"more than {_REDIRECTS} redirects", where=url, hint="check [forge] api")

    def _headers(self, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        ours = urlsplit(url)[:2] == urlsplit(self._api)[:2]
        return dict(headers) | ({"Authorization": f"Bearer {self._token}"} if ours and self._token else {})

    # -- what is kept --------------------------------------------------------------------------------

    def _place(self, url: str, accept: str) -> Path:
        return self._cache / f"{hashlib.sha256(f'{accept} {url}'.encode()).hexdigest()[:32]}.json"

    def _kept(self, url: str, accept: str) -> tuple[str, bytes] | None:
        try:
            found = json.loads(self._place(url, accept).read_bytes())
            return str(found["etag"]), base64.b64decode(found["content"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _keep(self, url: str, accept: str, *, etag: str, content: bytes) -> None:
        kept = {"url": url, "etag": etag, "content": base64.b64encode(content).decode()}
        write_atomic(self._place(url, accept), json.dumps(kept))


def _read(client: httpx.Client, url: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
    with client.stream("GET", url, headers=dict(headers)) as response:
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if len(content) > _MOST_BYTES:
                raise CouldNotWork(f"the answer is larger than {_MOST_BYTES >> 20} MiB", where=url)
        return response.status_code, response.headers, bytes(content)


def _refusal(status: int, answer: Mapping[str, str], *, url: str, missing: str, has_token: bool) -> CouldNotWork:
    token = "check what GITHUB_TOKEN may do" if has_token else "set GITHUB_TOKEN"
    if status == 404:
        return CouldNotWork(missing, where=url, hint=f"check the number; a private repository: {token}")
    if status == 429 or (status == 403 and (answer.get("x-ratelimit-remaining") == "0" or "retry-after" in answer)):
        return CouldNotWork(
            f"the forge's rate limit is used up{_until(answer)}",
            where=url,
            hint="wait until then" if has_token else "set GITHUB_TOKEN, which has a limit of its own, or wait",
        )
    if status in {401, 403}:
        return CouldNotWork(f"the forge refused ({status})", where=url, hint=token)
    return CouldNotWork(f"the forge answered {status}", where=url, hint="check [forge] api and repository")


def _until(answer: Mapping[str, str]) -> str:
    if answer.get("retry-after", "").isdigit():
        return f" for {answer['retry-after']} s"
    reset = answer.get("x-ratelimit-reset", "")
    return f" until {datetime.fromtimestamp(int(reset), UTC):%H:%M:%S} UTC" if reset.isdigit() else ""


def check_url(url: str) -> str:
    """Return an address that is https (http only on this machine), or raise `UsageProblem`."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    local = host == "localhost" or _is_loopback(host)
    if parts.username or parts.password:
        raise UsageProblem("this address holds a user name or a password", hint="leave them out; set GITHUB_TOKEN")
    if not host or (parts.scheme != "https" and not (parts.scheme == "http" and local)):
        raise UsageProblem(f"{url!r} is no https address", hint="write it like https://api.github.com")
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
