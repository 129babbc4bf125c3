"""How the pages say things: words and tones of statuses, moments, commands, and the names of pages."""

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from forkguard.core.nightly import Night, StepResult
from forkguard.reports.plain import counted, printable

TONES: Mapping[str, str] = {
    **dict.fromkeys(("green", "pass", "applies", "done", "clean", "faster", "whole"), "good"),
    **dict.fromkeys(("additive", "landed"), "fair"),
    **dict.fromkeys(
        ("red", "fail", "conflict", "missing-blob", "found", "drift", "crash", "corruption", "slower", "absent",
         "cut short"),
        "bad",
    ),
}  # fmt: skip
"""Tone by status; whatever is not listed is `unknown`: nothing that was not found out looks good."""

_QUIET = {"skipped", "not run", "not looked at", "not in the stack", "note", "not-comparable"}
_WORDS = {
    "could-not-run": "could not run",
    "could-not": "could not",
    "missing-blob": "missing blob",
    "not-comparable": "not comparable",
}
_FOLDERS = {"night": "nights", "patchset": "patchsets", "arch": "archs", "receipt": "receipts"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SEVERITIES = ("crash", "corruption", "slow", "change", "note")
_KEPT = "\n\t"


def shown(value: object) -> object:
    """What a template may put into a page: no control character, no mark that turns text around. None is nothing."""
    if value is None:
        return ""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        return value if value.isprintable() else "".join(c if c in _KEPT else printable(c) for c in value)
    return value


def tone(status: object) -> str:
    """The class of a status in the style sheet."""
    text = str(status)
    return TONES.get(text, "quiet" if text in _QUIET else "unknown")


def word(status: object) -> str:
    """A status as people read it."""
    return _WORDS.get(str(status), str(status))


def letter(verdict: object) -> str:
    """One letter for a night's verdict."""
    return {"green": "G", "red": "R"}.get(str(verdict), "?")


def moment(text: str) -> str:
    """A moment in UTC, to the minute.

    >>> moment("2026-09-01T05:00:05+02:00")
    '2026-09-01 03:00'
    """
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M}"


def seconds(step: StepResult) -> str:
    """How long a step took."""
    return f"{_span(step.started, step.finished):.0f}"


def span(night: Night) -> str:
    """How long a night took."""
    took = _span(night.started, night.finished)
    return f"{took / 60:.0f} min" if took >= 120 else f"{took:.0f} s"


def _span(started: str, finished: str) -> float:
    return max(0.0, (datetime.fromisoformat(finished) - datetime.fromisoformat(started)).total_seconds())


def page_of(page: tuple[str, str] | None) -> str:
    """The path of a page by kind and name, below the report's folder; empty for none.

    >>> page_of(("patchset", "27383")), page_of(("arch", "../x"))[:8], page_of(None)
    ('patchsets/27383.html', 'archs/x-', '')
    """
    if page is None or not page[1]:
        return ""
    kind, name = page
    safe = name if _NAME.fullmatch(name) else "x-" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{_FOLDERS[kind]}/{safe}.html"


def tally(counts: Mapping[str, int] | None) -> str:
    """Findings by severity, worst first; `none` where drift ran and found nothing that counts."""
    if counts is None:
        return "not looked at"
    if not counts:
        return "none"
    known = [name for name in _SEVERITIES if counts.get(name)]
    return ", ".join(f"{counts[name]} {name}" for name in (*known, *sorted(counts.keys() - set(_SEVERITIES))))


def runs(values: Sequence[float]) -> str:
    """Every run."""
    return " / ".join(f"{value:.1f}" for value in values)


def interval(ends: tuple[float, float]) -> str:
    """A ratio's interval in percent."""
    return f"{100 * (ends[0] - 1):+.1f} to {100 * (ends[1] - 1):+.1f}"


def shell(command: Sequence[str]) -> str:
    """A command as a person would type it, an option to a line."""
    words = " ".join(shlex.quote(one) for one in command)
    return re.sub(r" (--?[a-z])", r" \\\n  \1", words)


def fact(value: object, name: str = "") -> str:
    """A fact about the machine; memory is in bytes there."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not known"}[value]
    if isinstance(value, int) and value >= 1 << 30 and ("mem" in name or "swap" in name or "bytes" in name):
        return f"{value / (1 << 30):.1f} GiB"
    if isinstance(value, (list, tuple)):
        return "none" if not value else ", ".join(fact(one, name) for one in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {fact(one, str(key))}" for key, one in value.items())
    return str(value)


def cut(text: str, most: int) -> str:
    """At most so many characters; what is left out is said."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most} characters more"


def one_line(text: str) -> str:
    """A log line on one line."""
    return cut(" ".join(text.splitlines()), 2000)


FILTERS: Mapping[str, Any] = {
    "tone": tone, "word": word, "letter": letter, "moment": moment, "seconds": seconds, "span": span,
    "page_of": page_of, "tally": tally, "runs": runs, "interval": interval, "shell": shell, "fact": fact, "cut": cut,
    "line": one_line, "counted": counted,
}  # fmt: skip
