"""Small servers that speak as much of llama-server's protocol as the gate does, and misbehave on demand.

`write_server` makes a program; its process imports this module and runs `serve`. Only the standard library.
"""

import contextlib
import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
ABORT_LINE = 'kettle.cpp:12: GGML_ASSERT(cup != nullptr && "the cup is empty") failed'
CHECKPOINT_LINE = "0.00.004.000 W srv    load_model: speculative decoding will use checkpoints"


@dataclass(frozen=True)
class Behaviour:
    """What a scripted server does.

    `start` before it listens: ok, silent (never listens), exit, abort. `health`: ok, loading (for ever), hang,
    trickle. `answers`: per request, the last one for all later ones: ok, hang, trickle, rubbish, half, error,
    close, kill, abort, endless. `only_drafting` keeps misbehaviour to servers with a draft. `diverge_at`: with a
    draft another token there, `gap` nats from the best; `diverge_with` says when: with a draft, with slots (more
    than one), with both, or in batches (a draft, or a prompt computed in small batches). `lasting`: all that follows
    differs too. `unstable`: every process answers differently; `wavering`: every process with a draft.
    """

    start: str = "ok"
    health: str = "ok"
    answers: tuple[str, ...] = ("ok",)
    only_drafting: bool = False
    drafted: int = 10
    accepted: int = 5
    diverge_at: int | None = None
    diverge_with: str = "draft"
    lasting: bool = False
    gap: float = 1.5
    unstable: bool = False
    wavering: bool = False
    quiet: bool = False
    flood: int = 0
    child: str = ""
    stop: str = "ok"
    log_line: str = ""
    abort_line: str = ABORT_LINE
    rate: float = 0.0
    draft_rate: float = 0.0
    prompt_n: int | None = None
    replies: Mapping[str, str] = field(default_factory=dict)
    draft_replies: Mapping[str, str] = field(default_factory=dict)


