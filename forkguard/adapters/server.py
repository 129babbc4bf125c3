"""A llama-server of our own: started, proved to be ours, asked, and ended whatever it does.

Every wait is bounded. Nothing that answers on the port is believed before the listening socket is known to
belong to the process that we started (or to its offspring), and to nobody else.
"""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from forkguard.adapters import proc
from forkguard.adapters.server_family import MARKER, Family
from forkguard.adapters.server_log import LogCapture
from forkguard.core.completion import Answer, BadAnswer, parse_completion
from forkguard.core.gate import ArmPlan, Failure, Misbehaved, ServerEnd, signal_name
from forkguard.core.logfacts import LogSummary
from forkguard.core.prompts import Prompt
from forkguard.core.server_flags import needs_file
from forkguard.core.serverlog import LogParser
from forkguard.errors import CouldNotWork, UsageProblem

HOST = "127.0.0.1"
ANSWER_LIMIT = 64 << 20
"""Bytes of one answer; a longer one is none."""

_HEALTH_READ = 5.0
_LOOKS, _PAUSE = 5, 0.05
_FIRST_PAUSE, _LAST_PAUSE = 0.02, 0.5


@dataclass(frozen=True, slots=True)
class Bounds:
    """The longest that each wait may take, in seconds, and the log's share of disk and memory, in bytes."""

    ready: float = 600.0
    request: float = 600.0
    stop: float = 20.0
    death: float = 10.0
    grace: float = 2.0
    log_head: int = 32 << 20
    log_tail: int = 8 << 20


@dataclass(frozen=True, slots=True)
class DraftUse:
    """A draft file (None for a type that needs none), and how a server is told to use it."""

    path: Path | None
    spec_type: str


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """What every arm shares: the program, the models, how the draft is used, further words, and where logs go.

    `draft` may be None when no arm drafts, or the draft type needs no file; `other_drafts` and `other_targets`
    are by the names that plans use. `context` is the size of one slot's context in tokens.
    """

    binary: Path
    target: Path
    draft: Path | None
    spec_type: str
    logs: Path
    context: int = 4096
    words: tuple[str, ...] = ()
    other_drafts: Mapping[str, DraftUse] = field(default_factory=dict)
    other_targets: Mapping[str, Path] = field(default_factory=dict)


