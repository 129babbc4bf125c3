"""A webhook on this machine that writes down what it is sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Hook:
    """`statuses` are answered in turn, the last one for all later; `got` are headers (lower case) and bodies.

    `endless` answers with a body that does not end.
    """

    url: str = ""
    statuses: list[int] = field(default_factory=lambda: [204])
    endless: bool = False
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def hook() -> Iterator[Hook]:
    """A webhook that serves while the block runs."""
    state = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = state.statuses.pop(0) if len(state.statuses) > 1 else state.statuses[0]
            self.send_response(status)
            if status in {301, 302}:
                self.send_header("Location", "/elsewhere")
            if not state.endless:
                self.send_header("Content-Length", "0")
            self.end_headers()
            with suppress(OSError):
                while state.endless:
                    self.wfile.write(b"x" * 4096)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class names it)
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/secret-path"
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