def write_server(folder: Path, behaviour: Behaviour) -> Path:
    """An executable llama-server of that behaviour."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "llama-server"
    program.write_text(
        f"#!{sys.executable} -I\n"
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.support.scripted_server import Behaviour, serve\n"
        f"serve(Behaviour(**{asdict(behaviour)!r}))\n"
    )
    program.chmod(0o755)
    return program


def serve(behaviour: Behaviour) -> None:
    """Be the server, until told to stop."""
    drafting = "-md" in sys.argv
    if behaviour.only_drafting and not drafting:
        behaviour = Behaviour(diverge_at=None)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if behaviour.stop == "ignore" else _leave(behaviour))
    _log(behaviour, "0.00.001.000 I srv    load_model: loading model 'x.gguf'")
    if "-lv" in sys.argv:
        _log(behaviour, "0.00.001.500 I srv    main: verbosity = 5")
    if drafting and behaviour.log_line:
        _log(behaviour, behaviour.log_line)
    _flood(behaviour.flood)
    _children(behaviour.child)
    _start(behaviour)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    Handler.behaviour, Handler.drafting = behaviour, drafting
    with HTTPServer(("127.0.0.1", port), Handler) as server:
        _log(behaviour, "0.00.009.000 I srv    main: model loaded")
        server.serve_forever()


def answer(prompt: object, behaviour: Behaviour, *, drafting: bool, tokens: int) -> dict[str, object]:
    """What `/completion` returns: the same for the same prompt, unless the behaviour says otherwise.

    A prompt of a text and token ids goes on where these end.
    """
    text, *after = prompt if isinstance(prompt, list) else [prompt]
    own = _run_number() if behaviour.unstable or (behaviour.wavering and drafting) else 0
    seed = sum(str(text).encode()) + own
    ids = [32 + (seed * (place + 3) + place * place) % 90 for place in range(len(after) + tokens)]
    replies = behaviour.draft_replies if drafting and behaviour.draft_replies else behaviour.replies
    if isinstance(text, str) and text in replies:
        ids = [ord(letter) for letter in replies[text]][: len(after) + tokens]
    runner_up = [token + 1 for token in ids]
    place = behaviour.diverge_at
    if place is not None and place >= len(after) and _diverges(behaviour, drafting=drafting):
        ids[place] = runner_up[place]
        if behaviour.lasting:
            ids[place + 1 :] = [token + 2 for token in ids[place + 1 :]]
    ids, runner_up = ids[len(after) :], runner_up[len(after) :]
    rate = behaviour.draft_rate if drafting else behaviour.rate
    timings: dict[str, float] = {"predicted_n": len(ids), "predicted_ms": 1000.0 * len(ids) / rate if rate else 1.0}
    if behaviour.prompt_n is not None:
        timings |= {"prompt_n": behaviour.prompt_n, "prompt_ms": 1.0}
    if drafting and behaviour.drafted:
        timings |= {"draft_n": behaviour.drafted, "draft_n_accepted": behaviour.accepted}
    rows = [
        {"id": token, "logprob": -0.5, "top_logprobs": [{"id": token, "logprob": -0.5},
                                                        {"id": other, "logprob": -0.5 - behaviour.gap}]}
        for token, other in zip(ids, runner_up, strict=True)
    ]  # fmt: skip
    return {
        "content": "".join(chr(token) for token in ids),
        "tokens": ids,
        "completion_probabilities": rows,
        "timings": timings,
    }


@functools.cache
def _run_number() -> int:
    """1 in the first process of this program that asks, 2 in the next: what it changes is the same in every test."""
    program = Path(sys.argv[0])
    for number in itertools.count(1):
        with contextlib.suppress(FileExistsError):
            program.with_name(f"run-{number}").touch(exist_ok=False)
            return number
    raise AssertionError


def _diverges(behaviour: Behaviour, *, drafting: bool) -> bool:
    slots = _number("-np") > 1
    batches = drafting or "-ub" in sys.argv
    return {"draft": drafting, "slots": slots, "both": drafting and slots, "batches": batches}[behaviour.diverge_with]


def _number(flag: str) -> int:
    return int(sys.argv[sys.argv.index(flag) + 1]) if flag in sys.argv else 1


class Handler(BaseHTTPRequestHandler):
    """Answers as the behaviour says; one process serves one behaviour."""

    behaviour = Behaviour()
    drafting = False
    asked = 0

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.behaviour.health == "hang":
            time.sleep(3600)
        if self.behaviour.health == "trickle":
            self._trickle()
        self._send(200 if self.behaviour.health == "ok" else 503, b"{}")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        action = self.behaviour.answers[min(Handler.asked, len(self.behaviour.answers) - 1)]
        Handler.asked += 1
        told = answer(request["prompt"], self.behaviour, drafting=self.drafting, tokens=request["n_predict"])
        self._act(action, json.dumps(told).encode())

    def _act(self, action: str, body: bytes) -> None:
        actions: dict[str, Callable[[], None]] = {
            "ok": lambda: self._send(200, body),
            "hang": lambda: time.sleep(3600),
            "trickle": self._trickle,
            "rubbish": lambda: self._send(200, b"\x00\xff<html>\x1b[31mno"),
            "half": lambda: self._send(200, body[: len(body) // 2]),
            "cut": lambda: self._send(200, body[: len(body) // 2], length=len(body)),
            "error": lambda: self._send(500, b'{"error": "no"}'),
            "close": lambda: None,
            "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
            "segv": lambda: os.kill(os.getpid(), signal.SIGSEGV),
            "abort": lambda: _abort(self.behaviour.abort_line),
            "endless": self._endless,
        }
        actions[action]()

    def _send(self, status: int, body: bytes, *, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length if length is not None else len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self) -> None:
        for _ in range(36000):
            self.wfile.write(b"H")
            self.wfile.flush()
            time.sleep(0.05)

    def _endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b"x" * (1 << 20))


def _leave(behaviour: Behaviour) -> Callable[[int, object], None]:
    def leave(number: int, frame: object) -> None:
        if behaviour.stop == "segv":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        os._exit({"status": 3, "shell": 143}.get(behaviour.stop, 0))

    return leave


def _start(behaviour: Behaviour) -> None:
    if behaviour.start == "silent":
        time.sleep(3600)
    if behaviour.start == "exit":
        sys.exit(1)
    if behaviour.start == "abort":
        _abort(behaviour.abort_line)


def _abort(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
    os.abort()


def _children(kind: str) -> None:
    if kind == "child":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    if kind == "daemon":
        code = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(3600)"
        subprocess.run([sys.executable, "-c", code], check=True)


def _flood(size: int) -> None:
    line = b"x" * 199 + b"\n"
    chunk = line * 5000
    while size > 0:
        sys.stdout.buffer.write(chunk[:size])
        size -= len(chunk)
    sys.stdout.flush()


def _log(behaviour: Behaviour, line: str) -> None:
    if not behaviour.quiet:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