def free_port() -> int:
    """A TCP port of the loopback address that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


class LlamaServers:
    """Starts one fresh process per arm; `forkguard.ports.Servers`."""

    def __init__(
        self,
        spec: ServerSpec,
        *,
        env: Mapping[str, str],
        bounds: Bounds = Bounds(),
        port: Callable[[], int] = free_port,
    ) -> None:
        if not spec.binary.is_file() or not os.access(spec.binary, os.X_OK):
            raise UsageProblem(
                "there is no program at this path", where=str(spec.binary), hint="give the path of a llama-server"
            )
        self._spec = spec
        self._env = dict(env)
        self._bounds = bounds
        self._port = port

    @contextlib.contextmanager
    def start(self, plan: ArmPlan) -> Iterator["LlamaServer"]:
        """One running server for `plan`; when the block ends, by whatever, so has the server."""
        port = self._port()
        server = LlamaServer(
            self._words(plan, port),
            port=port,
            log=self._spec.logs / f"{plan.name}.log",
            env=self._env,
            bounds=self._bounds,
        )
        try:
            yield server
        finally:
            server.stop()

    def _words(self, plan: ArmPlan, port: int) -> tuple[str, ...]:
        spec = self._spec
        target = spec.other_targets.get(plan.target, spec.target)
        words = [str(spec.binary), "--host", HOST, "--port", str(port), "-m", str(target)]
        words += ["-c", str(spec.context * plan.slots), "-np", str(plan.slots)]
        if plan.batch is not None:
            words += ["-ub", str(plan.batch)]
        if plan.width is not None:
            draft = spec.other_drafts.get(plan.draft, DraftUse(spec.draft, spec.spec_type))
            if draft.path is not None:
                words += ["-md", str(draft.path)]
            elif needs_file(draft.spec_type):
                raise UsageProblem("an arm with a draft needs a draft model", hint="name it as `draft` in the map")
            words += ["--spec-type", draft.spec_type, "--spec-draft-n-max", str(plan.width)]
        if plan.verbose:
            words += ["-lv", "5"]
        return (*words, *spec.words)


class LlamaServer:
    """One server process. `stop` may be called more than once and always ends it."""

    def __init__(
        self, command: Sequence[str], *, port: int, log: Path, env: Mapping[str, str], bounds: Bounds
    ) -> None:
        self.command = tuple(command)
        self._port = port
        self._bounds = bounds
        self._libraries: set[str] = set()
        self._gave_up = threading.Event()
        self._end: ServerEnd | None = None
        marker = secrets.token_hex(16)
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = LogCapture(log, head=bounds.log_head, tail=bounds.log_tail)
        try:
            self._child = proc.start(
                self.command, cwd=log.parent, env={**env, MARKER: marker}, output=self._log.writer
            )
        except OSError as error:
            self._log.close(wait=0)
            raise CouldNotWork(f"cannot start {command[0]}: {error.strerror}", where=str(log.parent)) from error
        self._log.started()
        self._family = Family(self._child.pid, marker=marker)
        self._http = httpx.Client(base_url=f"http://{HOST}:{port}", trust_env=False, follow_redirects=False)

    def wait_ready(self) -> None:
        """Return when the server that is ours says that it is healthy; else raise `Misbehaved`."""
        deadline = time.monotonic() + self._bounds.ready
        pause = _FIRST_PAUSE
        while True:
            self._must_live()
            if self._is_ours(required=False) and self._healthy(deadline):
                self.confirm()
                return
            if time.monotonic() >= deadline:
                raise Misbehaved(Failure.HANG, f"was not healthy within {self._bounds.ready:g} s")
            time.sleep(pause)
            pause = min(2 * pause, _LAST_PAUSE)

    def ask(self, prompt: Prompt) -> Answer:
        """The greedy answer to one prompt; else raise `Misbehaved`."""
        self._must_live()
        request = {
            "prompt": [prompt.text, *prompt.after] if prompt.after else prompt.text,
            "n_predict": prompt.tokens,
            "temperature": 0,
            "cache_prompt": False,
            "return_tokens": True,
            "n_probs": 0 if prompt.bare else 2,
            "ignore_eos": not prompt.until_end,
        }
        within = self._bounds.request
        try:
            status, body = self._exchange(
                "POST", "/completion", silence=within, within=within, content=json.dumps(request)
            )
        except httpx.TimeoutException as error:
            raise Misbehaved(Failure.HANG, f"no whole answer within {within:g} s") from error
        except httpx.HTTPError as error:
            self._await_death()
            raise Misbehaved(Failure.BAD_ANSWER, f"broke off the answer: {type(error).__name__}") from error
        if status != 200:
            raise Misbehaved(Failure.BAD_ANSWER, f"answered with status {status}: {body[:200]!r}")
        try:
            answer = parse_completion(body)
        except BadAnswer as error:
            raise Misbehaved(Failure.BAD_ANSWER, str(error)) from error
        self._must_live()
        return answer

    def ask_together(self, prompts: Sequence[Prompt]) -> tuple[Answer | Misbehaved, ...]:
        """All prompts at once, each in a request of its own; what `ask` would raise is returned in its place.

        An interrupt ends the server first, so that no request is waited for.
        """
        if len(prompts) == 1:
            return (self._outcome(prompts[0]),)
        with ThreadPoolExecutor(len(prompts), thread_name_prefix="forkguard-ask") as pool:
            try:
                return tuple(pool.map(self._outcome, prompts))
            except BaseException:
                self._give_up()
                raise

    def _outcome(self, prompt: Prompt) -> Answer | Misbehaved:
        try:
            return self.ask(prompt)
        except Misbehaved as misbehaviour:
            return misbehaviour

    def confirm(self) -> None:
        """Raise `Misbehaved` unless the server still lives and still is the only one on its port."""
        self._must_live()
        self._is_ours(required=True)
        self._note_libraries()

    def stop(self) -> ServerEnd:
        """Ask the server to stop, wait, then kill it and all its offspring; say how it ended.

        An interrupt of that wait kills them at once. Raises `CouldNotWork`, once all that is done, where its log
        could not be written.
        """
        if self._end is not None:
            return self._end
        self._http.close()
        asked = self._child.poll() is None
        try:
            killed = asked and not self._stops_when_asked()
            left_behind = self._family.end(grace=self._bounds.grace)
        except BaseException:
            self._family.end(grace=0)
            raise
        status = self._child.wait()
        self._log.close(wait=self._bounds.grace)
        self._end = ServerEnd(
            exit_code=status if status >= 0 else None,
            signal=signal_name(-status) if status < 0 else None,
            asked=asked,
            killed=killed,
            log=self._summary(),
            log_file=self._log.path.name,
            log_left_out=self._log.left_out,
            left_behind=left_behind,
            libraries=tuple(sorted(self._libraries)),
        )
        if self._log.failure is not None:
            raise CouldNotWork(
                f"a server's log cannot be written: {self._log.failure.strerror}", where=str(self._log.path),
                hint="make room, or name another folder for the map",
            )  # fmt: skip
        return self._end

    def _stops_when_asked(self) -> bool:
        self._child.terminate()
        try:
            self._child.wait(self._bounds.stop)
        except subprocess.TimeoutExpired:
            proc.kill_group(self._child)
            return False
        return True

    def _summary(self) -> LogSummary:
        parser = LogParser()
        for piece in self._log.kept():
            parser.feed(piece)
        return parser.summary()

    # -- what is behind these ------------------------------------------------------------------------

    def _must_live(self) -> None:
        if self._gave_up.is_set():
            raise Misbehaved(Failure.HANG, "gave no whole answer in time, and was killed")
        if self._child.poll() is not None:
            raise Misbehaved(Failure.EXITED, "the server ended by itself")

    def _is_ours(self, *, required: bool) -> bool:
        ours, strange = self._family.listeners(self._port)
        for _ in range(_LOOKS):
            if not strange:
                break
            time.sleep(_PAUSE)  # a socket that opens while the tables are read belongs to nobody yet
            ours, strange = self._family.listeners(self._port)
        if strange:
            raise Misbehaved(
                Failure.STRANGER, f"port {self._port} is served by a process that is not the server we started"
            )
        if required and not ours:
            raise Misbehaved(
                Failure.STRANGER, f"nothing that we started listens on port {self._port}, though something answered"
            )
        return ours

    def _healthy(self, deadline: float) -> bool:
        left = max(0.1, deadline - time.monotonic())
        try:
            status, _ = self._exchange("GET", "/health", silence=min(_HEALTH_READ, left), within=left)
        except httpx.HTTPError:
            return False
        return status == 200

    def _exchange(
        self, method: str, path: str, *, silence: float, within: float, content: str | None = None
    ) -> tuple[int, bytes]:
        """Status and body of one HTTP exchange; raises what httpx raises.

        Between two bytes may pass `silence` seconds. A trickle of bytes does not renew `within`: when that is
        over, the server is killed, which ends the exchange, and the next look at the server says so.
        """
        watchdog = threading.Timer(within, self._give_up)
        watchdog.daemon = True
        watchdog.start()
        try:
            headers = {"Content-Type": "application/json"} if content is not None else {}
            with self._http.stream(method, path, content=content, headers=headers, timeout=silence) as response:
                return response.status_code, _body(response)
        finally:
            watchdog.cancel()

    def _give_up(self) -> None:
        self._gave_up.set()
        self._family.end(grace=0)

    def _await_death(self) -> None:
        """A connection that breaks is mostly a process that dies; its end says more than the connection."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(self._bounds.death)
        self._must_live()

    def _note_libraries(self) -> None:
        with contextlib.suppress(psutil.Error, AttributeError):
            for mapped in psutil.Process(self._child.pid).memory_maps():
                if ".so" in Path(mapped.path).name:
                    self._libraries.add(mapped.path)


def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    for piece in response.iter_raw():
        body += piece
        if len(body) > ANSWER_LIMIT:
            raise Misbehaved(Failure.BAD_ANSWER, f"answered with more than {ANSWER_LIMIT} bytes")
    return bytes(body)
