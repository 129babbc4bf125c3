"""Gates over scripted servers: quick bounds, a fixed clock, and a look at what processes are left."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import psutil

from forkguard.adapters.server import Bounds, LlamaServers, ServerSpec, free_port
from forkguard.adapters.server_family import MARKER
from forkguard.core.determinism import NEAR_TIE_NATS
from forkguard.core.gate import Check, CheckName, GatedTree, GateReport, GateSettings, Suspect
from forkguard.core.prompts import Prompt
from forkguard.workflows.gate import GateMeans, GateSubject, plan_arms, run_gate
from tests.support.scripted_server import Behaviour, write_server

PROMPTS = (Prompt("one", "Say one.", 12), Prompt("two", "Say two.", 12), Prompt("three", "Say three.", 12))
QUICK = Bounds(ready=20, request=20, stop=10, death=5, grace=1, log_head=1 << 16, log_tail=1 << 12)
SETTINGS = GateSettings("tiny", near_tie=NEAR_TIE_NATS, probe=True)


class SilentTalk:
    """Takes every remark and shows none."""

    def step(self, message: str) -> None: ...
    def note(self, message: str) -> None: ...
    def progress(self, done: int, total: int, message: str) -> None: ...


class Ticks:
    """A clock that goes on by one second each time it is read."""

    def __init__(self) -> None:
        self._now = datetime(2026, 9, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


def gate(
    folder: Path,
    behaviour: Behaviour | Path,
    *,
    bounds: Bounds = QUICK,
    settings: GateSettings = SETTINGS,
    port: Callable[[], int] = free_port,
    suspects: Callable[[], Sequence[Suspect]] = tuple,
    widths: tuple[int, ...] = (3,),
    slots: tuple[int, ...] = (1,),
    upstream: Behaviour | None = None,
    tensors: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> GateReport:
    """The whole gate over one scripted server (or another program), its logs in `folder/logs`."""
    binary = behaviour if isinstance(behaviour, Path) else write_server(folder, behaviour)
    spec = ServerSpec(binary, folder / "target.gguf", folder / "draft.gguf", "draft-dspark", folder / "logs")
    environment = {"PATH": "/usr/bin:/bin", "FORKGUARD_TEST": str(folder)}
    theirs = None
    if upstream is not None:
        there = replace(spec, binary=write_server(folder / "upstream", upstream))
        theirs = LlamaServers(there, env=environment, bounds=bounds, port=port)
    means = GateMeans(
        servers=LlamaServers(spec, env=environment, bounds=bounds, port=port),
        upstream=theirs,
        tensors=lambda: tensors,
        now=Ticks(),
        libraries=lambda _: (),
        suspects=suspects,
        talk=SilentTalk(),
    )
    subject = GateSubject(GatedTree(str(binary), "0" * 64), (), {}, {}, "1")
    plans = plan_arms(widths, PROMPTS, slots=slots, upstream=upstream is not None)
    return run_gate(means, settings=settings, subject=subject, plans=plans)


def check(report: GateReport, name: CheckName) -> Check:
    """The one check of that name."""
    return next(one for one in report.checks if one.name is name)


def processes_left(folder: Path) -> list[str]:
    """Processes of a gate in `folder` that still run, found by the environment that its servers were given."""
    left = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            running = process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            continue
        if running and MARKER in environment and environment.get("FORKGUARD_TEST") == str(folder):
            left.append(" ".join(process.cmdline()))
    return left
