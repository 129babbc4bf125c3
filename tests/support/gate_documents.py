"""Whole gate documents and logs, as a gate would have written them; the figures are like the published ones.

Deterministic: the same arguments give the same bytes. Some texts are a stranger's, and hostile.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha1, sha256
from random import Random
from typing import Any

from forkguard.core.measured import Measured
from forkguard.core.performance_checks import performance
from forkguard.reports.performance import to_document
from tests.support.measuring import recorded

HOSTILE = "</pre><script>alert('x')</script> \x1b[31mred\x1b[0m \u202egnp.exe & <img src=x onerror=alert(1)>"


def commit_of(text: str) -> str:
    """A commit id that depends on the text alone."""
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def receipt_document(started: datetime, number: int, *, verdict: str = "pass") -> dict[str, Any]:
    """A whole `gate@1` document; a red one crashed, an inconclusive one has a difference of texts."""
    fails, differs = verdict == "fail", verdict == "inconclusive"
    checks = gate_checks(fails=fails)
    if differs:
        checks[2] = checks[2] | {"verdict": "inconclusive", "class": "near-tie", "evidence": [_difference()]}
    return {
        "schema": "forkguard/gate@1", "forkguard": "0.1.0", "verdict": verdict, "arch": "lfm2", "checks": checks,
        "not_run": [{"name": "quality", "reason": "the map does not ask for it"}],
        "arms": [_arm("no-draft", None, number), _arm("draft-3", 3, number, crashed=fails, differs=differs)],
        "tree": {
            "ref": "production", "commit": commit_of(f"candidate {number}"), "patchsets": ["27383"],
            "binary": "/trees/a1b2c3/build/bin/llama-server", "binary_sha256": _sha(f"server {number}"),
            "libraries": [{"path": f"lib{name}.so", "sha256": _sha(name)} for name in ("llama", "ggml", "mtmd")],
        },
        "upstream": None,
        "models": [
            {"name": "LFM2.5-2.6B-Q4_K_M.gguf", "path": "/models/t.gguf", "sha256": _sha("t"), "arch": "lfm2"},
            {"name": "LFM2.5-DSpark-F16.gguf", "path": "/models/d.gguf", "sha256": _sha("d"), "arch": "dflash"},
        ],
        "settings": {
            "probe": False, "near_tie_nats": 0.05, "policy": "near-tie", "fallback": "pass",
            "checks": ["crash", "liveness", "determinism", "fallback", "performance"],
        },
        "box": {
            "cpu": "AMD RYZEN AI MAX+ 395", "threads": 32, "memory": 64 << 30, "gpus": ["gfx1151"],
            "load": [0.31, 0.2, 0.1], "governor": "performance",
        },
        "environment": {"GGML_NO_BACKTRACE": "1"}, "started": iso(started).replace("Z", "+00:00"),
        "finished": iso(started + timedelta(minutes=4)).replace("Z", "+00:00"), "warnings": [],
        "measurements": {"performance": _speed(number), "quality": None}, "job": None,
        "flags": [{"arm": "draft-3", "flags": ["--spec-draft-n-max 3"]}], "build": None, "logs": [], "previous": None,
    }  # fmt: skip


def gate_checks(*, fails: bool) -> list[dict[str, Any]]:
    more: dict[str, Any] = {"evidence": [], "suspects": [], "culprit": None, "trigger": None}
    crash: dict[str, Any] = {
        "name": "crash", "verdict": "pass", "class": None, "detail": "no server of 2 crashed", **more,
    }  # fmt: skip
    if fails:
        crash |= {
            "verdict": "fail", "class": "abort", "culprit": "fork", "trigger": "the draft",
            "detail": "draft-3: abort at the first decode: GGML_ASSERT(x != nullptr) failed",
            "evidence": [{"arm": "draft-3", **_trouble()}],
            "suspects": [
                {
                    "finding": "lfm2/layer-input/00000001", "title": "the layer loop publishes its input",
                    "severity": "crash", "place": "src/models/lfm2.cpp:12", "pr": 27383, "mend": "port #27383",
                    "command": "forkguard port 27383",
                }
            ],
        }  # fmt: skip
    rows = [
        ("liveness", None, "accepted draft tokens: draft-3 71 %"),
        ("determinism", "identical", "2 texts are the same"),
        ("fallback", None, "no fallback in a verbose log"), ("performance", "faster", "draft-f16 +17.7 %"),
    ]  # fmt: skip
    return [
        crash,
        *({"name": name, "verdict": "pass", "class": kind, "detail": told, **more} for name, kind, told in rows),
    ]


def _trouble() -> dict[str, Any]:
    return {
        "class": "abort", "stage": "first decode", "text": "GGML_ASSERT(x != nullptr) failed",
        "place": "src/llama-graph.cpp:1352", "signal": "SIGABRT", "exit_code": None,
        "before": [f"srv: decoding {HOSTILE}"], "after": [], "frames": ["#0 heron()", "#1 main()"], "load": None,
        "child": None,
    }  # fmt: skip


def _difference() -> dict[str, Any]:
    return {
        "arm": "draft-3", "prompt": "one", "class": "near-tie", "first_difference": 20, "shared_prefix": 20,
        "expected": 420, "got": 777, "gap_nats": 0.022, "width": 3, "slots": 1, "agreeing_after": 2, "after": 10,
        "repeats": True, "why": "", "culprit": None,
    }  # fmt: skip


def _arm(
    name: str, width: int | None, number: int, *, crashed: bool = False, differs: bool = False
) -> dict[str, Any]:
    tokens = list(range(400, 432))
    words = " ".join(f"w{token}" for token in tokens)
    if differs:
        tokens[20:] = list(range(777, 789))
        words = words[:100] + f" and something else {HOSTILE}"
    answer = {
        "tokens": tokens, "text": words, "top2_gap_nats": [0.5] * len(tokens), "drafted": 30 if width else 0,
        "accepted": 21 if width else 0, "timings": {"predicted_per_second": 90.0},
    }  # fmt: skip
    command = ["/trees/a1b2c3/build/bin/llama-server", "-m", "/models/t.gguf", "-ngl", "99", "-c", "8192"]
    return {
        "name": name, "draft": width is not None, "width": width, "verbose": False, "side": "fork", "slots": 1,
        "draft_file": None, "recheck": False, "complete": not crashed,
        "command": [*command, *(["--spec-draft-n-max", str(width)] if width else [])],
        "drafted": 30 if width and not crashed else 0, "accepted": 21 if width and not crashed else 0,
        "seconds": 11.2 + number % 3,
        "requests": [{"prompt": "one", "seconds": 0.4, "answer": None if crashed else answer}],
        "trouble": _trouble() if crashed else None,
        "end": {
            "exit_code": None if crashed else 0, "signal": "SIGABRT" if crashed else None,
            "asked_to_stop": not crashed, "killed": False, "left_behind": [], "log": f"{name}.log", "log_bytes": 0,
            "log_left_out": 0, "fallbacks": [], "rollback_slots": [],
        },
    }  # fmt: skip


def _speed(number: int) -> dict[str, object] | None:
    """The lab's runs, a little different each night."""
    lab, dice = recorded("lab_gfx1151"), Random(number)  # noqa: S311 (no secret)
    samples = tuple(replace(one, rate=round(one.rate * dice.uniform(0.97, 1.03), 1)) for one in lab.samples)
    check, analysis = performance(replace(lab, samples=samples), box={})
    speed: Any = to_document(Measured((check,), analysis))["performance"]
    return speed if speed is not None else None


def server_log(arm: str, *, crashed: bool) -> bytes:
    lines = [f"0.{at // 60:02}.{at % 60:02}.000 I srv: {arm} line {at}" for at in range(120)]
    if crashed:
        lines += [HOSTILE, "src/llama-graph.cpp:1352: GGML_ASSERT(x != nullptr) failed"]
    return ("\n".join(lines) + "\n").encode()


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def iso(moment: datetime) -> str:
    """A moment in UTC, as records name it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
