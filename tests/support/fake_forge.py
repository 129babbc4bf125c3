"""A forge on this machine that answers as it is told and writes down what it was asked."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/vnd.github+json"
PATCH = "application/vnd.github.patch"


@dataclass
class Reply:
    """One answer."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class FakeForge:
    """`replies` by path and accepted type; a list is used up one by one, its last one stays. `asked` are all
    questions: path, accepted type, headers."""

    url: str = ""
    replies: dict[tuple[str, str], list[Reply]] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def tell(self, path: str, *replies: Reply, accept: str = JSON) -> None:
        """What to answer from now on."""
        self.replies[path, accept] = list(replies)

    def tell_pull(self, number: int, *, etag: str = "", **fields: Any) -> None:
        """Answer with a request of this number."""
        state = {"number": number, "title": f"request {number}", "state": "open", "merged_at": None, "body": ""}
        headers = {"ETag": etag} if etag else {}
        self.tell(pull_path(number), Reply(json.dumps(state | fields).encode(), headers=headers))

    def answer(self, path: str, accept: str, headers: dict[str, str]) -> Reply:
        """The next answer to this question."""
        self.asked.append((path, accept, headers))
        waiting = self.replies.get((path, accept)) or self.replies.get((path, "*/*")) or [Reply(b"{}", 404)]
        reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        etag = reply.headers.get("ETag")
        return Reply(status=304) if etag and headers.get("if-none-match") == etag else reply


def tell_open(forge: FakeForge, *rows: tuple[int, str, str, dict[str, str]]) -> None:
    """List open requests: number, title, head, and the patch of each file."""
    listed = [{"number": number, "title": title, "head": {"sha": head}} for number, title, head, _ in rows]
    forge.tell(open_path(1), Reply(json.dumps(listed).encode()))
    for number, _, _, files in rows:
        patches = [{"filename": name, "patch": patch} for name, patch in files.items()]
        forge.tell(f"{pull_path(number)}/files?per_page=100", Reply(json.dumps(patches).encode()))


def open_path(page: int) -> str:
    """Where a page of the open requests is asked for."""
    return f"/repos/owner/name/pulls?state=open&sort=updated&direction=desc&per_page=100&page={page}"


def pull_path(number: int) -> str:
    """Where a request of the fake's repository is asked for."""
    return f"/repos/owner/name/pulls/{number}"


@contextmanager
def fake_forge() -> Iterator[FakeForge]:
    """A forge that serves while the block runs."""
    forge = FakeForge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = forge.answer(self.path, headers.get("accept", "*/*"), headers)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it)
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    forge.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield forge
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
