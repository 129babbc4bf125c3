"""What a forge (GitHub, or an instance of GitHub Enterprise) says of a pull request."""

import json
import re
from dataclasses import dataclass

from forkguard.core.names import CommitHash, PullNumber
from forkguard.core.porting import PullState
from forkguard.errors import CouldNotWork

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEIR = re.compile(
    r"(?:superseded|replaced|continued|carried|landed)\s+(?:by|in|through)\s+\S*?(?:#|/pull/)(\d{1,9})\b", re.I
)
_TAKES = re.compile(
    r"(?:supersed(?:es|ed|ing)|replac(?:es|ing)|continu(?:es|ing)|continuation of|carr(?:ies|ying))\s+"
    r"(?:the\s+)?(?:PR\s+|pull request\s+)?\S*?(?:#|/pull/)(\d{1,9})\b",
    re.IGNORECASE,
)
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+")


def text_of(value: object) -> str:
    r"""A text of the forge's. Half of a surrogate pair, which JSON can name and no file can hold, becomes U+FFFD.

    >>> text_of("a\ud800b") == "a\ufffdb", text_of(7)
    (True, '7')
    """
    return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True, slots=True)
class PullInfo:
    """One request: `merge` is the commit by which it went in, `heir` a request that it says went in its place."""

    pull: PullNumber
    state: PullState
    title: str
    head: CommitHash
    merge: CommitHash | None
    heir: PullNumber | None


def parse_pull(content: bytes, *, where: str) -> PullInfo:
    """Read what the API answers for `/repos/OWNER/NAME/pulls/N`. Raises `CouldNotWork` for anything else."""
    try:
        found = json.loads(content)
        number, title, head = int(found["number"]), text_of(found["title"]), str(found["head"]["sha"])
        merged = bool(found["merged_at"])
        merge = str(found.get("merge_commit_sha") or "")
        is_open = found["state"] == "open"
        body = str(found.get("body") or "")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CouldNotWork("the forge's answer is no pull request", where=where, hint="check [forge] api") from error
    if not _HASH.fullmatch(head):
        raise CouldNotWork("the forge's answer names no head commit", where=where, hint="check [forge] api")
    state = PullState.MERGED if merged else PullState.OPEN if is_open else PullState.CLOSED
    heir = _HEIR.search(f"{title}\n{body}") if state is PullState.CLOSED else None
    return PullInfo(
        PullNumber(number),
        state,
        title,
        CommitHash(head),
        CommitHash(merge) if merged and _HASH.fullmatch(merge) else None,
        PullNumber(int(heir[1])) if heir else None,
    )


def takes_over(message: str, pull: PullNumber) -> bool:
    """Whether a commit's message says that it takes the place of a request.

    >>> takes_over("heron : drafts (#500)\\n\\nSupersedes #400.", PullNumber(400))
    True
    >>> takes_over("heron : drafts, as in #400 (#500)", PullNumber(400))
    False
    """
    return any(int(found[1]) == pull for found in _TAKES.finditer(message))


def repository_of(url: str) -> str | None:
    """The `owner/name` of a repository on github.com, as remotes spell it.

    >>> repository_of("git@github.com:ggml-org/llama.cpp.git"), repository_of("https://github.com/a/b/")
    ('ggml-org/llama.cpp', 'a/b')
    >>> repository_of("https://example.org/a/b")
    """
    found = re.fullmatch(r"(?:https://(?:[^/@]*@)?github\.com/|(?:ssh://)?git@github\.com[:/])(.+?)(?:\.git)?/?", url)
    return found[1] if found and _REPOSITORY.fullmatch(found[1]) else None


def pull_of_url(url: str) -> PullNumber | None:
    """The request that a web address is of.

    >>> pull_of_url("https://github.com/ggml-org/llama.cpp/pull/27383/files")
    27383
    """
    found = re.fullmatch(r"/[^/]+/[^/]+/pull/([1-9]\d{0,8})(?:/(?:files|commits|checks))?/?", _path(url))
    return PullNumber(int(found[1])) if found else None


def commit_of_url(url: str) -> CommitHash | None:
    """The commit that a web address is of, as far as it is spelled out.

    >>> commit_of_url("https://github.com/a/b/commit/" + "0" * 40) == "0" * 40
    True
    """
    found = re.fullmatch(r"/[^/]+/[^/]+/commit/([0-9a-f]{40})/?", _path(url))
    return CommitHash(found[1]) if found else None


def _path(url: str) -> str:
    found = re.match(r"https?://[^/?#]+([^?#]*)", url)
    return found[1] if found else ""
